"""How the record is hashed. Pure functions over the standard library: whoever has neither our database nor our code can
work the same out again.

What happened in one run is a chain of entries. An entry is one line of canonical JSON (RFC 8785): it holds facts in the
open, every text that a person wrote or a model said as a keyed digest, and the hash of the entry before it. A text can
so be erased, and its key with it, and the chain still holds. The newest entry of a run, each time that one is added,
becomes a leaf of the log over all runs: a Merkle tree as in RFC 6962, in which each leaf also names the hash of the one
before it.
"""

import hmac
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import Any

ENTRY_FORMAT = "magi-entry/1"
LEAF_FORMAT = "magi-leaf/1"
GENESIS_HASH = "0" * 64

EntryFacts = Mapping[str, Any]
"""Texts, whole numbers, truth values and None, also in lists and mappings with ASCII keys. Never a fraction: numbers of
that kind are where JSON of one language differs from that of another."""

_encode = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False).encode


def canonical(value: Any) -> str:
    """The one way to write these facts down (RFC 8785)."""
    return _encode(value)


@dataclass
class EntryDraft:
    """Something that happened, before it has its place in a chain. `row` is the key of the row that tells it."""

    kind: str
    at: str
    facts: dict[str, Any] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    row: int | None = None

    def digests(self, salt: bytes, seq: int) -> dict[str, str]:
        return {name: digest(salt, seq, name, text) for name, text in self.texts.items() if text}


def digest(salt: bytes, seq: int, name: str, text: str) -> str:
    """The keyed digest of one text of the entry `seq`; without the key nobody can try texts until one fits."""
    return hmac.digest(salt, f"{seq} {name}\n{text}".encode(), "sha256").hex()


def entry_line(draft: EntryDraft, digests: Mapping[str, str], *, run: str, seq: int, prev: str, maker: str) -> str:
    """The entry as it is hashed and kept. `maker` is the program that wrote it."""
    return canonical(
        {
            "form": ENTRY_FORMAT,
            "run": run,
            "seq": seq,
            "kind": draft.kind,
            "at": draft.at,
            "facts": draft.facts,
            "texts": digests,
            "maker": maker,
            "prev": prev,
        }
    )


def entry_hash(line: str) -> str:
    return sha256(line.encode()).hexdigest()


def leaf_hash(*, index: int, run: str, seq: int, head: str, at: str, prev: str) -> str:
    """Of the leaf `index`, counted from 0: the run's chain has `head` as the hash of its entry `seq`, its newest."""
    line = canonical(
        {"form": LEAF_FORMAT, "index": index, "run": run, "seq": seq, "head": head, "at": at, "prev": prev}
    )
    return sha256(b"\x00" + line.encode()).hexdigest()


# ---- the tree ---------------------------------------------------------------------------------------------


def node_hash(left: bytes, right: bytes) -> bytes:
    return sha256(b"\x01" + left + right).digest()


def extend_peaks(peaks: Sequence[bytes], size: int, leaves: Iterable[bytes]) -> tuple[list[bytes], int]:
    """The peaks and the size of a tree after these leaves. Peaks are the roots of its full subtrees, largest first."""
    peaks = list(peaks)
    for leaf in leaves:
        rest = size
        while rest & 1:
            leaf = node_hash(peaks.pop(), leaf)
            rest >>= 1
        peaks.append(leaf)
        size += 1
    return peaks, size


def root(peaks: Sequence[bytes]) -> bytes:
    """Of a tree with these peaks, as RFC 6962 has it."""
    if not peaks:
        return sha256().digest()
    found, *rest = reversed(peaks)
    for peak in rest:
        found = node_hash(peak, found)
    return found


def format_timestamp(moment: datetime | None) -> str | None:
    """A moment as the record writes it: UTC, to the microsecond where there are any."""
    return moment.isoformat().removesuffix("+00:00") + "Z" if moment else None
