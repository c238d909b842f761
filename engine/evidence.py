"""The evidence: what happened in each run, as a chain of entries, and the log over all. Rows that are only added.

An entry is written in the transaction of what it tells. What it says of rows can be told again from the rows at any
time (`said_of`), so that a change to either shows. How the hashes are made stands in `chain.py`.
"""

import secrets
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib import import_module
from typing import Any, Protocol, cast
from uuid import UUID

from django.conf import settings
from django.db import connection, models, transaction
from django.utils import timezone

from . import chain
from .chain import NOTHING_BEFORE, Draft
from .models import ModelCall, Run
from .version import VERSION

SUBMITTED, ATTEMPT, ENDED, RETRIED, REDACTED = "submitted", "attempt", "ended", "retried", "redacted"
WITHOUT_ROWS = (RETRIED, REDACTED)
MAKER = f"magi {VERSION}"
LOCK = 0x6D616769  # an advisory lock of PostgreSQL: one transaction at a time has the end of the log

Said = dict[str, list[Draft]]
"""What the rows of one run tell, by kind of entry, each kind in its order."""


class Witness(Protocol):
    """A procedure's module that knows what its own rows tell. `settings.EVIDENCE` names it."""

    def tell(self, told: dict[UUID, Said]) -> None:
        """Add facts and texts to the drafts of these runs."""

    def doubt(self, entries: Sequence[dict[str, Any]]) -> str:
        """What the entries of one run say that cannot be by the procedure's own rules; empty where nothing does.

        An entry as a mapping: `kind`, `facts`, and `texts` where they are not erased.
        """


def witness_of(procedure: str) -> "Witness | None":
    name = settings.EVIDENCE.get(procedure)
    return cast(Witness, import_module(name)) if name else None


@dataclass(frozen=True)
class Head:
    """Where a chain ends for now, on its way into the log. `salt` keys the texts that were added last."""

    run: UUID
    seq: int
    hash: str
    salt: str


class EntryQuerySet(models.QuerySet["Entry"]):
    def append(self, run: UUID, drafts: Sequence[Draft]) -> Head:
        """Let these follow what the run's chain has. Whoever calls logs the head in the same transaction."""
        last = self.filter(run=run).order_by("-seq").values_list("seq", "hash").first()
        seq, prev = last or (0, NOTHING_BEFORE)
        salt = secrets.token_bytes(16)
        entries: list[Entry] = []
        for draft in drafts:
            seq += 1
            digests = draft.digests(salt, seq)
            line = chain.entry_line(draft, digests, run=str(run), seq=seq, prev=prev, maker=MAKER)
            prev = chain.entry_hash(line)
            entries.append(Entry(run_id=run, seq=seq, kind=draft.kind, line=line, hash=prev))
        Entry.objects.bulk_create(entries)
        return Head(run, seq, prev, salt.hex())

    @transaction.atomic
    def record(self, run: UUID, *drafts: Draft) -> None:
        """Append these and log it: for what happens to a run that is over."""
        Leaf.objects.lock()
        Leaf.objects.add(self.append(run, drafts))

    def seal(self, run: UUID) -> Head:
        """Append what the rows of a run that has just ended tell beyond what is in its chain already."""
        said, there = said_of([run])[run], Counter(self.filter(run=run).values_list("kind", flat=True))
        new = [draft for kind in (SUBMITTED, ATTEMPT) for draft in said[kind][there[kind] :]]
        return self.append(run, [*new, *said[ENDED]])


class Entry(models.Model):
    """One thing that happened in a run. `line` is what is hashed."""

    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="entries", db_index=False)
    seq = models.PositiveIntegerField()
    kind = models.CharField(max_length=12)
    line = models.TextField()
    hash = models.CharField(max_length=64)

    objects = EntryQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "entries"
        ordering = ["run", "seq"]
        constraints = [models.UniqueConstraint("run", "seq", name="one_entry_per_place")]

    def __str__(self) -> str:
        return f"entry {self.seq} ({self.kind}) of {self.run_id}"


