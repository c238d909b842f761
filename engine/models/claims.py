"""Claims: which worker performs which run, and how runs of dead workers are recovered.

Why so: engine/DESIGN.md, Runs, the queue and the writer.
"""

import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from django.conf import settings
from django.db import connection, models
from django.db.models import Case, Count, F, Min, Q, When
from django.db.models.functions import Coalesce, Least, Now
from django.utils import timezone

from engine.db import cached_sql

from .budgets import Budget
from .model_calls import ModelCall
from .run_events import RunEvent, RunEventType
from .tool_calls import ToolCall

if TYPE_CHECKING:
    from .runs import Run

CLOCK_SKEW = timedelta(seconds=60)  # a lease that ends later than any can, by this much, is from a wrong clock
OVERDUE = timedelta(seconds=60)
SNAPSHOT_BATCH = 200  # of what is queued: where that is all, turns are taken without counting it in the database
WAKE_BATCH = 1_000
MAX_CRASHES = 5
# by number of crashes, how many such runs may be performed together: any number, then fewer, in the end one
SUSPECT, ALONE = 2, 4
CLAIM_BATCH = {2: 16, 3: 4, ALONE: 1}

CRASHED_WORKER_ERROR = {
    "code": "internal",
    "message": "The engine died five times while it worked on this and nothing else. The server's log may say why.",
}


class RunStatus(models.TextChoices):
    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    FINISHED = "finished"
    FAILED = "failed"
    CANCELLED = "cancelled"


# runs in every write: proves the claim, extends the lease, and locks the row until the commit
RENEW_SQL = """UPDATE engine_run SET revision = revision + 1, lease_expires_at = {leased}{more}
    WHERE id = %s AND status = 'running' AND worker = %s AND fence = %s"""
NOT_SUSPECT = ", deaths = 0, crashes = 0"
RELEASE_SQL = """UPDATE engine_run SET status = %s, error = %s, ended = {now}, worker = '', lease_expires_at = NULL,
    worked = worked + %s WHERE id = %s"""
CLAIM_SQL = """UPDATE engine_run SET status = 'running', worker = %s, fence = fence + 1, claims = claims + 1,
    revision = revision + 1, lease_expires_at = {leased}, claimed_at = {now}, started = coalesce(started, {now})
    WHERE id = %s AND status = 'queued' AND fence = %s"""
ACTIVE_STATUSES = (RunStatus.QUEUED, RunStatus.RUNNING, RunStatus.WAITING)


def lease() -> timedelta:
    return timedelta(seconds=settings.ENGINE_LEASE)


def _lease_ended() -> Q:
    return Q(lease_expires_at__lt=Now()) | Q(lease_expires_at__gt=Now() + lease() + CLOCK_SKEW)


@lru_cache
def _now(vendor: str) -> str:
    """SQL for the database's time in Django's format, so that all rows are by the same clock."""
    return str(models.sql.Query(None).get_compiler(connection=connection).compile(Now())[0])


@lru_cache
def _later(vendor: str) -> str:
    """SQL for a number of seconds from now; takes one parameter."""
    now = _now(vendor)
    return f"{now[:-1]}, %s || ' seconds')" if vendor == "sqlite" else f"{now} + make_interval(secs => %s)"


def renew_claim(pk: uuid.UUID, worker: str, fence: int, *, innocent: bool) -> bool:
    """Extend the lease and increase the revision; False if another worker has the claim. `innocent`: reset crashes."""
    sql = RENEW_SQL.format(leased=_later(connection.vendor), more=NOT_SUSPECT if innocent else "")
    return bool(cached_sql.execute(sql, [settings.ENGINE_LEASE, cached_sql.to_db(pk), worker, fence]))


def release_claim(pk: uuid.UUID, status: str, error: Any, worked: float) -> None:
    """End a claimed run, `worked` seconds after its claim. `error` is in the database's format."""
    cached_sql.execute(RELEASE_SQL.format(now=_now(connection.vendor)), [status, error, worked, cached_sql.to_db(pk)])


SNAPSHOT_SQL = """SELECT
    EXISTS (SELECT 1 FROM engine_run WHERE status = 'queued'),
    EXISTS (SELECT 1 FROM engine_run WHERE status = 'waiting' AND wakes_at <= {now}),
    EXISTS (SELECT 1 FROM engine_run WHERE status = 'running' AND worker <> %s
        AND (lease_expires_at < {now} OR lease_expires_at > {future})),
    EXISTS (SELECT 1 FROM engine_run WHERE status = 'running' AND worker = %s AND crashes >= 2)
    OR EXISTS (SELECT 1 FROM engine_run WHERE status = 'queued' AND crashes >= 2)"""


