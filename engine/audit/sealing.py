"""Rows become evidence: in the transaction of what they tell, and in the log besides.

Why so: engine/DESIGN.md, The record.
"""

import json
import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from heapq import merge
from operator import attrgetter
from typing import NamedTuple
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from engine.database_errors import UNREACHABLE
from engine.db import cached_sql
from engine.llm.errors import RunFailed
from engine.models import ACTIVE_STATUSES, Run

from ..ledger.entries import (
    ADOPTED,
    ATTEMPT,
    CHILD,
    ENDED,
    KINDS_WITHOUT_ROWS,
    LOG_CHAIN,
    REDACTED,
    SUBMITTED,
    AuditEntry,
    ChainHead,
    append_drafts,
)
from ..ledger.hashing import GENESIS_HASH, EntryDraft, format_timestamp
from ..ledger.merkle_log import DigestSalt, LogLeaf
from .entries_from_rows import RunEntries, entries_of_chains, entries_of_runs

log = logging.getLogger(__name__)

ADOPT_BATCH = 200
_put_off: ContextVar[list[ChainHead] | None] = ContextVar("put_off", default=None)
FIRST_LINE = "SELECT line FROM engine_entry WHERE run_id = %s AND seq = 1 AND kind = 'submitted'"
OUTCOME_MISSING_TEXT = "So there is no outcome: submit it again, and let an administrator verify the record."


class ChainPosition(NamedTuple):
    """What a chain has by now: how many entries of each kind, and where it ends."""

    kinds: Mapping[str, int]
    seq: int
    hash: str


EMPTY_POSITION = ChainPosition({}, 0, GENESIS_HASH)


def append_entries(run: UUID, drafts: Sequence[EntryDraft]) -> ChainHead:
    """Let these follow what the run's chain has. Whoever calls logs the head in the same transaction."""
    chain = chain_of(run)
    if not chain.seq and drafts[0].kind != SUBMITTED and Run.objects.filter(pk=run).exists():
        adopt_unsealed_runs()  # does nothing in a log that has begun: the record is broken then, and stays so
        chain = chain_of(run)
    return _add(run, drafts, chain)


def chain_of(run: UUID) -> ChainPosition:
    there = cached_sql.select(AuditEntry, "run", [run], ("kind", "seq", "hash"), "seq")
    return ChainPosition(Counter(kind for kind, _, _ in there), *there[-1][1:]) if there else EMPTY_POSITION


def _add(run: UUID, drafts: Sequence[EntryDraft], chain: ChainPosition) -> ChainHead:
    entries, head = append_drafts(run, drafts, chain.seq, chain.hash)
    cached_sql.bulk_insert(entries)
    return head


@transaction.atomic
def record_run(run: UUID, *drafts: EntryDraft) -> None:
    """Append these and log it: for what happens to a run that is over."""
    LogLeaf.objects.lock()
    LogLeaf.objects.add(append_entries(run, drafts))


@transaction.atomic
def record_redaction(run: UUID, by: str, reason: str, *, names: dict[str, str]) -> None:
    """Say that all texts of a run so far are erased, and erase their keys. Whoever calls then erases the texts.

    `names` are those that stay: this entry keys them anew, for their old keys are gone.
    """
    LogLeaf.objects.lock()
    moment = format_timestamp(timezone.now()) or ""
    head = append_entries(run, [EntryDraft(REDACTED, moment, {"by": by, "reason": reason}, names)])
    LogLeaf.objects.add(head)
    DigestSalt.objects.filter(leaf__run=run, leaf__seq__lt=head.seq).delete()


def record_submission(run: UUID) -> None:
    """Seal what is asked, in the transaction that submits it. The last thing there: the log's end is locked."""
    asked = entries_of_runs([run], new=True)[run][SUBMITTED]
    head = _add(run, asked, EMPTY_POSITION)  # fails if the chain already exists
    _log([head])


def _log(heads: Sequence[ChainHead]) -> None:
    """At once, or as the last thing of whoever has said so."""
    put_off = _put_off.get()
    if put_off is None:
        LogLeaf.objects.add(*heads)
    else:
        put_off.extend(heads)


@contextmanager
def defer_log_append() -> Iterator[list[ChainHead]]:
    """What is submitted or ended meanwhile, which whoever does that logs last in the transaction: it locks the log."""
    heads: list[ChainHead] = []
    before = _put_off.set(heads)
    try:
        yield heads
    finally:
        _put_off.reset(before)


def seal_progress(run: UUID) -> ChainHead | None:
    """Append what the rows of a run that goes on tell beyond what is in its chain already, while nothing of it is open:
    when it is parked, rests, or somebody acts on it while nobody works on it.

    None where there is nothing new, or where what was asked was not sealed: it gets no outcome either.
    """
    chain = chain_of(run)
    new = list(_new(entries_of_chains([run])[run], chain.kinds)) if chain.seq else []
    return _add(run, new, chain) if new else None


def seal_action(run: UUID) -> None:
    """The same for somebody who acts from outside, as the last thing in that transaction: the log's end is locked."""
    if head := seal_progress(run):
        LogLeaf.objects.add(head)


def _new(said: RunEntries, there: Mapping[str, int]) -> Iterator[EntryDraft]:
    """What is in no entry yet, but for the end: what was asked, then all that happened, each kind in the order of its
    rows, which is the order of their keys."""
    yield from said[SUBMITTED][there.get(SUBMITTED, 0) :]
    kinds = [kind for kind in said if kind not in (SUBMITTED, ENDED, *KINDS_WITHOUT_ROWS)]
    yield from merge(*(said[kind][there.get(kind, 0) :] for kind in kinds), key=attrgetter("at"))


