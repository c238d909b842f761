"""Checks of answers with the right form. Each problem is a sentence that is sent back to the model or person."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from engine.llm.own_words import words

from ..prompt_context import EVERYONE, AnswerShape, PointSide, PromptContext, PromptView
from ..rules.state import ABSTAIN, MOVING, MessageState, TurnReason, TurnState
from .parsing import quoted, shorten
from .schemas import addressees
from .timekeeper_notes import must_decide
from .wording import join_names, word_overlap

TO_MODELS = {
    "empty": "The message says nothing: its content has less than two words.",
    "undecided": "You have no verdict yet. State one of {options} or {abstain}, and say why.",
    "unreasoned": "You state the verdict {verdict} without a reason. Say why, in two words or more, in "
    "verdict_reasoning.",
    "own": "Message {number} is your own; moved_by names messages of others.",
    "unheard": "You have heard no message {number} of another member; moved_by names only such.",
}
TO_PEOPLE = {
    "empty": "Write what you want to say, in two words or more.",
    "undecided": "You have no verdict yet. Choose one, or that you abstain, and write why.",
    "unreasoned": "You change your verdict without a reason. Say why, in two words or more.",
    "own": "Message {number} is your own; only those of others can have moved you.",
    "unheard": "You have heard no message {number} of another member; only such can have moved you.",
}
"""Sentences on the same problems: for models, which know the names of the fields, and for people."""

MOST_POINTS, MOST_ROWS, MOST_CELLS = 3, 20, 6
MIN_WORDS = 2
MAX_OVERLAP = 0.5

_NONE: dict[str, Any] = {
    "speaking_to": (),
    "expects_answer": False,
    "content": "",
    "points": (),
    "artifact": None,
    "verdict": "",
    "verdict_reasoning": "",
    "moved_by": (),
    "withdrawn": False,
}


@dataclass(frozen=True)
class AnswerUnderCheck:
    """The fields of one answer, with the debate and the turn."""

    table: PromptContext
    turn: TurnState
    fields: dict[str, Any]
    says: Mapping[str, str] = field(default_factory=lambda: TO_MODELS)

    def told(self, problem: str, **known: Any) -> str:
        return self.says[problem].format(**known)

    def __getitem__(self, field: str) -> Any:
        return self.fields.get(field, _NONE[field])

    @property
    def before(self) -> str:
        """The member's verdict so far."""
        return self.table.course.verdict_of.get(self.turn.seat, "")

    @property
    def reasoned(self) -> bool:
        return len(words(self["verdict_reasoning"])) >= MIN_WORDS

    @property
    def verdict(self) -> str:
        """The stated verdict; an unchanged one without a reason is "as before"."""
        stated = "" if self.turn.why == TurnReason.CHALLENGE else self["verdict"]
        return "" if stated == self.before and not self.reasoned else stated

    @property
    def moved_by(self) -> list[int]:
        """The named messages. In the minutes view members do not know their own messages, so these are dropped
        without an error."""
        own = {one.number for one in self.own} if self.table.view == PromptView.MINUTES else set()
        return [number for number in dict.fromkeys(self["moved_by"]) if number not in own]

    @property
    def own(self) -> Sequence[MessageState]:
        return [message for message in self.table.course.messages if message.seat == self.turn.seat]


def check_message(given: AnswerUnderCheck) -> Iterator[str]:
    yield from _content(given)
    yield from _addressees(given)
    yield from _points(given)
    yield from _artifact(given["artifact"])
    yield from _verdict(given)
    yield from _moved_by(given)
    if given["withdrawn"] and not (given.verdict or given.before):
        yield "You can withdraw only with a verdict or an abstention: state one, or stay."


def _content(given: AnswerUnderCheck) -> Iterator[str]:
    said = words(given["content"])
    if len(said) < MIN_WORDS:
        yield given.told("empty")
    elif given.turn.why != TurnReason.CLOSING and (number := _said_before(given, said)):
        yield f"You have said this in message {number}. Say what is new, or withdraw."


def _said_before(given: AnswerUnderCheck, said: Sequence[str]) -> int | None:
    before = ((one.number, words(given.table.words[one.number].content)) for one in reversed(given.own))
    return next((number for number, old in before if word_overlap(said, old) > MAX_OVERLAP), None)


def _addressees(given: AnswerUnderCheck) -> Iterator[str]:
    known = addressees(given.table, given.turn.seat)
    for name in given["speaking_to"]:
        if name not in known:
            yield f"You cannot speak to {quoted(name)}. Name one or more of {join_names(known[:-1])}, or {EVERYONE}."


# ---- points and artifact ----------------------------------------------------------------------------------


def _points(given: AnswerUnderCheck) -> Iterator[str]:
    points = given["points"]
    if len(points) > MOST_POINTS:
        yield f"A message has at most {MOST_POINTS} points; yours has {len(points)}."
    for point in points[:MOST_POINTS]:
        yield from _point(given.table, point)


