"""The sentences of the timekeeper, and why somebody has the floor: stated, from what the course says."""

from collections.abc import Iterator, Mapping, Sequence

from ..rules.course import ABSTAIN, Course, Note, Turn, Why
from ..rules.floor import united
from ..scaffold import element
from ..table import Facts, Table, View
from . import layers
from .short import WHOLE, Short
from .versions import SPEAKERS_ALONE, VERSION
from .wording import counted, every, last_words, listed


def facts_of(table: Table, minutes: int | None = None, version: str = VERSION) -> Facts:
    return facts_in(table.course, minutes, version)


def facts_in(course: Course, minutes: int | None = None, version: str = VERSION) -> Facts:
    """What a note that is written now tells. `minutes`: left until the moment at which the debate ends."""
    stood, alone = course.stands_by, version in SPEAKERS_ALONE
    voters = [one.seat for one in course.voters]
    abstaining = [seat for seat in (course.active_voters if alone else voters) if stood.get(seat) == ABSTAIN]
    return Facts(
        said=course.clock,
        most=course.most,
        left=course.to_deadline,
        undecided=tuple(course.undecided),
        abstaining=tuple(abstaining),
        withdrawn=tuple(sorted(course.withdrawn)),
        silent=tuple(sorted(course.silent - course.withdrawn)),
        minutes=minutes,
        decided=None if alone else tuple(seat for seat in voters if stood.get(seat, ABSTAIN) != ABSTAIN),
        none=None if alone else tuple(seat for seat in voters if seat not in stood),
    )


# ---- notes ------------------------------------------------------------------------------------------------


def stated(kind: str, facts: Facts, names: Mapping[int, str]) -> str:
    return " ".join(_NOTES[Note(kind)](facts, names))


def _opening(facts: Facts, names: Mapping[int, str]) -> Iterator[str]:
    yield f"Up to {counted(facts.most, 'message')}."
    yield (
        f"The first deadline is after {facts.left}." if facts.left < facts.most else "The deadline is the last of them."
    )
    yield from _time(facts)
    if facts.decided is None:
        yield "Nobody has a verdict yet."
        return
    yield from _verdicts(facts, names)
    yield from _others(facts, names)


def _reminder(facts: Facts, names: Mapping[int, str]) -> Iterator[str]:
    if facts.left:
        yield f"{facts.said} of {facts.most} messages, {facts.left} to the deadline: the clock is ticking."
    else:
        yield f"{facts.said} of {facts.most} messages: these were all. The closing comes next."
    yield from _time(facts)
    yield from _who("No verdict yet", facts.undecided if facts.none is None else facts.none, names)
    yield from _others(facts, names)


def _deadline(facts: Facts, names: Mapping[int, str]) -> Iterator[str]:
    if facts.decided is None:
        yield from _deadline_of_speakers(facts, names)
        return
    yield f"{facts.said} of {facts.most} messages: the deadline."
    yield from _time(facts)
    yield from _verdicts(facts, names)
    if facts.undecided:
        yield f"Decisions are needed now: {listed([names[seat] for seat in facts.undecided])} {_next(facts)}."
    yield from _others(facts, names)


def _verdicts(facts: Facts, names: Mapping[int, str]) -> Iterator[str]:
    """Who has one and who has none, also of those who can no longer speak."""
    if not (facts.decided or facts.abstaining):
        yield "Nobody has a verdict yet."
    elif not (facts.none or facts.abstaining):
        yield f"{every(len(facts.decided or ()))} have a verdict."
    else:
        yield from _who("With a verdict", facts.decided or (), names)
        yield from _who("No verdict", facts.none or (), names)


def _deadline_of_speakers(facts: Facts, names: Mapping[int, str]) -> Iterator[str]:
    """In older debates, where a verdict of who had fallen silent was not told."""
    yield f"{facts.said} of {facts.most}."
    yield from _time(facts)
    if facts.undecided:
        none = listed([names[seat] for seat in facts.undecided])
        have = "has" if len(facts.undecided) == 1 else "have"
        yield f"Decisions are needed now; {none} {have} none and {_next(facts)}."
    else:
        yield "Decisions are needed now. Everybody has a verdict."
    yield from _others(facts, names)


def _next(facts: Facts) -> str:
    if facts.said >= facts.most:
        return "must state one in the closing"
    return "speaks next" if len(facts.undecided) == 1 else "speak next"


def _time(facts: Facts) -> Iterator[str]:
    if facts.minutes is not None:
        yield f"Time left: {counted(max(0, facts.minutes), 'minute')}."


def _others(facts: Facts, names: Mapping[int, str]) -> Iterator[str]:
    yield from _who("Abstaining", facts.abstaining, names)
    yield from _who("Withdrawn", facts.withdrawn, names)
    yield from _who("Silent", facts.silent, names)


