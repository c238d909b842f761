"""Play each test that has failed once more, by itself. A test that passes then is flaky: a fault that must be mended.

    python -m tests.again [what pytest is told]

It reads what the last `make test` left in .pytest_cache, and ends with 1 if a test fails again or none was noted.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# where each part of `make test` notes its failures, and what it was told beside (Makefile)
PARTS = {
    ".pytest_cache/sqlite": {},
    ".pytest_cache/postgresql": {"DATABASE_URL": "postgres://postgres@127.0.0.1:5432/postgres"},
}
MOST = 20  # so many failures are no chance: they are not played again


def failures(cache: Path) -> list[str]:
    noted = cache / "v/cache/lastfailed"
    return list(json.loads(noted.read_text())) if noted.exists() else []


def passes(test: str, words: list[str], more: dict[str, str]) -> bool:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words, test]
    return subprocess.run(command, cwd=ROOT, env={**os.environ, **more}).returncode == 0


def main(words: list[str]) -> int:
    found = [(test, more) for part, more in PARTS.items() for test in failures(ROOT / part)]
    if not found or len(found) > MOST:
        print(f"{len(found)} failures are noted, none is played again")
        return 1
    again = {test: passes(test, words, more) for test, more in found}
    for test, passed in again.items():
        print(f"{'FLAKY' if passed else 'FAILED TWICE'} {test}")
    return 0 if all(again.values()) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
