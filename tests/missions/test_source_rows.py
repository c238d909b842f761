"""Each row of what the source of missions asks for has a test that is there, or a reason why it has none."""

import re
from pathlib import Path

from tests.acceptance.site import ROOT

ROWS = 202
FILE = Path(__file__).parent / "source_rows.txt"
SHOWN_OTHERWISE = {
    13: "the product runs on 3.11 and newer: the suite itself does",
    14: "requirements are locked, and installed by make; tests/test_architecture.py looks at the locks",
    15: "tests/engine/test_llm.py asks endpoints of each kind, for all procedures alike",
    67: "tests/missions/test_guards.py and the tool itself: a base version is required; no test has two writers yet",
    68: "as row 67",
    75: "one client of chat completions for all procedures: tests/engine/test_llm.py",
    84: "not built: calls of functions are not asked for, the structured answer is",
    146: "tests/magi_site looks at the environment; MAGI_DATA_DIR and MAGI_MISSIONS_DIR are documented",
    154: "credentials come from the environment alone, which tests/magi_site looks at",
    157: "the dump stands in the rows and the record; no file of that name is written",
    162: "tests/contract replays every kind of run to its last picture",
    196: "nothing is kept in scripts/",
    197: "a memory that says how to do something is one; there is nothing else of that name",
    198: "the lock has a newer one",
    199: "as row 154",
    200: "a small reader of our own, missions/memory_files.py, in its place",
    201: "the lock has it",
    202: "the lock of development has it",
}


def named():
    """Rows, file and test of each line."""
    lines = [line.split(" ") for line in FILE.read_text().splitlines() if not line.startswith("#")]
    return [([*rows_in(rows)], ROOT / "tests" / file, test) for rows, file, test in lines]


def rows_in(text):
    for part in text.split(","):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


def test_each_test_that_shows_a_row_is_there():
    there = {file: set(re.findall(r"^(?:async )?def test_(\w+)", file.read_text(), re.M)) for _, file, _ in named()}
    assert [(file.name, test) for _, file, test in named() if test not in there[file]] == []


def test_no_row_is_left_out():
    shown = {row for rows, _, _ in named() for row in rows}
    assert shown | set(SHOWN_OTHERWISE) == set(range(1, ROWS + 1))
    assert not shown & set(SHOWN_OTHERWISE)
