"""Verification of single records: every hash is computed again, every row compared with its entry, every rule
applied.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Any
from uuid import UUID

from django.db import DatabaseError, connection
from django.utils.dateformat import format as date_format

from engine.models import Run
from engine.models.gates import runs_with_wrong_decisions
from engine.runtime.procedure import procedures

from ..ledger import hashing
from ..ledger.entries import (
    ADOPTED,
    ATTEMPT,
    DECIDED,
    ENDED,
    GATE,
    KINDS_WITHOUT_ROWS,
    LOG_CHAIN,
    REDACTED,
    RETRIED,
    SUBMITTED,
    TOOL,
    AuditEntry,
)
from ..ledger.hashing import GENESIS_HASH, EntryDraft, format_timestamp
from ..ledger.merkle_log import DigestSalt, LogLeaf
from ..ledger.report import EMPTY_CHAIN, LogPosition, ReportLine, StoredChain, VerificationFault, VerificationFinding
from .comparison import LABELS, compare_entry, entry_label, truncate_value
from .email_entries import misworded
from .entries_from_rows import (
    NAME_COLUMNS,
    EntrySource,
    RunEntries,
    entries_of_chains,
    plain_rows,
    row_key,
    runs_with_foreign_rows,
    runs_with_unsealed_changes,
    unforked,
)

UNREADABLE = (ValueError, TypeError, KeyError, AttributeError, DatabaseError)  # what rows full of nonsense bring about
MAX_TIME_APART = timedelta(days=1)  # an entry and its leaf are of one transaction; clocks of two machines may differ
LEAF_CHANGED = "Its place in the log was changed."

VerifiedRun = tuple[UUID, StoredChain, list[VerificationFault]]


def verify(runs: Iterable[UUID]) -> list[VerifiedRun]:
    """Return each run with its stored chain and its faults.

    Runs with faults are read a second time, because their rows may have changed while they were read.
    """
    found = _read(runs)
    again = {one[0]: one for one in _read(pk for pk, _, faults in found if faults)}
    return [again.get(one[0], one) for one in found]


def _read(runs: Iterable[UUID]) -> list[VerifiedRun]:
    """Verify with a few queries for all runs; one by one if rows cannot be read."""
    runs = list(runs)
    try:
        return list(_verify(runs))
    except UNREADABLE:
        if not connection.is_usable():
            raise
        if len(runs) > 1:
            return [found for run in runs for found in _read([run])]
        return [(runs[0], EMPTY_CHAIN, [VerificationFault("Its rows cannot be read.", runs[0])])]


def verify_one(run: UUID) -> VerifiedRun:
    """Verify one run, and also the hashes of its leaves in the log."""
    pk, kept, faults = verify([run])[0]
    for leaf in LogLeaf.objects.filter(run=run):
        before = LogLeaf.objects.filter(index=leaf.index - 1).values_list("hash", flat=True).first()
        if leaf.compute_hash(before or GENESIS_HASH) != leaf.hash:
            faults.append(VerificationFault(LEAF_CHANGED, run, leaf.seq, f"leaf {leaf.index} does not have its hash"))
    return pk, kept, faults


def _verify(runs: Sequence[UUID]) -> Iterator[VerifiedRun]:
    said, kept = entries_of_chains(runs), stored_chains(runs)
    contradictions = _contradictions(said)
    for pk in runs:
        if pk not in said:
            known = kept[pk].entries or kept[pk].leaves
            text = "Its entries are here, and what they tell of is gone." if known else "There is no such record."
            yield pk, kept[pk], [VerificationFault(text, pk)]
            continue
        faults = [VerificationFault(text, pk, seq, detail) for seq, text, detail in _examine(pk, said[pk], kept[pk])]
        # a wrong entry contradicts other rows as well: report it once
        yield pk, kept[pk], faults or [VerificationFault(text, pk) for text in contradictions[pk]]


def _contradictions(said: dict[UUID, RunEntries]) -> dict[UUID, list[str]]:
    """Return where rows that are no evidence contradict the entries of these runs."""
    found: dict[UUID, list[str]] = defaultdict(list)
    of = list(said)
    for pk, text in (
        *runs_with_foreign_rows(said),
        *runs_with_wrong_decisions(of),
        *misworded(of),
        *runs_with_unsealed_changes(said),
        *unforked(said),
    ):
        found[pk].append(text)
    for procedure in procedures().values():
        own = {pk: one for pk, one in said.items() if one.witness is procedure}
        for pk, text in procedure.unsealed_mismatches(own) if own else ():
            found[pk].append(text)
    return found


def stored_chains(runs: Sequence[UUID]) -> dict[UUID, StoredChain]:
    entries: dict[UUID, list[ReportLine]] = defaultdict(list)
    leaves: dict[UUID, list[LogPosition]] = defaultdict(list)
    salts: dict[UUID, dict[int, str]] = defaultdict(dict)
    for row in plain_rows(AuditEntry.objects.filter(run__in=runs).order_by(), "run", "seq", "kind", "line", "hash"):
        entries[row_key(row["run"])].append((row["seq"], row["kind"], row["line"], row["hash"]))
    for row in plain_rows(LogLeaf.objects.filter(run__in=runs).order_by(), "run", "index", "seq", "head", "at"):
        leaves[row_key(row["run"])].append(LogPosition(row["index"], row["seq"], row["head"], row["at"]))
    for row in plain_rows(DigestSalt.objects.filter(leaf__run__in=runs), "leaf__run", "leaf", "value"):
        salts[row_key(row["leaf__run"])][row["leaf"]] = row["value"]
    begun = LogLeaf.objects.filter(run=LOG_CHAIN).values_list("index", flat=True).first()
    in_order = {run: sorted(leaves[run], key=attrgetter("index")) for run in runs}
    return {run: StoredChain(sorted(entries[run]), in_order[run], salts[run], begun) for run in runs}


def _examine(pk: UUID, said: RunEntries, kept: StoredChain) -> Iterator[VerificationFinding]:
    if not kept.entries:
        if said.whole or kept.begun is not None:
            yield VerificationFinding(None, f"{_standing(said)} no entries.")
        return
    told: list[dict[str, Any]] = []
    prev = GENESIS_HASH
    for place, (entry, draft) in enumerate(pair_entries(kept, said), 1):
        if entry is None:
            yield VerificationFinding(place, f"It has what no entry tells of: {entry_label(draft)}.")
            continue
        seq, _, line, hash_ = entry
        if seq != place:
            yield VerificationFinding(
                place, f"Entry {place} is missing: it was deleted, or the entries were put in another order."
            )
            return
        if draft and _is_as_told(pk, entry, draft, prev, kept):
            told.append({"kind": draft.kind, "facts": draft.facts, "texts": draft.texts})
        else:
            yield from compare_entry(pk, entry, draft, prev, kept)
            told.append(_told(line, draft))
        prev = hash_
    yield from _examine_leaves(kept)
    yield from _examine_seals(pk, kept)
    yield from _examine_times(kept)
    yield from (VerificationFinding(kept.redacted_up_to, text) for text in _examine_names(said, kept))
    yield from _examine_ends(told)
    if said.witness:
        yield from _examine_by(said.witness, told, said, kept)


def _standing(said: RunEntries) -> str:
    if said.get(ENDED):
        return "It has ended and has"
    return "It was submitted and has" if said.get(SUBMITTED) else "It has"


def _examine_by(
    witness: EntrySource, told: Sequence[dict[str, Any]], said: RunEntries, kept: StoredChain
) -> Iterator[VerificationFinding]:
    if said.get(REDACTED) and not kept.redacted_up_to:
        yield VerificationFinding(None, "It is marked as redacted, and no entry says so.")
    if kept.redacted_up_to and not said.get(REDACTED):
        yield VerificationFinding(kept.redacted_up_to, "Its mark as redacted is gone.")
    if doubt := witness.validate_entries(told):
        yield VerificationFinding(None, doubt)


def pair_entries(kept: StoredChain, said: RunEntries) -> Iterator[tuple[ReportLine | None, EntryDraft | None]]:
    """Yield each entry with the draft of its row, in order; then the rows that have no entry.

    Entries of some kinds have no row, and neither has an earlier end of a run that was retried.
    """
    drafts = {kind: list(found) for kind, found in said.items()}
    last_end = max((seq for seq, kind, _, _ in kept.entries if kind == ENDED), default=0)
    for entry in kept.entries:
        seq, kind = entry[:2]
        has_row = kind not in KINDS_WITHOUT_ROWS and (kind != ENDED or seq == last_end)
        yield entry, (drafts[kind].pop(0) if has_row and drafts.get(kind) else None)
    if said.whole:
        for kind, left in drafts.items():
            yield from ((None, draft) for draft in left if kind not in KINDS_WITHOUT_ROWS)


def _told(line: str, draft: EntryDraft | None) -> dict[str, Any]:
    try:
        entry = json.loads(line)
        return {"kind": entry["kind"], "facts": entry["facts"], "texts": draft.texts if draft else {}}
    except (ValueError, KeyError, TypeError):
        return {"kind": "", "facts": {}, "texts": {}}


def _is_as_told(pk: UUID, entry: ReportLine, draft: EntryDraft, prev: str, kept: StoredChain) -> bool:
    """Whether the entry is exactly what its row says, in one comparison."""
    seq, _, line, hash_ = entry
    salt = kept.salt_of(seq)
    if salt is None or seq <= kept.redacted_up_to:
        return False
    told = hashing.entry_line(draft, draft.digests(salt, seq), run=str(pk), seq=seq, prev=prev, maker=_maker(line))
    return told == line and hashing.entry_hash(line) == hash_


def _maker(line: str) -> str:
    """Return the program that wrote the line, without parsing it: parsing would be most of the work."""
    start = line.find('"maker":"') + 9
    return line[start : line.find('"', start)]


def names_of_entries(said: RunEntries) -> dict[str, str]:
    """Return who asked and who cancelled, as far as the rows still have it."""
    texts = (draft.texts.items() for kind in (SUBMITTED, ENDED) for draft in said.get(kind, []))
    return {name: text for told in texts for name, text in told if name in NAME_COLUMNS and text}


def _examine_names(said: RunEntries, kept: StoredChain) -> Iterator[str]:
    """Yield faults of names that a redaction left. Its own entry keys them, because earlier keys are deleted."""
    seq, salt = kept.redacted_up_to, kept.salt_of(kept.redacted_up_to)
    if not seq:
        return
    try:
        keyed = dict(json.loads(next(line for place, _, line, _ in kept.entries if place == seq))["texts"])
    except (ValueError, KeyError, TypeError):
        return  # what is wrong with its line is said already
    if keyed and not salt:
        yield "The key of its names is gone."
        return
    there = names_of_entries(said)
    for name in NAME_COLUMNS:
        text = there.get(name, "")
        if keyed.get(name) != (hashing.digest(salt or b"", seq, name, text) if text else None):
            yield f"The {LABELS[name]} was changed {kept.since(seq)}."


def _examine_ends(told: Sequence[dict[str, Any]]) -> Iterator[VerificationFinding]:
    """Yield faults in the order of ends: only a failed run may be retried and end again, so that no outcome can be
    revoked.
    """
    over: str | None = None  # unknown at first: a run may have been tried again before there was a log
    for seq, entry in enumerate(told, 1):
        if entry["kind"] == RETRIED:
            if over not in (None, Run.Status.FAILED):
                yield VerificationFinding(seq, f"It was tried again and had not failed, but was {over or 'under way'}.")
            over = ""
        elif entry["kind"] == ENDED:
            if over:
                yield VerificationFinding(seq, f"It ended once more, and was {over} already.")
            over = entry["facts"].get("status")


def _examine_leaves(kept: StoredChain) -> Iterator[VerificationFinding]:
    hashes = {seq: hash_ for seq, _, _, hash_ in kept.entries}
    before = 0
    for leaf in kept.leaves:
        if hashes.get(leaf.seq) != leaf.head:
            sealed = truncate_value(hashes.get(leaf.seq))
            detail = f"leaf {leaf.index} has the hash {truncate_value(leaf.head)}, its entry {sealed}"
            yield VerificationFinding(leaf.seq, LEAF_CHANGED, detail)
        if leaf.seq <= before:
            yield VerificationFinding(leaf.seq, "The log goes backwards.", f"leaf {leaf.index}")
        before = leaf.seq
    if before != kept.entries[-1][0]:
        yield VerificationFinding(
            kept.entries[-1][0], "Entries were cut off or added: the log ends elsewhere than they do."
        )


def _examine_seals(pk: UUID, kept: StoredChain) -> Iterator[VerificationFinding]:
    """Yield faults in what was sealed when: in a log that has begun the submission is sealed first and alone; older
    runs were sealed when the log began.
    """
    kinds = [kind for _, kind, _, _ in kept.entries]
    if pk == LOG_CHAIN:
        if kinds != [ADOPTED]:
            yield VerificationFinding(2, "The log begins more than once.")
        return
    if SUBMITTED in kinds and kinds.index(SUBMITTED):
        yield VerificationFinding(1, "It does not begin with what was asked.")
    late = kept.begun is not None and bool(kept.leaves) and kept.leaves[0].index > kept.begun
    if late and SUBMITTED in kinds and kept.leaves[0].seq != 1:
        yield VerificationFinding(1, "What was asked was not sealed when it was submitted.")
    if ADOPTED in kinds and (late or kept.begun is None):
        yield VerificationFinding(kinds.index(ADOPTED) + 1, "It says that it is older than the log, and came later.")


def _examine_times(kept: StoredChain) -> Iterator[VerificationFinding]:
    """Yield entries whose time does not fit: each must be as old as its leaf, or, if sealed later, no older than the
    submission.

    Only runs may be older than the log: chains that belong to no run are sealed as events occur.
    """
    begun = kept.begun if kept.entries[0][1] == SUBMITTED else 0
    if begun is None:
        return
    first, leaves = _time_of(kept.entries[0][2]), iter(kept.leaves)
    leaf = next(leaves, None)
    for seq, kind, line, _ in kept.entries:
        if leaf and seq > leaf.seq:
            leaf = next(leaves, None)
        if leaf is None or leaf.index < begun:
            continue
        at, logged = _time_of(line), datetime.fromisoformat(format_timestamp(leaf.at) or "")
        since = first if is_sealed_later(kind) else logged
        if not (since - MAX_TIME_APART <= at <= logged + MAX_TIME_APART):
            yield VerificationFinding(
                seq,
                f"It says that it is of {date_format(at, 'j F Y')}, and was sealed on {date_format(logged, 'j F Y')}.",
            )


def is_sealed_later(kind: str) -> bool:
    """Whether entries of this kind are sealed when the run is suspended, waits or ends, not in the transaction of the
    event.

    Kinds of a procedure have its name before a dot.
    """
    return kind in (ATTEMPT, GATE, DECIDED, TOOL) or "." in kind


def _time_of(line: str) -> datetime:
    """Return the time of an entry, without parsing the line. Raises ValueError if there is none."""
    start = line.index('"at":"') + 6
    return datetime.fromisoformat(line[start : line.index('"', start)])
