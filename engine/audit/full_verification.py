"""Verification of everything: all records, the log over them, its checkpoints, and the triggers that protect the
tables.

Why so: engine/DESIGN.md, The record.
"""

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import timedelta
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from uuid import UUID

import django
from django.db import Error, connection

from engine import database_errors
from engine.models import Run

from ..ledger import hashing, signing, trigger_check
from ..ledger.checkpoints import Checkpoint, SignedCheckpoint, read_anchor, readable_notes, signed_notes
from ..ledger.entries import LOG_CHAIN, AuditEntry
from ..ledger.hashing import GENESIS_HASH, format_timestamp
from ..ledger.merkle_log import LogLeaf
from ..ledger.report import VerificationFault, VerificationReport
from .entries_from_rows import chain_entry_sources, plain_rows, row_key
from .verification import LEAF_CHANGED, UNREADABLE, verify

CHUNK = 200
PARALLEL_FROM_RUNS = 20 * CHUNK  # runs from which on further processes are worth their start
MAX_CLOCK_SKEW = timedelta(days=1)  # a clock may be set right; a day is no correction
NOT_SIGNED = "are not signed with the key of this installation"
ANOTHER_KEY = "The key of this installation is another one than the log was signed with."

EntriesBySource = tuple[SignedCheckpoint, str]
"""A checkpoint, and what it is called."""


def verify_all(anchor: str | None = None, processes: int = 1, file: Path | None = None) -> VerificationReport:
    """Verify everything, and compare the log with the checkpoints in `anchor` and in `file`.

    `anchor` is the text of checkpoints that were stored elsewhere, `file` the checkpoint file of this installation.
    Raises ValueError if the anchor has no valid checkpoints.
    """
    report = VerificationReport()
    anchors = (
        [(signed, f"the anchor at {signed.size}") for signed in signed_notes(anchor)] if anchor is not None else []
    )
    try:
        if file:
            anchors += _of_file(file, report)
        _verify_everything(report, anchors, processes)
        _verify_guards(report)
    except Error as error:
        text = "The database cannot be read to its end: it is damaged, or was stopped meanwhile."
        report.faults.insert(0, VerificationFault(text, detail=_first_line(error), where="the database"))
    report.faults[:0] = _damage()
    return report


def _verify_everything(report: VerificationReport, anchors: Sequence[EntriesBySource], processes: int) -> None:
    seen = _verify_log(report, anchors)
    runs = list(dict.fromkeys([*seen, *Run.objects.order_by("created", "pk").values_list("pk", flat=True)]))
    runs += sorted({pk for witness in chain_entry_sources() for pk in witness.chain_keys()}.difference(runs))
    found: list[VerificationFault] = []
    for tally in itertools.chain(_tallies(runs, processes), _tallies_of_others(runs)):
        report.runs += tally.runs
        report.entries += tally.entries
        report.redacted += tally.redacted
        report.adopted += tally.adopted
        found += tally.faults
    report.faults = found + report.faults


def _of_file(file: Path, report: VerificationReport) -> list[EntriesBySource]:
    """Return the checkpoints of the file. A missing file is no fault: other machines may have written it."""
    report.held = _without_file(file, Checkpoint.objects.count())
    try:
        text = read_anchor(file)
        found = signed_notes(text)
    except FileNotFoundError:
        return []
    except OSError as error:
        report.notices.append(f"the file of checkpoints cannot be read: {file}: {error.strerror}")
        return []
    except ValueError as error:
        sentence = f"The file of checkpoints is empty, cut or damaged: keep it, and move it away. {error}"
        report.faults.append(VerificationFault(sentence, where=str(file)))
        found = readable_notes(file.read_text(encoding="utf-8", errors="replace"))
    if found:
        report.held = f"Held against {len(found):,} checkpoint{'s'[: len(found) - 1]} in {file}."
    return [(signed, f"the checkpoint at {signed.size} in {file.name}") for signed in found]


def _without_file(file: Path, known: int) -> str:
    if not known:
        return "No checkpoint was made yet."
    return f"{file} is not to be read here: held against the checkpoints in the database alone ({known:,})."


def _damage() -> Iterator[VerificationFault]:
    try:
        found = database_errors.check_integrity(thoroughly=True)
    except Error as error:
        found = _first_line(error)
    if found:
        yield VerificationFault("The database file is damaged.", detail=found, where="the database")


def _first_line(error: Exception) -> str:
    return str(error).split("\n")[0]


def _tallies(runs: Sequence[UUID], processes: int) -> Iterator[VerificationReport]:
    """Yield the results of verifying the runs, in chunks and in order."""
    chunks = [runs[start : start + CHUNK] for start in range(0, len(runs), CHUNK)]
    if processes == 1 or len(runs) < PARALLEL_FROM_RUNS:
        yield from map(_tally, chunks)
        return
    # spawn, not fork: a child must not share its parent's connections
    with ProcessPoolExecutor(processes, get_context("spawn"), initializer=django.setup) as pool:
        yield from pool.map(_tally, chunks)


def _tallies_of_others(runs: Iterable[UUID]) -> Iterator[VerificationReport]:
    """As `_tallies` for other runs that have entries: they were submitted and ended meanwhile, or their rows are
    gone.
    """
    try:
        of_entries = {row_key(row["run"]) for row in plain_rows(AuditEntry.objects.order_by().distinct(), "run")}
    except UNREADABLE:
        yield VerificationReport(faults=[VerificationFault("Some entries belong to no run.")])
        return
    yield from _tallies(sorted(of_entries.difference(runs)), 1)


