"""Real files and servers that cannot be written: a small disk that is filled, a page that is overwritten."""

import os
import sqlite3
import subprocess
import sys
import urllib.error
import urllib.request

import psycopg
import pytest

from tests.acceptance.site import ROOT, ServedSite, environment, judge, manage
from tests.acceptance.test_api import ASKED, CurlCaller, token_of
from tests.conftest import need
from tests.waiting import wait_until

SIZE = 40_000_000


@pytest.fixture
def small_disk(tmp_path):
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(folder)], capture_output=True)
    need("disk", mount.returncode == 0, "no disk may be mounted here")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(folder):
    """To the last byte; gives the file that fills it."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while file.write(bytes(65_536)) == 65_536:
                pass
            while file.write(b"0"):
                pass
        except OSError:
            return filler
    raise AssertionError("it does not get full")


def ready(site):
    try:
        with urllib.request.urlopen(f"{site.url}/readyz", timeout=60) as answer:
            return answer.status, answer.read().decode().strip()
    except urllib.error.HTTPError as refusal:
        return refusal.code, refusal.read().decode().strip()


@pytest.mark.slow
def test_on_a_full_disk_what_is_there_can_be_read_and_the_rest_is_refused_in_words(small_disk):
    with ServedSite(small_disk, "--no-engine") as site:
        caller = CurlCaller(site, token_of(site))
        judgement = caller.submit()
        assert ready(site) == (200, "ready")
        filler = fill(small_disk)
        wait_until(lambda: caller.call("POST", "/judgements", ASKED)[0] == 503, "nothing more is taken")
        status, problem = caller.call("POST", "/judgements", ASKED)
        assert (status, problem["detail"].split(".")[0]) == (503, "The disk of the database is full")
        assert caller.call("GET", judgement)[0] == 200
        wait_until(
            lambda: ready(site) == (503, "the disk of the database is full"), "readyz: the disk of the database is full"
        )
        doctor = manage("doctor", env=site.env)
        assert (doctor.returncode, "PROBLEM  database: The disk of the database is full." in doctor.stdout) == (1, True)
        filler.unlink()
        wait_until(lambda: ready(site) == (200, "ready"), "readyz: ready")
        caller.submit()


@pytest.mark.slow
def test_the_command_line_says_in_one_sentence_that_the_disk_is_full(small_disk):
    env = environment(small_disk)
    manage("migrate", env=env)
    fill(small_disk)
    done = manage("judge", "Shall it?", env=env)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("No verdict: the ")
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_logging_on_a_full_disk_ends_no_engine(tmp_path):
    env = environment(tmp_path)
    pk = manage("judge", "--no-wait", "Shall it?", env=env).stdout.strip()
    with open("/dev/full", "wb") as full:
        engine = subprocess.Popen(
            [sys.executable, "manage.py", "runengine"], cwd=ROOT, env=env, stdout=full, stderr=full
        )
    with engine:
        database = sqlite3.connect(tmp_path / "magi.sqlite3")
        query = "SELECT status FROM engine_run WHERE id = ?"
        wait_until(lambda: database.execute(query, [pk.replace("-", "")]).fetchone() == ("finished",), "it is finished")
        engine.terminate()


def overwrite_index(file, name):
    """Its first page, as a failing disk might."""
    with sqlite3.connect(file) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        root, size = database.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", [name]).fetchone()[0], 4096
    database.close()
    with open(file, "r+b") as raw:
        raw.seek((root - 1) * size)
        raw.write(os.urandom(size))


@pytest.mark.slow
def test_a_damaged_page_of_an_index_is_said_by_doctor_readyz_and_commands(tmp_path):
    env = environment(tmp_path)
    judge("Shall it?", env=env)
    overwrite_index(tmp_path / "magi.sqlite3", "run_newest_first")
    doctor = manage("doctor", env=env)
    assert (doctor.returncode, "The database is damaged." in doctor.stdout) == (1, True)
    with ServedSite(tmp_path, "--no-engine") as site:
        assert ready(site) == (503, "the database is damaged")
    overwrite_index(tmp_path / "magi.sqlite3", "sqlite_autoindex_engine_run_1")
    done = manage("judge", "Shall it?", env=env)
    assert (done.returncode, "the database is damaged" in done.stderr, "Traceback" in done.stderr) == (2, True, False)


@pytest.mark.slow
def test_a_server_that_became_read_only_is_read_and_says_so(postgres_database, tmp_path):
    with ServedSite(tmp_path, "--no-engine", DATABASE_URL=postgres_database) as site:
        caller = CurlCaller(site, token_of(site))
        judgement = caller.submit()
        name = postgres_database.rpartition("/")[2]
        with psycopg.connect(postgres_database, autocommit=True) as server:
            server.execute(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on')
            server.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        wait_until(
            lambda: ready(site) == (503, "the database can only be read"), "readyz: the database can only be read"
        )
        assert caller.call("GET", judgement)[0] == 200
        status, problem = caller.call("POST", "/judgements", ASKED)
        assert (status, problem["detail"].split(".")[0]) == (503, "The database can only be read")
        done = manage("create_token", "admin", env=site.env)
        assert (done.returncode, done.stderr.count("\n")) == (69, 1), done.stderr
