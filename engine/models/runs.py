"""Runs: executions of procedures, from submission to end."""

import uuid
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import tenacity
from django.conf import settings
from django.db import OperationalError, connection, models
from django.db.models import Case, F, Q, Value, When
from django.db.models.functions import Coalesce, Now
from django.utils import timezone

from ..ledger.immutability import ChangeRule, Immutable
from ..runtime.procedure import procedures
from .budgets import Budget
from .child_runs import ASKED_BY_LENGTH, RunTreeQuerySet
from .claims import ACTIVE_STATUSES, SUSPECT, RunStatus, lease, release_claim, renew_claim
from .documents import Document
from .emails import Letter
from .forks import Fork
from .gates import Gate
from .model_calls import ModelCall
from .rate_limits import Limits, RateBucket, RateLimitReached, per_minute
from .tool_calls import ToolCall

SYSTEM_ACTOR = "nobody"  # value of `account` for runs of the command line
TITLE_LENGTH = 120
OUTCOME_LENGTH = 60
WHY_LENGTH = 300
MAX_NAMED = 3  # titles in the message about too many waiting runs
RETRY_AFTER_SECONDS = 30.0  # for users whose queue is full

# Transactions that lock runs and budgets in different orders may deadlock; PostgreSQL aborts one, which is repeated.
after_deadlock = tenacity.retry(
    retry=tenacity.retry_if_exception(lambda error: isinstance(error, OperationalError) and not in_transaction()),
    stop=tenacity.stop_after_attempt(4),
    wait=tenacity.wait_random(0.05, 0.3),
    reraise=True,
)


def in_transaction() -> bool:
    return connection.in_atomic_block


