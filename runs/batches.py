"""Gates of one run that ask alike, to be decided together: one result each, and none stops the others.

Why so: docs/decisions.md, Gates.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from engine.gates import MAX_BATCH, DoesNotFit, NotDecided, check_batch, may_decide
from engine.models import Gate
from engine.models.gates import Decision

from . import steering
from .deciding import HERE, Group, Item, Option, options
from .face import face_of


@dataclass(frozen=True)
class Result:
    """`gate` as it is then; `refused`: why nothing was decided there."""

    gate: Gate
    refused: NotDecided | DoesNotFit | None = None


def decide(
    read: Sequence[tuple[Gate, str]], user: Any, decision: str, text: str = "", choice: str = ""
) -> list[Result]:
    """The same at each of these gates, of whose text somebody has read the one with this digest. DoesNotFit where they
    are not decided together: then nothing was decided at any of them."""
    check_batch(read)
    said = {"decision": decision, "text": text, "choice": choice}
    return [_one(gate, user, said | {"digest": digest}) for gate, digest in read]


def _one(gate: Gate, user: Any, said: dict[str, str]) -> Result:
    try:
        return Result(steering.decide(gate.pk, user, **said))
    except (DoesNotFit, NotDecided) as refused:
        return Result(Gate.objects.whole().get(pk=gate.pk), refused)


# ---- on the page of what waits ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Batch:
    """What can be ticked and decided together, with what can be said at each of them."""

    items: Sequence[Item]
    options: Sequence[Option]

    @property
    def gate(self) -> Gate:
        return self.items[0].gate

    @property
    def about(self) -> str:
        """Which they are, in a word: the tool, or the procedure's word for its kind."""
        return self.gate.tool or self.gate.kind


def put_together(group: Group, user: Any) -> Group:
    """The group with those that are alike in batches. What leaves the house is decided one by one, and so is what
    somebody needs a word of, and what is not all in its text."""
    found: dict[Any, list[Item]] = {}
    for item in group.items if group.name == HERE[0] else ():
        if _fits(item.gate):
            found.setdefault(_key(item.gate), []).append(item)
    batches = [_batch(items, user) for items in found.values() if len(items) > 1]
    batches = [batch for batch in batches if batch.options]
    inside = {item.gate.pk for batch in batches for item in batch.items}
    alone = [item for item in group.items if item.gate.pk not in inside]
    first = [item for item in alone if batches and item.face.comes_first(item.gate)]
    return replace(group, first=first, items=[item for item in alone if item not in first], batches=batches)


def _fits(gate: Gate) -> bool:
    return gate.pending and not gate.cut and not gate.differs and not face_of(gate.run).gate_template(gate)


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


def _batch(items: Sequence[Item], user: Any) -> Batch:
    first = items[0].gate
    found = options(first, user) if may_decide(first, user) else ()
    said = [one for one in found if one.decision in (Decision.APPROVE, Decision.REJECT)]
    return Batch(items[:MAX_BATCH], said)
