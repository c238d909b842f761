"""A debate as it was at an earlier moment, for the replay of its page.

Most rows never change once written, so rows are left out, not copied: a long debate is rebuilt hundreds of times.
"""

from collections.abc import Iterator, Mapping
from copy import copy
from datetime import datetime, timedelta
from itertools import zip_longest
from typing import Any, cast

from engine.models import ModelCall
from runs.procedure.point_in_time import replace_rows
from runs.procedure.spec import RunSnapshot

from .models import Debate, DebateMember, DebateTurn
from .page.display import DebateDisplay
from .rules.state import MemberStatus, NoteKind, TurnReason

FRAME_BATCH = timedelta(milliseconds=40)
DEADLINE = "pending"
INCREMENTAL_LISTS = ("messages", "turns", "steers")  # lists of rows that are added one by one


def at_moment(debate: Debate, moment: datetime) -> Debate:
    """Return the debate at `moment`. Turns that closed later are open, acts done later are not done, and there is
    no closing before its time."""
    then: Any = copy(debate)
    then.__dict__.pop("so_far", None)  # the cached state was computed from other rows
    lists = dict(then._prefetched_objects_cache)
    lists |= {name: replace_rows(lists[name], _made_by(lists[name], moment)) for name in INCREMENTAL_LISTS}
    lists["turns"] = replace_rows(lists["turns"], [_turn_at(turn, moment) for turn in lists["turns"]])
    lists["steers"] = replace_rows(lists["steers"], [_done_at(steer, moment) for steer in lists["steers"]])
    lists["members"] = replace_rows(lists["members"], [_member_at(member, moment) for member in lists["members"]])
    then._prefetched_objects_cache = lists
    then.no_decision = ""
    if not any(turn.why == TurnReason.CLOSING for turn in lists["turns"]):
        then.ended_because = ""
    return cast(Debate, then)


def _made_by(rows: Any, moment: datetime) -> list[Any]:
    return [row for row in rows if row.made <= moment]


def _turn_at(turn: DebateTurn, moment: datetime) -> DebateTurn:
    if turn.closed is None or turn.closed <= moment:
        return turn
    then = copy(turn)
    then.state, then.closed, then.reason_skipped = MemberStatus.OPEN, None, ""
    return then


def _done_at(steer: Any, moment: datetime) -> Any:
    if steer.done is None or steer.done <= moment:
        return steer
    then = copy(steer)
    then.done = None
    return then


def _member_at(member: DebateMember, moment: datetime) -> DebateMember:
    """Return the member without a first verdict that came later."""
    if not hasattr(member, "first") or member.first.made <= moment:
        return member
    then = copy(member)
    then._state = copy(member._state)
    then._state.fields_cache = {**member._state.fields_cache, "first": None}
    return then


# ---- timeline ---------------------------------------------------------------------------------------------


def moments(seen: RunSnapshot[Debate]) -> Iterator[datetime]:
    """Yield the moments when the page changed. Changes within one batch are one moment: a message, the note after
    it and the next turn are written right after one another."""
    times = sorted(_changes(seen))
    for time, following in zip_longest(times, times[1:]):
        if following is None or following - time > FRAME_BATCH:
            yield time


def _changes(seen: RunSnapshot[Debate]) -> Iterator[datetime]:
    """Yield the times of requests, messages, skips and acts. A failed attempt appears when it ended, an answered
    one when its answer was saved."""
    debate = seen.row
    yield from (message.made for message in debate.messages.all())
    yield from (steer.made for steer in debate.steers.all())
    yield from (member.first.made for member in debate.seated if hasattr(member, "first"))
    yield from (turn.closed for turn in debate.turns.all() if turn.closed and turn.state == MemberStatus.SKIPPED)
    yield from (turn.made for turn in debate.turns.all() if turn.why == TurnReason.CLOSING)
    for call in seen.calls:
        yield call.started
        if call.ended and call.status != ModelCall.Status.ANSWERED:
            yield call.ended


def answers_until(debate: Debate) -> Mapping[int, str]:
    """Return the texts by the call that gave them; a text in parts by its last call."""
    alone = {one.first.call_id: one.first.reasoning for one in debate.seated if hasattr(one, "first")}
    said = {message.calls[-1]: message.content for message in debate.messages.all() if message.calls}
    return {call: text for call, text in (alone | said).items() if call}


def chapter(before: DebateDisplay | None, display: DebateDisplay) -> str:
    """Return the title of a chapter that begins here: first verdicts, debate, each deadline, last words."""
    if display.is_ended:
        return ""
    if display.stage == "first":
        return "" if all(alone.hidden for alone in display.alone) else "Alone"
    if before is None or before.stage != display.stage:
        return {"open": "Debate", "closing": "Last words"}[display.stage]
    passed = _deadlines(display)
    return str(passed[-1]) if passed and passed != _deadlines(before) else ""


def _deadlines(display: DebateDisplay) -> list[int | None]:
    notes = (slot.message for slot in display.slots if slot.message and slot.message.note == NoteKind.DEADLINE)
    return [note.after for note in notes]


def replay_mark(before: DebateDisplay | None, display: DebateDisplay) -> str:
    """Return the mark of a frame: the outcome, the verdict that a member has just changed to, or a deadline."""
    if before is None:
        return ""
    if display.is_ended:
        return display.state
    if len(display.changes) > len(before.changes):
        return display.changes[-1].look.state
    return DEADLINE if _deadlines(display) != _deadlines(before) else ""