class WorkerSnapshot(NamedTuple):
    """Whether there are any runs of each kind, for any worker. Usually only `queued` is true."""

    queued: bool
    due: bool
    abandoned: bool
    suspects: bool


def read_worker_snapshot(worker: str) -> WorkerSnapshot:
    vendor = connection.vendor
    future = [(lease() + CLOCK_SKEW).total_seconds()]
    sql = SNAPSHOT_SQL.format(now=_now(vendor), future=_later(vendor))
    return WorkerSnapshot(*map(bool, cached_sql.first(sql, [worker, *future, worker]) or ()))


class RunPosition(NamedTuple):
    """A queued run; `created` is as the database's driver returns it."""

    pk: uuid.UUID
    fence: int
    lane: str
    owner: int | None
    created: Any


QueueParty = tuple[str, int | None]
"""Lane and owner; runs of the same party are taken by age."""
WaitingRun = dict[QueueParty, tuple[int, Any]]
"""For each party, the number of queued runs and the creation time of the oldest."""


def _counted(seen: "Sequence[RunPosition]") -> WaitingRun:
    waiting: WaitingRun = {}
    for one in seen:
        number, oldest = waiting.get((one.lane, one.owner), (0, one.created))
        waiting[one.lane, one.owner] = number + 1, oldest
    return waiting


def _turns(waiting: WaitingRun, places: int, performed: "Sequence[Run]", reserve: int) -> "Counter[QueueParty]":
    """How many runs of each lane and owner are claimed now."""
    lanes = Counter(run.lane for run in performed)
    owners = Counter(run.owner_id for run in performed)
    most = len(performed) + places - reserve
    turns: Counter[QueueParty] = Counter()
    for _ in range(places):
        free = [key for key, (number, _) in waiting.items() if turns[key] < number and lanes[key[0]] < most]
        if not free:
            break
        lane, owner = min(free, key=lambda key: (owners[key[1]], lanes[key[0]], waiting[key][1]))
        turns[lane, owner] += 1
        lanes[lane] += 1
        owners[owner] += 1
    return turns


def _first(seen: "Sequence[RunPosition]", turns: "Counter[QueueParty]") -> "Iterator[RunPosition]":
    """The oldest runs of each party, as many as its turns."""
    left = Counter(turns)
    for one in seen:
        if left[one.lane, one.owner] > 0:
            left[one.lane, one.owner] -= 1
            yield one


class ClaimedRun(NamedTuple):
    """The result of a claim: runs to perform, and runs that have failed and must be sealed."""

    runs: "list[Run]"
    failed: list[uuid.UUID]


