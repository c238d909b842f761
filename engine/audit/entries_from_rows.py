"""What the rows of a run tell, as they stand now: the drafts of its entries. A change to either shows."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any, Protocol
from uuid import UUID

from django.contrib.auth import get_user_model
from django.core.exceptions import EmptyResultSet
from django.db import connection, models

from engine.db import cached_sql
from engine.models import SYSTEM_ACTOR, Document, Fork, Gate, ModelCall, Review, Run, ToolCall
from engine.models.documents import document_label
from engine.runtime.procedure import Procedure, procedures

from ..ledger.entries import ATTEMPT, CHILD, ENDED, LOG_CHAIN, REDACTED, SUBMITTED, AuditEntry
from ..ledger.hashing import EntryDraft, format_timestamp

NAME_COLUMNS = ("asked by", "cancelled by", "account")
FETCH_BATCH = 1_000

Drafts = Mapping[str, list[EntryDraft]]
"""By kind of entry, each kind in its order."""


class EntrySource(Protocol):
    def validate_entries(self, entries: Sequence[dict[str, Any]]) -> str:
        """What the entries of one chain say that cannot be by its own rules; empty where nothing does.

        An entry as a mapping: `kind`, `facts`, and `texts` where they are not erased.
        """


class ChainEntrySource(EntrySource, Protocol):
    """A module that knows what its own rows tell in chains that belong to no run; a procedure names it.

    Everything it tells has to be in an entry at any time, for there is no end at which the rest is sealed.
    """

    def chain_keys(self) -> Iterable[UUID]:
        """All that there have to be."""

    def build_entries(self, chains: Sequence[UUID]) -> dict[UUID, Drafts]:
        """What the rows tell of those of these chains that are its own; the others are left out."""


class RunEntries(defaultdict[str, list[EntryDraft]]):
    """What the rows of one chain tell, by kind of entry, each kind in its order.

    `witness` knows the rules that it has to follow. `whole`: all of it has to be in entries by now, as of a run that is
    over or waits; of one that goes on, what it has done since is sealed when it is let go of.
    """

    def __init__(self, witness: EntrySource | None, drafts: Drafts, *, whole: bool = True) -> None:
        super().__init__(list, drafts)
        self.witness, self.whole = witness, whole

    @property
    def outcome_name(self) -> str:
        return getattr(self.witness, "outcome_name", Procedure.outcome_name)


def chain_entry_sources() -> list[ChainEntrySource]:
    return [witness for procedure in procedures().values() for witness in procedure.chains]


def names_of(run: Run) -> dict[str, str]:
    """Who asked and who cancelled, by the names of these texts in entries. A run that another one asked for has none
    who asked: what stands there names what it was made for."""
    asked_by = "" if run.parent_id else run.asked_by
    return dict(zip(NAME_COLUMNS, (asked_by, run.cancelled_by_name, run.account), strict=True))


def entries_of_chains(chains: Iterable[UUID]) -> dict[UUID, RunEntries]:
    """What the rows of each of these chains tell, in a few queries for all of them; nothing of what has no rows."""
    chains = list(chains)
    said = entries_of_runs(chains)
    if LOG_CHAIN in chains:
        said[LOG_CHAIN] = RunEntries(None, {})
    if len(said) == len(set(chains)):
        return said
    for witness in chain_entry_sources():
        if rest := [pk for pk in chains if pk not in said]:
            said |= {pk: RunEntries(witness, drafts) for pk, drafts in witness.build_entries(rest).items()}
    return said


def entries_of_runs(runs: Sequence[UUID], *, new: bool = False) -> dict[UUID, RunEntries]:
    said: dict[UUID, RunEntries] = {}
    of_procedure: dict[str, dict[UUID, RunEntries]] = defaultdict(dict)
    for row in rows_of(Run, "pk", runs, RUN_COLUMNS):
        pk = row_key(row["pk"])
        said[pk] = of_procedure[row["procedure"]][pk] = _of_run(row)
    if not new or any(kind in procedures() and procedures()[kind].documents for kind in of_procedure):
        _tell_documents(said)
    for row in rows_of(ModelCall, "run", [] if new else list(said), CALL_COLUMNS, "pk"):
        said[row_key(row["run"])][ATTEMPT].append(_of_call(row))
    if not new:
        _tell_acts(said)
    for procedure, told in of_procedure.items():
        if witness := procedures().get(procedure):
            witness.build_entries(told, new=new)
    if not new:
        _tell_reviews(said)
    return said


def _tell_acts(said: Mapping[UUID, RunEntries]) -> None:
    """What was asked at gates, and done with tools: many runs have neither."""
    for table in (Gate, ToolCall):
        found = table.objects.drafts(said) if cached_sql.exists(table, "run", list(said)) else []
        for pk, draft in found:
            said[pk][draft.kind].append(draft)


def _tell_documents(said: Mapping[UUID, RunEntries]) -> None:
    """They came with what was asked. A run without any tells nothing of them, as before there were documents."""
    for row in rows_of(Document, "run", list(said), DOCUMENT_COLUMNS, "run", "number"):
        asked, number = said[row_key(row["run"])][SUBMITTED][0], row["number"]
        asked.facts.setdefault("documents", []).append({"number": number, "kind": row["kind"]})
        asked.texts |= {f"{name} of {document_label(number)}": row[name] for name in DOCUMENT_TEXTS}


def _tell_reviews(said: Mapping[UUID, RunEntries]) -> None:
    for review in cached_sql.fetch(Review, "run", list(said), "pk"):
        draft = review.draft(said[review.run_id].outcome_name)
        said[review.run_id][draft.kind].append(draft)


def runs_with_foreign_rows(runs: Iterable[UUID]) -> Iterator[tuple[UUID, str]]:
    """Which of these runs do not belong to the account that asked. It may be deleted: then they belong to nobody."""
    rows = list(plain_rows(Run.objects.filter(pk__in=list(runs)), *OWNED))
    left = [row["account"] for row in rows if row["owner"] is None and row["account"] not in ("", SYSTEM_ACTOR)]
    there = {str(pk) for pk in get_user_model().objects.filter(pk__in=left).values_list("pk", flat=True)}
    for row in rows:
        owner, account = row["owner"], row["account"]
        if owner is None and account in there:
            yield row_key(row["pk"]), "It was taken away from the account that asked for it."
        # one of before accounts were kept has none; if it has no name either, the command line asked
        elif owner is not None and str(owner) != account and (account or not row["asked_by"]):
            yield row_key(row["pk"]), "It belongs to another account than the one that asked for it."
        if row["cancelled_by"] is not None and not row["cancelled_by_name"] and not row["redacted"]:
            yield row_key(row["pk"]), "It says that an account has cancelled it, and nobody has."
        if row["step"] and not row["parent"]:
            yield row_key(row["pk"]), "It says at which step of another run it was made, and none has made it."


def runs_with_unsealed_changes(runs: Iterable[UUID]) -> Iterator[tuple[UUID, str]]:
    """Which of these tell of the end of a run that they have made, and its own chain does not have it."""
    for run, line in AuditEntry.objects.filter(run__in=list(runs), kind=CHILD).values_list("run", "line"):
        with suppress(ValueError, KeyError, TypeError):  # what is wrong with a line is said elsewhere
            told = json.loads(line)["facts"]
            if not AuditEntry.objects.filter(run=UUID(told["run"]), hash=told["hash"]).exists():
                yield run, f"What it has made in “{told['step']}” is not what it was when it ended."


def unforked(runs: Iterable[UUID]) -> Iterator[tuple[UUID, str]]:
    """Which of these were forked from a run whose chain does not have the entry any more at which it was left."""
    for fork in Fork.objects.filter(run__in=list(runs)):
        if not AuditEntry.objects.filter(run=fork.origin_id, seq=fork.entry, hash=fork.hash).exists():
            yield fork.run_id, "What it was forked from is not what it was then."


def rows_of(
    model: type[models.Model], by: str, keys: Sequence[UUID], columns: Sequence[str], *order: str
) -> Iterator[dict[str, Any]]:
    """As `plain`, of the rows that belong to these keys, by a statement that is made once."""
    return (dict(zip(columns, row, strict=True)) for row in cached_sql.select(model, by, keys, columns, *order))


def plain_rows(rows: models.QuerySet[Any], *columns: str) -> Iterator[dict[str, Any]]:
    """Rows as the database's driver gives them: Django's conversions would be most of the work of a verification.

    `key`, `stamp` and `entry_json` read what the two drivers give differently or Django would have read.
    """
    try:
        sql, params = rows.values_list(*columns).query.sql_with_params()
    except EmptyResultSet:
        return
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        while found := cursor.fetchmany(FETCH_BATCH):
            for row in found:
                yield dict(zip(columns, row, strict=True))


@lru_cache(maxsize=10_000)
def row_key(value: "str | UUID") -> UUID:
    return value if isinstance(value, UUID) else UUID(value)


def entry_json(value: str | None) -> dict[str, Any]:
    """An object that the database keeps as text. What is none stays as a text under `message`."""
    try:
        found = json.loads(value) if value else {}
    except ValueError:
        found = None
    return found if isinstance(found, dict) else {"message": value}


RUN_COLUMNS = (
    *("pk", "procedure", "status", "asked_by", "account", "cancelled_by_name", "title", "request", "parent", "step"),
    *("created", "started", "ended", "error", "retries", "outcome", "redacted"),
)
OWNED = ("pk", "owner", "account", "asked_by", "cancelled_by", "cancelled_by_name", "redacted", "step", "parent")
GATE_COLUMNS = {"asked by": "asked_by", "account": "account", "title": "title", "request": "request"}
CALL_FACTS = (
    *("step", "series", "attempt", "status", "model", "answered_by", "answer_format"),
    *("input_tokens", "output_tokens", "estimated", "cost", "error_code"),
)
# told where there are any: what was sealed before says nothing of them
SAID_OF_CALL = ("left_out", "parameters", "fingerprint", "looks")
CALL_TEXTS = ("prompt", "answer", "error")
CALL_COLUMNS = ("pk", "run", "started", "ended", "looked_since", *CALL_FACTS, *SAID_OF_CALL, *CALL_TEXTS)
DOCUMENT_TEXTS = ("title", "text", "digest")
DOCUMENT_COLUMNS = ("run", "number", "kind", *DOCUMENT_TEXTS)


def _of_run(values: dict[str, Any]) -> RunEntries:
    procedure = procedures().get(values["procedure"])
    error = entry_json(values["error"])
    message = error.pop("message", "")
    submitted = EntryDraft(
        SUBMITTED,
        format_timestamp(values["created"]) or "",
        # a new fact is told only where it is set: what was sealed before still says what its row says
        {"procedure": values["procedure"], **_made_by(values)},
        {name: values[column] for name, column in GATE_COLUMNS.items()},
    )
    ended = EntryDraft(
        ENDED,
        format_timestamp(values["ended"]) or "",
        {
            "status": values["status"],
            "started": format_timestamp(values["started"]),
            "retries": values["retries"],
            "error": error or None,
            (procedure or Procedure).outcome_name: values["outcome"],
        },
        {"error": message, "cancelled by": values["cancelled_by_name"]},
    )
    over = bool(values["ended"])
    drafts = {SUBMITTED: [submitted], ENDED: [ended] if over else []}
    if values["redacted"]:
        drafts[REDACTED] = [EntryDraft(REDACTED, format_timestamp(values["redacted"]) or "")]
    return RunEntries(procedure, drafts, whole=over or values["status"] == Run.Status.WAITING)


def _made_by(values: dict[str, Any]) -> dict[str, str]:
    return {"parent": str(row_key(values["parent"])), "step": values["step"]} if values["parent"] else {}


def _of_call(values: dict[str, Any]) -> EntryDraft:
    facts = {name: values[name] for name in CALL_FACTS}
    facts |= {"estimated": bool(values["estimated"]), "started": format_timestamp(values["started"])}
    facts |= {name: values[name] for name in SAID_OF_CALL if values[name]}
    facts |= {"looked_since": format_timestamp(values["looked_since"])} if values["looked_since"] else {}
    texts = {name: values[name] for name in CALL_TEXTS}
    return EntryDraft(ATTEMPT, format_timestamp(values["ended"]) or "", facts, texts, row=values["pk"])
