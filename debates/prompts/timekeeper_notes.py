"""Sentences of the timekeeper and reasons for the floor, stated from the debate's state."""

from collections.abc import Iterator, Mapping, Sequence

from ..prompt_context import NoteFacts, PromptContext, PromptView
from ..rules.state import ABSTAIN, DebateState, NoteKind, TurnReason, TurnState
from ..rules.turn_taking import unanimous_option
from ..xml_messages import element
from . import system_prompts
from .short import WHOLE, Short
from .versions import SPEAKERS_ALONE, VERSION
from .wording import count_noun, every, join_names, last_words


def note_facts(table: PromptContext, minutes: int | None = None, version: str = VERSION) -> NoteFacts:
    return facts_in(table.course, minutes, version)


def facts_in(course: DebateState, minutes: int | None = None, version: str = VERSION) -> NoteFacts:
    """Return the facts of a note written now. `minutes`: until the debate's end time."""
    stood, alone = course.verdict_of, version in SPEAKERS_ALONE
    voters = [one.seat for one in course.voters]
    abstaining = [seat for seat in (course.active_voters if alone else voters) if stood.get(seat) == ABSTAIN]
    return NoteFacts(
        said=course.clock,
        most=course.most,
        left=course.messages_left,
        undecided=tuple(course.undecided),
        abstaining=tuple(abstaining),
        withdrawn=tuple(sorted(course.withdrawn)),
        silent=tuple(sorted(course.silent - course.withdrawn)),
        minutes=minutes,
        decided=None if alone else tuple(seat for seat in voters if stood.get(seat, ABSTAIN) != ABSTAIN),
        none=None if alone else tuple(seat for seat in voters if seat not in stood),
    )


# ---- notes ------------------------------------------------------------------------------------------------


def note_sentences(kind: str, facts: NoteFacts, names: Mapping[int, str]) -> str:
    return " ".join(_NOTES[NoteKind(kind)](facts, names))


def _opening(facts: NoteFacts, names: Mapping[int, str]) -> Iterator[str]:
    yield f"Up to {count_noun(facts.most, 'message')}."
    yield (
        f"The first deadline is after {facts.left}." if facts.left < facts.most else "The deadline is the last of them."
    )
    yield from _time(facts)
    if facts.decided is None:
        yield "Nobody has a verdict yet."
        return
    yield from _verdicts(facts, names)
    yield from _others(facts, names)


def _reminder(facts: NoteFacts, names: Mapping[int, str]) -> Iterator[str]:
    if facts.left:
        yield f"{facts.said} of {facts.most} messages, {facts.left} to the deadline: the clock is ticking."
    else:
        yield f"{facts.said} of {facts.most} messages: these were all. The closing comes next."
    yield from _time(facts)
    yield from _who("No verdict yet", facts.undecided if facts.none is None else facts.none, names)
    yield from _others(facts, names)


def _deadline(facts: NoteFacts, names: Mapping[int, str]) -> Iterator[str]:
    if facts.decided is None:
        yield from _deadline_of_speakers(facts, names)
        return
    yield f"{facts.said} of {facts.most} messages: the deadline."
    yield from _time(facts)
    yield from _verdicts(facts, names)
    if facts.undecided:
        yield f"Decisions are needed now: {join_names([names[seat] for seat in facts.undecided])} {_next(facts)}."
    yield from _others(facts, names)


def _verdicts(facts: NoteFacts, names: Mapping[int, str]) -> Iterator[str]:
    """Yield who has a verdict and who has none, including members that can no longer speak."""
    if not (facts.decided or facts.abstaining):
        yield "Nobody has a verdict yet."
    elif not (facts.none or facts.abstaining):
        yield f"{every(len(facts.decided or ()))} have a verdict."
    else:
        yield from _who("With a verdict", facts.decided or (), names)
        yield from _who("No verdict", facts.none or (), names)


def _deadline_of_speakers(facts: NoteFacts, names: Mapping[int, str]) -> Iterator[str]:
    """Yield the note of older debates, which left out the verdicts of silent members."""
    yield f"{facts.said} of {facts.most}."
    yield from _time(facts)
    if facts.undecided:
        none = join_names([names[seat] for seat in facts.undecided])
        have = "has" if len(facts.undecided) == 1 else "have"
        yield f"Decisions are needed now; {none} {have} none and {_next(facts)}."
    else:
        yield "Decisions are needed now. Everybody has a verdict."
    yield from _others(facts, names)


def _next(facts: NoteFacts) -> str:
    if facts.said >= facts.most:
        return "must state one in the closing"
    return "speaks next" if len(facts.undecided) == 1 else "speak next"


def _time(facts: NoteFacts) -> Iterator[str]:
    if facts.minutes is not None:
        yield f"Time left: {count_noun(max(0, facts.minutes), 'minute')}."


def _others(facts: NoteFacts, names: Mapping[int, str]) -> Iterator[str]:
    yield from _who("Abstaining", facts.abstaining, names)
    yield from _who("Withdrawn", facts.withdrawn, names)
    yield from _who("Silent", facts.silent, names)


