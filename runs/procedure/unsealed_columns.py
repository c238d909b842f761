"""Verification of unsealed rows against the audit log.

These rows decide who finds a run, who gets it for an idempotency key, and to whom it is shown.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any
from uuid import UUID

from engine.audit.entries_from_rows import RunEntries, plain_rows, row_key
from engine.ledger.entries import ENDED, REDACTED
from engine.models import SYSTEM_ACTOR, Review, Run, last_override_entry
from engine.text.search_terms import label_term, labels_in

from ..models import RunFlag, SearchText, idempotency_digest
from ..models.search import ABOUT
from ..show_notes import misshown

if TYPE_CHECKING:
    from .spec import ProcedureSpec

COLUMNS = (
    *("pk", "procedure", "request", "redacted", "owner", "account", "asked_by", "override"),
    *("parent", "root", "parent__root"),
    *("search__id", "search__words", "request_key__owner", "request_key__key", "request_key__request_hash"),
)
FLAGS = ((REDACTED, RunFlag.REDACTED), (Review.Kind.NOTE, RunFlag.NOTED), (Review.Kind.OVERRIDE, RunFlag.OVERRIDDEN))


def unsealed_mismatches(face: "ProcedureSpec[Any, Any]", told: Mapping[UUID, RunEntries]) -> Iterator[tuple[UUID, str]]:
    """Yield runs whose override, idempotency key, root or search labels differ from the audit log, with a description.

    Also yields what is shown otherwise than is logged.
    """
    sought: dict[int, tuple[UUID, set[str]]] = {}
    for row in plain_rows(Run.objects.filter(pk__in=list(told)).order_by("search__id"), *COLUMNS):
        pk = row_key(row["pk"])
        said, there = told[pk], set(_labels_there(row))
        for text in filter(None, (_of_override(row, said, face.outcome_name), _of_key(row), _of_root(row))):
            yield pk, text
        labels = {*_labels(row, said, face.outcome_name), *face.labels(said)}
        if missing := labels - there:
            yield pk, f"Lists and searches do not find it: its words lack {', '.join(sorted(missing))}."
        elif surplus := there - labels:
            yield pk, f"Lists and searches find it by what it is not: its words have {', '.join(sorted(surplus))}."
        else:
            sought[row["search__id"]] = pk, labels
    lost, strayed = SearchText.objects.inconsistent(
        {number: labels for number, (_, labels) in sought.items()}, _known(face)
    )
    yield from ((sought[number][0], "Lists and searches do not find it: the index has lost it.") for number in lost)
    text = "Lists and searches find it by what it is not: so says the index beside its words."
    yield from ((sought[number][0], text) for number in strayed)
    yield from misshown(list(told))


def _of_override(row: dict[str, Any], said: RunEntries, outcome_name: str) -> str:
    last = last_override_entry(said.get(Review.Kind.OVERRIDE) or (), outcome_name)
    if row["override"] == last:
        return ""
    return f"Lists say that it was overridden otherwise: {row['override'] or 'not at all'}, not {last or 'not at all'}."


def _of_root(row: dict[str, Any]) -> str:
    """The parent is sealed, and so is its own parent: the root follows from them."""
    return "" if row["root"] == (row["parent__root"] or row["parent"]) else "It is counted to another run's work."


def _of_key(row: dict[str, Any]) -> str:
    """Deleting an account deletes its keys, and a redaction deletes the digest; older runs have none."""
    there = row["request_key__key"] is not None
    if row["redacted"] or not row["account"]:
        return ""
    if not there:
        return "The idempotency key that it came with is gone." if row["request"] and row["owner"] else ""
    if row["request_key__owner"] != row["owner"]:
        return "Its idempotency key belongs to another account."
    if row["request"] != idempotency_digest(row["request_key__key"], row["request_key__request_hash"]):
        return "Its idempotency key is not the one that it came with."
    return ""


def _known(face: "ProcedureSpec[Any, Any]") -> set[str]:
    """Return the labels that decide how a run is listed: flags and outcomes."""
    flags = (label_term("flag", flag) for flag in (*face.flags, *RunFlag))
    return {*flags, *(label_term(face.outcome_name, outcome) for outcome in face.outcomes)}


def _labels(row: dict[str, Any], said: RunEntries, outcome_name: str) -> Iterator[str]:
    yield label_term("id", str(row_key(row["pk"]))[:8])
    yield label_term("kind", row["procedure"])
    yield from _labels_of_owner(row)
    yield from (label_term("flag", flag) for kind, flag in FLAGS if said.get(kind))
    outcomes = (ended.facts[outcome_name] for ended in said[ENDED])
    yield from (label_term(outcome_name, outcome) for outcome in outcomes if outcome)


def _labels_of_owner(row: dict[str, Any]) -> Iterator[str]:
    """Yield the owner's label. It may outlive the account, but not the redaction of names."""
    if row["account"] == SYSTEM_ACTOR:
        yield label_term("by", None)
    elif row["account"] or row["owner"]:
        yield label_term("by", row["account"] or row["owner"])
    else:  # From before accounts were stored, or names are redacted: nothing else shows the owner.
        there = [word for word in _labels_there(row) if word.startswith(label_term("by", ""))]
        yield from (word for word in there[:1] if row["asked_by"] or word == label_term("by", None))


def _labels_there(row: dict[str, Any]) -> list[str]:
    """Return the labels without those that point to another run: they decide nothing, and sealed entries name the other
    run in words.
    """
    return [one for one in labels_in(row["search__words"] or "") if not one.startswith(label_term(ABOUT, ""))]
