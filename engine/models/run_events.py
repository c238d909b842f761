"""What is to be told outside of what happened to runs, written in the same commit: no outcome without its word, and no
word without its outcome.

Why so: runs/DESIGN.md, Other doors.
"""

from collections.abc import Collection
from typing import Any
from uuid import UUID

from django.db import models
from django.utils import timezone

from engine.db import cached_sql


class RunEventType(models.TextChoices):
    OVER = "over", "It is over"
    ASKS = "asks", "It asks somebody to decide"


class RunEventQuerySet(models.QuerySet["RunEvent"]):
    def record(self, what: RunEventType, runs: Collection[UUID], **more: Any) -> None:
        """In the transaction in which it happens."""
        cached_sql.bulk_insert(self.model(what=what, run_id=run, **more) for run in runs)


class RunEvent(models.Model):
    """Stays until everybody who wants to be told of it is written down; `gate`: of which gate, where it asks."""

    run = models.ForeignKey("engine.Run", on_delete=models.CASCADE, related_name="+")
    what = models.CharField(max_length=10, choices=RunEventType)
    gate = models.BigIntegerField(null=True)
    made = models.DateTimeField(default=timezone.now)

    objects = RunEventQuerySet.as_manager()
    immutable = None

    class Meta:
        db_table = "engine_happening"
        ordering = ["pk"]
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.run_id} {self.what}"
