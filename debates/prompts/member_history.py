"""The debate from one member's view: its own messages as assistant messages, all else as user messages.

Messages since the beginning of the previous span are in full. Older ones become lines of minutes, by rule; only a
member's own last messages of that time and those of the chair stay in full. So the border moves only at a deadline,
and twenty requests in a row share their beginning. For a model with too little room the border moves earlier, ten
messages at a time, and then the oldest lines are dropped, twenty at a time. Which ones depends on the messages alone,
and the prompt says so.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from engine.text.invisible_chars import visible_json

from .. import xml_messages
from ..prompt_context import EVERYONE, MessageWords, NoteFacts, PromptContext, PromptPoint, PromptView
from ..rules.state import SPAN, MessageState, StatementKind, TurnState
from ..xml_messages import element, inner_text, number_of, wrapped
from . import system_prompts, timekeeper_notes
from .short import WHOLE, Short

LINE_LENGTH = 150  # characters of a line, if its numbers and names leave room for claims
NAME, OPTION, CLAIM = 30, 20, 12  # maximum characters of a name and an option, minimum of a claim
MAX_MOVED_BY = 4


def summary_line(shown: xml_messages.XmlMessage | xml_messages.XmlNote, changed: bool) -> str:
    if isinstance(shown, xml_messages.XmlNote):
        return f"{shown.number} {_cut(shown.speaker, NAME)}: {shown.kind}"
    head = f"{shown.number} {_cut(shown.speaker, NAME)}: "
    tail = "".join(_tail(shown, changed))
    return head + _said(shown, LINE_LENGTH - len(head) - len(tail)) + tail


def _tail(shown: xml_messages.XmlMessage, changed: bool) -> Sequence[str]:
    moved = " ".join(map(str, shown.moved_by[:MAX_MOVED_BY])) + (" …" if len(shown.moved_by) > MAX_MOVED_BY else "")
    now = f" | now {_cut(shown.verdict, OPTION)}{f', moved by {moved}' if moved else ''}" if changed else ""
    return [now, " | withdraws" if shown.withdrawn else ""]


def _said(shown: xml_messages.XmlMessage, room: int) -> str:
    if not shown.points:
        return _cut(shown.content, max(CLAIM, room))
    heads = [_head(point, number_of(shown.number, place)) for place, point in enumerate(shown.points, 1)]
    each = (room - sum(map(len, heads)) - 2 * (len(heads) - 1)) // len(heads)
    points = zip(heads, shown.points, strict=True)
    return "; ".join(f"{head}{_cut(point.claim, max(CLAIM, each))}" for head, point in points)


def _head(point: PromptPoint, number: str) -> str:
    source = f" ({point.document}{f':{point.line}' if point.line else ''})" if point.document else ""
    answers = f" re {point.answers}" if point.answers else ""
    return f"{number}{answers} {point.side} {_cut(point.option, OPTION)}{source} "


def _cut(text: str, room: int) -> str:
    """Return the escaped text with at most `room` characters; one character stands for what is left out."""
    shown = inner_text(text[:room])
    if len(text) <= room and len(shown) <= room:
        return shown
    kept = next(length for length in range(min(room, len(text)), -1, -1) if len(inner_text(text[:length])) < room)
    return f"{inner_text(text[:kept]).rstrip()}…"


MAX_OWN_MESSAGES, OWN_OLDER_SHORT = 4, 1
SHORTER, LINES_GONE, NEWEST = 10, 20, 3  # messages; this number of the newest is in full in any case

Conversation = list[dict[str, str]]


@dataclass(frozen=True)
class PromptPart:
    """`role` of a message of the request. `own`: the number of the member's own message that this is or ends with."""

    role: str
    text: str
    own: int | None = None
    line: bool = False


def member_messages(
    table: PromptContext, turn: TurnState, continues: int | None = None, short: Short = WHOLE
) -> Conversation:
    """Return the request for one turn of a debate or its closing. `continues`: the message that it is part two of."""
    heard = table.read_messages(turn)
    told = [PromptPart("user", case_material(table)), *_history(table, turn.seat, heard, short)]
    return _conversation(
        table, turn.seat, [*told, PromptPart("user", timekeeper_notes.floor_sentence(table, turn, continues, short))]
    )


def in_room(
    table: PromptContext, turn: TurnState, continues: int | None, fits: Callable[[Conversation], bool]
) -> tuple[Conversation, Short]:
    """Return the longest request for this turn that fits, or the shortest one."""

    def asked(short: Short) -> Conversation:
        return member_messages(table, turn, continues, short)

    if fits(whole := asked(WHOLE)):
        return whole, WHOLE
    ways = [*shorter(table, table.read_messages(turn))] or [WHOLE]
    short = ways[min(bisect_left(ways, True, key=lambda way: fits(asked(way))), len(ways) - 1)]
    return asked(short), short