class RunQuerySet(RunTreeQuerySet):
    # ---- claims -------------------------------------------------------------------------------------------

    def renew_leases(self, worker: str, performed: Iterable[uuid.UUID]) -> int:
        """Extend leases only of runs that are being performed, so that a dropped run is claimed again."""
        return self.held(worker).filter(pk__in=list(performed)).update(lease_expires_at=Now() + lease())

    def release_claims(self, worker: str, pks: Iterable[uuid.UUID] | None = None) -> int:
        """Put the worker's runs, or only these, back into the queue. Returns their number."""
        given = self.held(worker) if pks is None else self.held(worker).filter(pk__in=list(pks))
        given.count_work()
        ModelCall.objects.filter(run__in=given).mark_interrupted()
        return given.update(status=RunStatus.QUEUED, worker="", lease_expires_at=None, revision=F("revision") + 1)

    # ---- suspend and wake ---------------------------------------------------------------------------------

    def suspend(self, pk: uuid.UUID, seen: int, until: datetime | None, why: str, worked: float) -> None:
        """Suspend the run, unless `news` has changed since it was `seen`: then it is queued at once.

        Called in a transaction that has proved the claim and so has locked the row; no news can come meanwhile.
        """
        let_go = {"worker": "", "lease_expires_at": None, "worked": F("worked") + worked}
        waits = {"status": RunStatus.WAITING, "wakes_at": until, "why": why[:WHY_LENGTH]}
        if self.filter(pk=pk, news=seen).update(**waits, **let_go):
            Suspension.objects.create(run_id=pk)
        else:
            self.requeue(pk, worked)

    def requeue(self, pk: uuid.UUID, worked: float) -> None:
        """Put the run back into the queue. The caller has proved the claim."""
        self.filter(pk=pk).update(
            status=RunStatus.QUEUED,
            worker="",
            lease_expires_at=None,
            wakes_at=Now(),
            worked=F("worked") + worked,
        )

    def end(self, pk: uuid.UUID, status: str, error: dict[str, Any] | None, worked: float) -> None:
        """End the run. The caller has proved the claim."""
        release_claim(pk, status, Run._meta.get_field("error").get_db_prep_save(error, connection), worked)

    def wake(self, pk: uuid.UUID) -> bool:
        """Tell a run that something came from outside; queue it if it waits. False if it has ended.

        This must be the first statement of the transaction that writes what came, so that the run cannot be suspended
        or ended meanwhile. The UPDATE matches active runs in any status, since one that does not match takes no lock,
        and the run may just be about to be suspended.
        """
        waits = Q(status=RunStatus.WAITING)
        return bool(
            self.filter(pk=pk, status__in=ACTIVE_STATUSES).update(
                news=F("news") + 1,
                revision=F("revision") + 1,
                wakes_at=Case(When(waits, then=Now()), default=F("wakes_at")),
                why=Case(When(waits, then=Value("")), default=F("why")),
                status=Case(When(waits, then=Value(RunStatus.QUEUED)), default=F("status")),
            )
        )

    # ---- admission ----------------------------------------------------------------------------------------

    def admit_to_queue(self, owner: Any) -> None:
        """Count a run that this owner is about to queue, in the same transaction.

        The first statement makes other submissions of the owner wait for the transaction. Raises RateLimitReached.
        """
        sentence = f"You have started {settings.USER_SUBMISSIONS} in a minute, as many as one person may."
        RateBucket.objects.consume(recent_submissions(owner), sentence)
        if self.queued().filter(owner=owner).count() >= settings.USER_QUEUED:
            raise RateLimitReached(
                f"You have {settings.USER_QUEUED:,} waiting in the queue, as many as one person may. Try again when "
                f"some of them have begun, or cancel some.",
                RETRY_AFTER_SECONDS,
            )

    def admit_waiting(self, owner: Any, procedure: str) -> None:
        """Raise RateLimitReached, with some titles, if too many runs of this owner wait for people."""
        waiting = self.filter(owner=owner, procedure=procedure, status=RunStatus.WAITING, parent=None)
        titles = list(waiting.order_by("created").values_list("title", flat=True)[: settings.USER_WAITING])
        if len(titles) >= settings.USER_WAITING:
            some, more = ", ".join(f"“{one}”" for one in titles[:MAX_NAMED]), len(titles) - MAX_NAMED
            raise RateLimitReached(
                f"{settings.USER_WAITING:,} of yours wait for somebody, as many as one person may have. Decide about "
                f"some, or cancel some: {some}{f' and {more} more' if more > 0 else ''}.",
                RETRY_AFTER_SECONDS,
            )

    # ---- redaction ----------------------------------------------------------------------------------------

    def erase(self, pk: uuid.UUID, *, names: bool) -> None:
        """Empty all texts of a run, and with `names` also who requested and who cancelled it.

        `redacted` keeps the time of the first redaction. `sealing.redact` must have recorded it before. The name of a
        child run's requester is the title of its parent, so it is always emptied.
        """
        error = self.values_list("error", flat=True).get(pk=pk)
        nobody: dict[str, Any] = {
            "owner": None,
            "asked_by": "",
            "account": "",
            "cancelled_by": None,
            "cancelled_by_name": "",
        }
        ModelCall.objects.filter(run=pk).update(prompt="", answer="", error="")
        Document.objects.filter(run=pk).update(title="", text="", digest="")
        Fork.objects.filter(run=pk).update(state="")
        Gate.objects.erase(pk)
        ToolCall.objects.erase(pk)
        Letter.objects.erase(pk)
        self.filter(pk=pk).update(
            title="",
            request="",
            error=error and {**error, "message": ""},
            redacted=Coalesce("redacted", timezone.now()),
            revision=F("revision") + 1,
            **(nobody if names else {}),
        )
        self.filter(pk=pk).exclude(parent=None).update(asked_by="")


def recent_submissions(owner: Any) -> Limits:
    """The limit of runs that one user starts or retries in a minute."""
    return {f"runs of {owner.pk}": per_minute(settings.USER_SUBMISSIONS)}


def account_key(user: Any) -> str:
    """The requester's account as the record has it, so that another one cannot be substituted."""
    return str(user.pk) if user else SYSTEM_ACTOR


