"""What a run waits for, as its page shows it."""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from engine.models import Gate, ModelCall, Run, Suspension, ToolCall

from .point_in_time import row_at_moment


@dataclass(frozen=True)
class WaitReason:
    """What a waiting run waits for. `why` is a sentence if no gate says it; `since` is None for a run that is
    simulated.
    """

    why: str
    since: datetime | None
    until: datetime | None
    gates: Sequence[Gate]


def wait_reason(run: Run, parks: Sequence[datetime], gates: Sequence[Gate]) -> WaitReason | None:
    if run.status != Run.Status.WAITING:
        return None
    pending = [gate for gate in gates if gate.pending]
    return WaitReason(run.why, max(parks, default=None), run.wakes_at, pending)


PERSON, RUN, TIME = "person", "run", "time"


def waits_for_gate(run: Run, gates: Sequence[Gate]) -> str | None:
    """Return whether the run waits for a person, another run or a point in time; None if it does not wait."""
    if run.status != Run.Status.WAITING:
        return None
    pending = [gate for gate in gates if gate.pending]
    if any(gate.needs_people for gate in pending):
        return PERSON
    return RUN if pending else TIME


def parks_of(pk: UUID) -> list[datetime]:
    """Return the times at which the run was suspended."""
    return list(Suspension.objects.filter(run=pk).values_list("made", flat=True))


def gates_of(pk: UUID) -> list[Gate]:
    return gates_in([pk])[pk]


def gates_in(pks: Sequence[UUID]) -> Mapping[UUID, list[Gate]]:
    """Return the gates of each run in order. The number of queries does not depend on the number of runs."""
    found: dict[UUID, list[Gate]] = {pk: [] for pk in pks}
    for gate in Gate.objects.with_decisions().filter(run__in=pks):
        found[gate.run_id].append(gate)
    return found


def pending_in(pks: Sequence[UUID]) -> Mapping[UUID, list[Gate]]:
    """Return the pending gates of each run, without their texts."""
    found: dict[UUID, list[Gate]] = {pk: [] for pk in pks}
    for gate in Gate.objects.pending().filter(run__in=pks).defer("text").prefetch_related("decisions").order_by("pk"):
        found[gate.run_id].append(gate)
    return found


# ---- at a moment in the past --------------------------------------------------------------------------------


def gate_at(gate: Gate, moment: datetime) -> Gate:
    then = row_at_moment(gate, moment)
    if gate.closed and gate.closed > moment:
        then.state, then.closed = Gate.State.PENDING, None
    return then


def moments_of(parks: Sequence[datetime], gates: Sequence[Gate]) -> list[datetime]:
    """Return the times at which gates were opened, decided and closed, and at which the run was suspended."""
    decided = [one.made for gate in gates for one in gate.decisions.all()]
    closed = [gate.closed for gate in gates if gate.closed]
    return [*parks, *(gate.made for gate in gates), *decided, *closed]


def wait_reason_at(
    run: Run,
    moment: datetime,
    parks: Sequence[datetime],
    gates: Sequence[Gate],
    calls: Sequence[ModelCall],
    uses: Sequence[ToolCall] = (),
) -> Run:
    """Return the run at `moment`, with `calls` and `uses` in their state at that moment.

    It waits if nothing has happened since it was last suspended.
    """
    last = max((park for park in parks if park <= moment), default=None)
    since = [*(call.started for call in calls), *(use.made for use in uses)] + [
        then for then in moments_of((), gates) if then <= moment
    ]
    if last is None or any(then > last for then in since):
        return run
    then = copy(run)
    then.status, then.why, then.wakes_at = Run.Status.WAITING, "", None
    return then
