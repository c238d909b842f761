"""The evidence: what happened in each run, as a chain of entries, and the log over all. Rows that are only added.

An entry is written in the transaction of what it tells. What it says of rows can be told again from the rows at any
time (`said_of`), so that a change to either shows. How the hashes are made stands in `chain.py`.
"""

import json
import secrets
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from importlib import import_module
from typing import Any, Protocol, cast
from uuid import UUID

from django.conf import settings
from django.core.exceptions import EmptyResultSet
from django.db import connection, models, transaction
from django.utils import timezone

from . import chain
from .append_only import Guards
from .chain import NOTHING_BEFORE, Draft
from .models import ModelCall, Run
from .version import VERSION

SUBMITTED, ATTEMPT, ENDED, RETRIED, REDACTED = "submitted", "attempt", "ended", "retried", "redacted"
WITHOUT_ROWS = (RETRIED, REDACTED)
NAMES = ("asked by", "cancelled by")
MAKER = f"magi {VERSION}"
ADOPTED_AT_ONCE = 200
FETCHED_AT_ONCE = 1_000
LOCK = 0x6D616769  # an advisory lock of PostgreSQL: one transaction at a time has the end of the log

Said = dict[str, list[Draft]]
"""What the rows of one run tell, by kind of entry, each kind in its order."""


class Witness(Protocol):
    """A procedure's module that knows what its own rows tell. `settings.EVIDENCE` names it."""

    GUARDS: Guards

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
        newest = self.filter(run=run).order_by("-seq").values_list("seq", "hash")
        last = newest.first()
        if last is None and drafts[0].kind != SUBMITTED:  # it ended before there was a log, and was not sealed since
            self._adopt([run])
            last = newest.first()
        entries, head = _chained(run, drafts, *(last or (0, NOTHING_BEFORE)))
        Entry.objects.bulk_create(entries)
        return head

    @transaction.atomic
    def record(self, run: UUID, *drafts: Draft) -> None:
        """Append these and log it: for what happens to a run that is over."""
        Leaf.objects.lock()
        Leaf.objects.add(self.append(run, drafts))

    @transaction.atomic
    def redact(self, run: UUID, by: str, reason: str, *, names: dict[str, str]) -> None:
        """Say that all texts of a run so far are erased, and erase their keys. Whoever calls then erases the texts.

        `names` are those that stay: this entry keys them anew, for their old keys are gone.
        """
        Leaf.objects.lock()
        moment = stamp(timezone.now()) or ""
        head = self.append(run, [Draft(REDACTED, moment, {"by": by, "reason": reason}, names)])
        Leaf.objects.add(head)
        Salt.objects.filter(leaf__run=run, leaf__seq__lt=head.seq).delete()

    def seal(self, run: UUID) -> Head:
        """Append what the rows of a run that has just ended tell beyond what is in its chain already."""
        said, there = said_of([run])[run], Counter(self.filter(run=run).values_list("kind", flat=True))
        new = [draft for kind in (SUBMITTED, ATTEMPT) for draft in said[kind][there[kind] :]]
        return self.append(run, [*new, *said[ENDED]])

    def adopt(self) -> int:
        """Seal what ended before there was a log; how many that were. What ended later was sealed at its end."""
        first = Leaf.objects.order_by("index").first()
        older = Run.objects.filter(ended__lt=first.at) if first else Run.objects.filter(ended__isnull=False)
        runs = list(older.filter(entries=None).order_by("ended").values_list("pk", flat=True))
        for start in range(0, len(runs), ADOPTED_AT_ONCE):
            self._adopt(runs[start : start + ADOPTED_AT_ONCE])
        return len(runs)

    @transaction.atomic
    def _adopt(self, runs: Sequence[UUID]) -> None:
        Leaf.objects.lock()
        done = set(self.filter(run__in=runs).values_list("run", flat=True))  # another process may do the same
        runs = [run for run in runs if run not in done]
        said = said_of(runs)
        drafts = {run: [*said[run][SUBMITTED], *said[run][ATTEMPT], *said[run][ENDED]] for run in runs}
        chains = [_chained(run, drafts[run], 0, NOTHING_BEFORE) for run in runs]
        Entry.objects.bulk_create([entry for entries, _ in chains for entry in entries])
        Leaf.objects.add(*(head for _, head in chains))


