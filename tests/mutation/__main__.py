"""Do the tests notice faults? Each of 60 is made in a copy of the tree, and the tests that reach its place are played.

    python -m tests.mutation --record      # once: play all tests, and keep which functions each reaches
    python -m tests.mutation               # all places; --only 3,17 for some of them

Without a record the tests of the package's folders are played instead. A fault counts as found when a test fails that
passes without it, or when nothing can start. Exit status 0 if each one was found.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .places import PLACES, MutationPlace
from .recorder import Map, around, instrument, write_map

ROOT = Path(__file__).parents[2]
RECORD = ROOT / "var/mutation/reached.jsonl"
STYLE = ("tests/test_architecture.py", "tests/test_templates.py")  # that they notice a fault is chance
FOLDERS = {
    "toolbox": "tests/toolbox tests/inquiries",
    "tools": "tests/tools tests/test_tampering.py",
    "static": "tests/acceptance/test_check.py",
}
NO_TESTS = 5  # exit status of pytest


@dataclass
class MutationResult:
    number: int
    place: MutationPlace
    by: str = ""  # the first test that failed
    why_not: str = "NOT FOUND"
    seconds: float = 0.0

    def __str__(self) -> str:
        return f"{self.number:3}  {self.place.path:36}  {self.seconds:4.0f} s  {self.by or self.why_not}"


class Copy:
    """The tree in a temporary folder, with what is not committed yet. Nothing is written to the tree itself."""

    def __init__(self, folder: Path) -> None:
        self.root, self._folder = folder / "tree", folder
        listed = _git(ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
        for name in filter(None, listed.split("\0")):
            if (ROOT / name).is_file():
                (self.root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, self.root / name)
        (self.root / ".venv").symlink_to((ROOT / ".venv").resolve())
        (folder / "tmp").mkdir()
        _git(self.root, "init", "--quiet")
        _git(self.root, "add", "--all")  # some tests ask git which files there are

    def play(self, *words: str, seconds: float | None = None, **env: Path) -> tuple[int | None, str]:
        """The exit status of pytest, None where its time was over, and the last line that it said."""
        about = {**os.environ, "TMPDIR": str(self._folder / "tmp"), **{name: str(path) for name, path in env.items()}}
        command = [self.root / ".venv/bin/python", "-m", "pytest", "-q", "-p", "no:cacheprovider", *words]
        with open(self._folder / "said", "w+") as said:
            playing = subprocess.Popen(
                command, cwd=self.root, env=about, stdout=said, stderr=subprocess.STDOUT, start_new_session=True
            )
            try:
                playing.wait(seconds)
            except subprocess.TimeoutExpired:
                os.killpg(playing.pid, signal.SIGKILL)
                playing.wait()
                return None, ""
            said.seek(0)
            return playing.returncode, next((line for line in said.read().split("\n")[::-1] if line.strip()), "")

    def failures(self, chosen: Sequence[str], *words: str, seconds: float) -> list[str] | None:
        """The ids of tests that failed; None where the time was over. `chosen`: none for all that are collected."""
        file, failed = self._folder / "chosen.json", self._folder / "failed"
        file.write_text(json.dumps(chosen))
        failed.write_text("")
        env = {"MAGI_MUTATION_CHOSEN": file, "MAGI_MUTATION_FAILED": failed}
        status, said = self.play("-p", "tests.mutation.chosen", *words, seconds=seconds, **env)
        if found := failed.read_text().splitlines():
            return found
        return None if status is None else [] if status in (0, NO_TESTS) else [f"pytest cannot begin: {said[:120]}"]


def _git(root: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=root, check=True, capture_output=True, text=True).stdout


def files_of(tests: Sequence[str]) -> list[str]:
    """Those that are there: ids of tests begin with them."""
    files = sorted({test.partition("::")[0] for test in tests})
    return [file for file in files if (ROOT / file).is_file() and file not in STYLE]


def tests_for(place: MutationPlace, record: Map | None, most: int) -> tuple[list[str], list[str]]:
    """The chosen tests, none for all, and the files or folders in which they stand."""
    if record and place.path.endswith(".py"):
        source = (ROOT / place.path).read_text()
        line = source[: source.index(place.text)].count("\n") + 1
        chosen = record.reaching(place.path, around(source, line), most)
        if files := files_of(chosen):
            return chosen, files
    package = place.path.split("/")[0]
    folders = FOLDERS.get(package, f"tests/{package} tests/contract").split()
    return [], [folder for folder in folders if (ROOT / folder).exists()]


def examine(copy: Copy, result: MutationResult, record: Map | None, options: argparse.Namespace) -> None:
    place, path = result.place, copy.root / result.place.path
    count = path.read_text().count(place.text) if path.exists() else 0
    if count != 1:
        result.why_not = f"place lost, choose it anew: its text is there {count} times"
        return
    began, (chosen, where) = time.monotonic(), tests_for(place, record, options.most)
    path.write_text(path.read_text().replace(place.text, place.faulty))
    try:
        failed = copy.failures(chosen, "-x", "-m", options.select, *where, seconds=options.timeout)
    finally:
        shutil.copy2(ROOT / place.path, path)
    result.seconds = time.monotonic() - began
    if failed:
        result.by = failed[0]
    elif failed is None:
        result.why_not = f"NOT FOUND within {options.timeout:g} s"


def leave_out_chance(copy: Copy, results: Sequence[MutationResult], options: argparse.Namespace) -> None:
    """A test that fails without any fault, too, has found none."""
    finders = [one.by for one in results if files_of([one.by])]
    if not finders:
        return
    failed = copy.failures(finders, "-m", options.select, *files_of(finders), seconds=options.timeout)
    for one in results:
        if one.by in (finders if failed is None else failed):
            one.by, one.why_not = "", f"NOT FOUND, for it fails without a fault, too: {one.by}"


def examine_all(folder: Path, options: argparse.Namespace) -> int:
    file = options.tests_of or (RECORD if RECORD.exists() else None)
    copy, record = Copy(folder), Map(file) if file else None
    wanted = {int(number) for number in options.only.split(",")} if options.only else range(len(PLACES) + 1)
    results = [MutationResult(number, place) for number, place in enumerate(PLACES, 1) if number in wanted]
    for one in results:
        examine(copy, one, record, options)
        print(one, flush=True)
    leave_out_chance(copy, results, options)
    print("\n" + "\n".join(f"{one}\n{'':5}{one.place.fault}" for one in results))
    found = sum(bool(one.by) for one in results)
    print(f"{found} of {len(results)} found")
    return 0 if found == len(results) else 1


def record_all(folder: Path, options: argparse.Namespace) -> int:
    copy = Copy(folder)
    names = instrument(copy.root)
    words = ("-n", str(options.workers), "--dist", "loadfile", "-m", options.select)
    _, said = copy.play("-p", "tests.mutation.recorder", *words)
    number = write_map(copy.root / "var/reached", names, RECORD)
    print(f"{said}\nWhat {number:,} tests reach of {len(names):,} functions is kept in {RECORD.relative_to(ROOT)}.")
    return 0 if number else 1


def main() -> int:
    parser = argparse.ArgumentParser("python -m tests.mutation", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--record", action="store_true", help="play all tests, and keep which functions each reaches")
    parser.add_argument("--only", default="", metavar="N,N", help="these places alone")
    parser.add_argument("--tests-of", type=Path, metavar="FILE", help="such a record, if not the one in var/")
    parser.add_argument("--most", type=int, default=400, help="tests that are played for one place (400)")
    parser.add_argument("--timeout", type=float, default=600, metavar="S", help="seconds for one place (600)")
    parser.add_argument("--select", default="not slow", metavar="MARKS", help="which tests may be played (not slow)")
    parser.add_argument("--workers", type=int, default=2, help="that record (2)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="magi-mutation-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)  # commands of missions run as another user, who has to pass it
        return (record_all if options.record else examine_all)(Path(folder), options)


if __name__ == "__main__":
    sys.exit(main())
