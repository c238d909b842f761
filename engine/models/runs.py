"""A run: one piece of work of some procedure, from its submission to its end."""

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

SYSTEM_ACTOR = "nobody"  # the account of what the command line asked
TITLE_LENGTH = 120
OUTCOME_LENGTH = 60
WHY_LENGTH = 300
MAX_NAMED = 3  # of what waits, where there is too much
RETRY_AFTER_SECONDS = 30.0  # seconds after which somebody whose queue is full may try again

# Two transactions that touch runs and budgets in another order may meet; PostgreSQL ends one, which is made again.
after_deadlock = tenacity.retry(
    retry=tenacity.retry_if_exception(lambda error: isinstance(error, OperationalError) and not in_transaction()),
    stop=tenacity.stop_after_attempt(4),
    wait=tenacity.wait_random(0.05, 0.3),
    reraise=True,
)


def in_transaction() -> bool:
    return connection.in_atomic_block


class RunQuerySet(RunTreeQuerySet):
    # ---- hold and let go ----------------------------------------------------------------------------------

    def renew_leases(self, worker: str, performed: Iterable[uuid.UUID]) -> int:
        """Only of what is really performed: a run that was dropped is claimed again when its lease ends."""
        return self.held(worker).filter(pk__in=list(performed)).update(lease_expires_at=Now() + lease())

    def release_claims(self, worker: str, pks: Iterable[uuid.UUID] | None = None) -> int:
        """What this worker holds, or only these of it, goes back to the queue, for the next one to claim at once."""
        given = self.held(worker) if pks is None else self.held(worker).filter(pk__in=list(pks))
        given.count_work()
        ModelCall.objects.filter(run__in=given).mark_interrupted()
        return given.update(status=RunStatus.QUEUED, worker="", lease_expires_at=None, revision=F("revision") + 1)

    # ---- wait and go on -----------------------------------------------------------------------------------

    def suspend(self, pk: uuid.UUID, seen: int, until: datetime | None, why: str, worked: float) -> None:
        """Let it wait, unless something came from outside since the look at `seen`: then it is queued at once.

        In a transaction that has proved the claim, by whose lock on the row no news can come meanwhile.
        """
        let_go = {"worker": "", "lease_expires_at": None, "worked": F("worked") + worked}
        waits = {"status": RunStatus.WAITING, "wakes_at": until, "why": why[:WHY_LENGTH]}
        if self.filter(pk=pk, news=seen).update(**waits, **let_go):
            Suspension.objects.create(run_id=pk)
        else:
            self.requeue(pk, worked)

    def requeue(self, pk: uuid.UUID, worked: float) -> None:
        """Into the queue, by whoever holds it and has proved that."""
        self.filter(pk=pk).update(
            status=RunStatus.QUEUED,
            worker="",
            lease_expires_at=None,
            wakes_at=Now(),
            worked=F("worked") + worked,
        )

    def end(self, pk: uuid.UUID, status: str, error: dict[str, Any] | None, worked: float) -> None:
        """By whoever holds it and has proved that."""
        release_claim(pk, status, Run._meta.get_field("error").get_db_prep_save(error, connection), worked)

    def wake(self, pk: uuid.UUID) -> bool:
        """Tell a run that something came from outside, in the transaction of that: first of all there, so that nobody
        parks or ends it meanwhile. False where it is over, and what came is to be refused.

        It always meets the row of a run that goes on, in whatever state: an UPDATE whose condition does not match takes
        no lock and waits for none, and what it was to wake may just be about to wait.
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

    # ---- admit --------------------------------------------------------------------------------------------

    def admit_to_queue(self, owner: Any) -> None:
        """Count one run that this owner is about to queue, in the transaction that does. LimitReached where that would
        be too many: the first statement holds all others of the same owner until the transaction ends.
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
        """Let in a run that may wait for somebody. LimitReached, by name, where too many of these do."""
        waiting = self.filter(owner=owner, procedure=procedure, status=RunStatus.WAITING, parent=None)
        titles = list(waiting.order_by("created").values_list("title", flat=True)[: settings.USER_WAITING])
        if len(titles) >= settings.USER_WAITING:
            some, more = ", ".join(f"“{one}”" for one in titles[:MAX_NAMED]), len(titles) - MAX_NAMED
            raise RateLimitReached(
                f"{settings.USER_WAITING:,} of yours wait for somebody, as many as one person may have. Decide about "
                f"some, or cancel some: {some}{f' and {more} more' if more > 0 else ''}.",
                RETRY_AFTER_SECONDS,
            )

    # ---- erase --------------------------------------------------------------------------------------------

    def erase(self, pk: uuid.UUID, *, names: bool) -> None:
        """Empty the texts of a run and all that belongs to it, and with `names` who asked for it and who cancelled it.
        The first time of that stays as `redacted`. What another run asked for has a title of that one for a name.

        `sealing.redact` must have said so before.
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
    """How often one person may start a run, or have one go on."""
    return {f"runs of {owner.pk}": per_minute(settings.USER_SUBMISSIONS)}


def account_key(user: Any) -> str:
    """What the record keeps of who asked, so that nobody else can be put in that place."""
    return str(user.pk) if user else SYSTEM_ACTOR


def requester_name(owner: Any, made_by: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of a new run that say whose it is: of a user, or of the run that makes it, see `SubmitChild`."""
    return {"owner": owner, "asked_by": record_name(owner), "account": account_key(owner), **made_by}


