"""What programs were sent: the gates of those that decide without naming what they have read, and events."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from django.db import models

from engine.models import Gate

from .plans import Plan
from .projects import Project
from .steps import PlanStep


class SentGateQuerySet(models.QuerySet["SentGate"]):
    def by_step(self, token: int, plan: UUID) -> dict[UUID, int]:
        return dict(self.filter(token=token, step__plan=plan).values_list("step", "gate"))

    def note(self, token: int, sent: Mapping[UUID, int]) -> None:
        """The gate of each step, by their keys, that was in an answer to this token just now. In one order, whatever
        that of the answer: of two requests at once none waits for the other in a circle."""
        known = dict(self.filter(token=token, step__in=sent).values_list("step", "gate"))
        new = [
            SentGate(token=token, step_id=step, gate_id=gate)
            for step, gate in sorted(sent.items())
            if known.get(step) != gate
        ]
        SentGate.objects.bulk_create(
            new, update_conflicts=True, unique_fields=["token", "step"], update_fields=["gate"]
        )


class SentGate(models.Model):
    """The gate that a token, by its key, was sent last for a step: what its yes or no to that step is about."""

    token = models.BigIntegerField()
    step = models.ForeignKey(PlanStep, on_delete=models.PROTECT, related_name="+")
    gate = models.ForeignKey(Gate, on_delete=models.PROTECT, related_name="+")

    objects = SentGateQuerySet.as_manager()
    immutable = None

    class Meta:
        db_table = "plans_sent"
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["token", "step"], name="one_gate_sent_for_a_step")]

    def __str__(self) -> str:
        return f"Gate {self.gate_id} to token {self.token}"


class SentEventQuerySet(models.QuerySet["SentEvent"]):
    def numbers(self, matter: Project, happened: Sequence[tuple[UUID, str]]) -> dict[tuple[UUID, str], int]:
        """The number of each of these, by plan and key: those that are new get the next ones, in their order.

        In a transaction that holds the matter.
        """
        told = self.filter(matter=matter)
        there = {(plan, key): number for plan, key, number in told.values_list("plan", "key", "number")}
        last = max(there.values(), default=0)
        new = {one: number for number, one in enumerate((one for one in happened if one not in there), last + 1)}
        self.bulk_create(self.model(matter=matter, plan_id=plan, key=key, number=n) for (plan, key), n in new.items())
        return there | new


class SentEvent(models.Model):
    """An event of a matter, by its number in the stream of all of them: so a stream goes on where it was left, whatever
    has happened in which plan. `key`: of what happened in the plan."""

    matter = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="+")
    number = models.PositiveIntegerField()
    plan = models.ForeignKey(Plan, on_delete=models.PROTECT, related_name="+")
    key = models.CharField(max_length=60)

    objects = SentEventQuerySet.as_manager()
    immutable = None

    class Meta:
        db_table = "plans_told"
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(fields=["matter", "number"], name="one_event_of_a_number"),
            models.UniqueConstraint(fields=["plan", "key"], name="one_number_of_an_event"),
        ]

    def __str__(self) -> str:
        return f"{self.number}: {self.key}"
