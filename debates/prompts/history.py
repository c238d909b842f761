"""The debate as one member has lived it: what it said as its own words, all else as what it was told.

What is said since the beginning of the span before this one stands whole. What is older becomes minutes, by rule; only
a member's own last messages of that time, and what the chair said, stay whole. So a border moves at a deadline alone,
and twenty requests in a row begin alike. For a model that has no room for so much the border moves sooner, ten messages
at a time, and then the oldest lines go, twenty at a time: which, follows from what was heard alone, and is said.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from engine.hidden import visible_json

from .. import scaffold
from ..rules.course import SPAN, Message, Sort, Turn
from ..scaffold import element, inside, wrapped
from ..table import EVERYONE, Facts, Table, View, Words
from . import layers, notes
from .minutes import line
from .short import WHOLE, Short

OWN_OLDER, OWN_OLDER_SHORT = 4, 1
SHORTER, LINES_GONE, NEWEST = 10, 20, 3  # messages; so many of the newest are whole in any case

Conversation = list[dict[str, str]]


@dataclass(frozen=True)
class Part:
    """`role` of a message of the request. `own`: the message that this is, or ends with, where the member said it."""

    role: str
    text: str
    own: int | None = None
    line: bool = False


def perspective(table: Table, turn: Turn, continues: int | None = None, short: Short = WHOLE) -> Conversation:
    """The request for one turn, of a debate or of its closing. `continues`: the message that it is part two of."""
    heard = table.heard(turn)
    told = [Part("user", material(table)), *_history(table, turn.seat, heard, short)]
    return _conversation(table, turn.seat, [*told, Part("user", notes.floor(table, turn, continues, short))])


def in_room(
    table: Table, turn: Turn, continues: int | None, fits: Callable[[Conversation], bool]
) -> tuple[Conversation, Short]:
    """The longest of the requests for this turn that fits, or the shortest that there is."""

    def asked(short: Short) -> Conversation:
        return perspective(table, turn, continues, short)

    if fits(whole := asked(WHOLE)):
        return whole, WHOLE
    ways = [*shorter(table, table.heard(turn))] or [WHOLE]
    short = ways[min(bisect_left(ways, True, key=lambda way: fits(asked(way))), len(ways) - 1)]
    return asked(short), short


def shorter(table: Table, heard: Sequence[Message]) -> Iterator[Short]:
    """All ways to say less than the whole, each less than the one before."""
    usual, near = max(1, _begins(table, heard)), (heard[-1].number if heard else 0) - NEWEST + 1
    if near <= usual:
        return
    borders = [number for number in range(SHORTER + 1, near, SHORTER) if number > usual]
    yield from (Short(number) for number in borders)
    begins, gone = borders[-1] if borders else near, [*range(LINES_GONE, near, LINES_GONE)]
    yield from (Short(begins, number) for number in gone if number < begins)
    yield Short(near, gone[-1] if gone else 0)
    yield Short(near, near - 1)


def first(table: Table, seat: int) -> Conversation:
    """The request for a first verdict: nothing has been said, and nothing is shown."""
    return _conversation(table, seat, [Part("user", material(table)), Part("user", notes.first_floor(table))])


def timekeeper(table: Table, seat: int, kind: str, facts: Facts) -> Conversation:
    """The request for the words around a note: the facts and the question, and nothing that was said."""
    fields = layers.FORMS[table.seats[seat].kind]
    system = layers.LAYERS[table.seats[seat].kind].format(form=layers.described(fields))
    told = notes.stated(kind, facts, table.names)
    user = _between(table, [element("Question", table.question)]) + "\n" + element("Facts", told)
    return [{"role": "system", "content": system}, {"role": "user", "content": user}]


def _conversation(table: Table, seat: int, parts: Sequence[Part]) -> Conversation:
    system = {"role": "system", "content": layers.system(table, seat)}
    return [system, *({"role": role, "content": text} for role, text in _merged(parts))]


def _merged(parts: Sequence[Part]) -> Iterator[tuple[str, str]]:
    """Neighbours of one role as one message, so that the roles alternate whatever was said."""
    for role, neighbours in groupby(parts, key=lambda part: part.role):
        yield role, "\n".join(part.text for part in neighbours)


# ---- the material -----------------------------------------------------------------------------------------


def material(table: Table) -> str:
    options = [element("Option", option.meaning, word=option.word) for option in table.options]
    documents = [_document(document.id, document.title, document.lines) for document in table.documents]
    return _between(table, [element("Question", table.question), *options, *documents])


def _between(table: Table, elements: Sequence[str]) -> str:
    inner = wrapped("Material", "\n" + "".join(f"{one}\n" for one in elements))
    return f"BEGIN MATERIAL {table.boundary}\n{inner}\nEND MATERIAL {table.boundary}"


def _document(name: str, title: str, lines: Iterable[str]) -> str:
    numbered = "".join(f"{number}: {inside(text)}\n" for number, text in enumerate(lines, 1))
    return wrapped("Document", "\n" + numbered, id=name, title=title)


# ---- what was said ----------------------------------------------------------------------------------------


def _history(table: Table, seat: int, heard: Sequence[Message], short: Short) -> Iterator[Part]:
    bridged = _bridged(_joined(table, _parts(table, seat, heard, short)))
    for is_line, group in groupby(bridged, key=lambda part: part.line):
        parts = list(group)
        yield from [Part("user", _minutes(parts))] if is_line else parts


def _parts(table: Table, seat: int, heard: Sequence[Message], short: Short) -> list[Part]:
    standing = whole(table, seat, heard, short)
    return [
        _part(table, seat, message, shown, standing)
        for message, shown in zip(heard, elements(table, heard), strict=True)
        if message.number > short.gone or message.sort == Sort.CHAIR
    ]


def _minutes(lines: Iterable[Part]) -> str:
    return wrapped("Minutes", "\n" + "".join(f"{part.text}\n" for part in lines))


def whole(table: Table, seat: int, heard: Sequence[Message], short: Short = WHOLE) -> set[int]:
    """Which messages stand as they are."""
    begins = max(_begins(table, heard), short.begins)
    recent = {message.number for message in heard if message.number >= begins or message.sort == Sort.CHAIR}
    own = OWN_OLDER_SHORT if short.begins else OWN_OLDER
    found = recent | (_own_older(seat, heard, begins, own) if table.view == View.PERSPECTIVE else set())
    chair = {message.number for message in heard if message.sort == Sort.CHAIR}
    return {number for number in found if number > short.gone} | chair


def lines(table: Table, seat: int, heard: Sequence[Message], short: Short) -> list[str]:
    """Of the minutes, in a request for this seat."""
    return [part.text for part in _parts(table, seat, heard, short) if part.line]


def _begins(table: Table, heard: Sequence[Message]) -> int:
    """The first message that stands whole where there is room for all that is usual."""
    border = (table.course.clock // SPAN - 1) * SPAN
    return next((one.number + 1 for one in heard if one.clock == border), 0) if border > 0 else 0


def _own_older(seat: int, heard: Sequence[Message], begins: int, most: int) -> set[int]:
    """A message and its continuation are one."""
    own = [message for message in heard if message.seat == seat and message.number < begins]
    first = [message.number for message in own if message.continues is None][-most:]
    return {message.number for message in own if first and message.number >= first[0]}


def _part(
    table: Table, seat: int, message: Message, shown: scaffold.Message | scaffold.Note, standing: set[int]
) -> Part:
    if message.number not in standing:
        return Part("user", line(shown, message.number in table.turned), line=True)
    if message.seat == seat and message.sort == Sort.SAID and table.view == View.PERSPECTIVE:
        return Part("assistant", answered(table, [message]), own=message.number)
    return Part("user", scaffold.write(shown))


def _joined(table: Table, parts: Sequence[Part]) -> Iterator[Part]:
    """A member's message and its continuation stand as one answer."""
    said = {message.number: message for message in table.course.messages}
    for place, part in enumerate(parts):
        after = parts[place + 1].own if place + 1 < len(parts) else None
        before = parts[place - 1].own if place else None
        if part.own and after and said[after].continues == part.own:
            yield Part("assistant", answered(table, [said[part.own], said[after]]), own=after)
        elif not (part.own and before and said[part.own].continues == before):
            yield part


