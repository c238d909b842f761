"""Runs that go on from a step, or a message, of another one, as it was then.

Why so: runs/DESIGN.md, Forks.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.db import models
from django.utils import timezone

from engine.ledger.entries import SUBMITTED

from ..ledger.immutability import Immutable

if TYPE_CHECKING:
    from engine.audit.entries_from_rows import RunEntries

FORKED = "forked"  # the fact of a submission that names the origin
STATE = "digest of the files it begins with"


class ForkQuerySet(models.QuerySet["Fork"]):
    def tell(self, told: "Mapping[UUID, RunEntries]") -> None:
        """Add to what is told of these submissions from where they were forked."""
        for fork in self.filter(run__in=list(told)):
            draft = told[fork.run_id][SUBMITTED][0]
            draft.facts[FORKED] = fork.facts
            draft.texts[STATE] = fork.state


class Fork(models.Model):
    """`number`: of the step or message after which the origin was left, counted from 1; `entry` and `hash`: the entry
    of the origin's record that tells of it; `state`: SHA-256 of the files as they were then, where there are any."""

    run = models.OneToOneField("engine.Run", on_delete=models.PROTECT, primary_key=True, related_name="fork")
    origin = models.ForeignKey("engine.Run", on_delete=models.PROTECT, related_name="forks")
    number = models.PositiveIntegerField()
    entry = models.PositiveIntegerField()
    hash = models.CharField(max_length=64)
    state = models.CharField(max_length=64, blank=True)
    made = models.DateTimeField(default=timezone.now)

    objects = ForkQuerySet.as_manager()
    immutable = Immutable(erased="state", run="run")

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"fork of {self.origin_id} at {self.number}"

    @property
    def facts(self) -> dict[str, Any]:
        return {"run": str(self.origin_id), "number": self.number, "entry": self.entry, "hash": self.hash}
