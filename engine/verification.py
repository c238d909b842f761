"""Is the record what it was? Every hash worked out again, every row held against its entry, every rule applied."""

import itertools
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from datetime import timedelta
from multiprocessing import get_context
from typing import Any
from uuid import UUID

import django
from django.db import DatabaseError, connection

from . import append_only, chain, signing
from .chain import NOTHING_BEFORE, Draft
from .checkpoints import Checkpoint, Signed, signed_notes
from .evidence import (
    ENDED,
    NAMES,
    REDACTED,
    RETRIED,
    SUBMITTED,
    WITHOUT_ROWS,
    Entry,
    Leaf,
    Said,
    Salt,
    Witness,
    key,
    plain,
    said_of,
    stamp,
    witness_of,
)
from .models import Run

CHUNK = 200
WORTH_HELP = 20 * CHUNK  # runs from which on further processes are worth their start
UNREADABLE = (ValueError, TypeError, KeyError, AttributeError, DatabaseError)  # what rows full of nonsense bring about
MOST_BACKWARDS = timedelta(days=1)  # a clock may be set right; a day is no correction


@dataclass(frozen=True)
class Problem:
    """What is wrong where. `run` and `seq` are None where it concerns the log."""

    text: str
    run: UUID | None = None
    seq: int | None = None

    def __str__(self) -> str:
        if self.run is None:
            return f"The log: {self.text}"
        place = f", entry {self.seq}" if self.seq else ""
        return f"Record {self.run}{place}: {self.text}"


@dataclass
class Report:
    """`notices` are no faults of the record: they say what does not protect it."""

    runs: int = 0
    entries: int = 0
    redacted: int = 0
    leaves: int = 0
    since_checkpoint: int = 0
    problems: list[Problem] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)


Line = tuple[int, str, str, str]
"""An entry: its place, its kind, its line, its hash."""


@dataclass(frozen=True)
class Kept:
    """What the evidence tables have of one run."""

    entries: Sequence[Line]
    leaves: Sequence[tuple[int, int, str]]  # index, seq, head
    salts: dict[int, str]  # by the index of their leaf

    @property
    def redacted_up_to(self) -> int:
        """The place of its newest redaction, 0 where there is none."""
        return max((seq for seq, kind, _, _ in self.entries if kind == REDACTED), default=0)

    def salt_of(self, seq: int) -> bytes | None:
        """The key of the texts of an entry, unless it is erased."""
        leaf = next((index for index, last, _ in self.leaves if last >= seq), None)
        salt = self.salts.get(leaf) if leaf is not None else None
        return bytes.fromhex(salt) if salt else None


NOTHING_KEPT = Kept((), (), {})
Verified = tuple[UUID, Kept, list[Problem]]

# ---- one run ----------------------------------------------------------------------------------------------


def verify(runs: Iterable[UUID]) -> list[Verified]:
    """Each of these runs with what is kept of it and what is wrong with it.

    What seems wrong is read once more: its rows may have changed while they were read, for work goes on meanwhile.
    """
    found = _read(runs)
    again = {one[0]: one for one in _read(pk for pk, _, problems in found if problems)}
    return [again.get(one[0], one) for one in found]


def _read(runs: Iterable[UUID]) -> list[Verified]:
    """A few queries for all of them."""
    runs = list(runs)
    try:
        return list(_verify(runs))
    except UNREADABLE:
        if len(runs) > 1:
            return [found for run in runs for found in _read([run])]
        return [(runs[0], NOTHING_KEPT, [Problem("its rows cannot be read", runs[0])])]


def verify_one(run: UUID) -> Verified:
    """One run, and besides that its places in the log have their hashes."""
    pk, kept, problems = verify([run])[0]
    for leaf in Leaf.objects.filter(run=run):
        before = Leaf.objects.filter(index=leaf.index - 1).values_list("hash", flat=True).first()
        if leaf.worked_out(before or NOTHING_BEFORE) != leaf.hash:
            problems.append(Problem(f"leaf {leaf.index} of the log does not have its hash", run, leaf.seq))
    return pk, kept, problems


