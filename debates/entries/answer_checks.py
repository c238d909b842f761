"""Compares the answers of models and persons with what was saved of them, where neither is erased."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from engine.models import ModelCall

from .. import prompt_context, prompts
from ..models.context_builder import artifact_of
from ..prompts import DebateAnswer
from ..prompts.answers import LONGEST_WORDS
from ..prompts.parsing import parse_fields
from ..prompts.wording import clean_text
from ..rules.state import DebateState, StatementKind, TurnState
from .prompt_checks import PromptChecks
from .reconstruction import FIRST, MESSAGE, NOTE, SPOKEN, Entry, ReconstructedDebate, verdict_in

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)  # no answer contains its time


def check_answers(retold: ReconstructedDebate) -> Iterator[str]:
    yield from _unkept(retold)
    yield from _unsaid(retold)
    if not retold.texts.get("question") or retold.prompt_of["prompt_version"] not in prompts.KNOWN:
        return
    readable = KeptAnswer(retold)
    for entry in retold.from_entries(FIRST):
        yield from readable.first(entry["facts"], entry["texts"])
    for entry in retold.from_entries(MESSAGE):
        yield from readable.message(entry["facts"], entry["texts"])
    for entry in retold.from_entries(NOTE):
        yield from readable.note(entry["facts"], entry["texts"])
    yield from PromptChecks(retold, replace(readable.empty, words=readable.words)).problems()


def _unkept(retold: ReconstructedDebate) -> Iterator[str]:
    """Yield usable answers that were not saved, and saved messages without an answer."""
    kept = {tuple(attempt) for one in retold.facts(MESSAGE) for attempt in one["attempts"] if attempt}
    kept |= {tuple(one["attempt"]) for one in retold.facts(FIRST) if one["attempt"]}
    for place, entry in retold.attempts.items():
        answered = entry["facts"]["status"] == ModelCall.Status.ANSWERED
        if answered and place not in kept and not str(place[0]).startswith("note-"):
            yield f"The answer of {place[0]} was not kept."
    models = {one["seat"]: one["model"] for one in retold.prompt_of["members"]}
    for one in _own(retold):
        last = (one["attempts"] or [None])[-1]
        if models.get(one["seat"]) and not (last and last[0] == f"turn-{one['turn']}" and _answered(retold, last)):
            yield f"Message {one['number']} is no answer of its member's model."
    for one in retold.facts(FIRST) if not retold.carried else ():
        if not one["missing"] and not (one["attempt"] and one["attempt"][0] == f"first-{one['seat']}"):
            yield f"The first verdict of seat {one['seat']} is no answer of its model."


def _own(retold: ReconstructedDebate) -> list[dict[str, Any]]:
    """Return the members' messages of this debate, without those of the debate that it was forked from."""
    return [one for one in retold.facts(MESSAGE) if one["number"] > retold.carried]


def _unsaid(retold: ReconstructedDebate) -> Iterator[str]:
    """Yield differences between persons' messages and their answers at the gates of their turns."""
    told = [one for one in _own(retold) if one["kind"] != StatementKind.LEAVING]
    said = {f"turn-{one['turn']}": one for one in told if one["seat"] in retold.persons}
    for step in said.keys() - retold.spoken_turns.keys():
        yield f"Message {said[step]['number']} is nothing that was said at the gate of its turn."
    for step in retold.spoken_turns.keys() - said.keys():
        yield f"What was said at the gate of {step} was not kept."


def _answered(retold: ReconstructedDebate, place: Sequence[Any]) -> bool:
    entry = retold.attempts.get(tuple(place))
    return entry is not None and entry["facts"]["status"] == ModelCall.Status.ANSWERED


