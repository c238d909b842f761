"""Rehearsal of a debate: a stated rule instead of a model, so that it runs without a key.

1. A member prefers the option whose meaning shares the most words with its description and the question; a small
   checksum is added, so that members differ.
2. Its first message cites a line of a document, chosen by checksum. By its second it states a verdict.
3. It argues in turn for its own option and against that of the last member who supports another one, and asks it.
4. Two points against its option that cite a document, heard since it stated the option, change it one time in three, to
   the option of the last of those members; it names both.
5. Every eighth message has a table of all positions. After its fifth message a member withdraws one time in three.
6. Every seventeenth message is cut, if it is long enough, so that its continuation can be watched.

Everything is read back from the request, so that the same request always has the same answer.
"""

import json
import re
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any
from xml.sax.saxutils import unescape

from engine.llm.own_words import words

from .prompt_context import EVERYONE, AnswerShape, PointSide, PromptPoint
from .prompts.continuation import FEWEST_WORDS
from .prompts.wording import word_overlap
from .rehearsal_parser import ParsedLine, ParsedPrompt, parse_prompt
from .rules.state import ABSTAIN, TurnReason
from .xml_messages import XmlMessage, number_of, unescape_scaffold

MIN_MESSAGES_BEFORE_LEAVING = 5  # messages before a member may withdraw
TABLE_EVERY, CUT_EVERY, ONE_IN = 8, 17, 3
QUOTED = 10  # words of a quoted line
LONGEST_NOTE = 400
NEW = 0.4  # share of a text that may repeat an earlier one, well below the limit that is refused

Conversation = list[dict[str, str]]


def message(messages: Conversation) -> str:
    """Return the answer in a turn, or the rest of a cut answer."""
    begun = messages[-2]["content"] if messages[-1]["content"].startswith("Your message was cut off after") else ""
    answer = RehearsedMember(parse_prompt(messages[:-2] if begun else messages)).answer
    if begun:
        answer["content"] = answer["content"].removeprefix(json.loads(begun)["content"]).strip()
    return _json(answer)


def continue_message(messages: Conversation) -> str:
    """Return the received part of an answer that is cut; empty if it is not cut."""
    if messages[-1]["role"] != "user" or messages[-1]["content"].startswith("Your message was cut off after"):
        return ""
    told = parse_prompt(messages)
    said = RehearsedMember(told).answer["content"].split(" ")
    if told.number % CUT_EVERY or len(said) < FEWEST_WORDS + 2:
        return ""
    whole = RehearsedMember(told).answer | {"content": " ".join(said[: FEWEST_WORDS + 1])}
    fields = list(whole)[: list(whole).index("content") + 1]
    return _json({field: whole[field] for field in fields}).removesuffix('"}')


def first(messages: Conversation) -> str:
    rehearsed = RehearsedMember(parse_prompt(messages))
    sure = 50 + rehearsed.checksum("sure") % 46
    return _json({"verdict_reasoning": rehearsed.leans_because, "verdict": rehearsed.leaning, "confidence": sure})


def closing(messages: Conversation) -> str:
    rehearsed = RehearsedMember(parse_prompt(messages))
    told = rehearsed.heard
    verdict = told.position or rehearsed.leaning
    because = "Nothing that was said since has changed it." if told.position else rehearsed.leans_because
    content = f"My last word, before message {told.number}, is {verdict}. {because}"
    return _json({"content": content, "verdict": verdict, "verdict_reasoning": because, "moved_by": []})


def timekeeper(messages: Conversation) -> str:
    """Return as many of the stated sentences as fit."""
    told = unescape_scaffold(
        unescape(messages[-1]["content"].rpartition("<Facts>")[2].removesuffix("</Facts>"), {"&quot;": '"'})
    )
    kept = list(accumulate(re.split(r"(?<=[.!?])\s+", told), lambda before, one: f"{before} {one}"))
    return _json({"words": next((said for said in reversed(kept) if len(said) <= LONGEST_NOTE), "So it stands.")})


def _json(answer: dict[str, Any]) -> str:
    return json.dumps(answer, ensure_ascii=False)


