"""What is kept of runs, so that others can verify it without us: entries with their rows, leaves with their proofs."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from time import monotonic
from typing import Any
from uuid import UUID

from engine.models import Gate, Run

from ..ledger import hashing, signing
from ..ledger.checkpoints import NOTE, Checkpoint, signed_notes
from ..ledger.hashing import GENESIS_HASH, format_timestamp
from ..ledger.merkle_log import LogLeaf
from ..ledger.report import StoredChain
from .comparison import describe_orphan_entry
from .entries_from_rows import NAME_COLUMNS, RunEntries, chain_entry_sources, entries_of_chains
from .verification import UNREADABLE, names_of_entries, pair_entries, stored_chains

HASH = 32
MAX_RUNS_PER_BUNDLE = 10_000


@dataclass(frozen=True)
class LogTree:
    """The log as a checkpoint has it, with all levels of its Merkle tree, so that a proof is a few look-ups."""

    size: int
    note: str
    levels: Sequence[Sequence[bytes]]

    def proof(self, index: int) -> list[str] | None:
        """What leads from a leaf to the root, as in RFC 6962; None for a leaf that is newer than the checkpoint."""
        if index >= self.size:
            return None
        places = ((level, (index >> height) ^ 1) for height, level in enumerate(self.levels))
        return [level[place].hex() for level, place in places if place < len(level)]


CACHE_SECONDS = 60.0  # seconds: a process that runs for months may not export a log of long ago
_kept: dict[str, tuple[float, LogTree]] = {}  # the newest one, and since when: a long log takes half a second


def tree(anchor: str | None = None) -> LogTree | None:
    """That of the newest checkpoint, or of the newest in `anchor`; None for a log without one.

    ValueError where the anchor holds none that this installation signed, or knows more leaves than there are.
    """
    if anchor is not None:
        return _tree_of_anchor(anchor)
    newest = Checkpoint.objects.order_by("-size").first()
    if newest is None:
        return None
    since, kept = _kept.get(newest.note, (0.0, None))
    if kept and monotonic() - since < CACHE_SECONDS:
        return kept
    _kept.clear()
    found = LogTree(newest.size, newest.note, _levels(newest.size))
    if _leads_to(found, newest.note):  # else leaves were changed, or the checkpoint
        _kept[newest.note] = (monotonic(), found)
    return found


def _leads_to(tree: LogTree, note: str) -> bool:
    try:
        return [signed.root for signed in signed_notes(note)] == tree.levels[-1]
    except ValueError:
        return False


def _tree_of_anchor(anchor: str) -> LogTree:
    newest = max(signed_notes(anchor), key=lambda signed: signed.size)
    if not signing.signed_by_us(newest.text.encode(), newest.signature):
        raise ValueError("It is not signed with the key of this installation.")
    if newest.size > (size := LogLeaf.objects.size()):
        raise ValueError(f"It knows {newest.size} leaves of the log, here are {size}: the log is cut.")
    note = next(found[0] for found in NOTE.finditer(anchor) if found["text"] == newest.text)
    return LogTree(newest.size, f"{note}\n", _levels(newest.size))


def _levels(size: int) -> list[list[bytes]]:
    """From the leaves to the root. A leaf that is missing or has no hash is zeros: no proof with it leads anywhere."""
    leaves = LogLeaf.objects.filter(index__lt=size).order_by("index").values_list("index", "hash")
    level = [bytes(HASH)] * size
    for index, text in leaves.iterator(MAX_RUNS_PER_BUNDLE):
        level[index] = _node(text)
    levels = [level]
    while len(level) > 1:
        pairs = [hashing.node_hash(level[i], level[i + 1]) for i in range(0, len(level) - 1, 2)]
        level = pairs + level[len(pairs) * 2 :]
        levels.append(level)
    return levels


def _node(text: str) -> bytes:
    try:
        node = bytes.fromhex(text)
    except ValueError:
        return bytes(HASH)
    return node if len(node) == HASH else bytes(HASH)


def runs_since(moment: datetime | None) -> list[UUID]:
    """What is over, of what was submitted since then, oldest first. Of all times: also what the log alone knows of, and
    the chains that belong to no run. Not what is shown to nobody before persons have decided."""
    hidden = Gate.objects.hidden()
    shown = Run.objects.filter(ended__isnull=False).exclude(pk__in=hidden)
    ended = shown.order_by("created", "pk").values_list("pk", flat=True)
    if moment:
        return list(ended.filter(created__gte=moment))
    logged = LogLeaf.objects.exclude(run__in=hidden).order_by("index").values_list("run", flat=True)
    others = (pk for witness in chain_entry_sources() for pk in witness.chain_keys())
    return list(dict.fromkeys([*ended, *logged, *others]))


def evidence_of(runs: Sequence[UUID], tree: LogTree | None) -> dict[UUID, dict[str, Any]]:
    """Of each of these runs `entries`, `leaves` and `checkpoint`, in a few queries for all of them.

    Nothing of a run whose rows are nonsense: that will not verify either.
    """
    try:
        return _evidence_of(runs, tree)
    except UNREADABLE:
        if len(runs) > 1:
            return {run: evidence_of([run], tree)[run] for run in runs}
        return {runs[0]: {"entries": [], "leaves": [], "checkpoint": None}}


def _evidence_of(runs: Sequence[UUID], tree: LogTree | None) -> dict[UUID, dict[str, Any]]:
    kept, said = stored_chains(runs), entries_of_chains(runs)
    leaves = {leaf.index: leaf for leaf in LogLeaf.objects.filter(run__in=runs)}
    before = [index - 1 for index in leaves]
    hashes = dict(LogLeaf.objects.filter(index__in=before).values_list("index", "hash")) | {-1: GENESIS_HASH}
    return {
        run: {
            "entries": list(_entries(said.get(run) or RunEntries(None, {}), kept[run])),
            "leaves": [
                _leaf(leaves[place.index], hashes.get(place.index - 1), kept[run].salts.get(place.index), tree)
                for place in kept[run].leaves
            ],
            "checkpoint": tree.note if tree and any(place.index < tree.size for place in kept[run].leaves) else None,
        }
        for run in runs
    }


def _entries(said: RunEntries, kept: StoredChain) -> Iterator[dict[str, Any]]:
    """What is stored, and what the row says now; what has no row is told by its line.

    Names that a redaction has left are texts of its own entry, which keyed them anew.
    """
    for entry, draft in pair_entries(kept, said):
        seq, kind, line, hash_ = entry or (None, draft.kind if draft else "", None, None)
        at, facts = (draft.at, draft.facts) if draft else (None, None)
        if draft is None and entry and describe_orphan_entry(entry, kept):
            at, facts = _of_line(line)
        texts = {name: text for name, text in draft.texts.items() if text} if draft else {}
        if seq and seq < kept.redacted_up_to:
            texts = {name: text for name, text in texts.items() if name not in NAME_COLUMNS}
        elif seq and seq == kept.redacted_up_to:
            texts = names_of_entries(said)
        yield {"seq": seq, "kind": kind, "line": line, "hash": hash_, "at": at, "facts": facts, "texts": texts}


def _of_line(line: str | None) -> tuple[Any, Any]:
    try:
        found = json.loads(line or "")
        return found["at"], found["facts"]
    except (ValueError, KeyError, TypeError):
        return None, None


def _leaf(leaf: LogLeaf, prev: str | None, salt: str | None, tree: LogTree | None) -> dict[str, Any]:
    return {
        "index": leaf.index,
        "seq": leaf.seq,
        "head": leaf.head,
        "at": format_timestamp(leaf.at),
        "prev": prev,
        "hash": leaf.hash,
        "salt": salt or None,
        "proof": tree.proof(leaf.index) if tree else None,
    }