def _point(table: PromptContext, point: Any) -> Iterator[str]:
    if len(words(point.claim)) < MIN_WORDS:
        yield "A point claims nothing: its claim has less than two words."
    if point.option not in table.words_of_options:
        options = join_names(table.words_of_options)
        yield f"{quoted(point.option)} of a point is none of the options. These are {options}."
    if point.side not in list(PointSide):
        yield f"The side of a point is “for” or “against”, not {quoted(point.side)}."
    if point.answers and point.answers not in table.points:
        yield f"There is no point {quoted(point.answers)} to answer."
    yield from _source(table, point.document, point.line)


def _source(table: PromptContext, document: str, line: int) -> Iterator[str]:
    lines = {one.id: len(one.lines) for one in table.documents}
    if document and document not in lines:
        these = f"There are {join_names(list(lines))}." if lines else "There is none."
        yield f"There is no document {quoted(document)}. {these}"
    elif document and not 0 <= line <= lines[document]:
        yield f"{document} has {lines[document]} lines; you cited line {shorten(line)}."
    elif line and not document:
        yield f"You cited line {shorten(line)}, but no document."


def _artifact(artifact: Any) -> Iterator[str]:
    if artifact is None:
        return
    if artifact.kind not in list(AnswerShape):
        yield f"An artifact is a “text”, a “table” or “bars”, not {quoted(artifact.kind)}."
    elif artifact.kind != AnswerShape.TEXT and (artifact.columns or artifact.rows):
        yield from _table(artifact.columns, artifact.rows, artifact.kind == AnswerShape.BARS)


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]], bars: bool) -> Iterator[str]:
    if len(rows) > MOST_ROWS or len(columns) > MOST_CELLS:
        yield f"A table has at most {MOST_ROWS} rows of {MOST_CELLS} cells; yours has {len(rows)} of {len(columns)}."
    elif not columns or any(len(row) != len(columns) for row in rows):
        yield "Each row of a table has one cell for each of its columns."
    elif bars and not (rows and len(columns) > 1 and all(cited_number(row[-1]) is not None for row in rows)):
        yield "A table that is drawn as bars has a number in the last of its columns, in every row."


_NUMBER = re.compile(r"([-+−]?)(\d{1,3}(?:[, ']\d{3})+|\d+)(?:[.,](\d+))?\s*%?", re.ASCII)


def cited_number(cell: str) -> float | None:
    """Return the number in a table cell that is drawn as a bar, or None.

    Thousands may be separated by commas, blanks or apostrophes. A point or comma after the last separator begins the
    decimals, so that 1,500 is fifteen hundred and 1,5 one and a half.
    """
    found = _NUMBER.fullmatch(cell.strip())
    if not found:
        return None
    sign, whole, decimals = found.groups()
    number = float(f"{re.sub('[^0-9]', '', whole)}.{decimals or 0}")
    return -number if sign in ("-", "−") else number


# ---- verdicts ---------------------------------------------------------------------------------------------


def _verdict(given: AnswerUnderCheck) -> Iterator[str]:
    stated, options = given["verdict"], given.table.words_of_options
    if given.turn.why == TurnReason.CHALLENGE:
        return
    if stated and stated not in (*options, ABSTAIN):
        yield f"{quoted(stated)} is none of the options. A verdict is {join_names(options, ',')} or {ABSTAIN}."
    elif not stated and must_decide(given.table, given.turn):
        yield given.told("undecided", options=", ".join(options), abstain=ABSTAIN)
    elif stated and stated != given.before and not given.reasoned:
        yield given.told("unreasoned", verdict=stated)


def _moved_by(given: AnswerUnderCheck) -> Iterator[str]:
    heard = {one.number for one in given.table.read_messages(given.turn) if one.sort in MOVING}
    own = {one.number for one in given.own}
    for number in given.moved_by:
        if number in own:
            yield given.told("own", number=number)
        elif number not in heard:
            yield given.told("unheard", number=shorten(number))


def check_first_verdict(table: PromptContext, fields: dict[str, Any]) -> Iterator[str]:
    if fields["verdict"] not in (*table.words_of_options, ABSTAIN):
        said = f"{quoted(fields['verdict'])} is none of the options." if fields["verdict"] else "There is no verdict."
        yield f"{said} State one of {', '.join(table.words_of_options)} or {ABSTAIN}, and say why."
    if len(words(fields["verdict_reasoning"])) < MIN_WORDS:
        yield "The verdict has no reason: verdict_reasoning has less than two words."
    if not 0 <= fields["confidence"] <= 100:
        yield "The confidence is a number from 0 to 100."


def check_note(table: PromptContext, stated: str, said: str) -> Iterator[str]:
    """Yield problems of a note. It may name an option only in the stated sentences that do so."""
    if len(words(said)) < MIN_WORDS:
        yield "The note says nothing: it has less than two words."
    own = said
    for sentence in re.split(r"(?<=[.!?])\s+", stated):
        own = own.replace(sentence, " ")
    found = words(own)
    for option in table.words_of_options:
        if _stands_in(words(option), found):
            yield f"The note names the option {option}; a timekeeper names none."


def _stands_in(sought: Sequence[str], found: Sequence[str]) -> bool:
    places = range(len(found) - len(sought) + 1)
    return bool(sought) and any(list(sought) == list(found[place : place + len(sought)]) for place in places)
