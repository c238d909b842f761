"""What somebody has approved before of that which a gate asks about again, in words."""

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


def earlier(gate: Gate, user: Any) -> str:
    """A sentence for this person; empty where nothing of it was approved. It decides nothing: what is asked about is
    another text, or comes after other steps, than what was approved."""
    if not gate.pending or not gate.text:
        return ""
    if gate.kind == ApprovalKind.PLAN:
        return _in_plan(gate)
    found = _approved_before(gate) if gate.kind == ApprovalKind.STEP else None
    return _sentence(found, gate, user) if found else ""


def _approved(gate: Gate) -> list[Gate]:
    asked = Gate.objects.with_decisions().filter(
        run=gate.run_id, kind=ApprovalKind.STEP, state=Gate.State.APPROVED, pk__lt=gate.pk
    )
    return [one for one in asked.order_by("-pk") if one.is_decided]


def _approved_before(gate: Gate) -> Gate | None:
    approved = sorted(
        _approved(gate), key=lambda one: one.used is not None
    )  # what has begun says least of what is next
    same = next((one for one in approved if _is_same(one.text, gate.text)), None)
    return same or next((one for one in approved if one.step == gate.step and not one.used), None)


def _is_same(before: str, now: str) -> bool:
    """Whether a step is the same, whatever comes before it."""
    return differences(before, now) in ([], ORDER)


def _sentence(before: Gate, gate: Gate, user: Any) -> str:
    who = "you" if _has_approved(before, user) else decision_text(before) or "somebody"
    as_step = f" as {_called(before.text)}" if before.step != gate.step else ""
    approved = f"{who} approved it{as_step} on {before.closed:%d %b %Y, %H:%M} UTC"
    if before.used:
        return f"{_called(before.text).capitalize()} was the same, and has begun: an approval has this done again."
    changed = differences(before.text, gate.text)
    if changed == ORDER:
        return (
            f"Unchanged since {approved}, but it comes after {_after(gate.text)} now, not after {_after(before.text)}."
        )
    if not changed:
        return f"Unchanged since {approved}{', but other steps come before it now' if as_step else ''}."
    return f"Changed since {approved}: its {_listed(changed)}."


def _has_approved(gate: Gate, user: Any) -> bool:
    return any(one.by_user_id == user.pk and one.decision in OPENS for one in gate.decisions.all())


def _called(text: str) -> str:
    return f"step {parts_of(text)['Step'][0]}"


def _after(text: str) -> str:
    [said] = parts_of(text)["After"]
    return f"step{'s' if ',' in said else ''} {said}" if said[0].isdigit() else said


def _in_plan(gate: Gate) -> str:
    """Which steps of a plan stay approved, and which are asked about again as they were approved."""
    plan = Plan.objects.planned().get(pk=gate.run_id)
    steps = [step for step in plan.steps_now if step.status in BEFORE_WORK]
    approved = _approved(gate)
    stay = [step for step in steps if step.status == StepStatus.APPROVED and _stays(step.gate_step, approved)]
    texts = {step.number: queries.subject_of(plan, step).text for step in steps if step not in stay}
    unused = [one.text for one in approved if not one.used]
    again = [number for number, text in texts.items() if any(_is_same(before, text) for before in unused)]
    said = [f"{_steps([step.number for step in stay])} approved already."] if stay else []
    said += [f"{_steps(again)} unchanged since an approval, but for what comes before."] if again else []
    return " ".join(said)


def _steps(numbers: Sequence[int]) -> str:
    listed = _listed([str(number) for number in numbers])
    return f"Steps {listed} are" if len(numbers) > 1 else f"Step {listed} is"


def _stays(place: str, approved: Sequence[Gate]) -> bool:
    return any(gate.step == place and not gate.used for gate in approved)


def _listed(words: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
