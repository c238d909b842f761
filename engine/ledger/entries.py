"""What happened in each run, as a chain of entries. Rows that are only added; how they are hashed stands in `chain.py`.

A chain may also belong to something that is no run and has a key like one: a module that a procedure names then
knows what its rows tell. Wherever `run` stands here, it is the key of a chain.
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

SUBMITTED, ATTEMPT, ENDED, RETRIED, REDACTED = "submitted", "attempt", "ended", "retried", "redacted"
ADOPTED, GATE, DECIDED, USED, TOOL, CHILD = "adopted", "gate", "decided", "gate.used", "tool", "child"
KINDS_WITHOUT_ROWS = (RETRIED, REDACTED, ADOPTED, CHILD)
MAKER = f"magi {VERSION}"
LOG_CHAIN = UUID(int=0)  # the chain of the log itself: its one entry says that the log has begun, and what it adopted


@dataclass(frozen=True)
class ChainHead:
    """Where a chain ends for now, on its way into the log. `salt` keys the texts that were added last."""

    run: UUID
    seq: int
    hash: str
    salt: str


def append_drafts(run: UUID, drafts: Sequence[EntryDraft], seq: int, prev: str) -> "tuple[list[Entry], ChainHead]":
    """The entries of these drafts after the entry `seq`, whose hash is `prev`, and where they end."""
    salt, entries = secrets.token_bytes(16), []
    for draft in drafts:
        seq += 1
        line = hashing.entry_line(draft, draft.digests(salt, seq), run=str(run), seq=seq, prev=prev, maker=MAKER)
        prev = hashing.entry_hash(line)
        entries.append(Entry(run_id=run, seq=seq, kind=draft.kind, line=line, hash=prev))
    return entries, ChainHead(run, seq, prev, salt.hex())


class Entry(models.Model):
    """One thing that happened in a run. `line` is what is hashed. The database knows no constraint to runs: a chain may
    belong to something else."""

    run = models.ForeignKey(
        "engine.Run", on_delete=models.PROTECT, related_name="entries", db_index=False, db_constraint=False
    )
    seq = models.PositiveIntegerField()
    kind = models.CharField(max_length=40)
    line = models.TextField()
    hash = models.CharField(max_length=64)

    class Meta:
        verbose_name_plural = "entries"
        ordering = ["run", "seq"]
        constraints = [models.UniqueConstraint("run", "seq", name="one_entry_per_place")]

    def __str__(self) -> str:
        return f"entry {self.seq} ({self.kind}) of {self.run_id}"


def retry_actor(name: str) -> EntryDraft:
    return EntryDraft(RETRIED, format_timestamp(timezone.now()) or "", {"by": name})
