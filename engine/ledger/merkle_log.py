"""The log over all chains: who takes a whole record away, or puts one in, changes it.

Why so: engine/DESIGN.md, The record.
"""

from django.db import connection, models
from django.utils import timezone

from engine.db import cached_sql

from . import hashing
from .entries import ChainHead
from .hashing import GENESIS_HASH, format_timestamp
from .immutability import Immutable

NEWEST_LEAF_SQL = 'SELECT "index", hash FROM engine_leaf ORDER BY "index" DESC LIMIT 1'
LOCK_KEY = 0x6D616769  # an advisory lock of PostgreSQL: one transaction at a time has the end of the log


class LogLeafQuerySet(models.QuerySet["LogLeaf"]):
    def lock(self) -> None:
        """Let nobody else add to the log before this transaction ends. SQLite has one writer anyway."""
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK_KEY])

    def add(self, *heads: ChainHead) -> None:
        """Log where these chains end now, one leaf each."""
        self.lock()
        before, prev = cached_sql.first(NEWEST_LEAF_SQL) or (-1, GENESIS_HASH)
        leaves = []
        for index, head in enumerate(heads, before + 1):
            leaf = LogLeaf(index=index, run_id=head.run, seq=head.seq, head=head.hash, at=timezone.now())
            leaf.hash = prev = leaf.compute_hash(prev)
            leaves.append(leaf)
        cached_sql.bulk_insert(leaves)
        cached_sql.bulk_insert(DigestSalt(leaf=leaf, value=head.salt) for leaf, head in zip(leaves, heads, strict=True))

    def size(self) -> int:
        """How many leaves the log has."""
        last = self.order_by("-index").values_list("index", flat=True).first()
        return 0 if last is None else last + 1


class LogLeaf(models.Model):
    """A place in the log over all runs: at `at`, the newest entry of the run was `seq`, with the hash `head`."""

    index = models.PositiveBigIntegerField(primary_key=True)
    run = models.ForeignKey("engine.Run", on_delete=models.PROTECT, related_name="leaves", db_constraint=False)
    seq = models.PositiveIntegerField()
    head = models.CharField(max_length=64)
    at = models.DateTimeField()
    hash = models.CharField(max_length=64)

    objects = LogLeafQuerySet.as_manager()
    immutable = Immutable()

    class Meta:
        db_table = "engine_leaf"
        verbose_name_plural = "leaves"
        ordering = ["index"]

    def __str__(self) -> str:
        return f"leaf {self.index}"

    def compute_hash(self, prev: str) -> str:
        """The hash that it must have after a leaf with the hash `prev`."""
        return hashing.leaf_hash(
            index=self.index,
            run=str(self.run_id),
            seq=self.seq,
            head=self.head,
            at=format_timestamp(self.at) or "",
            prev=prev,
        )


class DigestSalt(models.Model):
    """Keys the digests of the texts that a leaf brought. It is erased together with the texts."""

    leaf = models.OneToOneField(LogLeaf, on_delete=models.PROTECT, primary_key=True, related_name="salt")
    value = models.CharField(max_length=32)
    immutable = Immutable(run="leaf.run", erasable_rows=True)

    class Meta:
        db_table = "engine_salt"

    def __str__(self) -> str:
        return f"salt of leaf {self.leaf_id}"
