"""Reconstructs a plan as it was at a given moment, from the history of its rows."""

from collections.abc import Iterable, Iterator
from copy import copy
from datetime import datetime
from typing import Any

from runs.procedure.point_in_time import moments_of_calls, move_at_moment, replace_rows
from runs.procedure.spec import RunSnapshot

from .models import Plan, PlanStep
from .rules.enums import RevisionStatus, StepStatus


def at_moment(row: Plan, moment: datetime) -> Plan:
    plan = copy(row)
    messages = [one for one in row.messages.all() if one.made <= moment]
    revisions = [_revision(one, moment) for one in row.revisions.all() if one.made <= moment]
    steps = [_step(one, revisions, moment) for one in row.steps.all() if one.history[0].made <= moment]
    over = row.run.ended is not None and moment >= row.run.ended
    plan.summary = row.summary if over else ""
    lists = dict(plan._prefetched_objects_cache)  # type: ignore[attr-defined]
    for name, rows in (("messages", messages), ("revisions", revisions), ("steps", steps)):
        lists[name] = replace_rows(lists[name], rows)
    plan._prefetched_objects_cache = lists  # type: ignore[attr-defined]
    return plan


def _revision(one: Any, moment: datetime) -> Any:
    found = copy(one)
    if one.planned is None or one.planned > moment:
        found.standing, found.thought, found.questions, found.planned = RevisionStatus.ORDERED, "", "", None
    return found


def _step(one: PlanStep, revisions: Iterable[Any], moment: datetime) -> PlanStep:
    step = copy(one)
    states = [state for state in one.history if state.made <= moment]
    newest = max(
        (revision.number for revision in revisions if revision.planned and revision.planned <= moment), default=0
    )
    step.status, step.series = states[-1].status, states[-1].series
    step.skipped = one.skipped and states[-1].status in (StepStatus.FAILED, StepStatus.REJECTED)
    if one.last_in is not None and one.last_in >= newest:
        step.last_in = None
    moves = [move_at_moment(move, moment) for move in one.moves.all() if move.made <= moment]
    lists = dict(step._prefetched_objects_cache)  # type: ignore[attr-defined]
    lists |= {"states": replace_rows(lists["states"], states), "moves": replace_rows(lists["moves"], moves)}
    step._prefetched_objects_cache = lists  # type: ignore[attr-defined]
    return step


def moments(seen: RunSnapshot[Plan]) -> Iterator[datetime]:
    """Yield the moments at which the page changed. Those of gates are added for all procedures (runs/record/replay)."""
    yield from moments_of_calls(seen.calls)
    for step in seen.row.steps.all():
        yield from (state.made for state in step.states.all())
        yield from (move.settled for move in step.moves.all() if move.settled)
    yield from (one.made for one in seen.row.messages.all())