def _verify(runs: Sequence[UUID]) -> Iterator[Verified]:
    rows = {run.pk: run for run in Run.objects.filter(pk__in=runs).only("procedure", "ended")}
    said, kept = said_of(rows), kept_of(runs)
    for pk in runs:
        if pk not in rows:
            known = kept[pk].entries or kept[pk].leaves
            text = "its entries are here, and its run is gone" if known else "there is no such record"
            yield pk, kept[pk], [Problem(text, pk)]
            continue
        problems = _examine(pk, rows[pk], said[pk], kept[pk])
        yield pk, kept[pk], [Problem(text, pk, seq) for seq, text in problems]


def kept_of(runs: Sequence[UUID]) -> dict[UUID, Kept]:
    entries: dict[UUID, list[Line]] = defaultdict(list)
    leaves: dict[UUID, list[tuple[int, int, str]]] = defaultdict(list)
    salts: dict[UUID, dict[int, str]] = defaultdict(dict)
    for row in plain(Entry.objects.filter(run__in=runs).order_by(), "run", "seq", "kind", "line", "hash"):
        entries[key(row["run"])].append((row["seq"], row["kind"], row["line"], row["hash"]))
    for row in plain(Leaf.objects.filter(run__in=runs).order_by(), "run", "index", "seq", "head"):
        leaves[key(row["run"])].append((row["index"], row["seq"], row["head"]))
    for row in plain(Salt.objects.filter(leaf__run__in=runs), "leaf__run", "leaf", "value"):
        salts[key(row["leaf__run"])][row["leaf"]] = row["value"]
    return {run: Kept(sorted(entries[run]), sorted(leaves[run]), salts[run]) for run in runs}


def _examine(pk: UUID, run: Run, said: Said, kept: Kept) -> Iterator[tuple[int | None, str]]:
    if not kept.entries:
        if run.ended:
            yield None, "it has ended and has no entries"
        return
    told: list[dict[str, Any]] = []
    prev = NOTHING_BEFORE
    for place, (entry, draft) in enumerate(paired(kept, said), 1):
        if entry is None:
            yield place, f"{_named(draft)} is in no entry"
            continue
        seq, _, line, hash_ = entry
        if seq != place:
            yield place, "it is missing"
            return
        if draft and _is_as_told(pk, entry, draft, prev, kept):
            told.append({"kind": draft.kind, "facts": draft.facts, "texts": draft.texts})
        else:
            yield from ((seq, text) for text in _differences(pk, entry, draft, prev, kept))
            told.append(_told(line, draft))
        prev = hash_
    yield from _examine_leaves(kept)
    yield from ((kept.redacted_up_to, text) for text in _examine_names(said, kept))
    yield from _examine_ends(told)
    if witness := witness_of(run.procedure):
        yield from _examine_by(witness, told, said, kept)


def _examine_by(
    witness: Witness, told: Sequence[dict[str, Any]], said: Said, kept: Kept
) -> Iterator[tuple[int | None, str]]:
    if said.get(REDACTED) and not kept.redacted_up_to:
        yield None, "it is marked as redacted, and no entry says so"
    if kept.redacted_up_to and not said.get(REDACTED):
        yield kept.redacted_up_to, "its mark as redacted is gone"
    if doubt := witness.doubt(told):
        yield None, doubt


def paired(kept: Kept, said: Said) -> Iterator[tuple[Line | None, Draft | None]]:
    """Each entry with the draft of the row that it tells of, in order; then the rows that are in no entry.

    Entries of some kinds have no row, nor has an earlier end of a run that was tried again.
    """
    drafts = {kind: list(found) for kind, found in said.items()}
    last_end = max((seq for seq, kind, _, _ in kept.entries if kind == ENDED), default=0)
    for entry in kept.entries:
        seq, kind = entry[:2]
        has_row = kind not in WITHOUT_ROWS and (kind != ENDED or seq == last_end)
        yield entry, (drafts[kind].pop(0) if has_row and drafts.get(kind) else None)
    if said.get(ENDED):  # what a run that goes on has done since is sealed at its end
        for kind, left in drafts.items():
            yield from ((None, draft) for draft in left if kind not in WITHOUT_ROWS)