class ClaimQuerySet(models.QuerySet["Run"]):
    # ---- queries ------------------------------------------------------------------------------------------

    def queued(self) -> Self:
        return self.filter(status=RunStatus.QUEUED)

    def in_progress(self) -> Self:
        """Running runs whose lease is valid."""
        return self.filter(~_lease_ended(), status=RunStatus.RUNNING)

    def held(self, worker: str) -> Self:
        return self.filter(status=RunStatus.RUNNING, worker=worker)

    def abandoned(self, worker: str) -> Self:
        """Runs of other workers whose lease has ended. One's own are left out: this process may only have slept."""
        return self.filter(_lease_ended(), status=RunStatus.RUNNING).exclude(worker=worker)

    def suspects(self) -> Self:
        """Runs with more than one crash and no progress since, which may be the cause of the crashes."""
        return self.filter(crashes__gte=SUSPECT)

    def due(self) -> Self:
        """Waiting runs whose time has come."""
        return self.filter(status=RunStatus.WAITING, wakes_at__lte=Now())

    def neglected(self) -> Self:
        """Runs that could have continued for OVERDUE while no engine holds a lease; not those that wait for people."""
        if self.in_progress().exists():
            return self.none()
        late = Q(lease_expires_at__lt=Now() - OVERDUE) | Q(lease_expires_at__gt=Now() + lease() + CLOCK_SKEW)
        overdue = late & Q(status=RunStatus.RUNNING)
        since = self.annotate(since=Coalesce("wakes_at", "created")).filter(since__lt=Now() - OVERDUE).values("pk")
        could_go_on = Q(status=RunStatus.QUEUED) | Q(status=RunStatus.WAITING, wakes_at__isnull=False)
        return self.filter(overdue | could_go_on & Q(pk__in=since))

    # ---- claim --------------------------------------------------------------------------------------------

    def waits(self, worker: str) -> bool:
        """Whether there may be something to claim. Reads only, because on SQLite a claim takes the write lock."""
        if not any(read_worker_snapshot(worker)):
            return False
        return bool(self._first_queued.rows()) or self.due().exists() or self.abandoned(worker).exists()

    def claim(
        self,
        worker: str,
        places: int,
        performed: Sequence["Run"] = (),
        reserve: int = 0,
        *,
        suspects_first: bool = False,
    ) -> "ClaimedRun":
        """Requeue abandoned runs, wake those that are due, and claim up to `places` runs for this worker.

        Called in a transaction of the caller, who must seal the failed runs. Each claim increases the fence.

        Owners and lanes take turns: those with the fewest runs in `performed` come first, then the oldest runs. No lane
        gets the last `reserve` places, so that a slow provider cannot fill them all.

        Suspects are claimed only by a worker that performs nothing else, and it claims nothing more until they make
        progress. They wait for all other runs; with `suspects_first` the others wait until this worker is idle.
        """
        seen = read_worker_snapshot(worker)
        failed = self._take_back(worker) if seen.abandoned else []
        if seen.due:
            self._wake()
        wanted = self._wanted(worker, places, performed, reserve, suspects_first, any(seen[1:]))
        taken = [pk for pk, fence in wanted if self._take(pk, fence, worker)]
        return ClaimedRun(cached_sql.fetch(self.model, "pk", taken, "created"), failed)

    def _wanted(
        self,
        worker: str,
        places: int,
        performed: Sequence["Run"],
        reserve: int,
        suspects_first: bool,
        suspects: bool,
    ) -> list[tuple[uuid.UUID, int]]:
        """Pairs of primary key and fence of the runs to claim. `suspects`: there may be suspects."""
        if suspects and self.held(worker).suspects().exists():
            return []
        if suspects and self.queued().suspects().exists() and (suspects_first or not self._others().exists()):
            return [] if performed else self._suspected(places)
        seen = self._seen()
        turns = _turns(self._waiting() if seen is None else _counted(seen), places, performed, reserve)
        if seen is not None and not connection.features.has_select_for_update_skip_locked:
            return [(one.pk, one.fence) for one in _first(seen, turns)]
        others = self._others()
        return [row for (lane, owner), number in turns.items() for row in others._oldest(lane, owner, number)]

    def _others(self) -> Self:
        return self.queued().filter(crashes__lt=SUSPECT)

    @cached_property
    def _first_queued(self) -> cached_sql.CompiledQuery:
        return cached_sql.CompiledQuery(self.queued().order_by().values_list("pk")[:1])

    @cached_property
    def _unsuspected(self) -> cached_sql.CompiledQuery:
        columns = self._others().order_by("created").values_list(*RunPosition._fields)
        return cached_sql.CompiledQuery(columns[:SNAPSHOT_BATCH])

    def _seen(self) -> "list[RunPosition] | None":
        """All queued runs without suspects, oldest first; None if there are SNAPSHOT_BATCH or more."""
        rows = self._unsuspected.rows()
        return (
            [RunPosition(cached_sql.from_db(pk), *rest) for pk, *rest in rows] if len(rows) < SNAPSHOT_BATCH else None
        )

    def _wake(self) -> None:
        """Queue waiting runs whose time has come."""
        due = [pk for pk, _ in self.due()._locked(WAKE_BATCH)]
        self.filter(pk__in=due).update(status=RunStatus.QUEUED, why="", revision=F("revision") + 1)

    def _take_back(self, worker: str) -> list[uuid.UUID]:
        """Requeue the runs of dead workers; return the keys of those that failed.

        A run is blamed for the death of a worker that performed nothing else, and fails after the fifth. Runs that were
        performed together are requeued: the first time without consequence, since any engine may be killed, then in
        ever smaller groups.
        """
        if not self.abandoned(worker).exists():
            return []
        alone, together = self._abandoned_by_the_dead(worker)
        self.filter(pk__in=[*alone, *together]).count_work()
        changed: dict[str, Any] = {
            "fence": F("fence") + 1,
            "revision": F("revision") + 1,
            "worker": "",
            "lease_expires_at": None,
        }
        again_alone = Case(When(crashes=0, then=1), default=ALONE)
        blamed: dict[str, Any] = changed | {"deaths": F("deaths") + 1, "crashes": again_alone}
        abandoned, queued = self.abandoned(worker), RunStatus.QUEUED
        abandoned.filter(pk__in=alone, deaths__gte=MAX_CRASHES - 1).update(
            status=RunStatus.FAILED, error=CRASHED_WORKER_ERROR, ended=Now(), **blamed
        )
        failed = list(self.filter(pk__in=alone, status=RunStatus.FAILED).values_list("pk", flat=True))
        self.release(failed)
        ToolCall.objects.filter(run__in=failed).interrupt_until_retry()  # of others the next worker asks
        self.model.objects.nudge_parents(*failed)
        RunEvent.objects.record(RunEventType.OVER, failed)
        abandoned.filter(pk__in=alone).update(status=queued, **blamed)
        abandoned.filter(pk__in=together).update(status=queued, crashes=Least(F("crashes") + 1, ALONE), **changed)
        # calls of a run whose lease was renewed between the query and the updates are still running
        taken_back = self.filter(pk__in=[*alone, *together]).exclude(status=RunStatus.RUNNING)
        ModelCall.objects.filter(run__in=taken_back).mark_interrupted()
        return failed

    def _abandoned_by_the_dead(self, worker: str) -> tuple[list[uuid.UUID], list[uuid.UUID]]:
        """Keys of the runs to requeue: those that were alone with their worker, and the others.

        All runs of a worker are requeued together, when all of its leases have ended. They end one after the other, and
        the last one would otherwise seem to have been alone. A run that has waited for that as long as a lease is
        requeued anyway.
        """
        held = self.model.objects.filter(status=RunStatus.RUNNING).exclude(worker=worker).order_by().values("worker")
        counted = held.annotate(all=Count("pk"), ended=Count("pk", filter=_lease_ended()))
        dead = {row["worker"]: row["all"] for row in counted if row["all"] == row["ended"]}
        late = self.abandoned(worker).exclude(lease_expires_at__range=(Now() - lease(), Now() + lease() + CLOCK_SKEW))
        look = self.filter(Q(pk__in=late.values("pk")) | Q(worker__in=dead), status=RunStatus.RUNNING)
        if connection.features.has_select_for_update_skip_locked:
            look = look.select_for_update(
                skip_locked=True
            )  # locks of a worker that died in mid-transaction must not block this
        late_ones = set(late.values_list("pk", flat=True))
        rows = list(look.values_list("pk", "worker"))
        there = Counter(by for _, by in rows)
        whole = [(pk, by) for pk, by in rows if pk in late_ones or there[by] == dead.get(by)]
        alone = [pk for pk, by in whole if dead.get(by) == 1]
        return alone, [pk for pk, by in whole if dead.get(by) != 1]

    def _suspected(self, places: int) -> list[tuple[uuid.UUID, int]]:
        """A group of suspects with the same number of crashes; those with deaths come last."""
        waiting = self.queued().suspects().order_by("deaths", "created")
        crashes = waiting.values_list("crashes", flat=True)[0]
        return waiting.filter(crashes=crashes)._locked(min(places, CLAIM_BATCH[crashes]))

    def _waiting(self) -> "WaitingRun":
        return {
            (row["lane"], row["owner"]): (row["number"], row["oldest"])
            for row in self._others().values("lane", "owner").annotate(number=Count("pk"), oldest=Min("created"))
        }

    def _oldest(self, lane: str, owner: int | None, number: int) -> list[tuple[uuid.UUID, int]]:
        return self.filter(lane=lane, owner=owner).order_by("created")._locked(number)

    def _locked(self, number: int) -> list[tuple[uuid.UUID, int]]:
        """Key and fence of the first runs, without those that another worker has locked."""
        rows = self.values_list("pk", "fence")
        if connection.features.has_select_for_update_skip_locked:
            rows = rows.select_for_update(skip_locked=True)
        return list(rows[:number])

    def _take(self, pk: uuid.UUID, fence: int, worker: str) -> bool:
        sql = CLAIM_SQL.format(leased=_later(connection.vendor), now=_now(connection.vendor))
        return bool(cached_sql.execute(sql, [worker, settings.ENGINE_LEASE, cached_sql.to_db(pk), fence]))

    def count_work(self) -> None:
        """Add the seconds of work of claims that their workers did not end, up to the last renewal of the lease."""
        now, worked = timezone.now(), dict[uuid.UUID, Any]()
        for pk, claimed, ends in self.exclude(claimed_at=None).values_list("pk", "claimed_at", "lease_expires_at"):
            renewed = min((ends or now + lease()) - lease(), now)
            worked[pk] = When(pk=pk, then=F("worked") + max((renewed - claimed).total_seconds(), 0.0))
        if worked:
            self.model.objects.filter(pk__in=worked).update(worked=Case(*worked.values(), default=F("worked")))

    def release(self, pks: Iterable[uuid.UUID], but: int = 0) -> None:
        """Return reserved amounts of these runs to their budgets, except `but` billionths of a dollar of each."""
        for run in cached_sql.fetch(self.model, "pk", list(pks)):
            if run.reserved <= but:
                continue
            self.filter(pk=run.pk).update(reserved=but)
            freed = run.reserved - but
            Budget.objects.settle(run.owner_id, spent=0, freed=freed, reserved_in=run.reserved_in)
