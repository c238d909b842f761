"""Play all that there is, one part after the other to the end, and print what came of each in one table.

    python -m tests.all [--only NAME ...] [--list]

It takes about an hour on two cores with nothing beside. Exit status 1 if a part failed.
"""

import argparse
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "var" / "test-all"
POSTGRES = os.environ.get("MAGI_TEST_POSTGRES", "postgres://postgres@127.0.0.1:5432/postgres")
PYTEST = "-m pytest --dist loadfile --no-loadscope-reorder --durations 25 --numprocesses"
ON_POSTGRESQL = (
    "--ignore=tests/acceptance --ignore=tests/tools --ignore=tests/load --ignore=tests/crash --ignore=tests/real"
)
CLOSING = re.compile(r"(\d+ (?:passed|failed|skipped|errors?)[^=]*?) in [\d.]+s")
PARTS = {
    "every test": f"{PYTEST} 3 --ignore=tests/load --ignore=tests/real",
    "all of it on PostgreSQL": f"{PYTEST} 3 -m database {ON_POSTGRESQL}",
    "floods and limits of time": "-m pytest tests/load --durations 25",
    "a real model": "-m pytest tests/real -m real --durations 10",
    "kills of engines": "-m tests.crash.chaos --kills 50 --pauses 10",
    "kills on PostgreSQL": "-m tests.crash.chaos --kills 50 --pauses 10 --database postgres",
    "a run that kills": "-m tests.crash.kill suspect --kills 20",
    "kills of debates": "-m tests.crash.kill debate --kills 20",
    "kills of inquiries": "-m tests.crash.kill inquiry --kills 20",
    "kills of plans": "-m tests.crash.kill plan --kills 20",
    "kills of missions": "-m tests.crash.kill mission --kills 20",
    "kills behind gates": "-m tests.crash.kill caller --kills 20",
    "kills of tools": "-m tests.crash.kill tool --kills 20",
    "kills of a site": "-m tests.crash.kill submission --kills 20",
    "races for a run": "-m tests.crash.race run --database postgres",
    "races at gates": "-m tests.crash.race gate --database postgres",
    "races of parking": "-m tests.crash.race wait --database postgres",
    "races of plans": "-m tests.crash.race plan --database postgres",
    "comparisons turned round": "-m tests.turned_round",
    "what a judgement costs": "-m tests.bench --short",
}


@dataclass
class PartOutcome:
    part: str
    seconds: float
    status: int
    said: str  # pytest's closing line, or the last that a script wrote

    def __str__(self) -> str:
        result = "passed" if self.status == 0 else f"FAILED ({self.status})"
        return f"| {self.part:<26} | {result:<12} | {self.seconds / 60:5.1f} min | {self.said} |"


def play(part: str, words: str) -> PartOutcome:
    """Its output goes to a file of its own and is shown as it comes."""
    env = {**os.environ, "MAGI_TEST_EVERYTHING": "1"}
    if "PostgreSQL" in part and "pytest" in words:
        env |= {"DATABASE_URL": POSTGRES, "PGOPTIONS": "-c synchronous_commit=off"}
    began, kept = time.monotonic(), FOLDER / f"{part.replace(' ', '-')}.txt"
    print(f"\n== {part}: python {words}", flush=True)
    command = [sys.executable, *words.split()]
    with (
        kept.open("w") as file,
        subprocess.Popen(
            command, cwd=ROOT, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        ) as process,
    ):
        for line in process.stdout or ():
            file.write(line)
            print(line, end="", flush=True)
    return PartOutcome(part, time.monotonic() - began, process.returncode, closing(kept.read_text()))


def closing(text: str) -> str:
    found = CLOSING.findall(text)
    lines = [line for line in text.splitlines() if line.strip()]
    return found[-1] if found else (lines[-1][:100] if lines else "it said nothing")


def main() -> int:
    parser = argparse.ArgumentParser(description="Play every test, script and measurement, and print one table.")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), metavar="NAME")
    parser.add_argument("--list", action="store_true", help="say what there is")
    options = parser.parse_args()
    if options.list:
        print(*(f"{part:<28} python {words}" for part, words in PARTS.items()), sep="\n")
        return 0
    FOLDER.mkdir(parents=True, exist_ok=True)
    outcomes = [play(part, PARTS[part]) for part in options.only]
    print("", *outcomes, sep="\n")
    return int(any(one.status for one in outcomes))


if __name__ == "__main__":
    sys.exit(main())