def record_name(user: Any) -> str:
    """What the record calls a user; nobody is the command line."""
    return user.get_username() if user else ""


RunManager = models.Manager.from_queryset(RunQuerySet)


class Run(models.Model):
    """One execution of a procedure: its life cycle, and who may write for it right now.

    The row is the queue. Whoever claims it becomes its worker until the lease ends; `fence` moves with every
    claim, so that a worker that lost its lease can write nothing. `revision` moves with every change that
    watchers may want to see. Runs of one `lane` wait for the same providers. `retries` counts how often a failed run
    was queued again. `reserved` is what is set aside for it in each of the budgets `reserved_in`, in billionths of a
    dollar.

    `crashes` says how often in a row, up to `ALONE`, its worker died; from the second time on the run is a suspect,
    and performed with the fewer others the more it has met (`TOGETHER`). `deaths` counts those that it met alone: the
    fifth fails it. Both begin anew when the run gets on, that is when an attempt ends.

    `title` is what it is called, `outcome` the procedure's own word for what came of it, once it has finished, and
    `override` what a person decided instead, last. `redacted`: when its texts were erased first; the title is empty
    since. `request`: a digest of the idempotency key and the request that it came with, empty where there was none.

    `parent` is the run that made it in its step `step`, and `root` the one at the top of those; none of them ever
    changes. `spend` is the most
    that it may cost, in billionths of a dollar. `news` counts what came from outside. `wakes_at` is when a waiting run
    is looked at again at the latest, and afterwards since when it can go on; `why` says for what it waits, where no row
    does. `worked` are its seconds over all claims, the last of them since `claimed_at`, and `host` is the one machine
    that may claim it, or empty.

    `asked_by` and `cancelled_by_name` are the names of those users then, and `account` is the key of who asked, or
    `NOBODY`: an account may be deleted, what it asked stays. Runs of before accounts were kept have none.
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
        # beside `view_run`, which lets somebody see everybody's; nobody needs any of these for one's own runs
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
            # what may be redacted when its time is over; what is redacted already only grows in number
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
        """What it is called wherever it is shown; a redacted one has no title of its own any more."""
        return f"Redacted {self.procedure} {str(self.pk)[:8]}" if self.redacted else self.title

    @property
    def suspect(self) -> bool:
        return self.crashes >= SUSPECT

    @property
    def is_ended(self) -> bool:
        return self.status in (self.Status.FINISHED, self.Status.FAILED, self.Status.CANCELLED)

    @property
    def standing_outcome(self) -> str:
        """What holds: what a person decided last, or what it came to itself; empty where it came to nothing."""
        return self.override or self.outcome or ""

    @property
    def reinstated(self) -> bool:
        """Whether a person has taken back what another one decided instead of its outcome."""
        return self.override is not None and self.override == self.outcome

    @property
    def seconds(self) -> float | None:
        return (self.ended - self.started).total_seconds() if self.started and self.ended else None

    def still_held(self, *, gets_on: bool) -> bool:
        """Whether the claim that this row was read by is still the last one, to be asked before any of its writes. It
        holds for another lease then. With `gets_on` the run is past what its workers may have died of."""
        return renew_claim(self.pk, self.worker, self.fence, innocent=gets_on)

    def charge(self, cost: int, but: int = 0) -> None:
        """Take it from what was set aside for the run, `but` for so much, and from the budgets. In billionths of a
        dollar."""
        reserved, budgets = Run.objects.values_list("reserved", "reserved_in").get(pk=self.pk)
        freed = min(max(reserved - but, 0), cost)
        Run.objects.filter(pk=self.pk).update(reserved=reserved - freed)
        Budget.objects.settle(self.owner_id, spent=cost, freed=freed, reserved_in=budgets)


class Suspension(models.Model):
    """When a run began to wait: for those who look back at it."""

    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="parks")
    made = models.DateTimeField(default=timezone.now)
    immutable = Immutable()

    class Meta:
        db_table = "engine_park"
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"{self.run_id} since {self.made}"


class WriterMarker(models.Model):
    """Where a writer is: moved in each of its transactions, so that it can see which of them was committed."""

    writer = models.CharField(max_length=40, primary_key=True)
    batch = models.BigIntegerField()
    moved = models.DateTimeField()
    immutable = None

    def __str__(self) -> str:
        return f"{self.writer} at {self.batch}"


def has_read_untrusted_input(run: Run) -> bool:
    """Whether text of strangers came to this run, to those that it belongs to, or to what they were told of."""
    top = run.root or run
    tops = Run.objects.filter(Q(pk=top.pk) | procedures()[top.procedure].runs_read_from(top)).order_by()
    return ToolCall.objects.with_untrusted_output(tops).exists()
