"""The rows of a mission as they were at an earlier moment."""

from collections.abc import Iterator
from copy import copy
from datetime import datetime
from typing import Any

from runs.procedure.point_in_time import moments_of_calls, replace_rows
from runs.procedure.spec import RunSnapshot

from .models import Mission, MissionStep, Terminal

LISTS = ("agents", "halts", "messages", "pauses", "short_memories", "summaries", "files")


def at_moment(row: Mission, moment: datetime) -> Mission:
    mission = copy(row)
    mission.__dict__.pop("crew_list", None)
    lists = dict(mission._prefetched_objects_cache)  # type: ignore[attr-defined]
    for name in LISTS:
        lists[name] = replace_rows(lists[name], [one for one in lists[name] if one.made <= moment])
    steps = [_step(one, moment) for one in lists["steps"] if one.made <= moment]
    lists["steps"] = replace_rows(lists["steps"], steps)
    terminals = [_terminal(one, moment) for one in lists["terminals"] if one.made <= moment]
    lists["terminals"] = replace_rows(lists["terminals"], terminals)
    mission._prefetched_objects_cache = lists  # type: ignore[attr-defined]
    check = getattr(row, "final_check", None)
    if check is not None and check.made > moment:
        mission._state.fields_cache = {**row._state.fields_cache, "final_check": None}
    if row.run.ended is None or moment < row.run.ended:
        mission.result = mission.unproven = ""
    return mission


def _step(one: MissionStep, moment: datetime) -> MissionStep:
    then: Any = copy(one)
    if then.settled is None or then.settled > moment:
        then.settled, then.result, then.tool_call, then.ok = None, "", None, False
    return then


def _terminal(one: Terminal, moment: datetime) -> Terminal:
    then: Any = copy(one)
    if then.ended is None or then.ended > moment:
        then.ended, then.exit_code, then.reason, then.output, then.seconds = None, None, "", "", None
    return then


def moments(seen: RunSnapshot[Mission]) -> Iterator[datetime]:
    """The moments at which its page changed, without gates, which the common code of replays adds."""
    row = seen.row
    yield from moments_of_calls(seen.calls)
    yield from (one.made for one in row.steps.all())
    yield from (one.settled for one in row.steps.all() if one.settled)
    yield from (one.made for one in row.messages.all())
    yield from (one.made for one in row.pauses.all())
    yield from (one.ended for one in row.terminals.all() if one.ended)
    if (check := getattr(row, "final_check", None)) is not None:
        yield check.made