def _tally(runs: Sequence[UUID]) -> VerificationReport:
    tally, others = (
        VerificationReport(),
        {LOG_CHAIN, *(pk for witness in chain_entry_sources() for pk in witness.chain_keys())},
    )
    for pk, kept, faults in verify(runs):
        tally.runs += bool(kept.entries) and pk not in others
        tally.entries += len(kept.entries)
        tally.redacted += bool(kept.redacted_up_to)
        tally.adopted += kept.adopted and pk not in others
        tally.faults += faults
    return tally


def _verify_guards(report: VerificationReport) -> None:
    """Report missing protection of the tables as notices, and anything that may change them by itself as faults."""
    for weakness in trigger_check.trigger_problems(connection):
        if weakness.acts:
            text = "Something in the database may change or hide evidence before it is sealed."
            report.faults.append(VerificationFault(text, detail=weakness.text, where="the database"))
        else:
            report.notices.append(f"the database does not refuse changes: {weakness.text}")


def _verify_log(report: VerificationReport, anchors: Sequence[EntriesBySource]) -> list[UUID]:
    """Verify the log; return its runs in the order of their first leaves."""
    checkpoints = list(Checkpoint.objects.order_by("size"))
    wanted = _roots_said(report, checkpoints, anchors)
    seen: dict[UUID, None] = {}
    peaks: list[bytes] = []
    before: dict[str, Any] | None = None
    other: list[tuple[str, str]] = []  # whose word the log is not any more, and how
    try:
        for leaf in plain_rows(LogLeaf.objects.order_by("index"), *LEAF_COLUMNS):
            if leaf["index"] != report.leaves:
                report.faults.append(
                    VerificationFault("A place in the log is missing.", detail=f"leaf {report.leaves}")
                )
                break
            run = row_key(leaf["run"])
            for text in _examine_leaf(leaf, before):
                report.faults.append(VerificationFault(text, run, leaf["seq"], f"leaf {leaf['index']}"))
            seen[run], before = None, leaf
            peaks, report.leaves = hashing.extend_peaks(peaks, report.leaves, [bytes.fromhex(leaf["hash"])])
            other += _otherwise(hashing.root(peaks), report.leaves, wanted.pop(report.leaves, []))
        else:
            report.faults += _cut(report.leaves, wanted)
    except UNREADABLE:
        report.faults.append(VerificationFault("A place in the log cannot be read.", detail=f"leaf {report.leaves}"))
    if other:
        by, detail = other[0]
        more = f" So say {len(other) - 1} more." if other[1:] else ""
        report.faults.append(VerificationFault(f"The log was changed after {by} was signed.{more}", detail=detail))
    report.since_checkpoint = max(report.leaves - (checkpoints[-1].size if checkpoints else 0), 0)  # it may be cut
    return list(seen)


def _otherwise(root: bytes, size: int, said_by: Iterable[tuple[bytes, str]]) -> Iterator[tuple[str, str]]:
    for said, by in said_by:
        if said != root:
            yield by, f"its first {size} leaves have the root {root.hex()}, expected {said.hex()}"


def _cut(size: int, wanted: Mapping[int, Sequence[tuple[bytes, str]]]) -> Iterator[VerificationFault]:
    if wanted:
        longest = max(wanted)
        by = " and ".join(by for _, by in wanted[longest])
        more = f" So say {len(wanted) - 1} more." if len(wanted) > 1 else ""
        text = f"The log is cut: leaves are missing at its end that {by} vouches for.{more}"
        yield VerificationFault(text, detail=f"here are {size} leaves of {longest}")


LEAF_COLUMNS = ("index", "run", "seq", "head", "at", "hash")


def _examine_leaf(leaf: dict[str, Any], before: dict[str, Any] | None) -> Iterator[str]:
    index, at = leaf["index"], format_timestamp(leaf["at"]) or ""
    prev = before["hash"] if before else GENESIS_HASH
    run, seq, head = str(row_key(leaf["run"])), leaf["seq"], leaf["head"]
    if hashing.leaf_hash(index=index, run=run, seq=seq, head=head, at=at, prev=prev) != leaf["hash"]:
        yield LEAF_CHANGED
    if before and leaf["at"] < before["at"] - MAX_CLOCK_SKEW:
        yield "Its place in the log is dated more than a day before the one before it."


def _roots_said(
    report: VerificationReport, checkpoints: Sequence[Checkpoint], anchors: Sequence[EntriesBySource]
) -> dict[int, list[tuple[bytes, str]]]:
    """Return by log size the roots that checkpoints name, each with the name of the checkpoint."""
    said = [*(found for one in checkpoints for found in _own(one, report)), *anchors]
    foreign = [by for signed, by in said if not signing.signed_by_us(signed.text.encode(), signed.signature)]
    if foreign:
        text = ANOTHER_KEY if len(foreign) == len(said) else f"{len(foreign)} of {len(said)} checkpoints {NOT_SIGNED}."
        report.faults.append(VerificationFault(text, detail=foreign[0]))
    wanted = defaultdict(list)
    for signed, by in said:
        wanted[signed.size].append((signed.root, by))
    return wanted


def _own(checkpoint: Checkpoint, report: VerificationReport) -> Iterator[EntriesBySource]:
    try:
        yield from ((signed, f"checkpoint {signed.size}") for signed in signed_notes(checkpoint.note))
    except ValueError:
        report.faults.append(VerificationFault("A checkpoint cannot be read.", detail=f"checkpoint {checkpoint.size}"))