def requester_name(owner: Any, made_by: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of a new run with its owner: a user, or the parent run's (`made_by`, see `SubmitChild`)."""
    return {"owner": owner, "asked_by": record_name(owner), "account": account_key(owner), **made_by}


def record_name(user: Any) -> str:
    """The user's name in the record; empty for the command line."""
    return user.get_username() if user else ""


RunManager = models.Manager.from_queryset(RunQuerySet)


class Run(models.Model):
    """One execution of a procedure: its life cycle, and which worker may write for it.

    The row is the queue. The worker that claims it may write until the lease ends. `fence` increases with every claim,
    so that a worker that lost its lease cannot write; `revision` increases with every change that pages may show.

    Money is in billionths of a US dollar, `worked` in seconds.

    lane: runs of one lane wait for the same providers
    spend: limit of its cost
    reserved, reserved_in: amount that is reserved in each of these budgets
    crashes: consecutive deaths of its workers, up to `ALONE`; from `SUSPECT` on it is performed with fewer other runs,
        see `CLAIM_BATCH`. Reset when an attempt ends.
    deaths: consecutive deaths while it was performed alone; the fifth fails the run
    retries: how often it was queued again after a failure
    outcome: the procedure's word for the result, after it has finished
    override: the newest outcome that a person decided instead
    redacted: time of the first redaction; the title is empty since
    request: digest of idempotency key and request; may be empty
    parent, step, root: the run that started it, in which step, and the topmost run; they never change
    news: counts what came from outside
    wakes_at: when a waiting run continues at the latest; of a queued one, since when it can continue
    why: for what it waits, if no row says so
    worked, claimed_at: seconds of work in all earlier claims, and the start of the present one
    host: the only machine that may claim it; empty for any
    asked_by, cancelled_by_name: names of these users at that time
    account: key of the requester or `SYSTEM_ACTOR`, which outlives the account; empty in old runs
    """

    Status = RunStatus

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    procedure = models.CharField(max_length=40)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="runs")
    asked_by = models.CharField(max_length=ASKED_BY_LENGTH, blank=True)
    account = models.CharField(max_length=40, blank=True)
    title = models.CharField(max_length=TITLE_LENGTH, blank=True)
    request = models.CharField(max_length=64, blank=True)
    parent = models.ForeignKey("self", on_delete=models.PROTECT, null=True, related_name="children")
    root = models.ForeignKey("self", on_delete=models.PROTECT, null=True, related_name="descendants")
    step = models.CharField(max_length=80, blank=True, db_default="")
    status = models.CharField(max_length=10, choices=Status, default=Status.QUEUED)
    lane = models.CharField(max_length=200, blank=True)
    revision = models.BigIntegerField(default=0)
    worker = models.CharField(max_length=40, blank=True)
    fence = models.BigIntegerField(default=0)
    claims = models.PositiveIntegerField(default=0)
    deaths = models.PositiveSmallIntegerField(default=0)
    crashes = models.SmallIntegerField(db_default=0)
    retries = models.PositiveSmallIntegerField(default=0)
    lease_expires_at = models.DateTimeField(null=True)
    created = models.DateTimeField(default=timezone.now)
    started = models.DateTimeField(null=True)
    ended = models.DateTimeField(null=True)
    error = models.JSONField(null=True)
    outcome = models.CharField(max_length=OUTCOME_LENGTH, null=True)  # noqa: DJ001 - none is another than an empty one
    override = models.CharField(max_length=OUTCOME_LENGTH, null=True)  # noqa: DJ001
    redacted = models.DateTimeField(null=True)
    spend = models.BigIntegerField(null=True)
    news = models.BigIntegerField(db_default=0)
    wakes_at = models.DateTimeField(null=True)
    why = models.CharField(max_length=WHY_LENGTH, blank=True, db_default="")
    claimed_at = models.DateTimeField(null=True)
    worked = models.FloatField(db_default=0.0)
    host = models.CharField(max_length=100, blank=True, db_default="")
    reserved = models.BigIntegerField(default=0)
    reserved_in = models.JSONField(default=list)
    cancelled_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="cancelled_runs"
    )
    cancelled_by_name = models.CharField(max_length=150, blank=True)

    objects = RunManager()
    immutable = Immutable(
        once="outcome",
        erased="asked_by account title request",
        marked="redacted",
        free="lane revision worker fence claims deaths crashes lease_expires_at override "
        "spend news wakes_at why claimed_at worked host reserved reserved_in",
        rules=(
            ChangeRule(
                "over",
                when="OLD.status IN ('finished', 'cancelled')",
                kept="status retries started ended",
                unlinked="owner cancelled_by",
                erased="cancelled_by_name",
                erased_message="error",
            ),
        ),
        run="id",
    )

    class Meta:
        # `view_run` lets users see all runs; none of these is needed for one's own runs
        permissions = [
            ("steer_run", "Can cancel and retry everybody's runs"),
            ("redact_run", "Can redact runs"),
            ("export_run", "Can export everybody's records"),
            ("use_doctor", "Can let the doctor ask every provider"),
        ]
        indexes = [
            models.Index(fields=["lane", "owner", "created"], condition=Q(status="queued"), name="run_queue"),
            models.Index(fields=["lease_expires_at"], condition=Q(status="running"), name="run_leases"),
            models.Index(fields=["wakes_at"], condition=Q(status="waiting"), name="run_alarms"),
            # finds runs to redact; partial, because redacted ones only increase
            models.Index(fields=["ended"], condition=Q(redacted=None), name="run_with_texts"),
            models.Index(fields=["owner", "-created"], name="run_by_owner"),
            models.Index(fields=["-created"], name="run_newest_first"),
            models.Index(fields=["status", "-created"], name="run_by_status"),
        ]
        constraints = [
            models.UniqueConstraint(fields=["parent", "step"], name="one_child_of_a_step"),
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
    def shown_title(self) -> str:
        """The title for display; redacted runs have none of their own."""
        return f"Redacted {self.procedure} {str(self.pk)[:8]}" if self.redacted else self.title

    @property
    def suspect(self) -> bool:
        return self.crashes >= SUSPECT

    @property
    def is_ended(self) -> bool:
        return self.status in (self.Status.FINISHED, self.Status.FAILED, self.Status.CANCELLED)

    @property
    def standing_outcome(self) -> str:
        """The valid outcome: the override, or else the run's own; empty if there is none."""
        return self.override or self.outcome or ""

    @property
    def reinstated(self) -> bool:
        """Whether an override was reverted to the run's own outcome."""
        return self.override is not None and self.override == self.outcome

    @property
    def seconds(self) -> float | None:
        return (self.ended - self.started).total_seconds() if self.started and self.ended else None

    def still_held(self, *, gets_on: bool) -> bool:
        """Whether this claim is still the latest one; must be called before each write of the run.

        It extends the lease. With `gets_on` the run has made progress, which resets its crashes.
        """
        return renew_claim(self.pk, self.worker, self.fence, innocent=gets_on)

    def charge(self, cost: int, but: int = 0) -> None:
        """Charge `cost` to the run's reserved amount, except its last `but`, and to its budgets.

        All amounts are in billionths of a US dollar.
        """
        reserved, budgets = Run.objects.values_list("reserved", "reserved_in").get(pk=self.pk)
        freed = min(max(reserved - but, 0), cost)
        Run.objects.filter(pk=self.pk).update(reserved=reserved - freed)
        Budget.objects.settle(self.owner_id, spent=cost, freed=freed, reserved_in=budgets)


class Suspension(models.Model):
    """When a run began to wait, for replays."""

    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="parks")
    made = models.DateTimeField(default=timezone.now)
    immutable = Immutable()

    class Meta:
        db_table = "engine_park"
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"{self.run_id} since {self.made}"


class WriterMarker(models.Model):
    """The number of a writer's last batch, updated in each transaction, to see after an error whether it committed."""

    writer = models.CharField(max_length=40, primary_key=True)
    batch = models.BigIntegerField()
    moved = models.DateTimeField()
    immutable = None

    def __str__(self) -> str:
        return f"{self.writer} at {self.batch}"


def has_read_untrusted_input(run: Run) -> bool:
    """Whether untrusted text has reached this run, its parents, or runs that they have read from."""
    top = run.root or run
    tops = Run.objects.filter(Q(pk=top.pk) | procedures()[top.procedure].runs_read_from(top)).order_by()
    return ToolCall.objects.with_untrusted_output(tops).exists()
