"""Connections to SQLite that are kept when they are closed."""

from collections.abc import Callable, Iterator

import pytest
from django.conf import settings
from django.db import IntegrityError, OperationalError, connection

from magi_site.sqlite.base import DatabaseWrapper, close_pooled

pytestmark = pytest.mark.django_db

Opened = Callable[[], DatabaseWrapper]


@pytest.fixture
def opened(tmp_path) -> Iterator[Opened]:
    options = {"transaction_mode": "IMMEDIATE", "init_command": "PRAGMA journal_mode=WAL"}
    ours = {"ENGINE": "magi_site.sqlite", "NAME": str(tmp_path / "kept.sqlite3"), "OPTIONS": options}
    close_pooled()
    yield lambda: DatabaseWrapper({**connection.settings_dict, **ours}, "kept")
    close_pooled()


def run(database: DatabaseWrapper, sql: str) -> list[tuple]:
    with database.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetchall()


def test_the_product_uses_it():
    assert settings.DATABASES["default"]["ENGINE"] in ("magi_site.sqlite", "django.db.backends.postgresql")


def test_what_one_closes_the_next_one_gets(opened: Opened):
    first, second = opened(), opened()
    run(first, "CREATE TABLE thing (id integer PRIMARY KEY)")
    raw = first.connection
    first.close()
    assert run(second, "SELECT * FROM thing") == []
    assert second.connection is raw


def test_two_at_the_same_time_never_share_one(opened: Opened):
    first, second = opened(), opened()
    run(first, "SELECT 1")
    run(second, "SELECT 1")
    assert first.connection is not second.connection


def test_foreign_keys_count_again_for_the_next_one(opened: Opened):
    first = opened()
    run(first, "CREATE TABLE a (id integer PRIMARY KEY)")
    run(first, "CREATE TABLE b (a integer NOT NULL REFERENCES a)")
    run(first, "PRAGMA foreign_keys = OFF")
    first.close()
    with pytest.raises(IntegrityError):
        run(opened(), "INSERT INTO b VALUES (1)")


def test_who_did_not_read_to_the_end_keeps_nobody_in_the_past(opened: Opened):
    first, other = opened(), opened()
    run(first, "CREATE TABLE thing (id integer)")
    run(first, "INSERT INTO thing VALUES (1), (2), (3)")
    half_read = first.cursor()
    half_read.execute("SELECT id FROM thing")
    half_read.fetchone()
    first.close()
    next_one = opened()
    run(next_one, "SELECT 1")
    run(other, "INSERT INTO thing VALUES (4)")
    assert run(next_one, "SELECT count(*) FROM thing") == [(4,)]


def test_one_that_met_an_error_or_is_in_a_transaction_is_closed(opened: Opened):
    broken, busy = opened(), opened()
    with pytest.raises(OperationalError):
        run(broken, "SELECT * FROM nothing")
    run(busy, "BEGIN")
    raw = {broken.connection, busy.connection}
    broken.close()
    busy.close()
    next_one = opened()
    run(next_one, "SELECT 1")
    assert next_one.connection not in raw


def test_a_file_that_was_put_in_its_place_is_opened_anew(opened: Opened, tmp_path):
    first = opened()
    run(first, "CREATE TABLE thing (id integer)")
    first.close()
    for file in tmp_path.iterdir():
        file.unlink()
    assert run(opened(), "SELECT count(*) FROM sqlite_master") == [(0,)]
