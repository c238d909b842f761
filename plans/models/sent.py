"""What programs were sent that decide without naming what they have read."""

from collections.abc import Mapping
from uuid import UUID

from django.db import models

from engine.models import Gate

from .plans import Step


class SentQuerySet(models.QuerySet["Sent"]):
    def by_step(self, token: int, plan: UUID) -> dict[UUID, int]:
        return dict(self.filter(token=token, step__plan=plan).values_list("step", "gate"))

    def note(self, token: int, sent: Mapping[UUID, int]) -> None:
        """The gate of each step, by their keys, that was in an answer to this token just now."""
        known = dict(self.filter(token=token, step__in=sent).values_list("step", "gate"))
        new = [Sent(token=token, step_id=step, gate_id=gate) for step, gate in sent.items() if known.get(step) != gate]
        Sent.objects.bulk_create(new, update_conflicts=True, unique_fields=["token", "step"], update_fields=["gate"])


class Sent(models.Model):
    """The gate that a token, by its key, was sent last for a step: what its yes or no to that step is about."""

    token = models.BigIntegerField()
    step = models.ForeignKey(Step, on_delete=models.PROTECT, related_name="+")
    gate = models.ForeignKey(Gate, on_delete=models.PROTECT, related_name="+")

    objects = SentQuerySet.as_manager()

    class Meta:
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["token", "step"], name="one_gate_sent_for_a_step")]

    def __str__(self) -> str:
        return f"Gate {self.gate_id} to token {self.token}"
