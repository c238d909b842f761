"""Every test that opens the database, once more on PostgreSQL. `make test` plays it beside the others.

    python -m tests.on_postgresql [--workers 2] [what pytest is told]

Where no PostgreSQL listens it says so, and fails if MAGI_TEST_REQUIRE names postgres.
"""

import argparse
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.acceptance.site import ROOT, environment

ADDRESS = os.environ.get("MAGI_TEST_POSTGRES", "postgres://postgres@127.0.0.1:5432/postgres")
# enough on SQLite
ONCE = ["tests/acceptance", "tests/tools", *(str(file) for file in sorted(Path("tests").glob("test_*.py")))]
for both in ("tests/test_tampering.py", "tests/test_contract.py"):
    ONCE.remove(both)
NO_TESTS = 5  # what was chosen may all be on the other side


def listens() -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", 5432)) == 0


def main(workers: int, words: list[str]) -> int:
    if not listens():
        print("PostgreSQL: SKIPPED, none listens on port 5432")
        return int("postgres" in os.environ.get("MAGI_TEST_REQUIRE", "").split(","))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--durations", "5"]
    command += ["--numprocesses", str(workers), "--dist", "loadfile", "-m", "database and not alone"]
    command += [*(f"--ignore={path}" for path in ONCE), *words]
    with tempfile.TemporaryDirectory() as folder:
        # no test of these crashes the server: a commit need not wait for the disk
        env = environment(Path(folder), DATABASE_URL=ADDRESS, PGOPTIONS="-c synchronous_commit=off")
        done = subprocess.run(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print(f"\nPostgreSQL:\n{done.stdout}", flush=True)
    return 0 if done.returncode == NO_TESTS else done.returncode


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Repeat the database tests on PostgreSQL.")
    parser.add_argument("--workers", type=int, default=2)
    options, rest = parser.parse_known_args()
    sys.exit(main(options.workers, rest))
