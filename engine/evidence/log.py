"""The log over all chains: who takes a whole record away, or puts one in, changes it.

Why so: docs/decisions.md, The record.
"""

from django.db import connection, models
from django.utils import timezone

from engine import statements

from . import chain
from .chain import NOTHING_BEFORE, stamp
from .entries import Head

LAST = 'SELECT "index", hash FROM engine_leaf ORDER BY "index" DESC LIMIT 1'
LOCK = 0x6D616769  # an advisory lock of PostgreSQL: one transaction at a time has the end of the log


class LeafQuerySet(models.QuerySet["Leaf"]):
    def lock(self) -> None:
        """Let nobody else add to the log before this transaction ends. SQLite has one writer anyway."""
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])

    def add(self, *heads: Head) -> None:
        """Log where these chains end now, one leaf each."""
        self.lock()
        before, prev = statements.first(LAST) or (-1, NOTHING_BEFORE)
        leaves = []
        for index, head in enumerate(heads, before + 1):
            leaf = Leaf(index=index, run_id=head.run, seq=head.seq, head=head.hash, at=timezone.now())
            leaf.hash = prev = leaf.worked_out(prev)
            leaves.append(leaf)
        statements.insert_all(leaves)
        statements.insert_all(Salt(leaf=leaf, value=head.salt) for leaf, head in zip(leaves, heads, strict=True))

    def size(self) -> int:
        """How many leaves the log has."""
        last = self.order_by("-index").values_list("index", flat=True).first()
        return 0 if last is None else last + 1


class Leaf(models.Model):
    """A place in the log over all runs: at `at`, the newest entry of the run was `seq`, with the hash `head`."""

    index = models.PositiveBigIntegerField(primary_key=True)
    run = models.ForeignKey("engine.Run", on_delete=models.PROTECT, related_name="leaves", db_constraint=False)
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
