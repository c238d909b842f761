"""Sentences about earlier_approval_text approvals of what a gate asks about again."""

from collections.abc import Sequence
from typing import Any

from engine.models import Gate
from engine.models.gates import OPENS

from .gate_decisions import decision_text
from .models import Plan, queries
from .rules.approval_policy import ApprovalKind
from .rules.enums import StepStatus
from .rules.gate_text import NAMED, differences, parts_of
from .rules.scheduling import BEFORE_WORK

ORDER = [NAMED["After"]]


def earlier_approval_text(gate: Gate, user: Any) -> str:
    """Return a sentence for this person about an earlier_approval_text approval; empty if there was none.

    It is information only. The gate still needs a decision: its text, or the order of the steps, has changed.
    """
    if not gate.pending or not gate.text:
        return ""
    if gate.kind == ApprovalKind.PLAN:
        return _plan_sentence(gate)
    approval = _approved_before(gate) if gate.kind == ApprovalKind.STEP else None
    return _sentence(approval, gate, user) if approval else ""


def _approved(gate: Gate) -> list[Gate]:
    gates = Gate.objects.with_decisions().filter(
        run=gate.run_id, kind=ApprovalKind.STEP, state=Gate.State.APPROVED, pk__lt=gate.pk
    )
    return [one for one in gates.order_by("-pk") if one.is_decided]


def _approved_before(gate: Gate) -> Gate | None:
    # approvals of steps that have started come last: they say least about what happens next
    approved = sorted(_approved(gate), key=lambda one: one.used is not None)
    same = next((one for one in approved if _is_same(one.text, gate.text)), None)
    return same or next((one for one in approved if one.step == gate.step and not one.used), None)


def _is_same(before: str, now: str) -> bool:
    """Tell whether two step texts differ in nothing but the steps before."""
    return differences(before, now) in ([], ORDER)


def _sentence(before: Gate, gate: Gate, user: Any) -> str:
    who = "you" if _has_approved(before, user) else decision_text(before) or "somebody"
    as_step = f" as {_step_label(before.text)}" if before.step != gate.step else ""
    approved = f"{who} approved it{as_step} on {before.closed:%d %b %Y, %H:%M} UTC"
    if before.used:
        return f"{_step_label(before.text).capitalize()} was the same, and has begun: an approval has this done again."
    changed = differences(before.text, gate.text)
    if changed == ORDER:
        now, then = _dependency_text(gate.text), _dependency_text(before.text)
        return f"Unchanged since {approved}, but it comes after {now} now, not after {then}."
    if not changed:
        return f"Unchanged since {approved}{', but other steps come before it now' if as_step else ''}."
    return f"Changed since {approved}: its {_listed(changed)}."


def _has_approved(gate: Gate, user: Any) -> bool:
    return any(one.by_user_id == user.pk and one.decision in OPENS for one in gate.decisions.all())


def _step_label(text: str) -> str:
    return f"step {parts_of(text)['Step'][0]}"


def _dependency_text(text: str) -> str:
    [names] = parts_of(text)["After"]
    return f"step{'s' if ',' in names else ''} {names}" if names[0].isdigit() else names


def _plan_sentence(gate: Gate) -> str:
    """Say which steps stay approved, and which need approval again although only their order changed."""
    plan = Plan.objects.planned().get(pk=gate.run_id)
    steps = [step for step in plan.steps_now if step.status in BEFORE_WORK]
    approved = _approved(gate)
    stay = [
        step for step in steps if step.status == StepStatus.APPROVED and _has_unused_approval(step.gate_step, approved)
    ]
    texts = {step.number: queries.gate_text_of(plan, step).text for step in steps if step not in stay}
    unused = [one.text for one in approved if not one.used]
    again = [number for number, text in texts.items() if any(_is_same(before, text) for before in unused)]
    sentences = [f"{_steps([step.number for step in stay])} approved already."] if stay else []
    sentences += [f"{_steps(again)} unchanged since an approval, but for what comes before."] if again else []
    return " ".join(sentences)


def _steps(numbers: Sequence[int]) -> str:
    listed = _listed([str(number) for number in numbers])
    return f"Steps {listed} are" if len(numbers) > 1 else f"Step {listed} is"


def _has_unused_approval(place: str, approved: Sequence[Gate]) -> bool:
    return any(gate.step == place and not gate.used for gate in approved)


def _listed(words: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