def shorter(table: PromptContext, heard: Sequence[MessageState]) -> Iterator[Short]:
    """Yield all ways to shorten the history, each shorter than the one before."""
    usual, near = max(1, _begins(table, heard)), (heard[-1].number if heard else 0) - NEWEST + 1
    if near <= usual:
        return
    borders = [number for number in range(SHORTER + 1, near, SHORTER) if number > usual]
    yield from (Short(number) for number in borders)
    begins, gone = borders[-1] if borders else near, [*range(LINES_GONE, near, LINES_GONE)]
    yield from (Short(begins, number) for number in gone if number < begins)
    yield Short(near, gone[-1] if gone else 0)
    yield Short(near, near - 1)


def first_verdict_messages(table: PromptContext, seat: int) -> Conversation:
    """Return the request for a first verdict, before any message."""
    return _conversation(
        table,
        seat,
        [PromptPart("user", case_material(table)), PromptPart("user", timekeeper_notes.first_verdict_sentence(table))],
    )


def timekeeper_messages(table: PromptContext, seat: int, kind: str, facts: NoteFacts) -> Conversation:
    """Return the request for the wording of a note: the facts and the question, without messages."""
    fields = system_prompts.FORMS[table.seats[seat].kind]
    system = system_prompts.LAYERS[table.seats[seat].kind].format(form=system_prompts.describe_fields(fields))
    told = timekeeper_notes.note_sentences(kind, facts, table.names)
    user = _between(table, [element("Question", table.question)]) + "\n" + element("Facts", told)
    return [{"role": "system", "content": system}, {"role": "user", "content": user}]


def _conversation(table: PromptContext, seat: int, parts: Sequence[PromptPart]) -> Conversation:
    system = {"role": "system", "content": system_prompts.system_messages(table, seat)}
    return [system, *({"role": role, "content": text} for role, text in _merged(parts))]


def _merged(parts: Sequence[PromptPart]) -> Iterator[tuple[str, str]]:
    """Yield neighbours of one role as one message, so that the roles alternate."""
    for role, neighbours in groupby(parts, key=lambda part: part.role):
        yield role, "\n".join(part.text for part in neighbours)


# ---- the material -----------------------------------------------------------------------------------------


def case_material(table: PromptContext) -> str:
    options = [element("Option", option.meaning, word=option.word) for option in table.options]
    documents = [_document(document.id, document.title, document.lines) for document in table.documents]
    return _between(table, [element("Question", table.question), *options, *documents])


def _between(table: PromptContext, elements: Sequence[str]) -> str:
    inner = wrapped("Material", "\n" + "".join(f"{one}\n" for one in elements))
    return f"BEGIN MATERIAL {table.boundary}\n{inner}\nEND MATERIAL {table.boundary}"


def _document(name: str, title: str, lines: Iterable[str]) -> str:
    numbered = "".join(f"{number}: {inner_text(text)}\n" for number, text in enumerate(lines, 1))
    return wrapped("Document", "\n" + numbered, id=name, title=title)


# ---- messages ---------------------------------------------------------------------------------------------


def _history(table: PromptContext, seat: int, heard: Sequence[MessageState], short: Short) -> Iterator[PromptPart]:
    bridged = _bridged(_joined(table, _parts(table, seat, heard, short)))
    for is_line, group in groupby(bridged, key=lambda part: part.line):
        parts = list(group)
        yield from [PromptPart("user", _minutes(parts))] if is_line else parts


def _parts(table: PromptContext, seat: int, heard: Sequence[MessageState], short: Short) -> list[PromptPart]:
    standing = full_history(table, seat, heard, short)
    return [
        _part(table, seat, message, shown, standing)
        for message, shown in zip(heard, elements(table, heard), strict=True)
        if message.number > short.gone or message.sort == StatementKind.CHAIR
    ]


def _minutes(lines: Iterable[PromptPart]) -> str:
    return wrapped("Minutes", "\n" + "".join(f"{part.text}\n" for part in lines))


def full_history(table: PromptContext, seat: int, heard: Sequence[MessageState], short: Short = WHOLE) -> set[int]:
    """Return the messages that are in full."""
    begins = max(_begins(table, heard), short.begins)
    recent = {message.number for message in heard if message.number >= begins or message.sort == StatementKind.CHAIR}
    own = OWN_OLDER_SHORT if short.begins else MAX_OWN_MESSAGES
    found = recent | (_own_older(seat, heard, begins, own) if table.view == PromptView.PERSPECTIVE else set())
    chair = {message.number for message in heard if message.sort == StatementKind.CHAIR}
    return {number for number in found if number > short.gone} | chair


def lines(table: PromptContext, seat: int, heard: Sequence[MessageState], short: Short) -> list[str]:
    """Return the lines of minutes in a request for this seat."""
    return [part.text for part in _parts(table, seat, heard, short) if part.line]