@dataclass(frozen=True)
class RehearsedMember:
    """The parts of a member's message, computed by the rule."""

    heard: ParsedPrompt

    def checksum(self, *of: object) -> int:
        parts = [self.heard.me, self.heard.who, *map(str, of)]
        return zlib.crc32("\0".join(parts).encode(errors="surrogatepass"))

    @cached_property
    def answer(self) -> dict[str, Any]:
        told = self.heard
        stated = "" if told.why == TurnReason.CHALLENGE else self.stated
        known = {
            "speaking_to": [self.partner or EVERYONE],
            "expects_answer": self.asks,
            "content": self.content,
            "points": [dict(vars(self.point))],
            "artifact": self.where_all_stand if told.number % TABLE_EVERY == 0 else None,
            "verdict": stated,
            "verdict_reasoning": self.because if stated else "",
            "moved_by": [said.number for said, _ in self.moving] if stated else [],
            "withdrawn": self.withdraws,
        }
        return {field: known[field] for field in told.fields}

    # ---- which verdict ------------------------------------------------------------------------------------

    @cached_property
    def leaning(self) -> str:
        return max(self.heard.options, key=lambda option: (self._weight(option), self.checksum(option)))

    def _weight(self, option: str) -> int:
        return len(self._shared(option)) + self.checksum("leaning", option) % 3

    def _shared(self, option: str) -> list[str]:
        own = _stems(f"{self.heard.who} {self.heard.material.question}")
        meant = _stems(f"{option} {self.heard.material.meanings.get(option, '')}")
        return [word for stem, word in meant.items() if stem in own]

    @property
    def leans_because(self) -> str:
        shared = ", ".join(f"“{word}”" for word in self._shared(self.leaning)[:3])
        if shared:
            return f"What I look at and what {self.leaning} means have words in common: {shared}."
        return f"No word of what I look at speaks for an option, and so a checksum has chosen {self.leaning}."

    @cached_property
    def moving(self) -> Sequence[tuple[XmlMessage, PromptPoint]]:
        """Points, with their messages, that make the member change its verdict; empty if it does not."""
        against = [
            (said, point) for said in self.heard.fresh for point in said.points if self._contradicts(said, point)
        ]
        moved = len(against) > 1 and self.checksum("moved", self.heard.number) % ONE_IN == 0
        return against[-2:] if moved and self.heard.why != TurnReason.CHALLENGE and self._other(against[-1][0]) else []

    def _contradicts(self, said: XmlMessage, point: PromptPoint) -> bool:
        against = point.side == PointSide.AGAINST and point.option == self.heard.position
        return against and bool(point.document) and said in self.heard.others

    def _other(self, said: XmlMessage) -> bool:
        return said.verdict in self.heard.options and said.verdict != self.heard.position

    @cached_property
    def stated(self) -> str:
        """The verdict that this message states; empty for "as before"."""
        if self.moving:
            return self.moving[-1][0].verdict
        due = self.heard.spoken > 0 or self.heard.why == TurnReason.ROLL_CALL
        return self.leaning if due and not self.heard.position else ""

    @property
    def because(self) -> str:
        if not self.moving:
            return self.leans_because
        (one, _), (other, _) = self.moving
        where = f"message {one.number}" if one is other else f"messages {one.number} and {other.number}"
        against = f"The points in {where} cite the documents against {self.heard.position}"
        return f"{against}, and that leads me to {self.stated}."

    @cached_property
    def verdict(self) -> str:
        return self.stated or self.heard.position

    @cached_property
    def withdraws(self) -> bool:
        may = (
            self.verdict
            and not self.stated
            and self.heard.spoken >= MIN_MESSAGES_BEFORE_LEAVING
            and self.heard.why != TurnReason.CHALLENGE
        )
        return bool(may) and self.checksum("withdraws", self.heard.number) % ONE_IN == 0

    # ---- recipient and attachments ------------------------------------------------------------------------

    @cached_property
    def opponent(self) -> XmlMessage | None:
        """The last message of a member who supports another option."""
        lively = [said for said in self.heard.others if said.verdict in self.heard.options and not said.withdrawn]
        return next((said for said in reversed(lively) if self.verdict and said.verdict != self.verdict), None)

    @cached_property
    def partner(self) -> str:
        asker = unescape_scaffold(self.heard.floor.get("asked_by", ""))
        return asker if asker in self.heard.names else self.opponent.speaker if self.opponent else ""

    @cached_property
    def asks(self) -> bool:
        """Return whether to ask a question back: a reply to a question has none."""
        return (
            bool(self.opponent)
            and self.heard.why not in (TurnReason.REPLY, TurnReason.CHALLENGE)
            and not self.withdraws
        )

    @cached_property
    def point(self) -> PromptPoint:
        option, side = self._about
        answers = next((number_of(said.number, 1) for said in reversed(self.heard.fresh) if self._answers(said)), "")
        if not self.line:
            claim = f"An assumption, for no document says it: {option} is what message {self.heard.number} is about."
            return PromptPoint(claim, option, side, answers=answers)
        claim = f"Line {self.line.number} of {self.line.document} says: {self.quote}"
        return PromptPoint(claim, option, side, self.line.document, self.line.number, answers)

    def _answers(self, said: XmlMessage) -> bool:
        return said in self.heard.others and bool(said.points) and said.speaker == self.partner

    @cached_property
    def _about(self) -> tuple[str, str]:
        own = self.verdict if self.verdict in self.heard.options else self.leaning
        if self.heard.why == TurnReason.CHALLENGE:
            return own, PointSide.AGAINST
        if self.opponent and not self.stated and self.checksum("about", self.heard.number) % 2:
            return self.opponent.verdict, PointSide.AGAINST
        return own, PointSide.FOR

    @cached_property
    def line(self) -> ParsedLine | None:
        lines = [line for line in self.heard.material.lines if len(words(line.text)) > 1]
        return lines[(self.checksum("line") + self.heard.number) % len(lines)] if lines else None

    @property
    def quote(self) -> str:
        said = self.line.text.split() if self.line else []
        return " ".join(said[:QUOTED]) + (" …" if len(said) > QUOTED else "")

    @property
    def where_all_stand(self) -> dict[str, Any]:
        stand = Counter(verdict for verdict in self.heard.positions.values() if verdict)
        rows = [[option, str(stand[option])] for option in (*self.heard.options, ABSTAIN)]
        return {
            "title": "Where we stand",
            "kind": AnswerShape.BARS,
            "text": "",
            "columns": ["Verdict", "Members"],
            "rows": rows,
        }

    # ---- in words -----------------------------------------------------------------------------------------

    @cached_property
    def content(self) -> str:
        """Message text; short if the full one would repeat an earlier message, as short documents have few lines."""
        sentences = [self._beginning, self._argument, self._position, self._end]
        whole, number = " ".join(filter(None, sentences)), self.heard.number
        before = [said.content for said in self.heard.others if not self.heard.me]
        before += [answer["content"] for answer in self.heard.own]
        if all(word_overlap(words(whole), words(one)) < NEW for one in before):
            return whole
        source = f"line {self.line.number} of {self.line.document}" if self.line else "what I said before"
        return f"Message {number} comes back to {source}. {self._position}"

    @property
    def _beginning(self) -> str:
        number = self.heard.number
        if self.heard.why == TurnReason.CHALLENGE:
            return f"Somebody has to say it, so let message {number} speak against what we all believe."
        if self.heard.why == "continuing":
            return f"And in message {number} there is more to say."
        if self.heard.why == TurnReason.ASKED:
            return f"The chair asks, and message {number} is what I have to say."
        if said := next((one for one in reversed(self.heard.others) if one.speaker == self.partner), None):
            return self._one_of(
                f"This is my answer to what you said in message {said.number}, {said.speaker}.",
                f"{said.speaker}, I have gone through your message {said.number} once more.",
                f"Your message {said.number}, {said.speaker}, is why I speak now.",
            )
        return f"Nobody has spoken against me yet, so message {number} begins with what there is to read."

    @property
    def _argument(self) -> str:
        point, number = self.point, self.heard.number
        if not self.line:
            return f"{point.claim} I hold it to speak {point.side} that option."
        source = f"line {point.line} of {point.document}"
        return f"My point {number}.1 is {source}: “{self.quote}” To me this speaks {point.side} {point.option}."

    @property
    def _position(self) -> str:
        number = self.heard.number
        if self.heard.why == TurnReason.CHALLENGE:
            return f"What I stand by myself is after message {number} what it was before."
        if self.stated:
            return f"{self.because} From message {number} on I stand by {self.stated}."
        if self.heard.position:
            return self._one_of(
                f"So message {number} leaves me where I was, with {self.heard.position}.",
                f"Before message {number} I stood by {self.heard.position}, and I still do.",
                f"After message {number}, as before it, I stand by {self.heard.position}.",
            )
        return f"Message {number} is too early for a verdict of mine."

    def _one_of(self, *sentences: str) -> str:
        return sentences[self.checksum("words", self.heard.number) % len(sentences)]

    @property
    def _end(self) -> str:
        if self.withdraws:
            return f"I have nothing to add after message {self.heard.number} and withdraw."
        return f"What do you say to {self.heard.number}.1, {self.partner}?" if self.asks else ""


def _stems(text: str) -> dict[str, str]:
    """Return words of at least four letters by their first five."""
    return {word[:5]: word for word in words(text) if len(word) > 3}
