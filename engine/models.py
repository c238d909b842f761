import json
import uuid
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import tenacity
from django.conf import settings
from django.db import OperationalError, connection, models, transaction
from django.db.models import Count, F, Min, Q, Sum
from django.db.models.functions import Coalesce, Now
from django.utils import timezone

from . import prices
from .budgets import Budget
from .prices import tokens_of

LEASE = timedelta(seconds=settings.ENGINE_LEASE)
NEGLECTED = timedelta(seconds=60)
MOST_DEATHS = 5

KILLED_ITS_WORKER = {
    "code": "internal",
    "message": "The engine died five times while it worked on this. The server's log may say why.",
}


# Two transactions that touch runs and budgets in another order may meet; PostgreSQL ends one, which is made again.
after_deadlock = tenacity.retry(
    retry=tenacity.retry_if_exception(lambda error: isinstance(error, OperationalError) and not in_transaction()),
    stop=tenacity.stop_after_attempt(4),
    wait=tenacity.wait_random(0.05, 0.3),
    reraise=True,
)


def in_transaction() -> bool:
    return connection.in_atomic_block


class RunQuerySet(models.QuerySet["Run"]):
    # ---- which --------------------------------------------------------------------------------------------

    def queued(self) -> "RunQuerySet":
        return self.filter(status=Run.Status.QUEUED)

    def in_progress(self) -> "RunQuerySet":
        """What somebody holds a lease of."""
        return self.filter(status=Run.Status.RUNNING, lease_expires_at__gte=Now())

    def held(self, worker: str) -> "RunQuerySet":
        return self.filter(status=Run.Status.RUNNING, worker=worker)

    def abandoned(self, worker: str) -> "RunQuerySet":
        """What other workers let go of without a word. One's own is never abandoned: one may only have slept."""
        return self.filter(status=Run.Status.RUNNING, lease_expires_at__lt=Now()).exclude(worker=worker)

    def neglected(self) -> "RunQuerySet":
        """What has waited long although no engine is at work: nobody holds a lease."""
        if self.in_progress().exists():
            return self.none()
        overdue = Q(status=Run.Status.RUNNING, lease_expires_at__lt=Now() - NEGLECTED)
        return self.filter(overdue | Q(status=Run.Status.QUEUED, created__lt=Now() - NEGLECTED))

    # ---- claim --------------------------------------------------------------------------------------------

    def waits(self, worker: str) -> bool:
        """Whether there may be anything to claim: a plain look, for on SQLite a transaction takes the write lock."""
        return self.queued().exists() or self.abandoned(worker).exists()

    def claim(self, worker: str, places: int, performed: Sequence["Run"] = (), reserve: int = 0) -> list["Run"]:
        """Take up to `places` runs for this worker. Each claim moves the fence.

        Owners take turns, and so do lanes: who has least among what the worker has `performed` comes first, then
        the oldest. No single lane gets the last `reserve` places: a slow provider must not fill them all.
        """
        with transaction.atomic():
            self._take_back_abandoned(worker)
            taken = [
                pk
                for (lane, owner), number in self._turns(places, performed, reserve).items()
                for pk, fence in self._oldest(lane, owner, number)
                if self._take(pk, fence, worker)
            ]
            return list(self.filter(pk__in=taken).order_by("created"))

    def _take_back_abandoned(self, worker: str) -> None:
        """What a worker died of too often fails; the rest is queued again."""
        abandoned = look = self.abandoned(worker)
        if connection.features.has_select_for_update_skip_locked:
            look = look.select_for_update(skip_locked=True)  # who died in mid-transaction must not stop the others
        pks = list(look.values_list("pk", flat=True))
        if not pks:
            return
        changed: dict[str, Any] = {
            "deaths": F("deaths") + 1,
            "fence": F("fence") + 1,
            "revision": F("revision") + 1,
            "worker": "",
            "lease_expires_at": None,
        }
        abandoned.filter(pk__in=pks, deaths__gte=MOST_DEATHS - 1).update(
            status=Run.Status.FAILED, error=KILLED_ITS_WORKER, ended=Now(), **changed
        )
        failed = list(self.filter(pk__in=pks, status=Run.Status.FAILED).values_list("pk", flat=True))
        self.release(failed)
        abandoned.filter(pk__in=pks).update(status=Run.Status.QUEUED, **changed)
        # a call of a run that was renewed between the look and the updates is still under way
        ModelCall.objects.filter(run__in=self.filter(pk__in=pks).exclude(status=Run.Status.RUNNING)).interrupt()
        for pk in failed:
            _seal(pk)

    def _turns(self, places: int, performed: Sequence["Run"], reserve: int) -> "Counter[tuple[str, int | None]]":
        """How many runs each lane and owner may have now."""
        waiting = {
            (row["lane"], row["owner"]): [row["number"], row["oldest"]]
            for row in self.queued().values("lane", "owner").annotate(number=Count("pk"), oldest=Min("created"))
        }
        lanes = Counter(run.lane for run in performed)
        owners = Counter(run.owner_id for run in performed)
        most = len(performed) + places - reserve
        turns: Counter[tuple[str, int | None]] = Counter()
        for _ in range(places):
            free = [key for key, (number, _) in waiting.items() if turns[key] < number and lanes[key[0]] < most]
            if not free:
                break
            lane, owner = min(free, key=lambda key: (owners[key[1]], lanes[key[0]], waiting[key][1]))
            turns[lane, owner] += 1
            lanes[lane] += 1
            owners[owner] += 1
        return turns

    def _oldest(self, lane: str, owner: int | None, number: int) -> list[tuple[uuid.UUID, int]]:
        oldest = self.queued().filter(lane=lane, owner=owner).order_by("created").values_list("pk", "fence")
        if connection.features.has_select_for_update_skip_locked:
            oldest = oldest.select_for_update(skip_locked=True)
        return list(oldest[:number])

    def _take(self, pk: uuid.UUID, fence: int, worker: str) -> bool:
        return bool(
            self.queued()
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

    # ---- hold and let go ----------------------------------------------------------------------------------

    def renew_leases(self, worker: str, performed: Iterable[uuid.UUID]) -> int:
        """Only of what is really performed: a run that was dropped is claimed again when its lease ends."""
        return self.held(worker).filter(pk__in=list(performed)).update(lease_expires_at=Now() + LEASE)

    def give_back(self, worker: str, pks: Iterable[uuid.UUID] | None = None) -> int:
        """What this worker holds, or only these of it, goes back to the queue, for the next one to claim at once."""
        given = self.held(worker) if pks is None else self.held(worker).filter(pk__in=list(pks))
        ModelCall.objects.filter(run__in=given).interrupt()
        return given.update(status=Run.Status.QUEUED, worker="", lease_expires_at=None, revision=F("revision") + 1)

    def release(self, pks: Iterable[uuid.UUID]) -> None:
        """Give the budgets back what these runs will not spend any more."""
        for run in self.filter(pk__in=list(pks), reserved__gt=0):
            self.filter(pk=run.pk).update(reserved=0)
            Budget.objects.settle(run.owner_id, spent=0, freed=run.reserved, reserved_in=run.reserved_in)

    # ---- steer --------------------------------------------------------------------------------------------

    @after_deadlock
    @transaction.atomic
    def cancel(self, pk: uuid.UUID, by: Any = None) -> bool:
        """End a run that is not over. What it has stays; whoever performs it can write nothing more."""
        going_on = (Run.Status.QUEUED, Run.Status.RUNNING, Run.Status.WAITING)
        cancelled = self.filter(pk=pk, status__in=going_on).update(
            status=Run.Status.CANCELLED,
            cancelled_by=by,
            cancelled_by_name=name_of(by),
            ended=Now(),
            worker="",
            lease_expires_at=None,
            fence=F("fence") + 1,
            revision=F("revision") + 1,
        )
        if cancelled:
            ModelCall.objects.filter(run=pk).interrupt()
            self.release([pk])
            _seal(pk)
        return bool(cancelled)

    @after_deadlock
    @transaction.atomic
    def retry(self, pk: uuid.UUID, cost: int | None = None, by: Any = None) -> bool:
        """Queue a failed run again: it goes on with what is missing, each step with four attempts anew.

        `cost`: what that may cost, None where it is unknown. BudgetUsedUp where there is not so much left.
        """
        from .evidence import Entry, retried_by  # which knows runs

        queued = self.filter(pk=pk, status=Run.Status.FAILED).update(
            status=Run.Status.QUEUED,
            ended=None,
            error=None,
            deaths=0,
            retries=F("retries") + 1,
            revision=F("revision") + 1,
        )
        if queued:
            owner = self.values_list("owner", flat=True).get(pk=pk)
            self.filter(pk=pk).update(**Budget.objects.reserve(owner, cost))
            Entry.objects.record(pk, retried_by(name_of(by)))
        return bool(queued)

    # ---- erase --------------------------------------------------------------------------------------------

    def erase(self, pk: uuid.UUID, *, names: bool) -> None:
        """Empty the texts of a run and of its calls, and with `names` who asked for it and who cancelled it.

        `Entry.objects.redact` must have said so before.
        """
        error = self.values_list("error", flat=True).get(pk=pk)
        nobody: dict[str, Any] = {"owner": None, "asked_by": "", "cancelled_by": None, "cancelled_by_name": ""}
        ModelCall.objects.filter(run=pk).update(prompt="", answer="", error="")
        self.filter(pk=pk).update(
            error=error and {**error, "message": ""}, revision=F("revision") + 1, **(nobody if names else {})
        )


def _seal(pk: uuid.UUID) -> None:
    from .evidence import Entry, Leaf  # which knows runs

    Leaf.objects.add(Entry.objects.seal(pk))


def name_of(user: Any) -> str:
    """What the record calls a user; nobody is the command line."""
    return user.get_username() if user else ""


class Run(models.Model):
    """One execution of a procedure: its life cycle, and who may write for it right now.

    The row is the queue. Whoever claims it becomes its worker until the lease ends; `fence` moves with every
    claim, so that a worker that lost its lease can write nothing. `revision` moves with every change that
    watchers may want to see. Runs of one `lane` wait for the same providers. `deaths` counts the leases that ended
    under a worker, `retries` how often a failed run was queued again. `reserved` is what is set aside for
    it in each of the budgets `reserved_in`, in billionths of a dollar. `asked_by` and `cancelled_by_name` are the
    names of those users then: an account may be deleted, what it asked stays.
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
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="runs")
    asked_by = models.CharField(max_length=150, blank=True)
    status = models.CharField(max_length=10, choices=Status, default=Status.QUEUED)
    lane = models.CharField(max_length=200, blank=True)
    revision = models.BigIntegerField(default=0)
    worker = models.CharField(max_length=40, blank=True)
    fence = models.BigIntegerField(default=0)
    claims = models.PositiveIntegerField(default=0)
    deaths = models.PositiveSmallIntegerField(default=0)
    retries = models.PositiveSmallIntegerField(default=0)
    lease_expires_at = models.DateTimeField(null=True)
    created = models.DateTimeField(default=timezone.now)
    started = models.DateTimeField(null=True)
    ended = models.DateTimeField(null=True)
    error = models.JSONField(null=True)
    reserved = models.BigIntegerField(default=0)
    reserved_in = models.JSONField(default=list)
    cancelled_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="cancelled_runs"
    )
    cancelled_by_name = models.CharField(max_length=150, blank=True)

    objects = RunQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(fields=["lane", "owner", "created"], condition=Q(status="queued"), name="run_queue"),
            models.Index(fields=["lease_expires_at"], condition=Q(status="running"), name="run_leases"),
            models.Index(fields=["owner", "-created"], name="run_by_owner"),
            models.Index(fields=["-created"], name="run_newest_first"),
            models.Index(fields=["status", "-created"], name="run_by_status"),
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


@dataclass(frozen=True)
class Usage:
    """What calls used together. `cost` is in billionths of a dollar, None where that of a call is unknown."""

    calls: int
    input_tokens: int
    output_tokens: int
    cost: int | None
    estimated: bool

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens


def _used() -> dict[str, Any]:
    return {
        "number": Count("pk"),
        "asked": Coalesce(Sum("input_tokens"), 0),
        "said": Coalesce(Sum("output_tokens"), 0),
        "known": Coalesce(Sum("cost"), 0),
        "unknown": Count("pk", filter=Q(input_tokens__isnull=False, cost=None)),
        "guessed": Count("pk", filter=Q(estimated=True)),
    }


def _usage(found: Mapping[str, Any]) -> Usage:
    cost = None if found["unknown"] else found["known"]
    return Usage(found["number"], found["asked"], found["said"], cost, found["guessed"] > 0)


class ModelCallQuerySet(models.QuerySet["ModelCall"]):
    def usage(self) -> Usage:
        return _usage(self.aggregate(**_used()))

    def usage_of(self, runs: Sequence[uuid.UUID]) -> dict[uuid.UUID, Usage]:
        """What the calls of each of these runs used, in one query."""
        nothing = {run: Usage(0, 0, 0, 0, False) for run in runs}
        found = self.filter(run__in=runs).order_by().values("run").annotate(**_used())
        return nothing | {row["run"]: _usage(row) for row in found}

    def interrupt(self) -> None:
        """Whoever made the open ones of these calls is gone; an answer will not be kept, but may have cost."""
        for call in self.filter(status=ModelCall.Status.OPEN).select_related("run").order_by("pk"):
            call.close(ModelCall.Status.INTERRUPTED, counted=(None, None), said="")


class ModelCall(models.Model):
    """One attempt to get one answer from one model. Written before it is sent, completed after.

    `step` is the procedure's own name for what the answer is for; attempts count anew in each `series`, one series
    for the first go and one for each retry of the run. `prompt` is the list of messages as JSON;
    `answer` is what came back: the model's text, or, where there was none, the body as it arrived. Both are empty once
    the run is redacted. `cost` is in billionths of a dollar, None where it is unknown; `estimated` says that the
    endpoint did not count the tokens.
    """

    class Status(models.TextChoices):
        OPEN = "open"
        ANSWERED = "answered"
        FAILED = "failed"
        INTERRUPTED = "interrupted"

    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="calls")
    step = models.CharField(max_length=80)
    series = models.PositiveSmallIntegerField(default=0)
    attempt = models.PositiveSmallIntegerField()
    status = models.CharField(max_length=12, choices=Status, default=Status.OPEN)
    model = models.CharField(max_length=200)
    prompt = models.TextField()
    answer = models.TextField(blank=True)
    answer_format = models.CharField(max_length=12, default="json_schema")
    answered_by = models.CharField(max_length=200, blank=True)
    input_tokens = models.PositiveIntegerField(null=True)
    output_tokens = models.PositiveIntegerField(null=True)
    estimated = models.BooleanField(default=False)
    cost = models.BigIntegerField(null=True)
    error_code = models.CharField(max_length=20, blank=True)
    error = models.TextField(blank=True)
    started = models.DateTimeField(default=timezone.now)
    deadline = models.DateTimeField()
    ended = models.DateTimeField(null=True)
    retry_at = models.DateTimeField(null=True)

    objects = ModelCallQuerySet.as_manager()

    class Meta:
        constraints = [
            # an attempt that was interrupted, or asked for in a way that was refused, is made again under its number
            models.UniqueConstraint(
                fields=["run", "step", "series", "attempt"],
                condition=~Q(status="interrupted") & ~Q(error_code="format_refused"),
                name="one_row_per_attempt",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.step}, attempt {self.attempt}"

    def close(self, status: str, *, counted: tuple[int | None, int | None], said: str | None, **values: object) -> None:
        """The end of the call, and what it cost, in one transaction with what follows from it.

        `counted`: the tokens in and out that the endpoint counted. Where it did not they are estimated from the
        prompt and from what was `said`, or stay unknown where that is None: nothing shows that a model was asked.
        """
        input_tokens, output_tokens = counted
        estimated = said is not None and (input_tokens is None or output_tokens is None)
        if estimated:
            input_tokens, output_tokens = tokens_of(self.prompt), tokens_of(said or "")
        cost = prices.cost(self.model, input_tokens, output_tokens)
        if cost:
            self._spend(cost)
        ModelCall.objects.filter(pk=self.pk).update(
            status=status,
            ended=timezone.now(),
            input_tokens=input_tokens,
            output_tokens=output_tokens,
            estimated=estimated,
            cost=cost,
            **values,
        )

    def _spend(self, cost: int) -> None:
        """Take it from what was set aside for the run, and from the budgets."""
        reserved, budgets = Run.objects.values_list("reserved", "reserved_in").get(pk=self.run_id)
        freed = min(reserved, cost)
        Run.objects.filter(pk=self.run_id).update(reserved=reserved - freed)
        Budget.objects.settle(self.run.owner_id, spent=cost, freed=freed, reserved_in=budgets)

    @property
    def messages(self) -> list[dict[str, str]]:
        return json.loads(self.prompt) if self.prompt else []

    @property
    def seconds(self) -> float | None:
        return (self.ended - self.started).total_seconds() if self.ended else None


class WriterMarker(models.Model):
    """Where a writer is: moved in each of its transactions, so that it can see which of them was committed."""

    writer = models.CharField(max_length=40, primary_key=True)
    batch = models.BigIntegerField()
    moved = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.writer} at {self.batch}"
