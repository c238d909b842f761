"""Triggers that make the database refuse to change or delete evidence.

An `ImmutableTable` declares what may still happen to the rows of one table; migrations install its triggers. A
migration that changes a column of such a table, or an `ImmutableTable` here, must call `remove_triggers` for all
tables first and `install_triggers` afterwards: SQLite recreates the table without its triggers, and PostgreSQL
changes no column that a trigger names.

Why so: docs/decisions.md, The record.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from engine.runtime.procedure import procedures

ImmutableTables = Mapping[str, "ImmutableTable"]
"""By the name of their table."""

RAISE_FUNCTION = "evidence_is_only_added"
# SQLite's names for its own key; a row that is given the key of another one replaces it
ROWID = ("rowid", "oid", "_rowid_")
ALL_COLUMNS = ("*",)


@dataclass(frozen=True)
class ColumnRule:
    """What no UPDATE may do while the condition `when` is true for OLD. Columns that no rule names may change.

    A column in `kept` never changes, one in `once` may replace NULL, one in `unlinked` may become NULL. After the
    run was redacted, `erased` may become an empty text, `erased_message` lose its message, and `marked` replace
    NULL.
    """

    name: str
    when: str = ""
    kept: tuple[str, ...] = ()
    once: tuple[str, ...] = ()
    unlinked: tuple[str, ...] = ()
    erased: tuple[str, ...] = ()
    erased_message: tuple[str, ...] = ()
    marked: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.kept, *self.once, *self.unlinked, *self.erasures)

    @property
    def erasures(self) -> tuple[str, ...]:
        return (*self.erased, *self.erased_message, *self.marked)


@dataclass(frozen=True)
class ImmutableTable:
    """What may happen to the rows of one table after they were inserted.

    `run` is an SQL expression for the run of OLD, whose redaction must be recorded before texts are erased.
    `unique` lists columns that no two rows share, each with a condition for when that applies: no row may replace
    another one.
    """

    table: str
    key: str = "id"
    key_is_number: bool = True
    unique: tuple[tuple[tuple[str, ...], str], ...] = ()
    rules: tuple[ColumnRule, ...] = (ColumnRule("kept", kept=ALL_COLUMNS),)
    run: str = ""
    erasable_rows: bool = False

    @property
    def columns(self) -> set[str]:
        """The columns that the triggers name, and the key."""
        named = {column for rule in self.rules for column in rule.columns} - set(ALL_COLUMNS)
        return named | {self.key.strip('"')}

    def triggers(self, vendor: str) -> dict[str, list[str]]:
        """Return the statements that create each trigger, by its name."""
        return dict(_Sqlite(self).triggers() if vendor == "sqlite" else _Postgresql(self).triggers())


def install_triggers(connection: Any, guards: Iterable[ImmutableTable]) -> None:
    """Install or reinstall the triggers of tables that already exist with all columns they name.

    Others are skipped: the later migration that adds the column installs them.
    """
    with transaction.atomic(connection.alias), connection.cursor() as cursor:
        guards = [guard for guard in guards if guard.columns <= _columns(connection, cursor, guard.table)]
        remove_triggers(connection, guards)
        for guard in guards:
            for statements in guard.triggers(connection.vendor).values():
                for statement in statements:
                    cursor.execute(statement)


def _columns(connection: Any, cursor: Any, table: str) -> set[str]:
    if table not in connection.introspection.table_names(cursor):
        return set()
    cursor.execute(f"SELECT * FROM {table} LIMIT 0")  # noqa: S608 - a name of ours
    return {column[0] for column in cursor.description}


def remove_triggers(connection: Any, guards: Iterable[ImmutableTable]) -> None:
    on_table = "" if connection.vendor == "sqlite" else ' ON "{}"'
    with transaction.atomic(connection.alias), connection.cursor() as cursor:
        for guard in guards:
            for name in guard.triggers(connection.vendor):
                cursor.execute(f"DROP TRIGGER IF EXISTS {name}{on_table.format(guard.table)}")


def suspend(connection: Any, *tables: str) -> list[str]:
    """On SQLite drop all triggers that mention these tables; return the statements that create them again.

    For migrations of this app, which know neither the other apps' triggers nor the state of their tables.
    """
    if connection.vendor != "sqlite":
        return []
    with connection.cursor() as cursor:
        cursor.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
        found = [(name, made) for name, made in cursor.fetchall() if any(table in made for table in tables)]
        for name, _ in found:
            cursor.execute(f"DROP TRIGGER {name}")
    return [made for _, made in found]


def all_guards() -> list[ImmutableTable]:
    """Return the immutable tables of the engine and of every procedure."""
    return [
        guard for guards in (ENGINE_TABLES, *(one.guards for one in procedures().values())) for guard in guards.values()
    ]


def functions(guards: Iterable[ImmutableTable]) -> dict[str, str]:
    """Return the body of each function that the triggers of PostgreSQL call, by its name."""
    found = {RAISE_FUNCTION: _body()}
    for guard in guards:
        for name, statements in guard.triggers("postgresql").items():
            if len(statements) > 1:
                found[name] = _body(_Postgresql(guard).redacted)
    return found


# ---- in SQL -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Sql:
    guard: ImmutableTable
    differs = ""
    without_message = ""
    message = ""

    def changed(self, column: str) -> str:
        return f"(OLD.{column} {self.differs} NEW.{column})"

    def forbidden(self, rule: ColumnRule) -> str:
        """Return the condition for changes that are refused even after a redaction."""
        found = [self.changed(column) for column in rule.kept]
        found += [f"({self.changed(column)} AND OLD.{column} IS NOT NULL)" for column in (*rule.once, *rule.marked)]
        found += [f"({self.changed(column)} AND NEW.{column} IS NOT NULL)" for column in rule.unlinked]
        found += [f"({self.changed(column)} AND NEW.{column} <> '')" for column in rule.erased]
        for column in rule.erased_message:
            rest = (self.without_message.format(f"{row}.{column}") for row in ("OLD", "NEW"))
            still = f"coalesce({self.message.format(f'NEW.{column}')}, '') <> ''"
            found.append(f"({self.changed(column)} AND ({f' {self.differs} '.join(rest)} OR {still}))")
        return _while(rule, " OR ".join(found))

    def erasing(self, rule: ColumnRule) -> str:
        return _while(rule, " OR ".join(self.changed(column) for column in rule.erasures))

    @property
    def redacted(self) -> str:
        # no text of others is in it: tables and columns are named by our guards
        return f"EXISTS (SELECT 1 FROM engine_entry WHERE kind = 'redacted' AND run_id = {self.guard.run})"  # noqa: S608


def _while(rule: ColumnRule, happens: str) -> str:
    return f"({rule.when}) AND ({happens})" if rule.when else happens


class _Sqlite(_Sql):
    differs = "IS NOT"
    without_message = "json_remove({}, '$.message')"
    message = "json_extract({}, '$.message')"

    def triggers(self) -> Iterator[tuple[str, list[str]]]:
        guard = self.guard
        yield self._one("replaced", "INSERT", " OR ".join(self._there()))
        for rule in guard.rules:
            if rule.kept == ALL_COLUMNS:
                yield self._one(rule.name, "UPDATE", "")
                continue
            columns = ", ".join((*rule.columns, *ROWID))
            yield self._one(rule.name, f"UPDATE OF {columns}", f"OLD.rowid <> NEW.rowid OR ({self.forbidden(rule)})")
            if rule.erasures:
                condition = f"({self.erasing(rule)}) AND NOT {self.redacted}"
                yield self._one(f"{rule.name}_erased", f"UPDATE OF {', '.join(rule.erasures)}", condition)
        yield self._one("deleted", "DELETE", f"NOT {self.redacted}" if guard.erasable_rows else "")

    def _there(self) -> Iterator[str]:
        """Yield the conditions for existing rows: REPLACE deletes conflicting rows without firing DELETE triggers."""
        guard = self.guard
        keys = [((guard.key,), ""), *guard.unique]
        if not guard.key_is_number:
            keys.append((("rowid",), ""))
        for columns, counts in keys:
            same = " AND ".join(f"{column} = NEW.{column}" for column in columns)
            # as in `redacted`, all names are ours
            yield f"EXISTS (SELECT 1 FROM {guard.table} WHERE {same}{f' AND {counts}' if counts else ''})"  # noqa: S608

    def _one(self, name: str, event: str, when: str) -> tuple[str, list[str]]:
        table = self.guard.table
        condition = f" WHEN {when}" if when else ""
        refuse = f"SELECT RAISE(ABORT, 'evidence is only added: {table}')"
        made = f"CREATE TRIGGER {table}_{name} BEFORE {event} ON {table}{condition}"
        return f"{table}_{name}", [f"{made} BEGIN {refuse}; END"]


class _Postgresql(_Sql):
    differs = "IS DISTINCT FROM"
    without_message = "({} - 'message')"
    message = "({} ->> 'message')"

    def triggers(self) -> Iterator[tuple[str, list[str]]]:
        guard = self.guard
        for rule in guard.rules:
            if rule.kept == ALL_COLUMNS:
                yield self._one(rule.name, "UPDATE", "")
                continue
            yield self._one(rule.name, f"UPDATE OF {', '.join(rule.columns)}", self.forbidden(rule))
            if rule.erasures:
                event = f"UPDATE OF {', '.join(rule.erasures)}"
                yield self._unless_redacted(f"{rule.name}_erased", event, self.erasing(rule))
        yield (self._unless_redacted if guard.erasable_rows else self._one)("deleted", "DELETE", "")
        yield self._one("truncated", "TRUNCATE", "")

    def _one(self, name: str, event: str, when: str, function: str = RAISE_FUNCTION) -> tuple[str, list[str]]:
        table = self.guard.table
        each = "STATEMENT" if event == "TRUNCATE" else "ROW"
        condition = f" WHEN ({when})" if when else ""
        made = f"CREATE TRIGGER {table}_{name} BEFORE {event} ON {table} FOR EACH {each}{condition}"
        return f"{table}_{name}", [f"{made} EXECUTE FUNCTION {function}()"]

    def _unless_redacted(self, name: str, event: str, when: str) -> tuple[str, list[str]]:
        """Return a trigger with its own function: a WHEN condition of PostgreSQL cannot query other tables."""
        trigger, made = self._one(name, event, when, f"{self.guard.table}_{name}")
        return trigger, [_function(trigger, self.redacted), *made]


def _function(name: str, allowed: str = "") -> str:
    # pg_temp last: otherwise a user who may create temporary tables could fake a redaction entry
    return f"""DO $make$ BEGIN EXECUTE format(
        'CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql SET search_path = %I, pg_temp AS %L',
        current_schema(), {_quoted(_body(allowed))}); END $make$"""


def _body(allowed: str = "") -> str:
    return f"""BEGIN
        {f"IF {allowed} THEN RETURN coalesce(NEW, OLD); END IF;" if allowed else ""}
        RAISE EXCEPTION 'evidence is only added: %', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
    END"""


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def install_function(connection: Any) -> None:
    """Create the function that the triggers of PostgreSQL call; nothing on SQLite."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(_function(RAISE_FUNCTION))


