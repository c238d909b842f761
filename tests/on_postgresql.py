"""Tests that open the database, once more on PostgreSQL. `make test` plays it beside the others.

    python -m tests.on_postgresql [--workers 1] [--all | --choose] [what pytest is told]

It plays those that are chosen (`tests/chosen.py`); with --all every one, with --choose the same, and chooses anew.

Where no PostgreSQL listens it says so, and fails if MAGI_TEST_REQUIRE names postgres.
"""

import argparse
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from tests import chosen
from tests.acceptance.site import ROOT, environment

ADDRESS = os.environ.get("MAGI_TEST_POSTGRES", "postgres://postgres@127.0.0.1:5432/postgres")
# enough on SQLite: what starts processes with databases of their own, and what an attacker would send
ONCE = [
    "tests/acceptance",
    "tests/tools",
    "tests/debates/test_tampering.py",
    "tests/inquiries/test_columns.py",
    "tests/plans/test_columns.py",
    *map(str, Path("tests").glob("test_*.py")),
]
NO_TESTS = 5  # what was chosen may all be on the other side


def listens() -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", 5432)) == 0


def main(options: argparse.Namespace, words: list[str]) -> int:
    if not listens():
        print("PostgreSQL: SKIPPED, none listens on port 5432")
        return int("postgres" in os.environ.get("MAGI_TEST_REQUIRE", "").split(","))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "tests.chosen", "--durations", "5"]
    command += ["-p", "tests.sent"] if options.choose else []
    command += ["--numprocesses", str(options.workers), "--dist", "loadfile", "-m", "database and not alone"]
    command += [*(f"--ignore={path}" for path in ONCE), *words]
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as notes:
        # no test of these crashes the server: a commit need not wait for the disk
        env = environment(Path(folder), DATABASE_URL=ADDRESS, PGOPTIONS="-c synchronous_commit=off")
        env |= {chosen.NOTES: notes} if options.choose else {} if options.everything else {chosen.CHOSEN: "1"}
        done = subprocess.run(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if options.choose and done.returncode == 0:
            chosen.CHOICE.write_text(chosen.choose(Path(notes)))
    print(f"\nPostgreSQL:\n{done.stdout}", flush=True)
    return 0 if done.returncode == NO_TESTS else done.returncode


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Repeat the database tests on PostgreSQL.")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--all", action="store_true", dest="everything")
    parser.add_argument("--choose", action="store_true")
    options, rest = parser.parse_known_args()
    sys.exit(main(options, rest))
