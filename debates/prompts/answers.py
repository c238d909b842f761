"""Formats of answers: reading them, and the retry message for an unusable one."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from engine.llm.own_words import but_for, instructions_of
from engine.llm.spoken import growing

from ..prompt_context import EVERYONE, AnswerShape, PromptArtifact, PromptContext, PromptPoint
from ..rules.state import TurnReason, TurnState
from . import system_prompts
from .checks import TO_MODELS, AnswerUnderCheck, check_first_verdict, check_message, check_note
from .parsing import parse_fields
from .schemas import MOST, answer_schema, bounded, schema_of
from .wording import clean_text

LONGEST_CONTENT, LONGEST_REASONING, LONGEST_CLAIM = 4000, 2000, 200
LONGEST_TITLE, LONGEST_CELL, LONGEST_WORDS = 120, 200, 500
MAX_PROBLEMS = 5
_SAID = LONGEST_CONTENT + LONGEST_REASONING
LONGEST = {"message": _SAID + MOST["points"] * LONGEST_CLAIM + LONGEST_CONTENT, "closing": _SAID}


@dataclass(frozen=True)
class DebateAnswer:
    """An answer with seats instead of names (`to`: empty for everyone). `verdict`: an option, ABSTAIN, or empty for
    "as before"; then `reasoning` and `moved_by` are empty too. `confidence`: of a first verdict only."""

    content: str = ""
    to: tuple[int, ...] = ()
    wants_answer: bool = False
    points: tuple[PromptPoint, ...] = ()
    artifact: PromptArtifact | None = None
    verdict: str = ""
    reasoning: str = ""
    moved_by: tuple[int, ...] = ()
    withdrawn: bool = False
    confidence: int | None = None


class AnswerSpec(NamedTuple):
    """Arguments of the engine's answer format, with the same names. `longest`: characters of all its texts."""

    name: str
    schema: dict[str, Any]
    read: Callable[[str], Any]
    preview: Callable[[str], str]
    complaint: Callable[[str], str]
    said: Callable[[Any], Iterable[str]]
    instructions: Callable[[Sequence[Mapping[str, str]]], str]
    longest: int
    exact_schema: dict[str, Any] | None = None


def message_spec(table: PromptContext, turn: TurnState) -> AnswerSpec:
    """Return the format of a message in this turn, or of a closing."""
    name = "closing" if turn.why == TurnReason.CLOSING else "message"
    schema, read = answer_schema(table, turn), partial(read_answer, table, turn)
    return AnswerSpec(
        name, schema, read, preview, retry_message, own_texts, instructions, LONGEST[name], bounded(schema)
    )


def first_verdict_spec(table: PromptContext, seat: int) -> AnswerSpec:
    schema, read = schema_of(system_prompts.FIRST, table, seat, decides=True), partial(read_first, table, seat)
    shown, longest = partial(preview, field="verdict_reasoning"), LONGEST_REASONING
    return AnswerSpec("first", schema, read, shown, retry_message, own_texts, instructions, longest)


def timekeeper_spec(table: PromptContext, seat: int, stated: str) -> AnswerSpec:
    """Return the format of a note's wording. `stated`: the sentences without a model."""
    schema = schema_of(system_prompts.FORMS[table.seats[seat].kind], table, seat, decides=False)
    read, shown = partial(read_words, table, stated), partial(preview, field="words")
    return AnswerSpec(
        "timekeeper", schema, read, shown, retry_message, lambda words: (words,), instructions, LONGEST_WORDS
    )


def own_texts(answer: DebateAnswer) -> Iterable[str]:
    """Return the member's own texts in all fields."""
    shown = answer.artifact.text if answer.artifact else ""
    claims = (point.claim for point in answer.points)
    return but_for((answer.content, answer.reasoning, shown, *claims), MAY_BE_SAID)


MAY_BE_SAID = ("I have a verdict and nothing to add.", "That others agree is not a reason.")  # in exactly these words
_OTHERS = re.compile(r"<(Material|Message|Note|Minutes|Facts)\b.*?</\1>", re.DOTALL)


