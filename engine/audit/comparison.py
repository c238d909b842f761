"""Comparison of an entry with its place in the chain and with the row that it describes."""

import json
from collections.abc import Iterator
from typing import Any
from uuid import UUID

from ..ledger import hashing
from ..ledger.entries import ENDED, KINDS_WITHOUT_ROWS, RETRIED, SUBMITTED
from ..ledger.hashing import EntryDraft
from ..ledger.report import ReportLine, StoredChain, VerificationFinding
from .entries_from_rows import NAME_COLUMNS

LABELS = {
    "account": "account of who asked",
    "request": "request with its idempotency key",
    "asked by": "name of who asked",
    "cancelled by": "name of who cancelled",
    "answered_by": "answering model",
    "by": "author",
    "said": "decision",
    "started": "start",
}


def compare_entry(
    pk: UUID, entry: ReportLine, draft: EntryDraft | None, prev: str, kept: StoredChain
) -> Iterator[VerificationFinding]:
    """Yield a finding for each field in which an entry differs from its place in the chain or from its row."""
    seq, kind, line, hash_ = entry
    if (right := hashing.entry_hash(line)) != hash_:
        detail = f"its hash is {truncate_value(hash_)}, its line has {right}"
        yield VerificationFinding(seq, f"What is sealed was itself changed {kept.since(seq)}.", detail)
        return
    try:
        found = json.loads(line)
        place = {"form": hashing.ENTRY_FORMAT, "run": str(pk), "seq": seq, "kind": kind, "prev": prev}
        if hashing.canonical(found) != line:
            yield VerificationFinding(seq, "What is sealed is not written as it was hashed: its line is not canonical.")
        for name, value in place.items():
            if found[name] != value:
                detail = f"{name} is {truncate_value(found[name])}, expected {truncate_value(value)}"
                yield VerificationFinding(
                    seq, "This entry is not in its place, or another one before it was changed.", detail
                )
        texts = dict(found["texts"])
        if draft is None:
            if not describe_orphan_entry(entry, kept):
                what = entry_label(EntryDraft(kind, "", found["facts"]))
                yield VerificationFinding(seq, f"What this entry tells of was deleted {kept.since(seq)}: {what}.")
            return
        yield from _differing_facts(found, draft, seq, kept)
        yield from _differing_texts(texts, draft, seq, kept)
    except (ValueError, KeyError, TypeError, AttributeError):
        yield VerificationFinding(seq, "This entry cannot be read.")


def describe_orphan_entry(entry: ReportLine, kept: StoredChain) -> bool:
    """Whether the entry has no row for a good reason: its kind has none, or a later retry undid the end."""
    retried = any(kind == RETRIED and later > entry[0] for later, kind, _, _ in kept.entries)
    return entry[1] in KINDS_WITHOUT_ROWS or (entry[1] == ENDED and retried)


def _differing_facts(
    found: dict[str, Any], draft: EntryDraft, seq: int, kept: StoredChain
) -> Iterator[VerificationFinding]:
    if found["at"] != draft.at:
        detail = f"it is {draft.at}, the record says {truncate_value(found['at'])}"
        yield VerificationFinding(seq, f"{_subject('time', draft)} was changed {kept.since(seq)}.", detail)
    for name in sorted({*found["facts"], *draft.facts}):
        now, then = draft.facts.get(name), found["facts"].get(name)
        if now != then:
            detail = f"{name} is {truncate_value(now)}, the record says {truncate_value(then)}"
            yield VerificationFinding(seq, f"{_subject(name, draft)} {_was(name)} changed {kept.since(seq)}.", detail)


def _subject(name: str, draft: EntryDraft) -> str:
    """Return the subject of a message: “The content”, “The answer of attempt B2”."""
    of = "" if draft.kind in (SUBMITTED, ENDED) else f" of {entry_label(draft)}"
    return f"The {LABELS.get(name, name.replace('_', ' '))}{of}"


def _was(name: str) -> str:
    return "were" if name.endswith(("agents", "documents", "tokens", "scores", "retries")) else "was"


def truncate_value(value: Any) -> str:
    text = hashing.canonical(value)
    return text if len(text) <= 120 else f"{text[:119]}…"


def _differing_texts(
    texts: dict[str, str], draft: EntryDraft, seq: int, kept: StoredChain
) -> Iterator[VerificationFinding]:
    redacted = seq < kept.redacted_up_to
    salt = kept.salt_of(seq)
    if redacted and salt:
        yield VerificationFinding(seq, "It was redacted, and the key of its texts is still there.")
    if not redacted and not salt and texts:
        yield VerificationFinding(seq, "The key of its texts is gone, and no redaction says why.")
        return
    for name in sorted({*texts, *(name for name, text in draft.texts.items() if text)}):
        text = draft.texts.get(name, "")
        if redacted:
            if text and name not in NAME_COLUMNS:
                yield VerificationFinding(seq, f"It was redacted, and its {name} is still there.")
            continue
        now = hashing.digest(salt, seq, name, text) if salt and text else None
        if salt and texts.get(name) != now:
            how = f"changed {kept.since(seq)}" if text else f"erased {kept.since(seq)}, and no redaction says why"
            detail = f"its digest is {truncate_value(now)}, the record says {truncate_value(texts.get(name))}"
            yield VerificationFinding(seq, f"{_subject(name, draft)} was {how}.", detail)


def entry_label(draft: EntryDraft | None) -> str:
    """Return a short name of an entry: “attempt B2”, “note”."""
    if not draft:
        return "a row"
    which, name = draft.facts.get("step", draft.facts.get("id", "")), draft.facts.get("name")
    return f"{draft.kind} {which}".strip() + (f" ({name})" if isinstance(name, str) else "")