BRIDGE = element("Note", "Nobody else has spoken since. The floor is yours again.", kind="bridge")


def _bridged(parts: Iterable[Part]) -> Iterator[Part]:
    """With something said to a member between any two messages of its own."""
    own = False
    for part in parts:
        if own and part.own:
            yield Part("user", BRIDGE)
        own = bool(part.own)
        yield part


# ---- as others read it, and as oneself answered it ---------------------------------------------------------


def elements(table: Table, heard: Sequence[Message] | None = None) -> list[scaffold.Message | scaffold.Note]:
    """All that was said, with what each stood by when it was said, under the names of this view."""
    stood: dict[int | None, str] = {}
    found: list[scaffold.Message | scaffold.Note] = []
    for message in table.course.messages if heard is None else heard:
        stood[message.seat] = table.stated(message) or stood.get(message.seat, "")
        shown = _note if message.sort == Sort.NOTE else _message
        found.append(shown(table, message, stood[message.seat]))
    return found


def _note(table: Table, message: Message, verdict: str) -> scaffold.Note:
    words = table.words[message.number]
    text = notes.note_text(table, message.note, words.facts, words.content)
    after = message.after or 0
    return scaffold.Note(table.run, message.number, _moment(words), table.timekeeper, message.note, after, text)


def _message(table: Table, message: Message, verdict: str) -> scaffold.Message:
    words = table.words[message.number]
    return scaffold.Message(
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
        stated=bool(table.stated(message)),
        moved_by=message.moved_by if table.stated(message) else (),
        reasoning=words.reasoning if table.stated(message) else "",
        withdrawn=message.withdrawn,
        continues=message.continues,
    )


def _moment(words: Words) -> datetime:
    return words.at.replace(microsecond=0)


def answered(table: Table, messages: Sequence[Message]) -> str:
    """What a member answered, without what was ignored. A continuation adds to what was said, and its verdict holds."""
    said = [table.words[message.number] for message in messages]
    stating = next((one for one in reversed(messages) if table.stated(one)), None)
    known = {
        "speaking_to": [table.names[seat] for seat in messages[-1].to] or [EVERYONE],
        "expects_answer": messages[-1].wants_answer,
        "content": " ".join(words.content for words in said),
        "points": [dict(vars(point)) for words in said for point in words.points],
        "artifact": next((dict(vars(words.artifact)) for words in reversed(said) if words.artifact), None),
        "verdict": table.stated(stating) if stating else "",
        "verdict_reasoning": table.words[stating.number].reasoning if stating else "",
        "moved_by": list(stating.moved_by) if stating else [],
        "withdrawn": messages[-1].withdrawn,
    }
    fields = layers.FORMS[table.seats[messages[0].seat or 0].kind]
    return visible_json({field: known[field] for field in fields})
