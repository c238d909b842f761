"""Tests that open the database, once more on PostgreSQL. `make test` plays it beside the others.

    python -m tests.on_postgresql [--workers 2] [--all] [what pytest is told]

Without --all it leaves out those to which the database is only where something to show comes from: files that are
named here, and what is marked `anywhere`.

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
# with --all: what has rows only to show them, or to compute with them in Python; and what has them kept by code that
# others here have kept, too: tools of others by that of all tools (engine/tools/test_use), what another planner's
# programs call by that of gates and plans (engine/test_gates, plans/test_procedure), critics by that of inquiries
SHOWN = {
    "debates": "accounts again analysis answers command cut display documents doors doubts endpoints ends evidence "
    "facts floor forms new notes offline outcome panel_pages perspective pushes record rehearsal replay steering "
    "strict_servers tampering traces turn unfolding",
    "judgements": "admin again changes council_evidence council_rights display endpoints evidence example feed_halts "
    "forms hidden_characters live names new record rehearsal replay rights stamps views",
    "inquiries": "columns critics offline web",
    "contract": "in_admin",
    "magi_site": "access api_docs encodings error_pages providers start static token_pages tokens",
    "runs": "admin_kinds admin_page amendments asked_often councils fragments gates listing looks outbox places "
    "review_record told tools_page usual",
    "engine": "admin councils doctor llm verify_record",
    "plans": "approved_letter asked_seldom automation automation_deciding automation_events automation_talking "
    "course endpoints injected live_page moves new offline own_tool planner reference_cases team_endpoints "
    "team_files team_form team_pages tools_of_others",
    "engine/mcp": "arguments doors http sessions",
    "engine/tools": "of_others",
}
NO_TESTS = 5  # what was chosen may all be on the other side


def listens() -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", 5432)) == 0


def main(workers: int, everything: bool, words: list[str]) -> int:
    if not listens():
        print("PostgreSQL: SKIPPED, none listens on port 5432")
        return int("postgres" in os.environ.get("MAGI_TEST_REQUIRE", "").split(","))
    shown = [f"tests/{room}/test_{name}.py" for room, names in SHOWN.items() for name in names.split()]
    left_out = ONCE + ([] if everything else shown)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--durations", "5"]
    chosen = "database and not alone" + ("" if everything else " and not anywhere")
    command += ["--numprocesses", str(workers), "--dist", "loadfile", "-m", chosen]
    command += [*(f"--ignore={path}" for path in left_out), *words]
    with tempfile.TemporaryDirectory() as folder:
        # no test of these crashes the server: a commit need not wait for the disk
        env = environment(Path(folder), DATABASE_URL=ADDRESS, PGOPTIONS="-c synchronous_commit=off")
        done = subprocess.run(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print(f"\nPostgreSQL:\n{done.stdout}", flush=True)
    return 0 if done.returncode == NO_TESTS else done.returncode


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Repeat the database tests on PostgreSQL.")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--all", action="store_true", dest="everything")
    options, rest = parser.parse_known_args()
    sys.exit(main(options.workers, options.everything, rest))
