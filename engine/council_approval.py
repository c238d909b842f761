"""Council runs at gates: when one is started, and how its outcome becomes a decision.

Why so: engine/DESIGN.md, Gates.
"""

from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now
from django.utils.module_loading import import_string

from .cancellation import cancel
from .councils import CouncilUse, with_earlier_id
from .models import ACTIVE_STATUSES, BudgetExceeded, Gate, GateAuthor, GateDecision, GateRule, Run
from .models.child_runs import TooManyChildren
from .models.gates import DecisionValue, GateState
from .models.rehearsals import is_only_rehearsal, was_rehearsed
from .policy import PolicyDict, apply_minimums, asks_council, has_quorum, parse_policy, policy_state, strictest
from .runtime.procedure import procedures

CouncilApprover = Callable[..., Any]
"""Creates the run of a council, by its id, that decides at a gate. It gets the owner's columns as `made_by`, and is
called in an open transaction. Raises CouncilNotPossible."""

APPROVED = "approved"  # the only outcome that approves
REPORT_FAILURE = "tell"
NOBODY_MEANT = (
    "No council decides here: which one “{name}” is cannot be said for certain, for it was saved as a name that no "
    "council had, or more than one. Name it by its id where it is asked for. Until then a person decides."
)
REHEARSED = (
    "The council was rehearsed: no model judged this, and a rehearsal counts for nothing where the run itself is none. "
    "A person decides."
)


class CouncilNotPossible(Exception):
    """The council cannot be asked. The text is a sentence for people."""


class NeedsPerson(CouncilNotPossible):
    """A person decides instead, even if the procedure asked to be told of a failure."""


def required_council(
    policy: PolicyDict | None,
    *,
    procedure: str,
    kind: str,
    effect: str = "",
    tool: str = "",
    cut: bool = False,
) -> dict[str, Any]:
    """The policy of a gate: the procedure's, made as strict as gate rules and minimums require."""
    wanted = dict(policy or {})
    if rule := GateRule.objects.strictest(procedure=procedure, kind=kind, effect=effect, tool=tool):
        wanted = strictest(wanted, rule.policy)
    return parse_policy(with_earlier_id(apply_minimums(wanted, kind=kind, effect=effect, cut=cut)))


def start_council_run(before: Gate | None, policy: PolicyDict | None, **values: Any) -> Gate:
    """Open a gate, and start a council run if its policy needs one.

    Called in a transaction of the run's worker, which must append the submission to the log.
    """
    about = {name: values.get(name, "") for name in ("kind", "effect", "tool")}
    held = required_council(policy, procedure=values["run"].procedure, cut=bool(values.get("whole")), **about)
    gate = Gate.objects.open(before, policy=held, **values)
    if held["four_eyes"]:
        GateAuthor.objects.add_for(gate)
    if asks_council(held):
        _convene(gate)
    return record_council_decision(gate.pk)


def _convene(gate: Gate) -> None:
    if gate.policy["council_id"] is None:  # a person decides, whatever `when_failed` says: no council has failed
        _say(gate, DecisionValue.TURN, text=NOBODY_MEANT.format(name=gate.policy["council"]))
        return
    try:
        make = partial(_decider(), gate, gate.policy["council_id"])
        with transaction.atomic():
            run = Run.objects.create_child(gate.run, f"gate {gate.pk}", make, called=gate.title)
    except (CouncilNotPossible, BudgetExceeded, TooManyChildren) as cannot:
        _say(gate, DecisionValue.TURN if isinstance(cannot, NeedsPerson) else _nothing(gate), text=str(cannot))
    else:
        Gate.objects.filter(pk=gate.pk).update(council=run, hides=gate.policy["blind"])


def _decider() -> CouncilApprover:
    if "council" not in settings.DECIDERS:
        raise CouncilNotPossible("No council can be asked here.")
    return import_string(settings.DECIDERS["council"])


def council_uses() -> list[CouncilUse]:
    """Where councils are used: in gate rules and in presets of procedures."""
    rules = GateRule.objects.exclude(council_id=None).exclude(who="")
    found = [CouncilUse(rule.council_id, f"the gate rule “{rule}”") for rule in rules if rule.council_id]
    return [*found, *(use for procedure in procedures().values() for use in procedure.council_uses())]


def cancel_council_runs(run: UUID, by: Any = None) -> None:
    """Cancel council runs at gates of this run that are no longer pending.

    Called in a transaction that has locked the run's row.
    """
    asked = Run.objects.filter(status__in=ACTIVE_STATUSES, asked_at__run=run).exclude(asked_at__state=GateState.PENDING)
    for pk in list(asked.order_by("pk").values_list("pk", flat=True)):
        cancel(pk, by, told=False)


def record_council_decision(pk: int) -> Gate:
    """Record the council's decision, unless it must stay hidden yet, and close the gate if its policy is satisfied."""
    gate = Gate.objects.with_decisions().get(pk=pk)
    if not gate.pending:
        return gate
    decisions = list(gate.decisions.all())
    shown = not gate.policy.get("blind") or has_quorum(gate.policy, decisions)
    if shown and gate.council and gate.council.is_ended and not gate.is_acknowledged:
        _hear(gate, gate.council)
        decisions = list(GateDecision.objects.filter(gate=pk))
    state = policy_state(gate.policy, decisions, cut=gate.cut)
    closed = None if state == GateState.PENDING else Now()
    hides = gate.hides and not shown and state == GateState.PENDING
    Gate.objects.filter(pk=pk, state=GateState.PENDING).update(state=state, closed=closed, hides=hides)
    return Gate.objects.with_decisions().get(pk=pk)


def _hear(gate: Gate, run: Run) -> None:
    """Record the run's outcome as a decision. A failed, cancelled, overridden or redacted run decides nothing."""
    if not (run.status == Run.Status.FINISHED and is_countable(run)):
        _say(gate, _nothing(gate), text=f"The council came to no outcome that counts: {_why(run)}.")
        return
    if was_rehearsed(run) and not is_only_rehearsal(gate.run):
        _say(gate, DecisionValue.TURN, text=REHEARSED)
        return
    decision = DecisionValue.APPROVE if run.outcome == APPROVED else DecisionValue.REJECT
    procedure = procedures()[run.procedure]
    name = procedure.judged_as(run.pk) or gate.policy["council"]
    _say(gate, decision, name, judged_by=run, text=procedure.explanation(run.pk))


def is_countable(run: Run) -> bool:
    return run.override is None and run.redacted is None


def _why(run: Run) -> str:
    return "it was decided otherwise or erased since" if run.status == Run.Status.FINISHED else f"it {run.status}"


def _nothing(gate: Gate) -> DecisionValue:
    return DecisionValue.FAIL if gate.when_failed == REPORT_FAILURE else DecisionValue.TURN


def _say(gate: Gate, decision: DecisionValue, name: str = "", **values: Any) -> None:
    by = f"council {name or gate.policy['council']}"
    GateDecision.objects.create(gate=gate, by=by[:150], account="", decision=decision, **values)