def _who(what: str, seats: Sequence[int], names: Mapping[int, str]) -> Iterator[str]:
    if seats:
        yield f"{what}: {', '.join(names[seat] for seat in seats)}."


_NOTES = {NoteKind.OPENING: _opening, NoteKind.REMINDER: _reminder, NoteKind.DEADLINE: _deadline}


# ---- the floor --------------------------------------------------------------------------------------------


def floor_sentence(table: PromptContext, turn: TurnState, continues: int | None = None, short: Short = WHOLE) -> str:
    """Return the end of a request, which is no part of the debate."""
    course = table.course
    text, reason = floor_reason(table, turn, continues), _reason(table, turn, continues)
    known = {"message": f"{table.run}-{course.newest_read(turn) + 1}", "asked_by": _asker(table, turn)}
    known |= {"lines_before": str(short.begins), "gone": str(short.gone)} if short.begins else {}
    told = " ".join(filter(None, [text, short.sentence]))
    return element("Floor", told, message=known.pop("message"), left=course.messages_left, why=reason, **known)


def floor_reason(table: PromptContext, turn: TurnState, continues: int | None = None) -> str:
    """Return why a member has the floor, in the words for people."""
    return " ".join([*_stands(table, turn), _why(table, turn, continues, _asker(table, turn))])


def first_verdict_sentence(table: PromptContext) -> str:
    asked = system_prompts.list_fields(system_prompts.FIRST_SAYS)
    text = f"The debate has not begun. Decide by the material, alone; no other member will see it. Give these: {asked}."
    return element("Floor", text, why="first")


def _reason(table: PromptContext, turn: TurnState, continues: int | None) -> str:
    if continues is not None:
        return "continuing"
    if turn.why in (TurnReason.DRAW, TurnReason.CALL) and table.course.active == [turn.seat]:
        return "alone"
    return str(turn.why)


def _asker(table: PromptContext, turn: TurnState) -> str:
    asked = next((one for one in table.course.messages if one.number == turn.asked_by), None)
    return table.speaker(asked) if asked else ""


def must_decide(table: PromptContext, turn: TurnState) -> bool:
    """Return whether an answer without a verdict is unusable."""
    votes = table.seats[turn.seat].turns.votes
    return votes and turn.why in (TurnReason.ROLL_CALL, TurnReason.CLOSING) and turn.seat not in table.course.verdict_of


def _stands(table: PromptContext, turn: TurnState) -> Iterator[str]:
    verdict = table.course.verdict_of.get(turn.seat)
    if not table.seats[turn.seat].turns.votes:
        return
    if not verdict:
        yield "You have no verdict yet."
    else:
        yield "You abstain." if verdict == ABSTAIN else f"You stand by {verdict}."


def _why(table: PromptContext, turn: TurnState, continues: int | None, asked_by: str) -> str:
    reason = _reason(table, turn, continues)
    if reason == "continuing":
        quoted = last_words(table.words[continues].content) if continues else ""
        return f"Your message ended with the words “…{quoted}”. Give the rest, in the same form."
    if reason == TurnReason.REPLY:
        return f"{asked_by} asks you."
    return _SENTENCES[reason](table, turn)


def _called(table: PromptContext, turn: TurnState) -> str:
    return f"You have said nothing for {count_noun(table.course.silent_for(turn.seat), 'message')}."


def _challenged(table: PromptContext, turn: TurnState) -> str:
    agreed = unanimous_option(table.course)
    on = f" on {agreed}" if agreed else ""
    return (
        f"All who speak agree{on}. Put the strongest case against it that there is. You need not believe it: your own "
        "verdict stays what it is in this turn."
    )


def _asked(table: PromptContext, turn: TurnState) -> str:
    if turn.seat in table.course.withdrawn:
        return "You had withdrawn; the chair asks you once more."
    return "The chair asks you to speak."


def _closing(table: PromptContext, turn: TurnState) -> str:
    needed = " State one or abstain, and say why." if must_decide(table, turn) else ""
    asked = system_prompts.list_fields(system_prompts.CLOSING_SAYS)
    return (
        f"The debate is over. All say their last word now, and nobody hears the others'.{needed} Give these: {asked}."
    )


_SENTENCES = {
    TurnReason.DRAW: lambda table, turn: "You were drawn.",
    TurnReason.ROLL_CALL: lambda table, turn: "The deadline has come. State one or abstain, and say why.",
    TurnReason.CALL: _called,
    TurnReason.CHALLENGE: _challenged,
    TurnReason.ASKED: _asked,
    TurnReason.CLOSING: _closing,
    "alone": lambda table, turn: "Nobody else can speak any more. The floor is yours again.",
}


def names_of(table: PromptContext) -> Mapping[int, str]:
    """Return the members' real names, for notes that people read."""
    return {seat.seat: seat.name for seat in table.course.seats}


def note_text(table: PromptContext, kind: str, facts: NoteFacts | None, words: str) -> str:
    """Return a note as members read it: the facts and a model's wording, unless that could reveal a name."""
    told = note_sentences(kind, facts, table.names) if facts else ""
    return " ".join(filter(None, [told, words if table.view == PromptView.PERSPECTIVE else ""]))
