"""Evidence is only added: the triggers by which the database itself refuses to change or to delete it.

A `Guard` says of one table what may still happen to its rows; migrations put it up. A migration that changes a column
of such a table, or a `Guard` here, has to `lift` all guards before and to `install` them after: SQLite makes the table
anew without its triggers, and PostgreSQL changes no column that a trigger names.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from django.conf import settings
from django.db import transaction

Guards = Mapping[str, "Guard"]
"""By the name of their table."""

REFUSE = "evidence_is_only_added"
# SQLite's names for a key of its own; a row that is given that of another takes its place
ROWID = ("rowid", "oid", "_rowid_")
ANYTHING = ("*",)


@dataclass(frozen=True)
class Rule:
    """What no UPDATE may do, while `when` holds of OLD. A column that is named nowhere may change.

    `kept` stays as it is, `once` may come in place of NULL, `unlinked` may become NULL. When the run has been
    redacted, `erased` may become an empty text, `erased_message` lose its message, and `marked` come in place of NULL.
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
class Guard:
    """What may happen to the rows of one table, beside being added.

    `run`: an SQL expression for the run of OLD, which an erasure has to be recorded for. `unique`: what no two rows
    have in common, with the condition under which that counts; a row must not be replaced by another that has the same.
    """

    table: str
    key: str = "id"
    key_is_number: bool = True
    unique: tuple[tuple[tuple[str, ...], str], ...] = ()
    rules: tuple[Rule, ...] = (Rule("kept", kept=ANYTHING),)
    run: str = ""
    erasable_rows: bool = False

    def triggers(self, vendor: str) -> dict[str, list[str]]:
        """By name, the statements that make each."""
        return dict(_Sqlite(self).triggers() if vendor == "sqlite" else _Postgresql(self).triggers())


def install(connection: Any, guards: Iterable[Guard]) -> None:
    """Put these up, or up anew, as far as their tables are there already."""
    tables = connection.introspection.table_names()
    guards = [guard for guard in guards if guard.table in tables]
    with transaction.atomic(connection.alias), connection.cursor() as cursor:
        lift(connection, guards)
        for guard in guards:
            for statements in guard.triggers(connection.vendor).values():
                for statement in statements:
                    cursor.execute(statement)


def lift(connection: Any, guards: Iterable[Guard]) -> None:
    on_table = "" if connection.vendor == "sqlite" else ' ON "{}"'
    with transaction.atomic(connection.alias), connection.cursor() as cursor:
        for guard in guards:
            for name in guard.triggers(connection.vendor):
                cursor.execute(f"DROP TRIGGER IF EXISTS {name}{on_table.format(guard.table)}")


def all_guards() -> list[Guard]:
    """Of the engine and of every procedure: the one list of what there has to be."""
    modules = [import_module(name) for name in settings.EVIDENCE.values()]
    return [guard for guards in (GUARDS, *(module.GUARDS for module in modules)) for guard in guards.values()]


def missing(connection: Any) -> list[str]:
    """The triggers that should be there and are not, or are switched off, or, on SQLite, say something else."""
    with connection.cursor() as cursor:
        cursor.execute(THERE[connection.vendor])
        there = {(table, name): made for table, name, made in cursor.fetchall()}
    return [
        name
        for guard in all_guards()
        for name, (*_, expected) in guard.triggers(connection.vendor).items()
        if there.get((guard.table, name)) not in (expected, UNKNOWN)
    ]


UNKNOWN = ""
THERE = {
    "sqlite": "SELECT tbl_name, name, sql FROM sqlite_master WHERE type = 'trigger'",
    "postgresql": """SELECT relname, tgname, '' FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
        WHERE tgenabled IN ('O', 'A') AND relnamespace = current_schema()::regnamespace""",
}


# ---- in SQL -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Sql:
    guard: Guard
    differs = ""
    without_message = ""
    message = ""

    def changed(self, column: str) -> str:
        return f"(OLD.{column} {self.differs} NEW.{column})"

    def forbidden(self, rule: Rule) -> str:
        """What no redaction allows."""
        found = [self.changed(column) for column in rule.kept]
        found += [f"({self.changed(column)} AND OLD.{column} IS NOT NULL)" for column in (*rule.once, *rule.marked)]
        found += [f"({self.changed(column)} AND NEW.{column} IS NOT NULL)" for column in rule.unlinked]
        found += [f"({self.changed(column)} AND NEW.{column} <> '')" for column in rule.erased]
        for column in rule.erased_message:
            rest = (self.without_message.format(f"{row}.{column}") for row in ("OLD", "NEW"))
            still = f"coalesce({self.message.format(f'NEW.{column}')}, '') <> ''"
            found.append(f"({self.changed(column)} AND ({f' {self.differs} '.join(rest)} OR {still}))")
        return _while(rule, " OR ".join(found))

    def erasing(self, rule: Rule) -> str:
        return _while(rule, " OR ".join(self.changed(column) for column in rule.erasures))

    @property
    def redacted(self) -> str:
        return f"EXISTS (SELECT 1 FROM engine_entry WHERE kind = 'redacted' AND run_id = {self.guard.run})"  # noqa: S608


def _while(rule: Rule, happens: str) -> str:
    return f"({rule.when}) AND ({happens})" if rule.when else happens


