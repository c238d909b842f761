"""The databases of the tests: each begins in the same empty gate, or in a copy of what another made."""

import contextlib
import functools
import sqlite3
import tempfile
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from functools import partial, wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import pytest
from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.core.management import call_command
from django.core.management.color import no_style
from django.core.management.sql import emit_post_migrate_signal
from django.db import connection, transaction
from django.test import TransactionTestCase

from engine.audit import full_verification, verification
from engine.ledger import immutability, trigger_check
from magi_site.groups import create_groups
from magi_site.models import Token
from tests.acceptance.site import digest, kept_file, making, migrated, put_out_stale

T = TypeVar("T")
P = ParamSpec("P")
ACCOUNTS = (User, Session, Token)
TEMPLATES = "magi_tests_"
EMPTY = "kept"  # the schema of an empty gate's rows
PLACES = """
    SELECT format('%I.%I', schemaname, sequencename) AS name,
           coalesce(last_value, start_value) AS place, last_value IS NOT NULL AS used
    FROM pg_sequences WHERE schemaname = 'public'
"""
OURS = "tests/checking", "tests/databases.py"  # what else an empty gate comes of
tampers = False  # whether somebody does what only an attacker would


as_postgresql_says = trigger_check._as_postgresql_says
_forms: dict[tuple[immutability.ImmutableTable, ...], Any] = {}


def _said_once(connection: Any, wanted: list[immutability.ImmutableTable]) -> Any:
    """PostgreSQL is told to make all triggers on temporary tables and says them back: 0.7 s of each look at the whole
    record, for the same answer as long as no test changes a column's type. In those that do it is asked each time."""
    if tuple(wanted) not in _forms:
        _forms[tuple(wanted)] = as_postgresql_says(connection, wanted)
    return _forms[tuple(wanted)]


@pytest.fixture(scope="session", autouse=True)
def _triggers_are_said_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(trigger_check, "_as_postgresql_says", _said_once)
        yield


@pytest.fixture
def read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """To verify reads what seems wrong once more, for work goes on meanwhile. Here none does: half of the time."""
    for module in (verification, full_verification):
        monkeypatch.setattr(module, "verify", verification._read)


@contextlib.contextmanager
def tampering() -> Iterator[None]:
    """For a while the database refuses nothing: what somebody could do who owns it, and what a test's end has to do.

    Foreign keys are not looked at either, unless a transaction is open on SQLite. On PostgreSQL all this is true of
    this thread's connection alone.
    """
    global tampers
    tampers = True
    try:
        with _without_guards():
            yield
    finally:
        tampers = False


@contextlib.contextmanager
def _without_guards() -> Iterator[None]:
    if connection.vendor == "sqlite":
        connection.disable_constraint_checking()  # as in a shell of sqlite3
        try:
            taken = _take_down_guards()
            try:
                yield
            finally:
                _put_up_guards(taken)
        finally:
            connection.enable_constraint_checking()
        return
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        try:
            yield
        finally:
            cursor.execute("SET session_replication_role = DEFAULT")


@functools.cache
def _names_of_guards(procedures: tuple[str, ...]) -> frozenset[str]:
    return frozenset(name for guard in immutability.all_guards() for name in guard.triggers("sqlite"))