def _chained(run: UUID, drafts: Sequence[Draft], seq: int, prev: str) -> "tuple[list[Entry], Head]":
    """The entries of these drafts after the entry `seq`, whose hash is `prev`, and where they end."""
    salt, entries = secrets.token_bytes(16), []
    for draft in drafts:
        seq += 1
        line = chain.entry_line(draft, draft.digests(salt, seq), run=str(run), seq=seq, prev=prev, maker=MAKER)
        prev = chain.entry_hash(line)
        entries.append(Entry(run_id=run, seq=seq, kind=draft.kind, line=line, hash=prev))
    return entries, Head(run, seq, prev, salt.hex())


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

    def add(self, *heads: Head) -> None:
        """Log where these chains end now, one leaf each."""
        self.lock()
        last = self.order_by("-index").values_list("index", "hash").first()
        before, prev = last or (-1, NOTHING_BEFORE)
        leaves = []
        for index, head in enumerate(heads, before + 1):
            leaf = Leaf(index=index, run_id=head.run, seq=head.seq, head=head.hash, at=timezone.now())
            leaf.hash = prev = leaf.worked_out(prev)
            leaves.append(leaf)
        Leaf.objects.bulk_create(leaves)
        Salt.objects.bulk_create(Salt(leaf=leaf, value=head.salt) for leaf, head in zip(leaves, heads, strict=True))

    def size(self) -> int:
        """How many leaves the log has."""
        last = self.order_by("-index").values_list("index", flat=True).first()
        return 0 if last is None else last + 1


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


def names_of(run: Run) -> dict[str, str]:
    """Who asked and who cancelled, by the names of these texts in entries."""
    return dict(zip(NAMES, (run.asked_by, run.cancelled_by_name), strict=True))


# ---- what rows tell ---------------------------------------------------------------------------------------


def said_of(runs: Iterable[UUID]) -> dict[UUID, Said]:
    """What the rows of each of these runs tell, in a few queries for all of them."""
    said: dict[UUID, Said] = {}
    of_procedure: dict[str, dict[UUID, Said]] = defaultdict(dict)
    for row in plain(Run.objects.filter(pk__in=list(runs)), *RUN):
        pk = key(row["pk"])
        said[pk] = of_procedure[row["procedure"]][pk] = _of_run(row)
    for row in plain(ModelCall.objects.filter(run__in=list(said)).order_by("pk"), *CALL):
        said[key(row["run"])][ATTEMPT].append(_of_call(row))
    for procedure, told in of_procedure.items():
        if witness := witness_of(procedure):
            witness.tell(told)
    return said


def plain(rows: models.QuerySet[Any], *columns: str) -> Iterator[dict[str, Any]]:
    """Rows as the database's driver gives them: Django's conversions would be most of the work of a verification.

    `key`, `stamp` and `told_json` read what the two drivers give differently or Django would have read.
    """
    try:
        sql, params = rows.values_list(*columns).query.sql_with_params()
    except EmptyResultSet:
        return
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        while found := cursor.fetchmany(FETCHED_AT_ONCE):
            for row in found:
                yield dict(zip(columns, row, strict=True))


@lru_cache(maxsize=10_000)
def key(value: "str | UUID") -> UUID:
    return value if isinstance(value, UUID) else UUID(value)


def told_json(value: str | None) -> dict[str, Any]:
    """An object that the database keeps as text. What is none stays as a text under `message`."""
    try:
        found = json.loads(value) if value else {}
    except ValueError:
        found = None
    return found if isinstance(found, dict) else {"message": value}


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
    error = told_json(values["error"])
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
    facts |= {"estimated": bool(values["estimated"]), "started": stamp(values["started"])}
    texts = {name: values[name] for name in CALL_TEXTS}
    return Draft(ATTEMPT, stamp(values["ended"]) or "", facts, texts, row=values["pk"])


def stamp(moment: datetime | None) -> str | None:
    """A moment as the record writes it: UTC, to the microsecond where there are any."""
    return moment.isoformat().removesuffix("+00:00") + "Z" if moment else None
