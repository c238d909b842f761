"""Records that an older version sealed: they are what they were after today's migrations, here and offline.

tests/records/ has a history of the version that sealed records at their end alone, once as SQLite's file and once as a
dump of PostgreSQL: approved, rejected, failed, retried, cancelled, redacted, reviewed, overridden, queued judgements,
councils in versions and an archived one, receipts, an idempotency key, records from before there was a log; and what
its own program exported of it.
"""

import gzip
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.conftest import new_postgres_database
from tests.acceptance.site import ROOT, environment, judge, manage
from tests.conftest import JAPAN
from tests.services import postgres_programs

OLD = ROOT / "tests" / "records"
SIGNING_KEY = "5" * 64
VERIFIER_KEY = "magi/b4c1ece898ece24e+63c83b11+AcaCJjfH0xDsV2J74AuiWdJTdJ9Kr2REcM/75To19zJC"


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def old(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of an installation with that history, migrated by today's program."""
    data = tmp_path_factory.mktemp(request.param)
    env = environment(data, MAGI_SIGNING_KEY=SIGNING_KEY, MAGI_DEFAULT_MODEL="rehearsal/instant")
    shutil.copy(OLD / request.param / "checkpoints", data)
    if request.param == "sqlite":
        (data / "magi.sqlite3").write_bytes(unpacked("sqlite/magi.sqlite3.gz"))
        yield migrated(env)
        return
    with new_postgres_database(request.getfixturevalue("postgres_url")) as address:
        restore(address)
        yield migrated(env | {"DATABASE_URL": address})


def unpacked(name: str) -> bytes:
    return gzip.decompress((OLD / name).read_bytes())


def restore(address: str) -> None:
    programs = postgres_programs()
    assert programs
    command = [str(programs / "psql"), "--quiet", "--no-psqlrc", "--set", "ON_ERROR_STOP=1", address]
    done = subprocess.run(command, input=unpacked("postgres/dump.sql.gz"), capture_output=True)
    assert done.returncode == 0, done.stderr.decode()


def migrated(env: dict[str, str]) -> dict[str, str]:
    done = manage("migrate", "--verbosity", "0", env=env, wait=120)
    assert done.returncode == 0, done.stderr
    return env


def is_intact(env: dict[str, str]) -> bool:
    done = manage("verify_record", "--all", env=env)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    return True


def offline(bundle: Path, anchor: Path) -> str:
    options = ["--key", VERIFIER_KEY, "--anchor", str(anchor)]
    command = [sys.executable, "-I", "-S", "tools/verify.py", str(bundle), *options]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout


def test_every_old_record_verifies_after_the_migration(old):
    assert is_intact(old)


def test_what_is_exported_of_old_records_verifies_offline_with_the_old_anchor(old, tmp_path):
    anchor = OLD / ("postgres" if "DATABASE_URL" in old else "sqlite") / "checkpoints"
    exported = tmp_path / "bundle.jsonl"
    exported.write_text(manage("export_records", env=old).stdout)
    assert offline(exported, anchor).startswith("Intact")


def test_an_installation_with_old_records_goes_on_judging(old):
    judge(JAPAN, env=old)
    assert is_intact(old)


def test_what_the_old_program_exported_still_verifies(tmp_path):
    exported = tmp_path / "bundle.jsonl"
    exported.write_bytes(unpacked("sqlite/bundle.jsonl.gz"))
    assert offline(exported, OLD / "sqlite" / "checkpoints").startswith("Intact")
