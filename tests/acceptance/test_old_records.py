"""Records that an older version sealed: they are what they were after today's migrations, here and offline.

tests/records/ has a history of two versions, once as SQLite's file and once as a dump of PostgreSQL: of the one that
sealed records at their end alone, and of the last one in which titles and verdicts were columns of judgements.
Approved, rejected, failed, retried, cancelled, redacted, reviewed, overridden, queued judgements, councils in versions,
receipts, idempotency keys, in the older one records from before there was a log; and what its own program exported.
"""

import contextlib
import gzip
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.conftest import new_postgres_database
from tests.acceptance.site import ROOT, environment, judge, manage, python
from tests.conftest import JAPAN
from tests.services import postgres_programs

OLD = ROOT / "tests" / "records"
SIGNING_KEY = "5" * 64
VERIFIER_KEY = "magi/b4c1ece898ece24e+63c83b11+AcaCJjfH0xDsV2J74AuiWdJTdJ9Kr2REcM/75To19zJC"
VERSIONS = ("sealed_at_end", "sealed_at_submission")
# to migrate one takes 18 s of a processor: that is for the night
KEPT = [f"{version}/{database}" for version in VERSIONS for database in ("sqlite", "postgres")]


@pytest.fixture(scope="module", params=KEPT)
def kept(request: pytest.FixtureRequest) -> Path:
    """The folder with such a history."""
    return OLD / request.param


@pytest.fixture(scope="module")
def old(
    request: pytest.FixtureRequest, kept: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, str]]:
    """The environment of an installation with that history, migrated by today's program."""
    data = tmp_path_factory.mktemp(kept.name)
    env = environment(data, empty=True, MAGI_SIGNING_KEY=SIGNING_KEY, MAGI_DEFAULT_MODEL="rehearsal/instant")
    shutil.copy(kept / "checkpoints", data)
    if kept.name == "sqlite":
        (data / "magi.sqlite3").write_bytes(unpacked(kept / "magi.sqlite3.gz"))
        yield migrated(env)
        return
    with new_postgres_database(request.getfixturevalue("postgres_url")) as address:
        restore(kept, address)
        yield migrated(env | {"DATABASE_URL": address})


def unpacked(file: Path) -> bytes:
    return gzip.decompress(file.read_bytes())


def restore(kept: Path, address: str) -> None:
    programs = postgres_programs()
    assert programs
    command = [str(programs / "psql"), "--quiet", "--no-psqlrc", "--set", "ON_ERROR_STOP=1", address]
    done = subprocess.run(command, input=unpacked(kept / "dump.sql.gz"), capture_output=True)
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


@pytest.mark.slow
def test_every_old_record_verifies_after_the_migration(old):
    assert is_intact(old)


def schema(env: dict[str, str]) -> list[str]:
    done = python("-m", "tests.schema", env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.slow
def test_its_tables_are_those_of_a_new_database(old, tmp_path, request):
    new = environment(tmp_path, empty=True)
    with contextlib.ExitStack() as stack:
        if "DATABASE_URL" in old:
            url = request.getfixturevalue("postgres_url")
            new["DATABASE_URL"] = stack.enter_context(new_postgres_database(url))
        assert Counter(schema(migrated(new))) == Counter(schema(old))


@pytest.mark.slow
def test_what_is_exported_of_old_records_verifies_offline_with_the_old_anchor(old, kept, tmp_path):
    exported = tmp_path / "bundle.jsonl"
    exported.write_text(manage("export_records", env=old).stdout)
    assert offline(exported, kept / "checkpoints").startswith("Intact")


@pytest.mark.slow
def test_an_installation_with_old_records_goes_on_judging(old):
    judge(JAPAN, env=old)
    assert is_intact(old)


@pytest.mark.parametrize("version", VERSIONS)
def test_what_the_old_program_exported_still_verifies(version, tmp_path):
    exported = tmp_path / "bundle.jsonl"
    exported.write_bytes(unpacked(OLD / version / "sqlite" / "bundle.jsonl.gz"))
    assert offline(exported, OLD / version / "sqlite" / "checkpoints").startswith("Intact")