def _named(draft: Draft | None) -> str:
    return f"{draft.kind} {draft.facts.get('step', '')}".strip() if draft else "a row"


def _told(line: str, draft: Draft | None) -> dict[str, Any]:
    try:
        entry = json.loads(line)
        return {"kind": entry["kind"], "facts": entry["facts"], "texts": draft.texts if draft else {}}
    except (ValueError, KeyError, TypeError):
        return {"kind": "", "facts": {}, "texts": {}}


def _is_as_told(pk: UUID, entry: Line, draft: Draft, prev: str, kept: Kept) -> bool:
    """Whether the entry is just what its row tells: one comparison for all of it."""
    seq, _, line, hash_ = entry
    salt = kept.salt_of(seq)
    if salt is None or seq <= kept.redacted_up_to:
        return False
    told = chain.entry_line(draft, draft.digests(salt, seq), run=str(pk), seq=seq, prev=prev, maker=_maker(line))
    return told == line and chain.entry_hash(line) == hash_


def _maker(line: str) -> str:
    """The program that wrote the line; found without reading it, for that is most of the work."""
    start = line.find('"maker":"') + 9
    return line[start : line.find('"', start)]


def _differences(pk: UUID, entry: Line, draft: Draft | None, prev: str, kept: Kept) -> Iterator[str]:
    """Field by field: what an entry says otherwise than its place and its row do."""
    seq, kind, line, hash_ = entry
    if chain.entry_hash(line) != hash_:
        yield "its line was changed: it does not have its hash"
        return
    try:
        found = json.loads(line)
        place = {"form": chain.ENTRY_FORM, "run": str(pk), "seq": seq, "kind": kind, "prev": prev}
        if chain.canonical(found) != line:
            yield "its line is not canonical"
        for name, value in place.items():
            if found[name] != value:
                yield f"{name} is {found[name]}, expected {value}"
        texts = dict(found["texts"])
        if draft is None:
            if tells_of_no_row(entry, kept):
                return
            yield f"the row that it tells of is gone ({kind} {found['facts'].get('step', '')})".replace(" )", ")")
            return
        yield from _differing_facts(found, draft)
        yield from _differing_texts(texts, draft, seq, kept)
    except (ValueError, KeyError, TypeError, AttributeError):
        yield "its line cannot be read"


def tells_of_no_row(entry: Line, kept: Kept) -> bool:
    """Entries of some kinds never did; an end that a later retry undid has no row any more."""
    retried = any(kind == RETRIED and later > entry[0] for later, kind, _, _ in kept.entries)
    return entry[1] in WITHOUT_ROWS or (entry[1] == ENDED and retried)


def _differing_facts(found: dict[str, Any], draft: Draft) -> Iterator[str]:
    if found["at"] != draft.at:
        yield f"its time is {draft.at}, the record says {found['at']}"
    for name in sorted({*found["facts"], *draft.facts}):
        now, then = draft.facts.get(name), found["facts"].get(name)
        if now != then:
            yield f"{name} is {_short(now)}, the record says {_short(then)}"


def _short(value: Any) -> str:
    text = chain.canonical(value)
    return text if len(text) <= 120 else f"{text[:119]}…"