class KeptAnswer:
    """A debate with its texts, which parses the answers again in the state when they arrived."""

    def __init__(self, retold: ReconstructedDebate) -> None:
        self.retold = retold
        self.turns = {turn.number: turn for turn in retold.turns}
        self.words = dict(_words(retold))
        self.empty = _table(retold, self.words)

    def table(self, course: DebateState) -> prompt_context.PromptContext:
        numbers = {message.number for message in course.messages}
        words = {number: said for number, said in self.words.items() if number in numbers}
        return replace(self.empty, course=course, words=words)

    def answer(self, place: Sequence[Any] | None) -> str:
        entry = self.retold.attempts.get(tuple(place)) if place else None
        return entry["texts"].get("answer", "") if entry else ""

    def first(self, facts: Mapping[str, Any], texts: Mapping[str, str]) -> Iterator[str]:
        answer = self.answer(facts["attempt"])
        if not answer:
            return
        try:
            read = prompts.read_first(self.empty, facts["seat"], answer)
        except (ValueError, RecursionError):
            yield f"What seat {facts['seat']} answered before the debate cannot be read."
            return
        said = (read.verdict, read.reasoning, read.confidence)
        if said != (verdict_in(facts), texts.get("reasoning", ""), facts["confidence"]):
            yield f"The model on seat {facts['seat']} answered otherwise than its first verdict says."

    def message(self, facts: Mapping[str, Any], texts: Mapping[str, str]) -> Iterator[str]:
        turn, parts = self.turns.get(facts["turn"]), list(self.parts(facts))
        if not turn or not all(parts) or not parts:
            return
        yield from self._cut(facts, texts, parts)
        if len(parts) > 1:  # how the parts were joined depends on the endpoint
            if verdict_in(facts) and not any(verdict_in(facts) in part for part in parts):
                yield f"The model of message {facts['number']} answered nothing of its verdict."
        elif not self._says(turn, parts[0], facts, texts):
            who = "person" if facts["seat"] in self.retold.persons else "model"
            yield f"The {who} of message {facts['number']} answered otherwise than it says."

    def _cut(self, facts: Mapping[str, Any], texts: Mapping[str, str], parts: Sequence[str]) -> Iterator[str]:
        """Yield a wrong `cut`: it must be set exactly if the answer is incomplete."""
        dots = texts.get("content", "…").endswith("…")
        if facts["cut"] != prompts.is_unfinished(parts) or (facts["cut"] and not dots):
            yield f"Message {facts['number']} says otherwise than its model's answers whether it was cut."

    def parts(self, facts: Mapping[str, Any]) -> Iterator[str]:
        """Yield all answers that a message was made of, by a model or at a gate."""
        if facts["seat"] in self.retold.persons:
            entry = self.retold.spoken_turns.get(f"turn-{facts['turn']}")
            yield entry["texts"].get("answer", "") if entry else ""
        yield from (self.answer(place) for place in facts["attempts"])

    def _says(self, turn: TurnState, answer: str, facts: Mapping[str, Any], texts: Mapping[str, str]) -> bool:
        heard, kept = facts["heard"], _kept(facts, texts)
        for acts in range(self.retold.sure_acts(turn.after), self.retold.possible_acts(heard) + 1):
            seen = self.table(self.retold.before(turn.number, heard, acts))
            try:
                if prompts.read_answer(seen, turn, answer) == kept:
                    return True
            except (ValueError, RecursionError):
                continue
        return False

    def note(self, facts: Mapping[str, Any], texts: Mapping[str, str]) -> Iterator[str]:
        content = texts.get("content")
        if not content or facts["number"] <= self.retold.carried:
            return
        step = f"note-{facts['after']}"
        answers = [
            entry["texts"].get("answer", "") for place, entry in self.retold.attempts.items() if place[0] == step
        ]
        if not any(_words_of(answer) == content for answer in answers):
            yield f"The timekeeper's model did not say what note {facts['number']} says."


def _words_of(answer: str) -> str:
    try:
        return clean_text(parse_fields(answer, ("words",))["words"], LONGEST_WORDS)
    except (ValueError, RecursionError):
        return ""


def _kept(facts: Mapping[str, Any], texts: Mapping[str, str]) -> DebateAnswer:
    return DebateAnswer(
        content=texts.get("content", ""),
        to=tuple(facts["speaking_to"]),
        wants_answer=facts["expects_answer"],
        points=tuple(_points(facts, texts)),
        artifact=artifact_of(texts.get("artifact", "")),
        verdict=verdict_in(facts),
        reasoning=texts.get("reasoning", ""),
        moved_by=tuple(facts["moved_by"]),
        withdrawn=facts["withdrawn"],
    )


def _points(facts: Mapping[str, Any], texts: Mapping[str, str]) -> Iterator[prompt_context.PromptPoint]:
    for one in facts["points"]:
        claim = texts.get(f"claim {one['number']}", "")
        yield prompt_context.PromptPoint(
            claim, one["option"], one["side"], one["document"], one["line"] or 0, one["answers"]
        )


def _words(retold: ReconstructedDebate) -> Iterator[tuple[int, prompt_context.MessageWords]]:
    for entry in (*retold.from_entries(NOTE), *retold.from_entries(SPOKEN)):
        told = entry["facts"].get("facts")
        facts = prompt_context.NoteFacts(**{name: _tupled(value) for name, value in told.items()}) if told else None
        yield (
            entry["facts"]["number"],
            prompt_context.MessageWords(EPOCH, entry["texts"].get("content", ""), facts=facts),
        )
    for entry in retold.from_entries(MESSAGE):
        yield entry["facts"]["number"], _words_of_member(entry)


def _tupled(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _words_of_member(entry: Entry) -> prompt_context.MessageWords:
    kept = _kept(entry["facts"], entry["texts"])
    return prompt_context.MessageWords(EPOCH, kept.content, kept.points, kept.artifact, kept.reasoning)


def _table(
    retold: ReconstructedDebate, words: Mapping[int, prompt_context.MessageWords]
) -> prompt_context.PromptContext:
    asked = retold.prompt_of
    return prompt_context.PromptContext(
        course=retold.state(),
        question=retold.texts.get("question", ""),
        options=[
            prompt_context.PromptOption(one["word"], _meaning(retold, one), one["direction"])
            for one in asked["options"]
        ],
        documents=list(_documents(retold)),
        who={one["seat"]: retold.texts.get(f"who of seat {one['seat']}", "") for one in asked["members"]},
        words=words,
        run="",
        boundary=asked["boundary"],
        view=asked["view"],
    )


def _meaning(retold: ReconstructedDebate, option: Mapping[str, Any]) -> str:
    return retold.texts.get(f"meaning of option {option['number']}", "")


def _documents(retold: ReconstructedDebate) -> Iterator[prompt_context.PromptDocument]:
    for one in retold.prompt_of.get("documents", ()):
        label, texts = f"A{one['number']}", retold.texts
        text = texts.get(f"text of {label}", "")
        yield prompt_context.PromptDocument(label, texts.get(f"title of {label}", ""), text.split("\n") if text else ())
