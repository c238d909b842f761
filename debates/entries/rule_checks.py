"""Checks the entries of a debate against its rules: each step is computed again from those before it."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import product
from typing import Any

from engine.ledger.entries import ENDED
from engine.models import Run

from ..rules import lottery, turn_taking
from ..rules.outcome import outcome_of
from ..rules.state import (
    AT_ANY_TIME,
    DRAWN,
    MOST,
    MOVING,
    SPAN,
    TURNS,
    DebateState,
    MessageState,
    StatementKind,
    SteeringKind,
    SteeringState,
    TurnReason,
    TurnState,
)
from .answer_checks import check_answers
from .count_checks import check_counts, check_note_facts
from .reconstruction import MESSAGE, Entry, ReconstructedDebate

FINAL = (Run.Status.FINISHED, Run.Status.CANCELLED)
UNREADABLE_TEXT = "Its entry cannot be read."


def validate_entries(entries: Sequence[Entry]) -> str:
    """Return a sentence about the first contradiction to the rules; empty if there is none."""
    retold = ReconstructedDebate(entries)
    try:
        return next((sentence for look in _LOOKS for sentence in look(retold)), "")
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, StopIteration, RuntimeError):
        return UNREADABLE_TEXT


# ---- checks of single entries -----------------------------------------------------------------------------


def _numbers(retold: ReconstructedDebate) -> Iterator[str]:
    """Yield gaps and duplicates in the numbers."""
    for what, found in (("messages", _before_closing(retold)), ("turns", retold.turns), ("acts", retold.steers)):
        if [one.number for one in found] != list(range(1, len(found) + 1)):
            yield f"Its {what} are not numbered one after the other."
    for seat, count in Counter(first.seat for first in retold.firsts).items():
        if count > 1:
            yield f"{_name(retold, seat)} has two first verdicts."
    for turn, count in retold.skipped.items():
        if count > 1 or turn in retold.message_in_turn or not 0 < turn <= len(retold.turns):
            yield f"Turn {turn} was skipped, and there is none that was."


def _before_closing(retold: ReconstructedDebate) -> list[MessageState]:
    """Return the messages that are numbered in order of arrival. Last words are numbered by their turns, except in
    older debates."""
    said = [message for message in retold.messages if message.sort != StatementKind.CLOSING]
    places = {turn.number: len(said) + place for place, turn in enumerate(retold.closings, 1)}
    closings = [message for message in retold.messages if message.sort == StatementKind.CLOSING]
    by_turn = all(message.number == places.get(message.turn or 0) for message in closings)
    return said if by_turn else list(retold.messages)


def _seed(retold: ReconstructedDebate) -> Iterator[str]:
    end = retold.end
    if not end or end["status"] not in FINAL:
        return
    if sha256(bytes.fromhex(end["seed"])).hexdigest() != retold.prompt_of["seed_sha256"]:
        yield "The seed is not the one that was fixed when it was submitted."
    word = retold.texts.get("word")
    if word and sha256(bytes.fromhex(end["seed_random"]) + word.encode()).hexdigest() != end["seed"]:
        yield "The seed does not come from what was drawn and the word that was given."


def _after_the_end(retold: ReconstructedDebate) -> Iterator[str]:
    over = False
    for entry in retold.entries:
        if over and entry["kind"].startswith("debate."):
            yield "Something was said or done after its end."
        if entry["kind"] == ENDED:
            over = entry["facts"]["status"] in FINAL


# ---- turns ------------------------------------------------------------------------------------------------


def _turns(retold: ReconstructedDebate) -> Iterator[str]:
    """Yield turns that differ from what the rules require."""
    acts, series, closing = 0, 0, False
    for turn in retold.turns:
        if turn.series < series:
            yield f"Turn {turn.number} was given in an earlier series than the one before."
        if closing != (turn.why == TurnReason.CLOSING) and closing:
            yield f"Turn {turn.number} was given after the closing had begun."
        series, closing = turn.series, turn.why == TurnReason.CLOSING
        if not closing:
            acts, sentence = _doubt_turn(retold, turn, acts)
            yield from filter(None, [sentence])
    if retold.closings:
        yield from _closing(retold, retold.closings)


def _doubt_turn(retold: ReconstructedDebate, turn: TurnState, acts: int) -> tuple[int, str]:
    """Return the number of acts with which the turn follows the rules, or a sentence if it does not with any
    number."""
    sentence = ""
    for known in _acts(retold, turn.after, acts):
        step = turn_taking.next_step(retold.before(turn.number, turn.after, known))
        sentence = _differs(retold, turn, step)
        if not sentence:
            return known, ""
    return acts, sentence


def _acts(retold: ReconstructedDebate, after: int, least: int) -> range:
    """Return the numbers of acts that may have been known after that message; never fewer than before."""
    sure = max(least, retold.sure_acts(after))
    return range(sure, max(sure, retold.possible_acts(after)) + 1)


def _differs(retold: ReconstructedDebate, turn: TurnState, step: turn_taking.NextStep) -> str:
    place = f"Turn {turn.number}"
    if not isinstance(step, turn_taking.GiveTurn):
        return f"{place} was given, and by the rules {_due(step)}."
    due = step.turn
    if (turn.why, turn.after, turn.asked_by, turn.steer) != (due.why, due.after, due.asked_by, due.steer):
        return f"{place} was given as “{_said(turn.why)}”, by the rules it is “{_said(due.why)}”."
    if turn.weights != due.weights:
        return f"The weights of turn {turn.number} are not those of the messages before it."
    if turn.why in DRAWN and not _fits(retold, turn):
        return f"The ticket of turn {turn.number} is not the one that the seed gives."
    seat = lottery.draw(turn.ticket or 0, turn.weights) if turn.why in DRAWN else due.seat
    if turn.seat != seat or (turn.ticket is not None and turn.why not in DRAWN):
        return f"{place} was given to {_name(retold, turn.seat)}, by the rules to {_name(retold, seat)}."
    return ""


def _fits(retold: ReconstructedDebate, turn: TurnState) -> bool:
    """Return whether the ticket is right. The seed is known at the end only; before it, the ticket must be in
    range."""
    total = sum(share for _, share in turn.weights)
    if turn.ticket is None or not 0 <= turn.ticket < total:
        return False
    seed = retold.settings.seed
    return not seed or turn.ticket == lottery.ticket(seed, turn.number, total)


def _due(step: turn_taking.NextStep) -> str:
    match step:
        case turn_taking.AddTimekeeperNote(note, after):
            return f"a note was due after {after} messages ({note})"
        case turn_taking.CollectFirstVerdicts():
            return "first verdicts were due"
        case turn_taking.AwaitAnswer(turn) | turn_taking.SkipTurn(turn):
            return f"turn {turn.number} was still open"
        case turn_taking.EndForLackOfMembers():
            return "too few could speak"
        case turn_taking.BeginClosing(because) | turn_taking.EndDebate(because):
            return f"it was over ({_said(because)})"
    return "something else was due"


def _closing(retold: ReconstructedDebate, turns: Sequence[TurnState]) -> Iterator[str]:
    """Yield a closing that the rules do not explain. Money and time are not in the entries, but their limits are."""
    first, because = turns[0], (retold.end or {}).get("because", "")
    given = [_as_given(turn) for turn in turns]
    steps = [turn_taking.next_step(course) for course in _courses(retold, first.number, first.after)]
    begun = [step for step in steps if isinstance(step, turn_taking.BeginClosing)]
    if not any(list(step.turns) == given and because in ("", step.because) for step in begun):
        yield f"The closing began where the rules do not end it{f' ({_said(because)})' if because else ''}."


def _as_given(turn: TurnState) -> TurnState:
    return TurnState(turn.number, turn.seat, turn.why, turn.after, series=turn.series)


def _courses(retold: ReconstructedDebate, number: int, after: int) -> Iterator[DebateState]:
    """Yield the states in which the end may have been decided, for all possible acts, money and time."""
    affords = (True, False)
    late = (False, True) if retold.prompt_of["until"] else (False,)
    for acts, affordable, over in product(_acts(retold, after, 0), affords, late):
        yield replace(retold.before(number, after, acts), affords=affordable, late=over)


# ---- messages and notes -----------------------------------------------------------------------------------


def _messages(retold: ReconstructedDebate) -> Iterator[str]:
    clock = 0
    for message in retold.messages:
        due = clock + 1 if _counts(retold, message) else None
        if message.clock != due:
            yield f"The clock of message {message.number} is {message.clock}, by the rules {due}."
        clock = due or clock
        if message.sort == StatementKind.NOTE:
            yield from _note(retold, message)
        elif message.sort == StatementKind.LEAVING:
            yield from _leaving(retold, message)
        elif message.sort != StatementKind.CHAIR:
            yield from _said_by_member(retold, message)


def _counts(retold: ReconstructedDebate, message: MessageState) -> bool:
    kinds = {seat.seat: seat.kind for seat in retold.seats}
    moves = message.seat in kinds and TURNS[kinds[message.seat]].counts
    return moves and message.sort == StatementKind.SAID and message.continues is None


def _note(retold: ReconstructedDebate, note: MessageState) -> Iterator[str]:
    before = [message.number for message in retold.messages if message.number < note.number]
    given = [turn for turn in retold.turns if turn.after < note.number]
    course = retold.before(len(given) + 1, max(before, default=0), 0)
    step = turn_taking.next_step(course)
    if not isinstance(step, turn_taking.AddTimekeeperNote):
        yield f"A note was kept as message {note.number}, and by the rules {_due(step)}."
    elif (note.note, note.after) != (step.note, step.after):
        kept, due = (f"{kind} after {after}" for kind, after in ((note.note, note.after), (step.note, step.after)))
        yield f"Message {note.number} is a {kept}, by the rules a {due}."


def _said_by_member(retold: ReconstructedDebate, message: MessageState) -> Iterator[str]:
    turn = next((turn for turn in retold.turns if turn.number == message.turn), None)
    place = f"Message {message.number}"
    if turn is None or retold.message_in_turn[turn.number] != [message]:
        yield f"{place} has no turn of its own."
        return
    if turn.seat != message.seat or (message.sort == StatementKind.CLOSING) != (turn.why == TurnReason.CLOSING):
        yield f"{place} is not by whom turn {turn.number} was given to."
    yield from _order(retold, message, turn)
    before = retold.before(turn.number, turn.after, retold.possible_acts(turn.after))
    if message.continues != turn_taking.continues_message(before, turn):
        yield f"{place} is not part two of a message that it could continue."
    yield from _verdict(retold, message, turn, before)


def _order(retold: ReconstructedDebate, message: MessageState, turn: TurnState) -> Iterator[str]:
    """Yield a message that is not the next in its turn: in between there may only be messages of the chair,
    withdrawals, and last words of others."""
    between = [one.sort for one in retold.messages if turn.after < one.number < message.number]
    if message.number <= turn.after or set(between) - {
        *AT_ANY_TIME,
        *([StatementKind.CLOSING] * (turn.why == TurnReason.CLOSING)),
    }:
        yield f"Message {message.number} was not the next one after turn {turn.number} was given."


def _verdict(retold: ReconstructedDebate, message: MessageState, turn: TurnState, before: DebateState) -> Iterator[str]:
    place, stood = f"Message {message.number}", before.verdict_of.get(turn.seat, "")
    facts = _facts_of(retold, message)
    yield from _known_verdict(retold, message, facts)
    stated = "" if turn.why == TurnReason.CHALLENGE else message.verdict
    if turn.why in (TurnReason.ROLL_CALL, TurnReason.CLOSING) and _votes(retold, turn) and not (stated or stood):
        yield f"{place} was kept without a verdict, where one had to be stated."
    if message.withdrawn and not (stated or stood):
        yield f"{place} withdraws without a verdict."
    heard = {one.number for one in retold.messages if one.number <= facts["heard"] and _can_move(one, turn.seat)}
    if not turn.after <= facts["heard"] < message.number or not set(message.moved_by) <= heard:
        yield f"{place} was moved by something that its member had not heard from others."


def _leaving(retold: ReconstructedDebate, message: MessageState) -> Iterator[str]:
    """Yield what is wrong with a withdrawal: the person on the seat may withdraw once, with a verdict, before the
    closing."""
    place, facts = f"Message {message.number}", _facts_of(retold, message)
    persons = {one["seat"]: one["person"] for one in retold.prompt_of["members"]}
    if not facts["by"] or persons.get(message.seat or 0) != facts["by"]:
        yield f"{place} withdraws a member for somebody else."
    before = retold.before(len(retold.turns) + 1, message.number - 1, len(retold.steers))
    if not message.withdrawn or message.turn is not None or message.seat in before.withdrawn:
        yield f"{place} is not how a member leaves out of turn."
    if not (message.verdict or message.seat in before.verdict_of):
        yield f"{place} withdraws without a verdict."
    if any(one.sort == StatementKind.CLOSING and one.number < message.number for one in retold.messages):
        yield f"{place} came after the closing had begun."
    yield from _known_verdict(retold, message, facts)


def _facts_of(retold: ReconstructedDebate, message: MessageState) -> dict[str, Any]:
    return next(one for one in retold.facts(MESSAGE) if one["number"] == message.number)


def _known_verdict(retold: ReconstructedDebate, message: MessageState, facts: dict[str, Any]) -> Iterator[str]:
    if facts["verdict"] is not None and (facts["abstained"] or facts["verdict"] not in retold.settings.options):
        yield f"Message {message.number} states a verdict that there is not."


def _can_move(message: MessageState, seat: int) -> bool:
    return message.seat != seat and message.sort in MOVING


def _votes(retold: ReconstructedDebate, turn: TurnState) -> bool:
    return any(seat.seat == turn.seat and seat.turns.votes for seat in retold.seats)


# ---- acts -------------------------------------------------------------------------------------------------


def _steers(retold: ReconstructedDebate) -> Iterator[str]:
    after, begun = 0, retold.closings[0].after if retold.closings else None
    for steer in retold.steers:
        if steer.after < after or steer.after > len(retold.messages):
            yield f"Act {steer.number} is not in its place."
        after = steer.after
        if begun is not None and steer.after > begun and steer.act not in (SteeringKind.END, SteeringKind.LOOK):
            yield f"Act {steer.number} ({_said(steer.act)}) came after the closing had begun."
        yield from (f"Act {steer.number} {what}." for what in _odd(retold, steer))


def _odd(retold: ReconstructedDebate, steer: SteeringState) -> Iterator[str]:
    by = next(one["by"] for one in retold.facts("debate.steered") if one["number"] == steer.number)
    persons = {one["seat"]: one["person"] for one in retold.prompt_of["members"]}
    if steer.act not in set(SteeringKind):
        yield "is none that there is"
    if (steer.act == SteeringKind.EXTEND) != bool(steer.amount) or steer.amount % SPAN or steer.amount > MOST:
        yield f"gives {steer.amount} messages more"
    if steer.act == SteeringKind.WITHDRAW and persons.get(steer.seat or 0) != by:
        yield "withdraws a member for somebody else"
    if steer.act == SteeringKind.LOOK and (by in persons.values() or not any(persons.values())):
        yield "is a look of somebody from whom nothing was hidden, or who sat there"
    if steer.act == SteeringKind.WITHDRAW and not (steer.verdict or steer.seat in _stood(retold, steer)):
        yield "withdraws without a verdict"


def _stood(retold: ReconstructedDebate, steer: SteeringState) -> set[int]:
    return set(retold.state().verdict_at(steer.after))


# ---- the end ----------------------------------------------------------------------------------------------


def _end(retold: ReconstructedDebate) -> Iterator[str]:
    end = retold.end
    if not end:
        return
    if end["status"] != Run.Status.FINISHED:
        if end["outcome"]:
            yield f"It has the outcome {end['outcome']} and was {end['status']}."
        return
    if not any(_ends(step, end["because"]) for step in _last_steps(retold)):
        yield f"It ended ({_said(end['because'])}) where the rules go on."
    yield from _outcome(retold, end)


def _last_steps(retold: ReconstructedDebate) -> Iterator[turn_taking.NextStep]:
    whole = retold.state()
    if retold.closings:
        yield turn_taking.next_step(whole)
        return
    number, after = len(whole.turns) + 1, whole.newest
    yield from map(turn_taking.next_step, _courses(retold, number, after))


def _ends(step: turn_taking.NextStep, because: str) -> bool:
    """Return whether the step ends the debate for this reason, also if nobody was left for a last word."""
    if isinstance(step, turn_taking.BeginClosing):
        return not step.turns and step.because == because
    return isinstance(step, turn_taking.EndDebate) and step.because == because


def _outcome(retold: ReconstructedDebate, end: dict[str, Any]) -> Iterator[str]:
    course = retold.state()
    verdicts = [course.verdict_of.get(one.seat, "") for one in course.voters]
    due = outcome_of(retold.settings.rule, retold.settings.options, verdicts)
    told = {name: end[name] for name in ("tally", "abstained", "missing", "base")}
    if told != {
        "tally": [[option, count] for option, count in due.tally.items()],
        "abstained": due.abstained,
        "missing": due.missing,
        "base": due.base,
    }:
        yield "The tally is not that of its verdicts."
    if (end["outcome"], end["no_decision"]) != (due.word, due.code):
        yield f"The outcome is {end['outcome']}, by the rule it is {due.word}."


def _name(retold: ReconstructedDebate, seat: int) -> str:
    return next((one.name for one in retold.seats if one.seat == seat), f"seat {seat}")


def _said(word: str) -> str:
    return word.replace("_", " ")


_LOOKS: Sequence[Callable[[ReconstructedDebate], Iterator[str]]] = (
    *(_after_the_end, _numbers, _seed, _messages, _steers, _turns, _end, check_note_facts, check_answers, check_counts),
)
