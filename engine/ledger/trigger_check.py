"""Comparison of the database's triggers with those that `immutability.py` creates: none may be missing, changed or
extra.

Definitions are compared, because a name alone protects nothing. SQLite stores the text as written. PostgreSQL
stores its own form, so the triggers are created again on temporary tables, compared in that form and rolled back;
the functions that they call are compared with those installed.

Why so: engine/DESIGN.md, The record.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.db import Error, transaction

from .immutability import ImmutableTable, all_guards, functions


@dataclass(frozen=True)
class TriggerProblem:
    """One problem with the triggers.

    `acts` means that it could change evidence before it is sealed, or hide it, without any hash showing that.
    Otherwise a change is not refused, but hashes show it.
    """

    text: str
    acts: bool = False


def trigger_problems(connection: Any) -> list[TriggerProblem]:
    guards = all_guards()
    found = _sqlite(connection, guards) if connection.vendor == "sqlite" else _postgresql(connection, guards)
    return list(found)


Key = tuple[str, str]
"""A trigger: its table and its name."""


def _compared(there: Mapping[Key, str], expected: Mapping[Key, Collection[str]]) -> Iterator[TriggerProblem]:
    for (table, name), forms in expected.items():
        if (table, name) not in there:
            yield TriggerProblem(f"trigger {name} is missing")
        elif there[table, name] not in forms:
            yield TriggerProblem(f"trigger {name} on {table} does something else than it should", acts=True)
    for table, name in sorted(there.keys() - expected.keys()):
        yield TriggerProblem(f"trigger {name} on {table} is not ours", acts=True)


# ---- SQLite -----------------------------------------------------------------------------------------------

ON_SQLITE = """SELECT lower(tbl_name), name, sql FROM sqlite_master WHERE type = 'trigger'
    UNION ALL SELECT lower(tbl_name), name, sql FROM sqlite_temp_master WHERE type = 'trigger'"""


def _sqlite(connection: Any, guards: list[ImmutableTable]) -> Iterator[TriggerProblem]:
    tables = {guard.table for guard in guards}
    there = {(table, name): made for table, name, made in _rows(connection, ON_SQLITE) if table in tables}
    yield from _compared(there, _expected(guards, "sqlite"))


def _expected(guards: list[ImmutableTable], vendor: str) -> Mapping[Key, Collection[str]]:
    return {
        (guard.table, name): statements[-1:] for guard in guards for name, statements in guard.triggers(vendor).items()
    }


def _rows(connection: Any, sql: str, *values: Any) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return list(cursor.fetchall())


# ---- PostgreSQL -------------------------------------------------------------------------------------------

TRIGGERS = """SELECT relname, tgname, tgenabled, pg_get_triggerdef(pg_trigger.oid) FROM pg_trigger
    JOIN pg_class ON pg_class.oid = tgrelid
    WHERE NOT tgisinternal AND relname = ANY(%s) AND relnamespace = {}"""
FUNCTIONS = """SELECT proname, prosrc, lanname, prosecdef, proconfig,
        ARRAY['search_path=' || quote_ident(current_schema()) || ', pg_temp']
    FROM pg_proc JOIN pg_language ON pg_language.oid = prolang
    WHERE proname = ANY(%s) AND pronamespace = current_schema()::regnamespace"""
ALLOWED_EXTRA_TRIGGERS = {
    "rule {} on {} is not ours": """SELECT rulename, relname FROM pg_rewrite JOIN pg_class ON pg_class.oid = ev_class
        WHERE relname = ANY(%s) AND relnamespace = current_schema()::regnamespace""",
    "table {} adds its rows to {}": """SELECT inhrelid::regclass, relname FROM pg_inherits
        JOIN pg_class ON pg_class.oid = inhparent
        WHERE relname = ANY(%s) AND relnamespace = current_schema()::regnamespace""",
    "row security{} hides rows of {}": """SELECT '', relname FROM pg_class
        WHERE relrowsecurity AND relname = ANY(%s) AND relnamespace = current_schema()::regnamespace""",
}
DISABLED_QUERY = """SELECT 'this session' WHERE current_setting('session_replication_role') = 'replica'
    UNION ALL SELECT concat_ws(' in ', coalesce('role ' || rolname, 'every role'), 'database ' || datname)
    FROM pg_db_role_setting
    LEFT JOIN pg_roles ON pg_roles.oid = setrole LEFT JOIN pg_database ON pg_database.oid = setdatabase
    WHERE 'session_replication_role=replica' = ANY(setconfig) AND (setdatabase = 0 OR datname = current_database())"""
NORMALIZE_TIMES = 2  # from then on a form stays as it is
ENABLED = ("O", "A")  # as long as nobody replicates, always


def _postgresql(connection: Any, guards: list[ImmutableTable]) -> Iterator[TriggerProblem]:
    tables = [guard.table for guard in guards]
    rows = _rows(connection, TRIGGERS.format("current_schema()::regnamespace"), tables)
    off = {name for _, name, enabled, _ in rows if enabled not in ENABLED}
    try:
        expected = _as_postgresql_says(connection, guards)
    except Error as error:  # it may make no temporary table, or nothing at all
        yield TriggerProblem(f"what the triggers do cannot be compared here: {str(error).splitlines()[0]}")
        expected = dict.fromkeys(_expected(guards, "postgresql"), ("",))
        rows = [(table, name, enabled, "") for table, name, enabled, _ in rows]
    yield from (TriggerProblem(f"trigger {name} is switched off") for name in sorted(off))
    yield from _compared(_by_place(rows), expected)
    yield from _functions(connection, guards)
    for sentence, sql in ALLOWED_EXTRA_TRIGGERS.items():
        yield from (TriggerProblem(sentence.format(*row), acts=True) for row in _rows(connection, sql, tables))
    for (who,) in _rows(connection, DISABLED_QUERY):
        yield TriggerProblem(f"session_replication_role switches all triggers off for {who}")


def _as_postgresql_says(connection: Any, guards: list[ImmutableTable]) -> Mapping[Key, Collection[str]]:
    """Return the forms that each trigger may have: the form of our own statement, and those after PostgreSQL's own
    definition is executed again, as a restore of a dump does.
    """
    tables = [guard.table for guard in guards]
    forms: dict[Key, list[str]] = defaultdict(list)
    with transaction.atomic(connection.alias), connection.cursor() as cursor:
        for guard in guards:
            cursor.execute(f'CREATE TEMPORARY TABLE "{guard.table}" (LIKE "{guard.table}")')
            for statements in guard.triggers("postgresql").values():
                cursor.execute(statements[-1])
        for _ in range(1 + NORMALIZE_TIMES):
            rows = _rows(connection, TRIGGERS.format("pg_my_temp_schema()"), tables)
            for place, made in _by_place(rows).items():
                forms[place].append(made)
            for table, name, _enabled, made in rows:
                cursor.execute(f'DROP TRIGGER "{name}" ON pg_temp."{table}"')
                cursor.execute(made)
        transaction.set_rollback(True, connection.alias)
    return forms


def _by_place(rows: list[tuple[Any, ...]]) -> dict[Key, str]:
    """Key the definitions by table and name, without the table in the text: only that differs on a temporary table."""
    return {(table, name): re.sub(r" ON \S+ ", " ", made, count=1) for table, name, _, made in rows}


def _functions(connection: Any, guards: list[ImmutableTable]) -> Iterator[TriggerProblem]:
    expected = functions(guards)
    there = {row[0]: row[1:] for row in _rows(connection, FUNCTIONS, list(expected))}
    for name, body in expected.items():
        if name not in there:
            continue  # then its triggers are missing, too
        source, language, as_owner, options, wanted = there[name]
        if source.split() != body.split() or language != "plpgsql" or as_owner or options != wanted:
            yield TriggerProblem(f"function {name} does something else than it should", acts=True)
