"""Triggers that make the database refuse to change or delete evidence.

A model declares as `immutable` what may still happen to its rows. `migrate` removes the triggers before its first
migration and installs them after its last, as the models declare them (`magi_site/apps.py`).

Why so: engine/DESIGN.md, The record.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, cast

from django.apps import apps
from django.db import models, transaction
from django.db.models import Q

RAISE_FUNCTION = "evidence_is_only_added"
# SQLite's names for its own key; a row that is given the key of another one replaces it
ROWID = ("rowid", "oid", "_rowid_")
ALL_COLUMNS = ("*",)


@dataclass(frozen=True)
class ChangeRule:
    """What no UPDATE may do while the SQL condition `when` is true for OLD. The others are names of fields, separated
    by spaces; `Immutable` says what they mean.
    """

    name: str
    when: str = ""
    kept: str = ""
    once: str = ""
    unlinked: str = ""
    erased: str = ""
    erased_message: str = ""
    marked: str = ""


@dataclass(frozen=True)
class Immutable:
    """What may still happen to the rows of a model; its attribute `immutable`. No row is ever deleted or replaced.

    All are names of fields, separated by spaces. A field in `once` may replace NULL, one in `unlinked` may become
    NULL, one in `free` may change. After the run was redacted, `erased` may become an empty text, `erased_message`
    lose its message, and `marked` replace NULL. A field of `rules` changes as they say. No other field changes.

    `run` leads to the run, or to a row that has the run's key, over foreign keys: "gate.run". With
    `erasable_rows` whole rows may be deleted after that run was redacted.
    """

    once: str = ""
    unlinked: str = ""
    erased: str = ""
    erased_message: str = ""
    marked: str = ""
    free: str = ""
    rules: tuple[ChangeRule, ...] = ()
    run: str = ""
    erasable_rows: bool = False


@dataclass(frozen=True)
class ColumnRule:
    """A `ChangeRule` with the columns of a table."""

    name: str
    when: str
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
    """What may happen to the rows of one table after they were inserted, as its model declares it.

    `run` is an SQL expression for the run of OLD, whose redaction must be recorded before texts are erased.
    `unique` has SQL conditions under which a row of the table shares unique columns with NEW, which would replace it.
    """

    table: str
    key: str
    key_is_number: bool
    unique: tuple[str, ...]
    rules: tuple[ColumnRule, ...]
    run: str
    erasable_rows: bool

    @property
    def columns(self) -> set[str]:
        """The columns that the triggers name, and the key."""
        named = {column for rule in self.rules for column in rule.columns} - set(ALL_COLUMNS)
        return named | {self.key.strip('"')}

    def triggers(self, vendor: str) -> dict[str, list[str]]:
        """Return the statements that create each trigger, by its name."""
        return dict(_Sqlite(self).triggers() if vendor == "sqlite" else _Postgresql(self).triggers())


# ---- from models ------------------------------------------------------------------------------------------


def all_guards() -> list[ImmutableTable]:
    """Return the tables of all models that declare `immutable`."""
    return [table_of(model) for model in guarded_models()]


def guarded_models() -> list[type[models.Model]]:
    return [model for model in apps.get_models() if getattr(model, "immutable", None)]


def undeclared_models() -> list[type[models.Model]]:
    """Return models that say nothing of their rows, of apps with evidence. `immutable = None`: its rows may change."""
    evidence = {model._meta.app_label for model in guarded_models()}
    return [
        model for model in apps.get_models() if model._meta.app_label in evidence and not hasattr(model, "immutable")
    ]


def table_of(model: type[models.Model]) -> ImmutableTable:
    """Raise FieldDoesNotExist if the declaration names a field that the model has not."""
    declared: Immutable = model.immutable  # type: ignore[attr-defined]
    meta = model._meta
    return ImmutableTable(
        meta.db_table,
        _quoted_key(model),
        isinstance(_target(meta.pk), models.IntegerField),
        tuple(_unique(model)),
        tuple(_rules(model, declared)),
        _path_to_run(model, declared.run.split(".")) if declared.run else "",
        declared.erasable_rows,
    )


def _rules(model: type[models.Model], declared: Immutable) -> Iterator[ColumnRule]:
    kinds = ("once", "unlinked", "erased", "erased_message", "marked")
    always = {kind: _columns_of(model, getattr(declared, kind)) for kind in kinds}
    later = [
        ColumnRule(rule.name, rule.when, **{k: _columns_of(model, getattr(rule, k)) for k in ("kept", *kinds)})
        for rule in declared.rules
    ]
    named = {column for columns in always.values() for column in columns} | set(_columns_of(model, declared.free))
    named |= {column for rule in later for column in rule.columns}
    kept = tuple(str(field.column) for field in model._meta.concrete_fields if field.column not in named)
    yield ColumnRule("kept", "", kept=kept, **always) if named else ColumnRule("kept", "", kept=ALL_COLUMNS)
    yield from later


def _columns_of(model: type[models.Model], names: str) -> tuple[str, ...]:
    return tuple(str(model._meta.get_field(name).column) for name in names.split())  # type: ignore[union-attr]


def _target(field: Any) -> Any:
    while field.is_relation:
        field = field.target_field
    return field


def _quoted_key(model: type[models.Model]) -> str:
    column = str(model._meta.pk.column)
    return '"index"' if column == "index" else column  # a word of SQL


def _path_to_run(model: type[models.Model], path: list[str]) -> str:
    """Return an SQL expression for what the path leads to from OLD, over at most one row in between."""
    column = f"OLD.{_columns_of(model, path[0])[0]}"
    if len(path) == 1:
        return column
    other: Any = model._meta.get_field(path[0]).related_model
    found = _columns_of(other, path[1])[0]
    return f"(SELECT {found} FROM {other._meta.db_table} WHERE {_quoted_key(other)} = {column})"  # noqa: S608 - ours


def _unique(model: type[models.Model]) -> Iterator[str]:
    for field in model._meta.concrete_fields:
        if field.unique and not field.primary_key:
            yield f"{field.column} = NEW.{field.column}"
    for one in model._meta.constraints:
        if isinstance(one, models.UniqueConstraint):
            names: Any = one.fields or [expression.name for expression in one.expressions]  # type: ignore[union-attr]
            columns = [_columns_of(model, name)[0] for name in names]
            same = [f"{column} = NEW.{column}" for column in columns]
            if one.condition:
                same += [_condition(model, one.condition, row) for row in ("", "NEW.")]
            yield " AND ".join(same)


def _condition(model: type[models.Model], condition: Q, row: str) -> str:
    """Return the condition of a constraint in SQL, made of comparisons with texts and NULL."""
    found = []
    for part in condition.children:
        if isinstance(part, Q):
            found.append(_condition(model, part, row))
            continue
        name, value = cast(tuple[str, Any], part)
        is_value = "IS NULL" if value is None else f"= {_quoted(str(value))}"
        found.append(f"{row}{_columns_of(model, name)[0]} {is_value}")
    joined = f" {condition.connector} ".join(found)
    return f"NOT ({joined})" if condition.negated else f"({joined})"


# ---- in the database --------------------------------------------------------------------------------------


def install_all(connection: Any) -> None:
    """Install the triggers of all models, and on PostgreSQL the function that they call."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(_function(RAISE_FUNCTION))
    install_triggers(connection, all_guards())


def install_triggers(connection: Any, guards: Iterable[ImmutableTable]) -> None:
    """Install or reinstall the triggers of tables that exist with all columns they name; others are skipped."""
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
        keys = (guard.key,) if guard.key_is_number else (guard.key, "rowid")
        for same in (*(f"{key} = NEW.{key}" for key in keys), *guard.unique):
            # as in `redacted`, all names are ours
            yield f"EXISTS (SELECT 1 FROM {guard.table} WHERE {same})"  # noqa: S608

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