def _take_down_guards() -> list[str]:
    """What makes them again. To think of all guards anew and to look for their tables is a third of the time."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
        ours = _names_of_guards(tuple(settings.PROCEDURES))
        found = [(name, made) for name, made in cursor.fetchall() if name in ours]
        for name, _ in found:
            cursor.execute(f"DROP TRIGGER {name}")
    return [made for _, made in found]


def _put_up_guards(taken: list[str]) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        for made in taken:
            cursor.execute(made)


def _emptied() -> None:
    """The test database becomes an empty gate with its groups."""
    flush = connection.ops.sql_flush(no_style(), connection.introspection.django_table_names(only_existing=True))
    with transaction.atomic(), tampering(), connection.cursor() as cursor:
        for statement in flush:
            cursor.execute(statement)
    emit_post_migrate_signal(verbosity=0, interactive=False, db=connection.alias)
    create_groups()  # a migration brought them; by now there are permissions again


def _on_sqlite(migrate: Callable[[], None]) -> Callable[[], None]:
    """The empty gate in the test database, out of a file where one was made before; what goes back to just that.

    Django's own way after a test that commits (delete from all tables, make permissions anew) takes 0.2 s.
    """
    file, copy = kept_file("empty", *OURS), sqlite3.connect(":memory:", check_same_thread=False)
    with making(file) as wanted:
        if wanted:
            _new_name()
            with contextlib.closing(sqlite3.connect(migrated())) as made:
                made.backup(copy)
            _copy_back(copy)
            migrate()  # what only tests have
            _emptied()
            connection.connection.backup(copy)
            _keep(copy, file)
            return partial(_copy_back, copy)
    with contextlib.closing(sqlite3.connect(file)) as made:
        made.backup(copy)
    _new_name()
    _copy_back(copy)
    return partial(_copy_back, copy)


def _keep(copy: sqlite3.Connection, file: Path) -> None:
    with tempfile.TemporaryDirectory(dir=file.parent) as folder:
        whole = Path(folder) / file.name
        with contextlib.closing(sqlite3.connect(whole)) as to:
            copy.backup(to)
        whole.rename(file)  # whole or not at all
    put_out_stale(file)


def _new_name() -> None:
    """The test database, which Django would migrate next: empty on SQLite, on PostgreSQL a copy of the template."""
    name = connection.creation._create_test_db(verbosity=0, autoclobber=True)
    connection.close()
    connection.settings_dict["NAME"] = name


def _on_postgresql(create: Callable[[], None]) -> Callable[[], None]:
    """The same on PostgreSQL: whoever comes first leaves a template of the database for all later ones."""
    template, settings = f"{TEMPLATES}{digest(*OURS)}", connection.settings_dict["TEST"]
    connection.close()
    with connection.creation._nodb_cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(hashtext(%s))", [TEMPLATES])  # as long as this connection
        cursor.execute("SELECT datname FROM pg_database WHERE starts_with(datname, %s) ORDER BY oid", [TEMPLATES])
        there = [name for (name,) in cursor]
        if template in there:
            settings["TEMPLATE"] = template
            _new_name()
        else:
            create()
            _emptied()
            _keep_rows(EMPTY)
            connection.close()
            connection.close_pool()
            cursor.execute(f'CREATE DATABASE "{template}" TEMPLATE "{connection.settings_dict["NAME"]}"')
            for stale in there[:-2]:  # those of other working copies may still be asked for
                cursor.execute(f'DROP DATABASE "{stale}"')
    return partial(_fill_again, EMPTY, _kept_rows(EMPTY))


def _copy_back(copy: sqlite3.Connection) -> None:
    connection.ensure_connection()
    copy.backup(connection.connection)


_made: dict[Any, tuple[Any, Callable[[], None]]] = {}


def once(make: Callable[..., T], *args: Any) -> T:
    """What `make` returns and leaves in the database, made by the first test that asks and copied for all others.

    For tests that commit and begin alike, with the same accounts, whose passwords, tokens and sessions stay.
    """
    users = tuple(User.objects.order_by("pk").values_list("pk", "username", "is_superuser"))
    before = make, _told(args), users, _sizes()
    if before in _made:
        made, copy_back = _made[before]
        there = [row for model in ACCOUNTS for row in model.objects.all()]
        copy_back()
        for row in there:
            row.save()
        return cast(T, deepcopy(made))
    made = make(*args)
    _made[before] = deepcopy(made), _copied()
    return made


_left: dict[Any, tuple[Any, dict[str, list[Any]]]] = {}


def copied(make: Callable[P, T]) -> Callable[P, T]:
    """As `once`, for what is made in any state of the database: of the rows that it left, the same are put in again.

    On SQLite, where the next row has the same number as in the test before. On PostgreSQL it is made each time.
    """

    @wraps(make)
    def copy(*args: P.args, **options: P.kwargs) -> T:
        if connection.vendor != "sqlite":
            return make(*args, **options)
        if (before := _state(make, args, options)) in _left:
            return cast(T, _put_back(before))
        made = make(*args, **options)
        _leave(before, made)
        return made

    return copy


def copied_async(make: Callable[P, Awaitable[T]]) -> Callable[P, Awaitable[T]]:
    """The same of what is awaited."""

    @wraps(make)
    async def copy(*args: P.args, **options: P.kwargs) -> T:
        if connection.vendor != "sqlite":
            return await make(*args, **options)
        if (before := await sync_to_async(_state)(make, args, options)) in _left:
            return cast(T, await sync_to_async(_put_back)(before))
        made = await make(*args, **options)
        await sync_to_async(_leave)(before, made)
        return made

    return copy


def _state(make: Callable[..., Any], args: Iterable[Any], options: Mapping[str, Any]) -> Any:
    highest = tuple(one for one in _highest() if one[0] != Session._meta.db_table)  # whoever has signed in meanwhile
    return make, _told(args), _told(sorted(options.items())), highest


def _put_back(before: Any) -> Any:
    made, rows = _left[before]
    _put_in(rows)
    return deepcopy(made)


def _leave(before: Any, made: Any) -> None:
    _left[before] = deepcopy(made), _rows_after(before[-1])


@transaction.atomic
def _put_in(rows: Mapping[str, list[Any]]) -> None:
    with connection.cursor() as cursor:
        for table, new in rows.items():
            cursor.executemany(f'INSERT INTO "{table}" VALUES ({", ".join(["%s"] * len(new[0]))})', new)


def _told(found: Iterable[Any]) -> tuple[str, ...]:
    return tuple(f"{one!r} {getattr(one, 'pk', '')}" for one in found)


def _highest() -> tuple[tuple[str, int], ...]:
    """The number of the last row in each table."""
    with connection.cursor() as cursor:
        tables = sorted(connection.introspection.django_table_names(only_existing=True))
        cursor.execute("SELECT " + ", ".join(f'(SELECT coalesce(max(rowid), 0) FROM "{table}")' for table in tables))
        return tuple(zip(tables, cursor.fetchone(), strict=True))


def _rows_after(highest: Iterable[tuple[str, int]]) -> dict[str, list[Any]]:
    found = {}
    with connection.cursor() as cursor:
        for table, last in highest:
            cursor.execute(f'SELECT * FROM "{table}" WHERE rowid > %s', [last])
            found[table] = cursor.fetchall()
    return {table: rows for table, rows in found.items() if rows}


def _copied() -> Callable[[], None]:
    """What brings the database back to just what it is now."""
    if connection.vendor == "sqlite":
        copy = sqlite3.connect(":memory:", check_same_thread=False)
        connection.ensure_connection()
        connection.connection.backup(copy)
        return partial(_copy_back, copy)
    schema = f"made_{len(_made)}"
    _keep_rows(schema)
    return partial(_fill_again, schema, _kept_rows(schema))


def _sizes() -> tuple[int, ...]:
    """How many rows each table has."""
    tables = sorted(set(connection.introspection.table_names()) - {Session._meta.db_table})
    with connection.cursor() as cursor:
        cursor.execute("SELECT " + ", ".join(f'(SELECT count(*) FROM "{table}")' for table in tables))
        return cast("tuple[int, ...]", cursor.fetchone())


def kept_for_a_module(make: Callable[[], T]) -> Any:
    """A fixture: what `make` returns and leaves in the database, for all tests of a file, which roll back."""

    @pytest.fixture(scope="module")
    def kept(django_db_setup: Callable[[], None], django_db_blocker: Any) -> Iterator[T]:
        with django_db_blocker.unblock():
            made = make()
        yield made
        with django_db_blocker.unblock():
            django_db_setup()

    return kept


def _keep_rows(schema: str) -> None:
    """Copies of all tables of PostgreSQL, as they are now, in a schema of their own; and where its sequences are."""
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE SCHEMA {schema}")
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'CREATE TABLE {schema}."{table}" AS TABLE "{table}"')
        cursor.execute(f"CREATE TABLE {schema}.places AS {PLACES}")


def _kept_rows(schema: str) -> dict[str, str]:
    """All tables of PostgreSQL, and of those that have rows in this schema the columns that can be written."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT table_name, string_agg(quote_ident(column_name), ', ') FROM information_schema.columns "
            "WHERE table_schema = 'public' AND table_name <> 'django_migrations' AND is_generated = 'NEVER' GROUP BY 1"
        )
        tables = dict(cursor.fetchall())
        for table in tables:
            cursor.execute(f'SELECT 1 FROM {schema}."{table}" LIMIT 1')
            tables[table] = tables[table] if cursor.fetchone() else ""
    return tables


