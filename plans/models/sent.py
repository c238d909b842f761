"""What programs were sent by `/api/automation`: gates, since their decisions do not name a text, and events."""

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
        """Save the gate of each step (by keys) that is in an answer to this token. Rows are written in sorted order, so
        that two requests cannot deadlock."""
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
    """The gate of a step that was last sent to a token: decisions of the token about the step mean this gate."""

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
        """Return the number of each event (plan and key); new ones get the next numbers in their order.

        Needs a transaction that holds the lock on the project.
        """
        sent = self.filter(matter=matter)
        there = {(plan, key): number for plan, key, number in sent.values_list("plan", "key", "number")}
        last = max(there.values(), default=0)
        new = {one: number for number, one in enumerate((one for one in happened if one not in there), last + 1)}
        self.bulk_create(self.model(matter=matter, plan_id=plan, key=key, number=n) for (plan, key), n in new.items())
        return there | new


class SentEvent(models.Model):
    """An event of a project and its number in the project's stream, so that a client can resume after the last number
    that it has. `key` names the event within the plan."""

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
