import json
import uuid
from collections.abc import Iterable
from datetime import timedelta

from django.conf import settings
from django.db import connection, models, transaction
from django.db.models import F, Q
from django.db.models.functions import Coalesce, Now
from django.utils import timezone

LEASE = timedelta(seconds=15)
NEGLECTED = timedelta(seconds=60)


class RunQuerySet(models.QuerySet["Run"]):
    def claimable(self) -> "RunQuerySet":
        return self.filter(Q(status=Run.Status.QUEUED) | Q(status=Run.Status.RUNNING, lease_expires_at__lt=Now()))

    def claim(self, worker: str, limit: int) -> list["Run"]:
        """Take up to `limit` runs for this worker, oldest first. Each claim moves the fence."""
        waiting = self.claimable().order_by("created").values_list("pk", "fence")
        if not waiting[:1]:  # a plain look first: on SQLite a transaction takes the write lock
            return []
        with transaction.atomic():
            if connection.features.has_select_for_update_skip_locked:
                waiting = waiting.select_for_update(skip_locked=True)
            taken = [pk for pk, fence in waiting[:limit] if self._take(pk, fence, worker)]
            ModelCall.objects.filter(run__in=taken, status=ModelCall.Status.OPEN).update(
                status=ModelCall.Status.INTERRUPTED, ended=Now()
            )
            return list(self.filter(pk__in=taken).order_by("created"))

    def _take(self, pk: uuid.UUID, fence: int, worker: str) -> bool:
        return bool(
            self.claimable()
            .filter(pk=pk, fence=fence)
            .update(
                status=Run.Status.RUNNING,
                worker=worker,
                fence=F("fence") + 1,
                claims=F("claims") + 1,
                revision=F("revision") + 1,
                lease_expires_at=Now() + LEASE,
                started=Coalesce("started", Now()),
            )
        )

    def neglected(self) -> "RunQuerySet":
        """What has waited long although no engine is at work: nobody holds a lease."""
        if self.filter(status=Run.Status.RUNNING, lease_expires_at__gte=Now()).exists():
            return self.none()
        return self.claimable().filter(created__lt=Now() - NEGLECTED)

    def renew_leases(self, worker: str, performed: Iterable[uuid.UUID]) -> int:
        """Only of what is really performed: a run that was dropped is claimed again when its lease ends."""
        return self.filter(worker=worker, status=Run.Status.RUNNING, pk__in=list(performed)).update(
            lease_expires_at=Now() + LEASE
        )

    def give_back(self, worker: str) -> int:
        """What this worker holds goes back to the queue, for the next one to claim at once."""
        return self.filter(worker=worker, status=Run.Status.RUNNING).update(
            status=Run.Status.QUEUED, worker="", lease_expires_at=None, revision=F("revision") + 1
        )


class Run(models.Model):
    """One execution of a procedure: its life cycle, and who may write for it right now.

    The row is the queue. Whoever claims it becomes its worker until the lease ends; `fence` moves with every
    claim, so that a worker that lost its lease can write nothing. `revision` moves with every change that
    watchers may want to see.
    """

    class Status(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        WAITING = "waiting"
        FINISHED = "finished"
        FAILED = "failed"
        CANCELLED = "cancelled"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    procedure = models.CharField(max_length=40)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="runs")
    status = models.CharField(max_length=10, choices=Status, default=Status.QUEUED)
    revision = models.BigIntegerField(default=0)
    worker = models.CharField(max_length=40, blank=True)
    fence = models.BigIntegerField(default=0)
    claims = models.PositiveIntegerField(default=0)
    lease_expires_at = models.DateTimeField(null=True)
    created = models.DateTimeField(default=timezone.now)
    started = models.DateTimeField(null=True)
    ended = models.DateTimeField(null=True)
    error = models.JSONField(null=True)

    objects = RunQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(fields=["created"], condition=Q(status="queued"), name="run_queue"),
            models.Index(fields=["lease_expires_at"], condition=Q(status="running"), name="run_leases"),
            models.Index(fields=["owner", "-created"], name="run_by_owner"),
            models.Index(fields=["-created"], name="run_newest_first"),
        ]
        constraints = [
            models.CheckConstraint(
                name="run_status_known",
                condition=Q(
                    status__in=("queued", "running", "waiting", "finished", "failed", "cancelled"),
                ),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.procedure} {self.pk}"

    @property
    def over(self) -> bool:
        return self.status in (self.Status.FINISHED, self.Status.FAILED, self.Status.CANCELLED)

    @property
    def seconds(self) -> float | None:
        return (self.ended - self.started).total_seconds() if self.started and self.ended else None


class ModelCall(models.Model):
    """One attempt to get one answer from one model. Written before it is sent, completed after.

    `step` is the procedure's own name for what the answer is for; `prompt` is the list of messages as JSON;
    `answer` is what came back: the model's text, or, where there was none, the body as it arrived.
    """

    class Status(models.TextChoices):
        OPEN = "open"
        ANSWERED = "answered"
        FAILED = "failed"
        INTERRUPTED = "interrupted"

    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="calls")
    step = models.CharField(max_length=80)
    attempt = models.PositiveSmallIntegerField()
    status = models.CharField(max_length=12, choices=Status, default=Status.OPEN)
    model = models.CharField(max_length=200)
    prompt = models.TextField()
    answer = models.TextField(blank=True)
    answered_by = models.CharField(max_length=200, blank=True)
    input_tokens = models.PositiveIntegerField(null=True)
    output_tokens = models.PositiveIntegerField(null=True)
    error_code = models.CharField(max_length=20, blank=True)
    error = models.TextField(blank=True)
    started = models.DateTimeField(default=timezone.now)
    deadline = models.DateTimeField()
    ended = models.DateTimeField(null=True)
    retry_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint("run", "step", "attempt", name="one_row_per_attempt"),
        ]

    def __str__(self) -> str:
        return f"{self.step}, attempt {self.attempt}"

    @property
    def messages(self) -> list[dict[str, str]]:
        return json.loads(self.prompt)

    @property
    def seconds(self) -> float | None:
        return (self.ended - self.started).total_seconds() if self.ended else None
