"""Gates of one run that ask alike, to be decided together: one result each, and none stops the others.

Why so: docs/decisions.md, Gates.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from engine.gate_decisions import MAX_BATCH, DecisionRefused, InvalidAnswer, check_batch, may_decide
from engine.models import Gate
from engine.models.gates import DecisionValue

from .. import run_actions
from ..procedure.spec import spec_of_run
from .pending import CONTAINED_TEXT, DecisionOption, PendingGate, PendingGroup, options


@dataclass(frozen=True)
class BulkResult:
    """`gate` as it is then; `refused`: why nothing was decided there."""

    gate: Gate
    refused: DecisionRefused | InvalidAnswer | None = None


def decide_batch(
    read: Sequence[tuple[Gate, str]], user: Any, decision: str, text: str = "", choice: str = ""
) -> list[BulkResult]:
    """The same at each of these gates, of whose text somebody has read the one with this digest. DoesNotFit where they
    are not decided together: then nothing was decided at any of them."""
    check_batch(read)
    said = {"decision": decision, "text": text, "choice": choice}
    return [_one(gate, user, said | {"digest": digest}) for gate, digest in read]


def _one(gate: Gate, user: Any, said: dict[str, str]) -> BulkResult:
    try:
        return BulkResult(run_actions.decide(gate.pk, user, **said))
    except (InvalidAnswer, DecisionRefused) as refused:
        return BulkResult(Gate.objects.with_decisions().get(pk=gate.pk), refused)


# ---- on the page of what waits ------------------------------------------------------------------------------


@dataclass(frozen=True)
class GateBatch:
    """What can be ticked and decided together, with what can be said at each of them."""

    items: Sequence[PendingGate]
    options: Sequence[DecisionOption]

    @property
    def gate(self) -> Gate:
        return self.items[0].gate

    @property
    def about(self) -> str:
        """Which they are, in a word: the tool, or the procedure's word for its kind."""
        return self.gate.tool or self.gate.kind


def merge_group(group: PendingGroup, user: Any) -> PendingGroup:
    """The group with those that are alike in batches. What leaves the house is decided one by one, and so is what
    somebody needs a word of, and what is not all in its text."""
    found: dict[Any, list[PendingGate]] = {}
    for item in group.items if group.name == CONTAINED_TEXT[0] else ():
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
    """Of two with the same one the same people can say the same."""
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