class _Sqlite(_Sql):
    differs = "IS NOT"
    without_message = "json_remove({}, '$.message')"
    message = "json_extract({}, '$.message')"

    def triggers(self) -> Iterator[tuple[str, list[str]]]:
        guard = self.guard
        yield self._one("replaced", "INSERT", " OR ".join(self._there()))
        for rule in guard.rules:
            if rule.kept == ANYTHING:
                yield self._one(rule.name, "UPDATE", "")
                continue
            columns = ", ".join((*rule.columns, *ROWID))
            yield self._one(rule.name, f"UPDATE OF {columns}", f"OLD.rowid <> NEW.rowid OR ({self.forbidden(rule)})")
            if rule.erasures:
                condition = f"({self.erasing(rule)}) AND NOT {self.redacted}"
                yield self._one(f"{rule.name}_erased", f"UPDATE OF {', '.join(rule.erasures)}", condition)
        yield self._one("deleted", "DELETE", f"NOT {self.redacted}" if guard.erasable_rows else "")

    def _there(self) -> Iterator[str]:
        """REPLACE takes away the rows in its way without a word to DELETE's triggers."""
        guard = self.guard
        keys = [((guard.key,), ""), *guard.unique]
        if not guard.key_is_number:
            keys.append((("rowid",), ""))
        for columns, counts in keys:
            same = " AND ".join(f"{column} = NEW.{column}" for column in columns)
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
            if rule.kept == ANYTHING:
                yield self._one(rule.name, "UPDATE", "")
                continue
            yield self._one(rule.name, f"UPDATE OF {', '.join(rule.columns)}", self.forbidden(rule))
            if rule.erasures:
                event = f"UPDATE OF {', '.join(rule.erasures)}"
                yield self._unless_redacted(f"{rule.name}_erased", event, self.erasing(rule))
        yield (self._unless_redacted if guard.erasable_rows else self._one)("deleted", "DELETE", "")
        yield self._one("truncated", "TRUNCATE", "")

    def _one(self, name: str, event: str, when: str, function: str = REFUSE) -> tuple[str, list[str]]:
        table = self.guard.table
        each = "STATEMENT" if event == "TRUNCATE" else "ROW"
        condition = f" WHEN ({when})" if when else ""
        made = f"CREATE TRIGGER {table}_{name} BEFORE {event} ON {table} FOR EACH {each}{condition}"
        return f"{table}_{name}", [f"{made} EXECUTE FUNCTION {function}()"]

    def _unless_redacted(self, name: str, event: str, when: str) -> tuple[str, list[str]]:
        """A condition of PostgreSQL looks into no table, so that a function of its own does."""
        trigger, made = self._one(name, event, when, f"{self.guard.table}_{name}")
        return trigger, [_function(trigger, self.redacted), *made]


def _function(name: str, allowed: str = "") -> str:
    # pg_temp last: otherwise whoever may make temporary tables could show it an entry of his own
    body = f"""BEGIN
        {f"IF {allowed} THEN RETURN coalesce(NEW, OLD); END IF;" if allowed else ""}
        RAISE EXCEPTION 'evidence is only added: %', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
    END"""
    return f"""DO $make$ BEGIN EXECUTE format(
        'CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql SET search_path = %I, pg_temp AS %L',
        current_schema(), {_quoted(body)}); END $make$"""


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def install_function(connection: Any) -> None:
    """What the triggers of PostgreSQL call."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(_function(REFUSE))


# ---- the engine's tables ----------------------------------------------------------------------------------

OPEN = "OLD.status = 'open' AND OLD.error_code = ''"
PLACE = ("run_id", "step", "series", "attempt")
COUNTS = "status <> 'interrupted' AND error_code <> 'format_refused'"

_tables = (
    Guard("engine_entry", unique=((("run_id", "seq"), ""),)),
    Guard("engine_leaf", key='"index"'),
    Guard("engine_checkpoint", key="size"),
    Guard(
        "engine_salt",
        key="leaf_id",
        run='(SELECT run_id FROM engine_leaf WHERE "index" = OLD.leaf_id)',
        erasable_rows=True,
    ),
    Guard(
        "engine_run",
        key_is_number=False,
        run="OLD.id",
        rules=(
            Rule("kept", kept=("id", "procedure", "created"), erased=("asked_by",)),
            Rule(
                "over",
                when="OLD.status IN ('finished', 'cancelled')",
                kept=("status", "started", "ended", "retries"),
                unlinked=("owner_id", "cancelled_by_id"),
                erased=("cancelled_by_name",),
                erased_message=("error",),
            ),
        ),
    ),
    Guard(
        "engine_modelcall",
        unique=((PLACE, COUNTS),),
        run="OLD.run_id",
        rules=(
            Rule("open", when=OPEN, kept=("id", *PLACE, "model", "prompt", "started")),
            Rule(
                "closed",
                when=f"NOT ({OPEN})",
                kept=(
                    *("id", *PLACE, "status", "model", "answer_format", "answered_by", "started", "deadline", "ended"),
                    *("input_tokens", "output_tokens", "estimated", "cost", "error_code", "retry_at"),
                ),
                erased=("prompt", "answer", "error"),
            ),
        ),
    ),
)
GUARDS: Guards = {guard.table: guard for guard in _tables}
