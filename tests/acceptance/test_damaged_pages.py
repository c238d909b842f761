"""A database file of which a part is lost: verification says so in sentences, whichever part that is."""

import sqlite3
from pathlib import Path

import pytest

from tests.acceptance.site import environment, manage
from tests.acceptance.test_old_records import OLD as RECORDS
from tests.acceptance.test_old_records import SIGNING_KEY, migrated, unpacked

OLD = RECORDS / "sealed_at_end" / "sqlite"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    data = tmp_path_factory.mktemp("whole")
    (data / "magi.sqlite3").write_bytes(unpacked(OLD / "magi.sqlite3.gz"))
    migrated(environment(data, MAGI_SIGNING_KEY=SIGNING_KEY))
    with sqlite3.connect(data / "magi.sqlite3") as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return (data / "magi.sqlite3").read_bytes()


def without(whole: bytes, name: str, file: Path) -> None:
    """The file with the first page of a table or an index overwritten."""
    file.write_bytes(whole)
    with sqlite3.connect(file) as connection:
        page, size = (
            connection.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", [name]).fetchone()[0],
            connection.execute("PRAGMA page_size").fetchone()[0],
        )
    file.write_bytes(whole[: (page - 1) * size] + b"\xff" * size + whole[page * size :])


@pytest.mark.parametrize("name", ["engine_leaf", "one_entry_per_place", "auth_user"])
def test_a_lost_page_is_named(whole, tmp_path, name):
    without(whole, name, tmp_path / "magi.sqlite3")
    (tmp_path / "checkpoints").write_bytes((OLD / "checkpoints").read_bytes())
    done = manage("verify_record", env=environment(tmp_path, MAGI_SIGNING_KEY=SIGNING_KEY))
    assert (done.returncode, "Traceback" in done.stderr) == (1, False)
    assert done.stderr.startswith("The database file is damaged. (the database: ")


def test_what_is_no_database_is_named(tmp_path):
    (tmp_path / "magi.sqlite3").write_bytes(b"?" * 10_000)
    for words in ((), ("6f1c0000-0000-4000-8000-000000000000",)):
        done = manage("verify_record", *words, env=environment(tmp_path, MAGI_SIGNING_KEY=SIGNING_KEY))
        assert (done.returncode, "Traceback" in done.stderr) == (1, False)
