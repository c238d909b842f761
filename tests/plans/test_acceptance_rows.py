"""Each point that plans have to stand is shown by a test that is there, or by a command that is."""

import re
from importlib.util import find_spec
from pathlib import Path

from tests.acceptance.site import ROOT

POINTS = 13
FILE = Path(__file__).parent / "acceptance_rows.txt"
SHOWN_BY_NOTHING_HERE = {
    9: "the cases by hand with a real model: no provider is at hand where this is built",
    13: "that somebody who has never seen the code does it in 30 minutes",
}


def rows():
    """Point and what shows it."""
    for line in FILE.read_text().splitlines():
        if not line.startswith("#"):
            claim, _, shown_by = line.partition("|")
            yield int(claim.split(" ")[0]), shown_by.split(" ")


def is_there(shown_by):
    if shown_by[:2] == ["python", "-m"]:
        return find_spec(shown_by[2]) is not None
    file, test = shown_by
    return re.search(rf"^(?:async )?def test_{test}\(", (ROOT / "tests" / file).read_text(), re.M) is not None


def test_each_point_is_shown_by_something_that_is_there():
    assert [" ".join(shown_by) for _, shown_by in rows() if not is_there(shown_by)] == []
    assert {point for point, _ in rows()} == set(range(1, POINTS + 1)) >= set(SHOWN_BY_NOTHING_HERE)
