"""The databases of the tests: each begins in the same empty gate, or in a copy of what another made."""

import contextlib
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from functools import partial
from typing import Any, TypeVar, cast

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.core.management.color import no_style
from django.core.management.sql import emit_post_migrate_signal
from django.db import connection, transaction
from django.test import TransactionTestCase

from engine.evidence import guards
from magi_site.groups import make_groups
from magi_site.models import Token

T = TypeVar("T")
ACCOUNTS = (User, Session, Token)


@contextlib.contextmanager
def tampering() -> Iterator[None]:
    """For a while the database refuses nothing: what somebody could do who owns it, and what a test's end has to do.

    Foreign keys are not looked at either, unless a transaction is open on SQLite. On PostgreSQL all this is true of
    this thread's connection alone.
    """
    if connection.vendor == "sqlite":
        connection.disable_constraint_checking()  # as in a shell of sqlite3
        guards.lift(connection, guards.all_guards())
        try:
            yield
        finally:
            guards.install(connection, guards.all_guards())
            connection.enable_constraint_checking()
        return
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        try:
            yield
        finally:
            cursor.execute("SET session_replication_role = DEFAULT")


def _emptied() -> Callable[[], None]:
    """An empty gate with its groups, in which every test begins; what it returns goes back to just that.

    Django's own way after a test that commits (delete from all tables, make permissions anew) takes 0.2 s.
    """
    flush = connection.ops.sql_flush(no_style(), connection.introspection.django_table_names(only_existing=True))
    with transaction.atomic(), tampering(), connection.cursor() as cursor:
        for statement in flush:
            cursor.execute(statement)
    emit_post_migrate_signal(verbosity=0, interactive=False, db=connection.alias)
    make_groups()  # a migration brought them; by now there are permissions again
    if connection.vendor == "sqlite":
        copy = sqlite3.connect(":memory:", check_same_thread=False)
        connection.connection.backup(copy)
        return partial(_copy_back, copy)
    return partial(_fill_again, *_kept())


def _copy_back(copy: sqlite3.Connection) -> None:
    connection.ensure_connection()
    copy.backup(connection.connection)


_made: dict[Any, tuple[Any, sqlite3.Connection]] = {}


def once(make: Callable[..., T], *args: Any) -> T:
    """What `make` returns and leaves in the database, made by the first test that asks and copied for all others.

    For tests that commit and begin alike, with the same accounts, whose passwords, tokens and sessions stay. On
    PostgreSQL it is made each time: nothing there copies so quickly.
    """
    if connection.vendor != "sqlite":
        return make(*args)
    before = make, tuple(User.objects.order_by("pk").values_list("pk", "username", "is_superuser")), _sizes()
    if before in _made:
        made, copy = _made[before]
        there = [row for model in ACCOUNTS for row in model.objects.all()]
        _copy_back(copy)
        for row in there:
            row.save()
        return cast(T, deepcopy(made))
    made, copy = make(*args), sqlite3.connect(":memory:", check_same_thread=False)
    connection.connection.backup(copy)
    _made[before] = deepcopy(made), copy
    return made


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


def _kept() -> tuple[list[str], list[str]]:
    """All tables of PostgreSQL, and those of them that have rows now, which are copied aside."""
    with connection.cursor() as cursor:
        cursor.execute("CREATE SCHEMA kept")
        tables = [table for table in connection.introspection.table_names(cursor) if table != "django_migrations"]
        filled = []
        for table in tables:
            cursor.execute(f'CREATE TABLE kept."{table}" AS TABLE "{table}"')
            if cursor.rowcount:
                filled.append(table)
    return tables, filled


def _fill_again(tables: Sequence[str], filled: Sequence[str]) -> None:
    again = [f'DELETE FROM "{table}"' for table in tables]
    again += [f'INSERT INTO "{table}" OVERRIDING SYSTEM VALUE TABLE kept."{table}"' for table in filled]
    with transaction.atomic(), tampering(), connection.cursor() as cursor:
        cursor.execute(";".join(again))


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings: None) -> None:
    """No commit of a test waits for the disk: its database has not to outlive the machine."""
    options = connection.settings_dict["OPTIONS"]
    if connection.vendor == "sqlite":
        options["init_command"] += "PRAGMA synchronous=OFF;"
    else:
        options["options"] += " -c synchronous_commit=off"


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: Any) -> Iterator[Callable[[], None]]:
    """What brings the empty gate back."""
    with django_db_blocker.unblock(), pytest.MonkeyPatch.context() as patched:
        go_back = _emptied()
        patched.setattr(TransactionTestCase, "_fixture_teardown", lambda case: go_back())
        yield go_back
    if hasattr(connection, "close_pool"):
        connection.close_pool()  # PostgreSQL drops no database that a pooled connection still uses