def _fill_again(schema: str, tables: Mapping[str, str]) -> None:
    again = [f'DELETE FROM "{table}"' for table in tables]
    again += [
        f'INSERT INTO "{table}" ({columns}) OVERRIDING SYSTEM VALUE SELECT {columns} FROM {schema}."{table}"'
        for table, columns in tables.items()
        if columns
    ]
    again += [f"SELECT setval(name::regclass, place, used) FROM {schema}.places"]
    with transaction.atomic(), tampering(), connection.cursor() as cursor:
        cursor.execute(";".join(again))


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings: None) -> None:
    """No commit of a test waits for the disk: its database has not to outlive the machine."""
    options = connection.settings_dict["OPTIONS"]
    if connection.vendor == "sqlite":
        options["init_command"] += "PRAGMA synchronous=OFF;"
    else:
        # nor does PostgreSQL end what is idle for long: the transaction of a test is open as long as the test
        options["options"] += " -c synchronous_commit=off -c idle_in_transaction_session_timeout=0"


@pytest.fixture(scope="session")
def django_db_setup(
    django_test_environment: None, django_db_modify_db_settings: None, django_db_blocker: Any
) -> Iterator[Callable[[], None]]:
    """What brings the empty gate back. To migrate it takes 2 s: it is copied while no line of the product changes."""
    create = partial(connection.creation.create_test_db, verbosity=0, autoclobber=True, serialize=False)
    migrate = partial(call_command, "migrate", verbosity=0, interactive=False, run_syncdb=True)
    outside = connection.settings_dict["NAME"]
    with django_db_blocker.unblock(), pytest.MonkeyPatch.context() as patched:
        go_back = _on_sqlite(migrate) if connection.vendor == "sqlite" else _on_postgresql(create)
        patched.setattr(TransactionTestCase, "_fixture_teardown", lambda case: go_back())
        yield go_back
    with django_db_blocker.unblock():
        if connection.vendor == "postgresql":
            _put_out()
        connection.creation.destroy_test_db(outside, verbosity=0)


def _put_out() -> None:
    """Everybody who is still connected: PostgreSQL drops no database that somebody uses."""
    name = connection.settings_dict["NAME"]
    connection.close_pool()  # type: ignore[attr-defined] - no connection of ours is kept for later
    with connection._nodb_cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])
