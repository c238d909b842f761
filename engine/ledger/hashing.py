"""How the record is hashed: pure functions over the standard library, so that others can compute the same without our
database or code.

The events of one run are a chain of entries. An entry is one line of canonical JSON (RFC 8785). It has facts in the
open, every text that a person or a model wrote as a keyed digest, and the hash of the entry before it. A text can
be erased together with its key, and the chain stays valid. Each time that entries are added, the newest one becomes
a leaf of the log over all runs: a Merkle tree as in RFC 6962, in which each leaf also has the hash of the one
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
    """Return the facts as canonical JSON (RFC 8785)."""
    return _encode(value)


@dataclass
class EntryDraft:
    """An event before it has a place in a chain. `row` is the key of the row that it describes."""

    kind: str
    at: str
    facts: dict[str, Any] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    row: int | None = None

    def digests(self, salt: bytes, seq: int) -> dict[str, str]:
        return {name: digest(salt, seq, name, text) for name, text in self.texts.items() if text}


def digest(salt: bytes, seq: int, name: str, text: str) -> str:
    """Return the keyed digest of one text of the entry `seq`. Without the key nobody can guess texts and compare."""
    return hmac.digest(salt, f"{seq} {name}\n{text}".encode(), "sha256").hex()


def entry_line(draft: EntryDraft, digests: Mapping[str, str], *, run: str, seq: int, prev: str, maker: str) -> str:
    """Return the line of an entry that is hashed and stored. `maker` is the program that wrote it."""
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
    """Return the hash of the leaf `index`, counted from 0. `head` is the hash of the run's newest entry `seq`."""
    line = canonical(
        {"form": LEAF_FORMAT, "index": index, "run": run, "seq": seq, "head": head, "at": at, "prev": prev}
    )
    return sha256(b"\x00" + line.encode()).hexdigest()


# ---- the tree ---------------------------------------------------------------------------------------------


def node_hash(left: bytes, right: bytes) -> bytes:
    return sha256(b"\x01" + left + right).digest()


def extend_peaks(peaks: Sequence[bytes], size: int, leaves: Iterable[bytes]) -> tuple[list[bytes], int]:
    """Return the peaks and the size of a tree after these leaves. Peaks are the roots of its full subtrees, largest
    first.
    """
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
    """Return the root of a tree with these peaks (RFC 6962)."""
    if not peaks:
        return sha256().digest()
    found, *rest = reversed(peaks)
    for peak in rest:
        found = node_hash(peak, found)
    return found


def format_timestamp(moment: datetime | None) -> str | None:
    """Return the time as the record writes it: UTC, with microseconds unless they are zero."""
    return moment.isoformat().removesuffix("+00:00") + "Z" if moment else None
