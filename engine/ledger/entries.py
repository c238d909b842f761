"""The entries of each run's chain, in a table that is only added to. How they are hashed is in `hashing.py`.

A chain may also belong to an object that is no run but has a UUID like one; a module named by a procedure then maps
its rows. In this package `run` is the key of a chain.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import models
from django.utils import timezone

from engine.version import VERSION

from . import hashing
from .hashing import EntryDraft, format_timestamp
from .immutability import Immutable

SUBMITTED, ATTEMPT, ENDED, RETRIED, REDACTED = "submitted", "attempt", "ended", "retried", "redacted"
ADOPTED, GATE, DECIDED, USED, TOOL, CHILD = "adopted", "gate", "decided", "gate.used", "tool", "child"
KINDS_WITHOUT_ROWS = (RETRIED, REDACTED, ADOPTED, CHILD)
MAKER = f"magi {VERSION}"
LOG_CHAIN = UUID(int=0)  # the chain of the log itself: its one entry says that the log has begun, and what it adopted


@dataclass(frozen=True)
class ChainHead:
    """The newest entry of a chain, before it is added to the log. `salt` (hex) keys the texts of the entries just
    added.
    """

    run: UUID
    seq: int
    hash: str
    salt: str


def append_drafts(run: UUID, drafts: Sequence[EntryDraft], seq: int, prev: str) -> "tuple[list[AuditEntry], ChainHead]":
    """Return the entries for these drafts and the new head. They follow the entry `seq`, whose hash is `prev`."""
    salt, entries = secrets.token_bytes(16), []
    for draft in drafts:
        seq += 1
        line = hashing.entry_line(draft, draft.digests(salt, seq), run=str(run), seq=seq, prev=prev, maker=MAKER)
        prev = hashing.entry_hash(line)
        entries.append(AuditEntry(run_id=run, seq=seq, kind=draft.kind, line=line, hash=prev))
    return entries, ChainHead(run, seq, prev, salt.hex())


class AuditEntry(models.Model):
    """One event in a run. `line` is what is hashed. There is no database constraint to runs: a chain may belong to
    another object.
    """

    run = models.ForeignKey(
        "engine.Run", on_delete=models.PROTECT, related_name="entries", db_index=False, db_constraint=False
    )
    seq = models.PositiveIntegerField()
    kind = models.CharField(max_length=40)
    line = models.TextField()
    hash = models.CharField(max_length=64)
    immutable = Immutable()

    class Meta:
        db_table = "engine_entry"
        verbose_name_plural = "entries"
        ordering = ["run", "seq"]
        constraints = [models.UniqueConstraint("run", "seq", name="one_entry_per_place")]

    def __str__(self) -> str:
        return f"entry {self.seq} ({self.kind}) of {self.run_id}"


def retry_actor(name: str) -> EntryDraft:
    return EntryDraft(RETRIED, format_timestamp(timezone.now()) or "", {"by": name})
