"""Decisions at several similar gates of one run: each has its own result, and a refusal does not stop the others.

Why so: engine/DESIGN.md, Gates.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from engine.gate_decisions import MAX_BATCH, DecisionRefused, InvalidAnswer, check_batch, may_decide
from engine.models import Gate
from engine.models.gates import DecisionValue

from .. import run_actions
from ..procedure.spec import spec_of_run
from .pending import CONTAINED_GROUP, DecisionOption, PendingGate, PendingGroup, options


@dataclass(frozen=True)
class BulkResult:
    """The gate after the decision; `refused` is the reason if nothing was decided."""

    gate: Gate
    refused: DecisionRefused | InvalidAnswer | None = None


def decide_batch(
    read: Sequence[tuple[Gate, str]], user: Any, decision: str, text: str = "", choice: str = ""
) -> list[BulkResult]:
    """Decide the same at each of these gates; each comes with the digest of the text that the user has read.

    Raises InvalidAnswer if they cannot be decided together; then no gate is decided.
    """
    check_batch(read)
    said = {"decision": decision, "text": text, "choice": choice}
    return [_one(gate, user, said | {"digest": digest}) for gate, digest in read]


def _one(gate: Gate, user: Any, said: dict[str, str]) -> BulkResult:
    try:
        return BulkResult(run_actions.decide(gate.pk, user, **said))
    except (InvalidAnswer, DecisionRefused) as refused:
        return BulkResult(Gate.objects.with_decisions().get(pk=gate.pk), refused)


# ---- batches on the page of pending gates -------------------------------------------------------------------


@dataclass(frozen=True)
class GateBatch:
    """Gates that can be selected and decided together, with the common options."""

    items: Sequence[PendingGate]
    options: Sequence[DecisionOption]

    @property
    def gate(self) -> Gate:
        return self.items[0].gate

    @property
    def about(self) -> str:
        """Return the tool, or the kind of gate if there is none."""
        return self.gate.tool or self.gate.kind


def merge_group(group: PendingGroup, user: Any) -> PendingGroup:
    """Return the group with similar gates merged into batches.

    External actions are decided one by one, as are gates that need an answer in words or whose text is cut.
    """
    found: dict[Any, list[PendingGate]] = {}
    for item in group.items if group.name == CONTAINED_GROUP[0] else ():
        if _fits(item.gate):
            found.setdefault(_key(item.gate), []).append(item)
    batches = [_batch(items, user) for items in found.values() if len(items) > 1]
    batches = [batch for batch in batches if batch.options]
    inside = {item.gate.pk for batch in batches for item in batch.items}
    alone = [item for item in group.items if item.gate.pk not in inside]
    first = [item for item in alone if batches and item.face.sort_priority(item.gate)]
    return replace(group, first=first, items=[item for item in alone if item not in first], batches=batches)


def _fits(gate: Gate) -> bool:
    return gate.pending and not gate.cut and not gate.is_split and not spec_of_run(gate.run).gate_template(gate)


def _key(gate: Gate) -> Any:
    """Return a key that is equal for gates with the same approvers and the same options."""
    choices = tuple((one["decision"], one["word"]) for one in gate.choices)
    return (
        gate.run_id,
        gate.tool or gate.kind,
        gate.effect,
        choices,
        gate.asked_user_id,
        gate.asked_group_id,
        gate.asked,
    )


def _batch(items: Sequence[PendingGate], user: Any) -> GateBatch:
    first = items[0].gate
    found = options(first, user) if may_decide(first, user) else ()
    said = [one for one in found if one.decision in (DecisionValue.APPROVE, DecisionValue.REJECT)]
    return GateBatch(items[:MAX_BATCH], said)