def seal(run: UUID) -> ChainHead:
    """Append what the rows of a run that has just ended tell beyond what is in its chain already.

    RunFailed where it has an outcome about something else than what was submitted.
    """
    return _seal(run, entries_of_chains([run])[run])


def _seal(run: UUID, said: RunEntries) -> ChainHead:
    chain = chain_of(run)
    if said[ENDED][0].facts["status"] == Run.Status.FINISHED:
        _refuse_doubtful(run, said)
    drafts = [*_new(said, chain.kinds), *said[ENDED]]
    return _add(run, drafts, chain) if chain.seq else append_entries(run, drafts)


def _refuse_doubtful(run: UUID, said: RunEntries) -> None:
    first = cached_sql.first(FIRST_LINE, [cached_sql.to_db(run)])
    if not (_is_sealed(run, said[SUBMITTED][0], first[0]) if first else not _begun()):
        raise RunFailed("internal", f"What was submitted is not what is there now. {OUTCOME_MISSING_TEXT}")
    told = [*_new(said, {}), *said[ENDED]]
    entries = [{"kind": draft.kind, "facts": draft.facts, "texts": draft.texts} for draft in told]
    if said.witness and (doubt := said.witness.validate_entries(entries)):
        raise RunFailed("internal", f"{doubt} {OUTCOME_MISSING_TEXT}")


def _is_sealed(run: UUID, draft: EntryDraft, line: str) -> bool:
    """Whether the first entry says of what is asked what its rows say now."""
    entry, salts = json.loads(line), cached_sql.select(DigestSalt, "leaf__run", [run], ("value",), "leaf")
    digests = draft.digests(bytes.fromhex(salts[0][0]), 1) if salts else {}
    return (entry["at"], entry["facts"], entry["texts"]) == (draft.at, draft.facts, digests)


@transaction.atomic
def adopt_unsealed_runs() -> int:
    """Begin the log, once: seal what was there before it; how many that were. Later ones are sealed as they come.

    In a log that an older version began what had ended is sealed already. Of what goes on, what is asked is sealed.
    """
    if _begun():
        return 0
    LogLeaf.objects.lock()
    if _begun():  # another process has done so meanwhile
        return 0
    left = Run.objects.filter(entries=None)
    if Run.objects.filter(entries__isnull=False).exists():
        left = left.filter(ended=None)
    runs = list(left.order_by("created", "pk").values_list("pk", flat=True))
    for start in range(0, len(runs), ADOPT_BATCH):
        _adopt(runs[start : start + ADOPT_BATCH])
    LogLeaf.objects.add(
        append_entries(LOG_CHAIN, [EntryDraft(ADOPTED, format_timestamp(timezone.now()) or "", {"records": len(runs)})])
    )
    return len(runs)


def _begun() -> bool:
    return AuditEntry.objects.filter(run=LOG_CHAIN).exists()


def _adopt(runs: Sequence[UUID]) -> None:
    said, adopted = entries_of_chains(runs), EntryDraft(ADOPTED, format_timestamp(timezone.now()) or "")
    chains = []
    for run in runs:
        over = [*said[run][ATTEMPT], *said[run][ENDED]] if said[run].whole else []
        chains.append(append_drafts(run, [*said[run][SUBMITTED], *over, adopted], 0, GENESIS_HASH))
    AuditEntry.objects.bulk_create([entry for entries, _ in chains for entry in entries])
    LogLeaf.objects.add(*(head for _, head in chains))


def seal_ended(pks: Iterable[UUID]) -> None:
    """Seal runs that have just ended, what others have caused before those. Last in a transaction: it takes the lock
    that everybody wants.

    What cannot be sealed has ended all the same: the log of the server says so, and the verification names it.
    """
    pks = list(pks)
    for number, pk in enumerate(pks, 1):
        with log_sealing_errors(pk):
            _log(seal_end(pk, unsealed=pks[number:]))


def seal_end(pk: UUID, unsealed: Sequence[UUID] = ()) -> list[ChainHead]:
    """As `seal`, and record the end in the parent's chain if another run created this one and learns its outcome.

    Call it in the transaction that informs the parent: its lock on the parent's row keeps others from adding to
    that chain. `unsealed` are runs that ended in the same transaction and are sealed later. Returns the heads to
    log.
    """
    said = entries_of_chains([pk])[pk]
    head, asked, end = _seal(pk, said), said[SUBMITTED][0].facts, said[ENDED][0]
    if end.facts["status"] == Run.Status.FAILED or "parent" not in asked:
        return [head]
    parent = UUID(asked["parent"])
    goes_on = Run.objects.filter(pk=parent, status__in=ACTIVE_STATUSES).select_for_update(no_key=True)
    if parent not in unsealed and not goes_on.values_list("pk").first():
        return [head]
    facts = {"step": asked["step"], "run": str(pk), "status": end.facts["status"], "hash": head.hash}
    return [head, append_entries(parent, [EntryDraft(CHILD, end.at, facts)])]


@contextmanager
def log_sealing_errors(pk: UUID) -> Iterator[None]:
    """Run in a savepoint: errors are rolled back and logged, so that one run's broken rows do not block others.

    An unreachable database is not the run's fault and is raised.
    """
    try:
        with transaction.atomic():
            yield
    except UNREACHABLE:
        raise
    except Exception:
        # The boundary between a run's rows, which may be anything, and the queue.
        log.exception("Run %s has ended and could not be sealed.", pk)