# ---- the engine's tables ----------------------------------------------------------------------------------

ERASING_ALLOWED = "OLD.status = 'open' AND OLD.error_code = ''"
CALL_PLACE_COLUMNS = ("run_id", "step", "series", "attempt")
TOOL_CALL_RULES = (
    *("id", "run_id", "step", "number", "tool", "source", "definition", "effect", "contained", "asked_in_id"),
    *("gate_id", "made", "started", "deadline"),
)
COUNTED_ATTEMPT_SQL = "status <> 'interrupted' AND error_code <> 'format_refused' AND error_code <> 'away'"

_tables = (
    ImmutableTable("engine_entry", unique=((("run_id", "seq"), ""),)),
    ImmutableTable("engine_leaf", key='"index"'),
    ImmutableTable("engine_checkpoint", key="size"),
    ImmutableTable(
        "engine_salt",
        key="leaf_id",
        run='(SELECT run_id FROM engine_leaf WHERE "index" = OLD.leaf_id)',
        erasable_rows=True,
    ),
    ImmutableTable(
        "engine_run",
        key_is_number=False,
        unique=((("parent_id", "step"), ""),),
        run="OLD.id",
        rules=(
            ColumnRule(
                "kept",
                kept=("id", "procedure", "created", "parent_id", "root_id", "step"),
                once=("outcome",),
                erased=("asked_by", "account", "title", "request"),
                marked=("redacted",),
            ),
            ColumnRule(
                "over",
                when="OLD.status IN ('finished', 'cancelled')",
                kept=("status", "started", "ended", "retries"),
                unlinked=("owner_id", "cancelled_by_id"),
                erased=("cancelled_by_name",),
                erased_message=("error",),
            ),
        ),
    ),
    ImmutableTable("engine_park"),
    ImmutableTable(
        "engine_fork",
        key="run_id",
        key_is_number=False,
        run="OLD.run_id",
        rules=(ColumnRule("kept", kept=("run_id", "origin_id", "number", "entry", "hash", "made"), erased=("state",)),),
    ),
    ImmutableTable(
        "engine_gate",
        unique=((("run_id", "step", "number"), ""),),
        run="OLD.run_id",
        rules=(
            ColumnRule(
                "kept",
                kept=(
                    *("id", "run_id", "step", "number", "kind", "tool", "whole", "policy", "choices"),
                    *("when_failed", "asked", "asked_account", "made", "expires", "effect"),
                ),
                once=("closed", "used", "council_id"),
                unlinked=("asked_user_id", "asked_group_id"),
                erased=("title", "text"),
            ),
            ColumnRule("closed", when="OLD.state <> 'pending'", kept=("state",)),
        ),
    ),
    ImmutableTable(
        "engine_gatedecision",
        run="(SELECT run_id FROM engine_gate WHERE id = OLD.gate_id)",
        rules=(
            ColumnRule(
                "kept",
                kept=(
                    *("id", "gate_id", "by", "account", "judged_by_id", "decision", "choice", "knew_council"),
                    *("authors", "made"),
                ),
                unlinked=("by_user_id",),
                erased=("text", "answer"),
            ),
        ),
    ),
    ImmutableTable(
        "engine_runauthor",
        rules=(ColumnRule("kept", kept=("id", "run_id", "name", "part", "place", "made"), unlinked=("user_id",)),),
    ),
    ImmutableTable("engine_gateauthor", unique=((("gate_id", "author_id"), ""),)),
    ImmutableTable(
        "engine_review",
        run="OLD.run_id",
        rules=(
            ColumnRule(
                "kept",
                kept=("id", "run_id", "by", "made", "kind", "outcome"),
                unlinked=("author_id",),
                erased=("text",),
            ),
        ),
    ),
    ImmutableTable(
        "engine_document",
        unique=((("run_id", "number"), ""),),
        run="OLD.run_id",
        rules=(
            ColumnRule("kept", kept=("id", "run_id", "number", "kind", "made"), erased=("title", "text", "digest")),
        ),
    ),
    ImmutableTable(
        "engine_modelcall",
        unique=((CALL_PLACE_COLUMNS, COUNTED_ATTEMPT_SQL),),
        run="OLD.run_id",
        rules=(
            ColumnRule("open", when=ERASING_ALLOWED, kept=("id", *CALL_PLACE_COLUMNS, "model", "prompt", "left_out")),
            ColumnRule("asked", when=f"{ERASING_ALLOWED} AND OLD.retry_at IS NULL", kept=("started",)),
            ColumnRule(
                "closed",
                when=f"NOT ({ERASING_ALLOWED})",
                kept=(
                    *(
                        "id",
                        *CALL_PLACE_COLUMNS,
                        "status",
                        "model",
                        "answer_format",
                        "answered_by",
                        "started",
                        "deadline",
                        "ended",
                    ),
                    *("left_out", "parameters", "fingerprint"),
                    *("input_tokens", "output_tokens", "estimated", "cost", "error_code", "retry_at"),
                    *("looks", "looked_since"),
                ),
                erased=("prompt", "answer", "error"),
            ),
        ),
    ),
    ImmutableTable(
        "engine_toolcall",
        unique=((("run_id", "step", "number"), ""), (("gate_id",), "")),
        run="OLD.run_id",
        rules=(
            ColumnRule("open", when="OLD.status = 'open'", kept=(*TOOL_CALL_RULES, "arguments")),
            ColumnRule(
                "closed",
                when="OLD.status <> 'open'",
                kept=(*TOOL_CALL_RULES, "output_size", "outside", "status", "ended"),
                erased=("arguments", "output", "error"),
            ),
        ),
    ),
)
ENGINE_TABLES: ImmutableTables = {guard.table: guard for guard in _tables}