def _differing_texts(texts: dict[str, str], draft: Draft, seq: int, kept: Kept) -> Iterator[str]:
    redacted = seq < kept.redacted_up_to
    salt = kept.salt_of(seq)
    if redacted and salt:
        yield "it was redacted, and the key of its texts is still there"
    if not redacted and not salt and texts:
        yield "the key of its texts is gone, and no redaction says why"
        return
    for name in sorted({*texts, *(name for name, text in draft.texts.items() if text)}):
        text = draft.texts.get(name, "")
        if redacted:
            if text and name not in NAMES:
                yield f"it was redacted, and its {name} is still there"
        elif salt and texts.get(name) != (chain.digest(salt, seq, name, text) if text else None):
            yield f"its {name} was {'erased, and no redaction says why' if not text else 'changed'}"


def names_in(said: Said) -> dict[str, str]:
    """Who asked and who cancelled, as far as rows still tell."""
    texts = (draft.texts.items() for kind in (SUBMITTED, ENDED) for draft in said.get(kind, []))
    return {name: text for told in texts for name, text in told if name in NAMES and text}


def _examine_names(said: Said, kept: Kept) -> Iterator[str]:
    """A redaction may leave names. Its own entry keys them, for the keys of those before it are gone."""
    seq, salt = kept.redacted_up_to, kept.salt_of(kept.redacted_up_to)
    if not seq:
        return
    try:
        keyed = dict(json.loads(next(line for place, _, line, _ in kept.entries if place == seq))["texts"])
    except (ValueError, KeyError, TypeError):
        return  # what is wrong with its line is said already
    if keyed and not salt:
        yield "the key of its names is gone"
        return
    there = names_in(said)
    for name in NAMES:
        text = there.get(name, "")
        if keyed.get(name) != (chain.digest(salt or b"", seq, name, text) if text else None):
            yield f"{name}: the name was changed since"


def _examine_ends(told: Sequence[dict[str, Any]]) -> Iterator[tuple[int, str]]:
    """Only what failed is tried again: otherwise a retry would take a verdict back."""
    over: str | None = None  # unknown at first: a run may have been tried again before there was a log
    for seq, entry in enumerate(told, 1):
        if entry["kind"] == RETRIED:
            if over not in (None, Run.Status.FAILED):
                yield seq, f"it was tried again and had not failed, but was {over or 'under way'}"
            over = ""
        elif entry["kind"] == ENDED:
            over = entry["facts"].get("status")


def _examine_leaves(kept: Kept) -> Iterator[tuple[int | None, str]]:
    hashes = {seq: hash_ for seq, _, _, hash_ in kept.entries}
    before = 0
    for index, seq, head in kept.leaves:
        if hashes.get(seq) != head:
            yield seq, f"leaf {index} of the log has another hash for it"
        if seq <= before:
            yield seq, f"leaf {index} of the log goes backwards"
        before = seq
    if before != kept.entries[-1][0]:
        yield kept.entries[-1][0], "the log ends elsewhere than its entries do"


# ---- the log ----------------------------------------------------------------------------------------------


def verify_all(anchor: str = "", processes: int = 1) -> Report:
    """Everything there is, and the checkpoints in `anchor` that were kept elsewhere. ValueError where it has none."""
    report = Report()
    anchors = signed_notes(anchor) if anchor else []
    seen = _verify_log(report, anchors)
    runs = list(dict.fromkeys([*seen, *Run.objects.order_by("created", "pk").values_list("pk", flat=True)]))
    found: list[Problem] = []
    for tally in itertools.chain(_tallies(runs, processes), _tallies_of_others(runs)):
        report.runs += tally.runs
        report.entries += tally.entries
        report.redacted += tally.redacted
        found += tally.problems
    report.problems = found + report.problems
    report.notices = unguarded()
    return report


def _tallies(runs: Sequence[UUID], processes: int) -> Iterator[Report]:
    """What verifying the runs finds, some at a time, in their order."""
    chunks = [runs[start : start + CHUNK] for start in range(0, len(runs), CHUNK)]
    if processes == 1 or len(runs) < WORTH_HELP:
        yield from map(_tally, chunks)
        return
    # not forked: a child must not share the connections of its parent
    with ProcessPoolExecutor(processes, get_context("spawn"), initializer=django.setup) as pool:
        yield from pool.map(_tally, chunks)


