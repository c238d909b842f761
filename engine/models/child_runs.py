"""Runs that a run has made: who belongs to whom, and how many there may be.

Why so: engine/DESIGN.md, Waiting.
"""

import uuid
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

from django.db.models import F, Q

from ..llm.errors import RunFailed
from .claims import ACTIVE_STATUSES, ClaimQuerySet, RunStatus

if TYPE_CHECKING:
    from .runs import Run

MAX_DEPTH = 4  # levels below the run at the top
MAX_LIVE_CHILDREN = 50  # below one run at the top, and
MAX_CHILDREN = 1_000
ASKED_BY_LENGTH = 150

NO_OTHER_OWNER: Mapping[str, Any] = MappingProxyType({})  # no other run: somebody asks for it
SubmitChild = Callable[..., Any]
"""Makes a run of some procedure with the columns that it gets as `made_by`, in an open transaction."""


class TooManyChildren(RunFailed):
    """A run may make no more runs, or none so deep."""

    def __init__(self, sentence: str) -> None:
        super().__init__("too_many_runs", sentence)


class RunTreeQuerySet(ClaimQuerySet):
    def child_of(self, parent: uuid.UUID, step: str) -> "Run | None":
        return self.filter(parent=parent, step=step).first()

    def descendants_of(self, pk: uuid.UUID) -> list[uuid.UUID]:
        """All that this run has caused, the deepest first."""
        levels: list[Sequence[uuid.UUID]] = [[pk]]
        while made := self.model.objects.filter(parent__in=levels[-1]).order_by("pk"):
            levels.append([run.pk for run in made])
        return [one for level in reversed(levels[1:]) for one in level]

    def of_root(self, root: uuid.UUID) -> Self:
        """A run at the top with all that it has caused."""
        return self.filter(Q(pk=root) | Q(root=root))

    def family(self, pk: uuid.UUID) -> Self:
        """All below the one at the top of this run, and that one itself."""
        return self.of_root(self.filter(pk=pk).values_list("root", flat=True).first() or pk)

    def create_child(self, parent: "Run", step: str, submit: SubmitChild, called: str = "") -> "Run":
        """The run of this step of a run, made by `submit`. In a transaction of the parent's worker. TooManyChildren.

        `called`: what people call that step.
        """
        root = self.filter(pk=parent.root_id or parent.pk).select_for_update(no_key=True).get()
        self._refuse_too_many(root, parent)
        asked_by = f"{called or step} of {parent.shown_title or parent.procedure}"
        submit(
            made_by={
                "parent": parent,
                "root": root,
                "step": step,
                "owner": root.owner,
                "account": root.account,
                "asked_by": asked_by if len(asked_by) <= ASKED_BY_LENGTH else f"{asked_by[: ASKED_BY_LENGTH - 1]}…",
            }
        )
        return self.get(parent=parent, step=step)

    def _refuse_too_many(self, root: "Run", parent: "Run") -> None:
        if self._depth_of(parent) >= MAX_DEPTH:
            raise TooManyChildren(f"Runs may make runs {MAX_DEPTH} deep, and this would be deeper.")
        made = self.filter(root=root)
        if made.filter(status__in=ACTIVE_STATUSES).count() >= MAX_LIVE_CHILDREN:
            raise TooManyChildren(
                f"{MAX_LIVE_CHILDREN} runs that were made for this are not over, as many as there may be."
            )
        if made.count() >= MAX_CHILDREN:
            raise TooManyChildren(f"{MAX_CHILDREN:,} runs were made for this, as many as there may be.")

    def _depth_of(self, run: "Run") -> int:
        depth, above = 0, run.parent_id
        while above is not None:
            depth, above = depth + 1, self.values_list("parent", flat=True).get(pk=above)
        return depth

    def nudge_parents(self, *pks: uuid.UUID) -> None:
        """Tell those that have made these runs of their end, in the transaction of that."""
        for run in self.filter(pk__in=pks):
            if run.parent_id:
                self.model.objects.wake(run.parent_id)

    def ended_with(self, pks: Sequence[uuid.UUID], **how: Any) -> list[uuid.UUID]:
        """End those of these that go on as cancelled; which."""
        self.filter(pk__in=pks, status=RunStatus.RUNNING).count_work()
        ended: dict[str, Any] = {"status": RunStatus.CANCELLED, "why": "", "worker": "", "lease_expires_at": None}
        ended |= {"fence": F("fence") + 1, "revision": F("revision") + 1, **how}
        return [pk for pk in pks if self.filter(pk=pk, status__in=ACTIVE_STATUSES).update(**ended)]


def child_label(child: "Run") -> str:
    """Why whoever has made this run waits for it."""
    if child.status == RunStatus.FAILED:
        return f"“{child.shown_title}” has failed: try it again, or cancel it."
    return f"“{child.shown_title}” is not over yet."
