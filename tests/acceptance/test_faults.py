import re

import pytest

from engine import fault_injection
from tests.acceptance.site import ROOT, play
from tests.crash.fault_table import ACTIONS


@pytest.mark.slow
def test_a_worker_that_dies_at_any_point_costs_no_judgement(tmp_path):
    """What errs there is every kind's: tests/contract/."""
    done = play("tests.crash.fault_table", "--database", "sqlite", "--action", "exit", data=tmp_path)
    assert done.returncode == 0, done.stdout


def test_the_table_of_faults_has_every_point_and_every_action():
    text = (ROOT / "docs" / "faults.md").read_text()
    assert tuple(re.findall(r"^\| `([a-z-]+)`", text, re.MULTILINE)) == fault_injection.POINTS
    assert f"| fault point | {' | '.join(ACTIONS)} |" in text
