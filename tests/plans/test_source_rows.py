"""Each row of what the source of plans asks for has a test that is there, or a reason why it has none."""

import re
from pathlib import Path

from tests.acceptance.site import ROOT

ROWS = 189
FILE = Path(__file__).parent / "source_rows.txt"
SHOWN_OTHERWISE = {
    152: "the suite is repeated on PostgreSQL by tests/on_postgresql.py",
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
