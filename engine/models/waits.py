"""Which questions of runs wait for a provider right now, and why. No evidence: it says what pages show meanwhile."""

import uuid
from collections.abc import Sequence

from django.db import models
from django.db.models import Count, F
from django.utils import timezone


class ModelWaitQuerySet(models.QuerySet["ModelWait"]):
    def current(self) -> "ModelWaitQuerySet":
        """Not those that a worker left behind."""
        return self.filter(run__status="running", fence=F("run__fence"))

    def of(self, run: uuid.UUID) -> "list[ModelWait]":
        """Each with the number of runs that wait for the same provider."""
        found = list(self.current().filter(run=run))
        runs = self._runs_by_provider([wait.provider for wait in found if wait.absent]) if found else {}
        for wait in found:
            wait.runs = runs.get(wait.provider, 1)
        return found

    def _runs_by_provider(self, providers: Sequence[str]) -> dict[str, int]:
        waiting = ModelWait.objects.current().filter(provider__in=providers).exclude(away=None)
        return dict(waiting.order_by().values_list("provider").annotate(Count("run", distinct=True)))


class ModelWait(models.Model):
    """A question that waits for its turn at a provider. `away`: since when that does not answer, or takes no more
    (`limited`); `until` is when to ask again, where it said so; `said` is what was found there last."""

    run = models.ForeignKey("engine.Run", on_delete=models.CASCADE, related_name="waits")
    step = models.CharField(max_length=80)
    fence = models.BigIntegerField()
    provider = models.CharField(max_length=80)
    since = models.DateTimeField(default=timezone.now)
    away = models.DateTimeField(null=True)
    until = models.DateTimeField(null=True)
    limited = models.BooleanField(default=False)
    said = models.TextField(blank=True)

    runs = 1  # that wait for this provider, as `of` counts them

    objects = ModelWaitQuerySet.as_manager()
    immutable = None

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "step"], name="one_wait_of_a_step")]

    def __str__(self) -> str:
        return f"{self.step} at {self.provider}"

    @property
    def absent(self) -> bool:
        return self.away is not None