def _begins(table: PromptContext, heard: Sequence[MessageState]) -> int:
    """Return the first message in full without shortening."""
    border = (table.course.clock // SPAN - 1) * SPAN
    return next((one.number + 1 for one in heard if one.clock == border), 0) if border > 0 else 0


def _own_older(seat: int, heard: Sequence[MessageState], begins: int, most: int) -> set[int]:
    """Return a member's newest messages before the border; a message and its continuation are one."""
    own = [message for message in heard if message.seat == seat and message.number < begins]
    first = [message.number for message in own if message.continues is None][-most:]
    return {message.number for message in own if first and message.number >= first[0]}


def _part(
    table: PromptContext,
    seat: int,
    message: MessageState,
    shown: xml_messages.XmlMessage | xml_messages.XmlNote,
    standing: set[int],
) -> PromptPart:
    if message.number not in standing:
        return PromptPart("user", summary_line(shown, message.number in table.changed_verdict), line=True)
    if message.seat == seat and message.sort == StatementKind.SAID and table.view == PromptView.PERSPECTIVE:
        return PromptPart("assistant", answer_as_json(table, [message]), own=message.number)
    return PromptPart("user", xml_messages.write_message(shown))


def _joined(table: PromptContext, parts: Sequence[PromptPart]) -> Iterator[PromptPart]:
    """Yield the parts with a message and its continuation as one answer."""
    said = {message.number: message for message in table.course.messages}
    for place, part in enumerate(parts):
        after = parts[place + 1].own if place + 1 < len(parts) else None
        before = parts[place - 1].own if place else None
        if part.own and after and said[after].continues == part.own:
            yield PromptPart("assistant", answer_as_json(table, [said[part.own], said[after]]), own=after)
        elif not (part.own and before and said[part.own].continues == before):
            yield part


BRIDGING_MESSAGE = element("Note", "Nobody else has spoken since. The floor is yours again.", kind="bridge")


def _bridged(parts: Iterable[PromptPart]) -> Iterator[PromptPart]:
    """Yield the parts with a user message between any two messages of the member."""
    own = False
    for part in parts:
        if own and part.own:
            yield PromptPart("user", BRIDGING_MESSAGE)
        own = bool(part.own)
        yield part


# ---- for others, and as an own answer ----------------------------------------------------------------------


def elements(
    table: PromptContext, heard: Sequence[MessageState] | None = None
) -> list[xml_messages.XmlMessage | xml_messages.XmlNote]:
    """Return all messages with the speaker's verdict at that time, under the names of this view."""
    stood: dict[int | None, str] = {}
    found: list[xml_messages.XmlMessage | xml_messages.XmlNote] = []
    for message in table.course.messages if heard is None else heard:
        stood[message.seat] = table.stated_verdicts(message) or stood.get(message.seat, "")
        shown = _note if message.sort == StatementKind.NOTE else _message
        found.append(shown(table, message, stood[message.seat]))
    return found


def _note(table: PromptContext, message: MessageState, verdict: str) -> xml_messages.XmlNote:
    words = table.words[message.number]
    text = timekeeper_notes.note_text(table, message.note, words.facts, words.content)
    after = message.after or 0
    return xml_messages.XmlNote(table.run, message.number, _moment(words), table.timekeeper, message.note, after, text)


def _message(table: PromptContext, message: MessageState, verdict: str) -> xml_messages.XmlMessage:
    words = table.words[message.number]
    return xml_messages.XmlMessage(
        run=table.run,
        number=message.number,
        at=_moment(words),
        speaker=table.speaker(message),
        content=words.content,
        to=tuple(table.names[seat] for seat in message.to),
        wants_answer=message.wants_answer,
        points=tuple(words.points),
        artifact=words.artifact,
        verdict=verdict,
        stated=bool(table.stated_verdicts(message)),
        moved_by=message.moved_by if table.stated_verdicts(message) else (),
        reasoning=words.reasoning if table.stated_verdicts(message) else "",
        withdrawn=message.withdrawn,
        continues=message.continues,
    )


def _moment(words: MessageWords) -> datetime:
    return words.at.replace(microsecond=0)


def answer_as_json(table: PromptContext, messages: Sequence[MessageState]) -> str:
    """Return a member's answer as JSON, without ignored fields. A continuation adds to the content, and its verdict
    applies."""
    said = [table.words[message.number] for message in messages]
    stating = next((one for one in reversed(messages) if table.stated_verdicts(one)), None)
    known = {
        "speaking_to": [table.names[seat] for seat in messages[-1].to] or [EVERYONE],
        "expects_answer": messages[-1].wants_answer,
        "content": " ".join(words.content for words in said),
        "points": [dict(vars(point)) for words in said for point in words.points],
        "artifact": next((dict(vars(words.artifact)) for words in reversed(said) if words.artifact), None),
        "verdict": table.stated_verdicts(stating) if stating else "",
        "verdict_reasoning": table.words[stating.number].reasoning if stating else "",
        "moved_by": list(stating.moved_by) if stating else [],
        "withdrawn": messages[-1].withdrawn,
    }
    fields = system_prompts.FORMS[table.seats[messages[0].seat or 0].kind]
    return visible_json({field: known[field] for field in fields})
