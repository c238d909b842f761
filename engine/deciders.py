"""Runs that are asked at gates, in place of persons or besides: which, and what their outcomes decide.

Why so: docs/decisions.md, Gates.
"""

from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now
from django.utils.module_loading import import_string

from .cancelling import cancel
from .models import GOING_ON, BudgetUsedUp, Gate, GateAuthor, GateDecision, GateRule, Run
from .models.children import TooManyChildren
from .models.gates import Decision, GateState
from .policy import Policy, asks_council, enough_persons, policy_of, state_of, stricter, with_floors
from .procedure import procedures

Decider = Callable[..., Any]
"""Makes the run that decides at a gate by the council of a name, with the columns that it gets as `made_by`, in an open
transaction. Cannot where it can not."""

APPROVED = "approved"  # the one outcome that opens a gate
TELL = "tell"


class Cannot(Exception):
    """The council cannot be asked. The text is a sentence for people."""


class NeedsPerson(Cannot):
    """A person decides in its place, also where the procedure would do without."""


def demanded(
    policy: Policy | None,
    *,
    procedure: str,
    kind: str,
    effect: str = "",
    tool: str = "",
    cut: bool = False,
) -> dict[str, Any]:
    """Who has to decide at such a gate: as the procedure wants it, and as strict as rules and floors are."""
    wanted = dict(policy or {})
    if rule := GateRule.objects.best(procedure=procedure, kind=kind, effect=effect, tool=tool):
        wanted = stricter(wanted, rule.policy)
    return policy_of(with_floors(wanted, kind=kind, effect=effect, cut=cut))


def ask(before: Gate | None, policy: Policy | None, **values: Any) -> Gate:
    """Ask there, with a run of its own where a council is to decide. In a transaction of the run's worker, who logs
    what is submitted in it."""
    about = {name: values.get(name, "") for name in ("kind", "effect", "tool")}
    held = demanded(policy, procedure=values["run"].procedure, cut=bool(values.get("whole")), **about)
    gate = Gate.objects.ask(before, policy=held, **values)
    if held["four_eyes"]:
        GateAuthor.objects.add_for(gate)
    if asks_council(held):
        _convene(gate)
    return settle(gate.pk)


def _convene(gate: Gate) -> None:
    try:
        make = partial(_decider(), gate, gate.policy["council"])
        with transaction.atomic():
            run = Run.objects.make_child(gate.run, f"gate {gate.pk}", make, called=gate.title)
    except (Cannot, BudgetUsedUp, TooManyChildren) as cannot:
        _say(gate, Decision.TURN if isinstance(cannot, NeedsPerson) else _nothing(gate), text=str(cannot))
    else:
        Gate.objects.filter(pk=gate.pk).update(council=run, hides=gate.policy["blind"])


def _decider() -> Decider:
    if "council" not in settings.DECIDERS:
        raise Cannot("No council can be asked here.")
    return import_string(settings.DECIDERS["council"])


def is_council(name: str) -> bool:
    """Whether a council of this name could be asked now: for whoever writes a policy."""
    return bool(settings.DECIDERS) and bool(import_string(settings.COUNCILS_KNOWN)(name))


def councils() -> list[str]:
    """Which could be asked now: for whoever chooses one."""
    return import_string(settings.COUNCILS_NAMED)() if settings.DECIDERS else []


def dismiss(run: UUID, by: Any = None) -> None:
    """Cancel who was asked at gates of this run that wait no more: nobody needs what they would say. In a transaction
    that holds the run's row."""
    asked = Run.objects.filter(status__in=GOING_ON, asked_at__run=run).exclude(asked_at__state=GateState.PENDING)
    for pk in list(asked.order_by("pk").values_list("pk", flat=True)):
        cancel(pk, by, told=False)


def settle(pk: int) -> Gate:
    """What is decided there by now: hear the council, unless it is too early for that, and close the gate if it is."""
    gate = Gate.objects.whole().get(pk=pk)
    if not gate.pending:
        return gate
    decisions = list(gate.decisions.all())
    shown = not gate.policy.get("blind") or enough_persons(gate.policy, decisions)
    if shown and gate.council and gate.council.over and not gate.heard:
        _hear(gate, gate.council)
        decisions = list(GateDecision.objects.filter(gate=pk))
    state = state_of(gate.policy, decisions, cut=gate.cut)
    closed = None if state == GateState.PENDING else Now()
    hides = gate.hides and not shown and state == GateState.PENDING
    Gate.objects.filter(pk=pk, state=GateState.PENDING).update(state=state, closed=closed, hides=hides)
    return Gate.objects.whole().get(pk=pk)


def _hear(gate: Gate, run: Run) -> None:
    """Its outcome is its decision. What failed, was cancelled, overridden or erased is none."""
    if not (run.status == Run.Status.FINISHED and counts(run)):
        _say(gate, _nothing(gate), text=f"The council came to no outcome that counts: {_why(run)}.")
        return
    decision = Decision.APPROVE if run.outcome == APPROVED else Decision.REJECT
    _say(gate, decision, judged_by=run, text=procedures()[run.procedure].grounds(run.pk))


def counts(run: Run) -> bool:
    return run.override is None and run.redacted is None


def _why(run: Run) -> str:
    return "it was decided otherwise or erased since" if run.status == Run.Status.FINISHED else f"it {run.status}"


def _nothing(gate: Gate) -> Decision:
    return Decision.FAIL if gate.when_failed == TELL else Decision.TURN


def _say(gate: Gate, decision: Decision, **values: Any) -> None:
    by = f"council {gate.policy['council']}"
    GateDecision.objects.create(gate=gate, by=by[:150], account="", decision=decision, **values)