def _tallies_of_others(runs: Iterable[UUID]) -> Iterator[Report]:
    """The same for further runs that have entries: they came and ended meanwhile, or are gone."""
    try:
        of_entries = {key(row["run"]) for row in plain(Entry.objects.order_by().distinct(), "run")}
    except UNREADABLE:
        yield Report(problems=[Problem("some entries belong to no run")])
        return
    yield from _tallies(sorted(of_entries.difference(runs)), 1)


def _tally(runs: Sequence[UUID]) -> Report:
    tally = Report()
    for _, kept, problems in verify(runs):
        tally.runs += bool(kept.entries)
        tally.entries += len(kept.entries)
        tally.redacted += bool(kept.redacted_up_to)
        tally.problems += problems
    return tally


def unguarded() -> list[str]:
    """Where the database would let somebody change what is only added."""
    return [
        f"the database does not refuse changes: trigger {name} is missing" for name in append_only.missing(connection)
    ]


def _verify_log(report: Report, anchors: Sequence[Signed]) -> list[UUID]:
    """The runs of the log in the order of their first leaves."""
    checkpoints = list(Checkpoint.objects.order_by("size"))
    wanted = _roots_said(report, checkpoints, anchors)
    seen: dict[UUID, None] = {}
    peaks: list[bytes] = []
    before: dict[str, Any] | None = None
    try:
        for leaf in plain(Leaf.objects.order_by("index"), *LEAF):
            if leaf["index"] != report.leaves:
                report.problems.append(Problem(f"leaf {report.leaves} is missing"))
                return list(seen)
            run = key(leaf["run"])
            report.problems += [Problem(text, run, leaf["seq"]) for text in _examine_leaf(leaf, before)]
            seen[run], before = None, leaf
            peaks, report.leaves = chain.grown(peaks, report.leaves, [bytes.fromhex(leaf["hash"])])
            for said, by in wanted.pop(report.leaves, []):
                if said != chain.root(peaks):
                    report.problems.append(Problem(f"its first {report.leaves} leaves are not those of {by}"))
    except UNREADABLE:
        report.problems.append(Problem(f"leaf {report.leaves} cannot be read"))
        return list(seen)
    for size, said_by in sorted(wanted.items()):
        by = " and ".join(by for _, by in said_by)
        report.problems.append(Problem(f"it is cut: here are {report.leaves} leaves of the {size} of {by}"))
    report.since_checkpoint = report.leaves - (checkpoints[-1].size if checkpoints else 0)
    return list(seen)


LEAF = ("index", "run", "seq", "head", "at", "hash")


def _examine_leaf(leaf: dict[str, Any], before: dict[str, Any] | None) -> Iterator[str]:
    index, at = leaf["index"], stamp(leaf["at"]) or ""
    prev = before["hash"] if before else NOTHING_BEFORE
    run, seq, head = str(key(leaf["run"])), leaf["seq"], leaf["head"]
    if chain.leaf_hash(index=index, run=run, seq=seq, head=head, at=at, prev=prev) != leaf["hash"]:
        yield f"leaf {index} of the log does not have its hash"
    if before and leaf["at"] < before["at"] - MOST_BACKWARDS:
        yield f"leaf {index} of the log is older than the one before it"


def _roots_said(
    report: Report, checkpoints: Sequence[Checkpoint], anchors: Sequence[Signed]
) -> dict[int, list[tuple[bytes, str]]]:
    """By size, which root a checkpoint says the log had, and whose word that is."""
    own = [(signed, f"checkpoint {signed.size}") for one in checkpoints for signed in signed_notes(one.note)]
    wanted = defaultdict(list)
    for signed, by in [*own, *((signed, f"the anchor at {signed.size}") for signed in anchors)]:
        if not signing.signed_by_us(signed.text.encode(), signed.signature):
            report.problems.append(Problem(f"{by} is not signed with the key of this installation"))
        wanted[signed.size].append((signed.root, by))
    return wanted