def instructions(messages: Sequence[Mapping[str, str]]) -> str:
    """Return the instructions of a request without others' texts: repeating those, or the facts, is a matter of the
    debate's rules."""
    ours = ({**one, "content": _OTHERS.sub("\n", one["content"])} for one in messages if one["role"] != "system")
    return instructions_of([*(one for one in messages if one["role"] == "system"), *ours])


def preview(text: str, field: str = "content") -> str:
    """Return the text in an answer that is still arriving; empty while there is none."""
    return clean_text(growing(text, (field,)), LONGEST_CONTENT)


def retry_message(problem: str) -> str:
    """Return the message that asks the model again after an unusable answer."""
    return (
        f"Your last answer could not be used: {problem} Answer again with exactly one JSON object in the form that you "
        "were asked for, and nothing else."
    )


# ---- reading ----------------------------------------------------------------------------------------------


def read_answer(table: PromptContext, turn: TurnState, text: str, says: Mapping[str, str] = TO_MODELS) -> DebateAnswer:
    """Parse an answer. Raises ValueError with a sentence for each problem.

    Texts are trimmed and cut at their limits, and control characters become visible; the model call keeps the text
    unchanged. The verdict of a challenge is left out, and so is an unchanged one without a new reason. `says`: the
    sentences for models or for people.
    """
    fields = (
        system_prompts.CLOSING if turn.why == TurnReason.CLOSING else system_prompts.FORMS[table.seats[turn.seat].kind]
    )
    given = AnswerUnderCheck(table, turn, parse_fields(text, fields), says)
    _refuse(check_message(given))
    verdict = given.verdict
    return DebateAnswer(
        content=clean_text(given["content"], LONGEST_CONTENT),
        to=_seats(table, given["speaking_to"]),
        wants_answer=given["expects_answer"],
        points=tuple(_point(point) for point in given["points"]),
        artifact=_artifact(given["artifact"]),
        verdict=verdict,
        reasoning=clean_text(given["verdict_reasoning"], LONGEST_REASONING) if verdict else "",
        moved_by=tuple(given.moved_by) if verdict and verdict != given.before else (),
        withdrawn=given["withdrawn"],
    )


def read_first(table: PromptContext, seat: int, text: str) -> DebateAnswer:
    """Parse a first verdict: `verdict`, `reasoning` and `confidence`. Raises ValueError."""
    given = parse_fields(text, system_prompts.FIRST)
    _refuse(check_first_verdict(table, given))
    reasoning = clean_text(given["verdict_reasoning"], LONGEST_REASONING)
    return DebateAnswer(verdict=given["verdict"], reasoning=reasoning, confidence=given["confidence"])


def read_words(table: PromptContext, stated: str, text: str) -> str:
    """Parse a timekeeper model's wording of the stated sentences. Raises ValueError."""
    said = clean_text(parse_fields(text, ("words",))["words"], LONGEST_WORDS)
    _refuse(check_note(table, stated, said))
    return said


def _refuse(problems: Iterable[str]) -> None:
    if found := list(dict.fromkeys(problems)):
        raise ValueError(" ".join(found[:MAX_PROBLEMS]))


def _seats(table: PromptContext, names: Sequence[str]) -> tuple[int, ...]:
    if EVERYONE in names:
        return ()
    return tuple(seat for seat, name in table.names.items() if name in names)


def _point(point: Any) -> PromptPoint:
    claim = clean_text(point.claim, LONGEST_CLAIM)
    return PromptPoint(claim, point.option, point.side, point.document, point.line, point.answers)


def _artifact(given: Any) -> PromptArtifact | None:
    """Return the artifact, or None if it is empty."""
    if given is None or not (given.text.strip() or given.columns):
        return None
    title = clean_text(given.title, LONGEST_TITLE)
    if given.kind == AnswerShape.TEXT:
        return PromptArtifact(title, given.kind, clean_text(given.text, LONGEST_CONTENT))
    return PromptArtifact(
        title, given.kind, columns=_cells(given.columns), rows=tuple(_cells(row) for row in given.rows)
    )


def _cells(cells: Sequence[str]) -> tuple[str, ...]:
    return tuple(clean_text(cell, LONGEST_CELL) for cell in cells)