def _who(what: str, seats: Sequence[int], names: Mapping[int, str]) -> Iterator[str]:
    if seats:
        yield f"{what}: {', '.join(names[seat] for seat in seats)}."


_NOTES = {Note.OPENING: _opening, Note.REMINDER: _reminder, Note.DEADLINE: _deadline}


# ---- the floor --------------------------------------------------------------------------------------------


def floor(table: Table, turn: Turn, continues: int | None = None, short: Short = WHOLE) -> str:
    """The end of a request, which is no part of the debate."""
    course = table.course
    text, reason = why(table, turn, continues), _reason(table, turn, continues)
    known = {"message": f"{table.run}-{course.newest_heard(turn) + 1}", "asked_by": _asker(table, turn)}
    known |= {"lines_before": str(short.begins), "gone": str(short.gone)} if short.begins else {}
    told = " ".join(filter(None, [text, short.sentence]))
    return element("Floor", told, message=known.pop("message"), left=course.to_deadline, why=reason, **known)


def why(table: Table, turn: Turn, continues: int | None = None) -> str:
    """Why somebody has the floor, as a person is told."""
    return " ".join([*_stands(table, turn), _why(table, turn, continues, _asker(table, turn))])


def first_floor(table: Table) -> str:
    asked = layers.in_words(layers.FIRST_SAYS)
    text = f"The debate has not begun. Decide by the material, alone; no other member will see it. Give these: {asked}."
    return element("Floor", text, why="first")


def _reason(table: Table, turn: Turn, continues: int | None) -> str:
    if continues is not None:
        return "continuing"
    if turn.why in (Why.DRAW, Why.CALL) and table.course.active == [turn.seat]:
        return "alone"
    return str(turn.why)


def _asker(table: Table, turn: Turn) -> str:
    asked = next((one for one in table.course.messages if one.number == turn.asked_by), None)
    return table.speaker(asked) if asked else ""


def must_decide(table: Table, turn: Turn) -> bool:
    """Whether an answer without a verdict is of no use."""
    votes = table.seats[turn.seat].turns.votes
    return votes and turn.why in (Why.ROLL_CALL, Why.CLOSING) and turn.seat not in table.course.stands_by


def _stands(table: Table, turn: Turn) -> Iterator[str]:
    verdict = table.course.stands_by.get(turn.seat)
    if not table.seats[turn.seat].turns.votes:
        return
    if not verdict:
        yield "You have no verdict yet."
    else:
        yield "You abstain." if verdict == ABSTAIN else f"You stand by {verdict}."


def _why(table: Table, turn: Turn, continues: int | None, asked_by: str) -> str:
    reason = _reason(table, turn, continues)
    if reason == "continuing":
        quoted = last_words(table.words[continues].content) if continues else ""
        return f"Your message ended with the words “…{quoted}”. Give the rest, in the same form."
    if reason == Why.REPLY:
        return f"{asked_by} asks you."
    return _SENTENCES[reason](table, turn)


def _called(table: Table, turn: Turn) -> str:
    return f"You have said nothing for {counted(table.course.silent_for(turn.seat), 'message')}."


def _challenged(table: Table, turn: Turn) -> str:
    agreed = united(table.course)
    on = f" on {agreed}" if agreed else ""
    return (
        f"All who speak agree{on}. Put the strongest case against it that there is. You need not believe it: your own "
        "verdict stays what it is in this turn."
    )


def _asked(table: Table, turn: Turn) -> str:
    if turn.seat in table.course.withdrawn:
        return "You had withdrawn; the chair asks you once more."
    return "The chair asks you to speak."


def _closing(table: Table, turn: Turn) -> str:
    needed = " State one or abstain, and say why." if must_decide(table, turn) else ""
    asked = layers.in_words(layers.CLOSING_SAYS)
    return (
        f"The debate is over. All say their last word now, and nobody hears the others'.{needed} Give these: {asked}."
    )


_SENTENCES = {
    Why.DRAW: lambda table, turn: "You were drawn.",
    Why.ROLL_CALL: lambda table, turn: "The deadline has come. State one or abstain, and say why.",
    Why.CALL: _called,
    Why.CHALLENGE: _challenged,
    Why.ASKED: _asked,
    Why.CLOSING: _closing,
    "alone": lambda table, turn: "Nobody else can speak any more. The floor is yours again.",
}


def names_of(table: Table) -> Mapping[int, str]:
    """For notes that people read: as the members are really called."""
    return {seat.seat: seat.name for seat in table.course.seats}


def note_text(table: Table, kind: str, facts: Facts | None, words: str) -> str:
    """As members read a note: the facts, and beside them what a model made of them, unless it would name somebody."""
    told = stated(kind, facts, table.names) if facts else ""
    return " ".join(filter(None, [told, words if table.view == View.PERSPECTIVE else ""]))