class LeafQuerySet(models.QuerySet["Leaf"]):
    def lock(self) -> None:
        """Let nobody else add to the log before this transaction ends. SQLite has one writer anyway."""
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])

    def add(self, head: Head) -> None:
        self.lock()
        last = self.order_by("-index").values_list("index", "hash").first()
        index, prev = (last[0] + 1, last[1]) if last else (0, NOTHING_BEFORE)
        leaf = Leaf(index=index, run_id=head.run, seq=head.seq, head=head.hash, at=timezone.now())
        leaf.hash = leaf.worked_out(prev)
        leaf.save(force_insert=True)
        Salt.objects.create(leaf=leaf, value=head.salt)

    def size(self) -> int:
        return 1 + (self.order_by("-index").values_list("index", flat=True).first() or 0) if self.exists() else 0


class Leaf(models.Model):
    """A place in the log over all runs: at `at`, the newest entry of the run was `seq`, with the hash `head`."""

    index = models.PositiveBigIntegerField(primary_key=True)
    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="leaves")
    seq = models.PositiveIntegerField()
    head = models.CharField(max_length=64)
    at = models.DateTimeField()
    hash = models.CharField(max_length=64)

    objects = LeafQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "leaves"
        ordering = ["index"]

    def __str__(self) -> str:
        return f"leaf {self.index}"

    def worked_out(self, prev: str) -> str:
        """The hash that it must have after a leaf with the hash `prev`."""
        return chain.leaf_hash(
            index=self.index, run=str(self.run_id), seq=self.seq, head=self.head, at=stamp(self.at) or "", prev=prev
        )


class Salt(models.Model):
    """Keys the digests of the texts that a leaf brought. It is erased together with the texts."""

    leaf = models.OneToOneField(Leaf, on_delete=models.PROTECT, primary_key=True)
    value = models.CharField(max_length=32)

    def __str__(self) -> str:
        return f"salt of leaf {self.leaf_id}"


def retried_by(name: str) -> Draft:
    return Draft(RETRIED, stamp(timezone.now()) or "", {"by": name})


# ---- what rows tell ---------------------------------------------------------------------------------------


def said_of(runs: Iterable[UUID]) -> dict[UUID, Said]:
    """What the rows of each of these runs tell, in a few queries for all of them."""
    said: dict[UUID, Said] = {}
    of_procedure: dict[str, dict[UUID, Said]] = defaultdict(dict)
    for values in Run.objects.filter(pk__in=list(runs)).values(*RUN):
        pk = values["pk"]
        said[pk] = of_procedure[values["procedure"]][pk] = _of_run(values)
    for values in ModelCall.objects.filter(run__in=list(said)).order_by("pk").values(*CALL):
        said[values["run"]][ATTEMPT].append(_of_call(values))
    for procedure, told in of_procedure.items():
        if witness := witness_of(procedure):
            witness.tell(told)
    return said


RUN = (
    *("pk", "procedure", "status", "asked_by", "cancelled_by_name"),
    *("created", "started", "ended", "error", "retries"),
)
CALL_FACTS = (
    *("step", "series", "attempt", "status", "model", "answered_by", "answer_format"),
    *("input_tokens", "output_tokens", "estimated", "cost", "error_code"),
)
CALL_TEXTS = ("prompt", "answer", "error")
CALL = ("pk", "run", "started", "ended", *CALL_FACTS, *CALL_TEXTS)


def _of_run(values: dict[str, Any]) -> Said:
    error = dict(values["error"] or {})
    message = error.pop("message", "")
    submitted = Draft(
        SUBMITTED,
        stamp(values["created"]) or "",
        {"procedure": values["procedure"]},
        {"asked by": values["asked_by"]},
    )
    ended = Draft(
        ENDED,
        stamp(values["ended"]) or "",
        {
            "status": values["status"],
            "started": stamp(values["started"]),
            "retries": values["retries"],
            "error": error or None,
        },
        {"error": message, "cancelled by": values["cancelled_by_name"]},
    )
    return defaultdict(list, {SUBMITTED: [submitted], ENDED: [ended] if values["ended"] else []})


def _of_call(values: dict[str, Any]) -> Draft:
    facts = {name: values[name] for name in CALL_FACTS}
    facts["started"] = stamp(values["started"])
    texts = {name: values[name] for name in CALL_TEXTS}
    return Draft(ATTEMPT, stamp(values["ended"]) or "", facts, texts, row=values["pk"])


def stamp(moment: datetime | None) -> str | None:
    """A moment of the database as the record writes it: UTC, to the microsecond where there are any."""
    return moment.isoformat().replace("+00:00", "Z") if moment else None
