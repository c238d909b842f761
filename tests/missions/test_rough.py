"""Awkward, greedy and hostile programs, as `python -m tests.missions.rough` plays them in short."""

import pytest

from missions.sandbox.bwrap import available
from tests.acceptance.site import play
from tests.conftest import need


@pytest.mark.slow
def test_awkward_greedy_and_hostile_programs_come_to_their_end_and_the_site_answers(tmp_path):
    need("sandbox", not available(), available())
    done = play("tests.missions.rough", "--short", data=tmp_path, DJANGO_SETTINGS_MODULE="tests.settings")
    assert done.returncode == 0, done.stdout
