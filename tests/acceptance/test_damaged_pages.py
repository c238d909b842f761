"""A database file of which a part is lost: verification says so in sentences, whichever part that is."""

import sqlite3
from pathlib import Path

from tests.acceptance.site import environment, manage, migrated


def without(whole: bytes, name: str, file: Path) -> None:
    """The file with the first page of a table or an index overwritten."""
    file.write_bytes(whole)
    with sqlite3.connect(file) as connection:
        page, size = (
            connection.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", [name]).fetchone()[0],
            connection.execute("PRAGMA page_size").fetchone()[0],
        )
    file.write_bytes(whole[: (page - 1) * size] + b"\xff" * size + whole[page * size :])


def verified(folder: Path, *words: str) -> str:
    """What the command complains of, which is never a traceback."""
    done = manage("verify_record", *words, env=environment(folder))
    assert (done.returncode, "Traceback" in done.stderr) == (1, False)
    return done.stderr


def test_a_lost_page_is_named(tmp_path):
    said = {}
    for name in ("engine_leaf", "one_entry_per_place", "auth_user"):
        without(migrated().read_bytes(), name, tmp_path / "magi.sqlite3")
        said[name] = verified(tmp_path)
    assert [one for one in said.items() if not one[1].startswith("The database file is damaged. (the database: ")] == []


def test_what_is_no_database_is_named(tmp_path):
    (tmp_path / "magi.sqlite3").write_bytes(b"?" * 10_000)
    for words in ((), ("6f1c0000-0000-4000-8000-000000000000",)):
        assert verified(tmp_path, *words)
