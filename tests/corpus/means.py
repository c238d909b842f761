"""The attacker's tools, and the list of all cases that are done with them."""

import json
from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.db import connection

from engine.audit.entries_from_rows import entries_of_chains
from engine.ledger import hashing
from engine.ledger.checkpoints import Checkpoint
from engine.ledger.entries import AuditEntry
from engine.ledger.hashing import GENESIS_HASH
from engine.ledger.merkle_log import LogLeaf
from engine.models import ModelCall
from judgements.models import RoundDecision
from tests.corpus.history import History


def sql(statement: str, *values: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, [_as_stored(value) for value in values])


def _as_stored(value: Any) -> Any:
    return value.hex if isinstance(value, UUID) and connection.vendor == "sqlite" else value


def call_of(run: UUID, step: str) -> ModelCall:
    return ModelCall.objects.filter(run=run, step=step).order_by("-pk")[0]


def decision_of(run: UUID, step: str) -> RoundDecision:
    return RoundDecision.objects.get(call=call_of(run, step))


def relink(run: UUID, start: int = 1) -> None:
    """Work all hashes of a chain out again after its lines were changed, and log its new head."""
    prev = GENESIS_HASH
    for seq, entry in enumerate(AuditEntry.objects.filter(run=run).order_by("seq"), 1):
        line = hashing.canonical({**json.loads(entry.line), "seq": seq, "prev": prev, "run": str(run)})
        prev = hashing.entry_hash(line)
        sql("UPDATE engine_entry SET line = %s, hash = %s, seq = %s WHERE id = %s", line, prev, seq, entry.pk)
    entries = list(AuditEntry.objects.filter(run=run).order_by("seq"))
    for leaf in LogLeaf.objects.filter(run=run).order_by("index"):
        head = [one for one in entries if one.seq <= leaf.seq][-1]
        sql('UPDATE engine_leaf SET head = %s, seq = %s WHERE "index" = %s', head.hash, head.seq, leaf.index)
    relog()


def retell(run: UUID) -> None:
    """Write a run's entries anew from its rows as they are now, with all hashes right."""
    said, taken = entries_of_chains([run])[run], {}
    leaves = list(LogLeaf.objects.filter(run=run).select_related("salt").order_by("index"))
    for entry in AuditEntry.objects.filter(run=run).order_by("seq"):
        drafts, number = said.get(entry.kind, []), taken.get(entry.kind, 0)
        taken[entry.kind] = number + 1
        if number < len(drafts):
            leaf = next(one for one in leaves if one.seq >= entry.seq)
            salt = bytes.fromhex(leaf.salt.value)
            draft = drafts[number]
            line = {**json.loads(entry.line), "at": draft.at, "facts": draft.facts}
            line["texts"] = draft.digests(salt, entry.seq)
            sql("UPDATE engine_entry SET line = %s WHERE id = %s", hashing.canonical(line), entry.pk)
    relink(run)


def relog() -> None:
    """Work the log out again from its first leaf on."""
    prev = GENESIS_HASH
    for leaf in LogLeaf.objects.order_by("index"):
        prev = leaf.compute_hash(prev)
        sql('UPDATE engine_leaf SET hash = %s WHERE "index" = %s', prev, leaf.index)


def resign() -> None:
    """Write the checkpoints anew, with the very key."""
    sql("DELETE FROM engine_checkpoint")
    Checkpoint.objects.make()


def cut(run: UUID, start: int) -> None:
    """Take the entries of a chain from `start` on away, with their leaves."""
    sql(
        'DELETE FROM engine_salt WHERE leaf_id IN (SELECT "index" FROM engine_leaf WHERE run_id = %s AND seq >= %s)',
        run,
        start,
    )
    sql("DELETE FROM engine_leaf WHERE run_id = %s AND seq >= %s", run, start)
    sql("DELETE FROM engine_entry WHERE run_id = %s AND seq >= %s", run, start)


def entry(run: UUID, seq: int) -> AuditEntry:
    return AuditEntry.objects.get(run=run, seq=seq)


def write(entry: AuditEntry, line: str, hash_: str) -> None:
    sql("UPDATE engine_entry SET line = %s, hash = %s WHERE id = %s", line, hash_, entry.pk)


Case = Callable[[History], Any]
CASES: dict[str, tuple[str, Case]] = {}
"""By name: whose record is bad (or `log`), and what is done."""
INSIDE: set[str] = set()
"""Those that no file shows, for they are done to rows that are no evidence: who may see it, what finds it."""


def case(whose: str, *, inside: bool = False) -> Callable[[Case], Case]:
    def known(do: Case) -> Case:
        CASES[do.__name__] = (whose, do)
        INSIDE.update([do.__name__] if inside else [])
        return do

    return known


def edit(name: str, whose: str, table: str, column: str, value: Any, where: str, of: Callable[[History], Any]) -> None:
    """One column of one row is changed."""
    CASES[name] = (whose, lambda h: sql(f"UPDATE {table} SET {column} = %s WHERE {where} = %s", value, of(h)))
