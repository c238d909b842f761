"""A week in which plans wait, in short. `python -m tests.load.plan_week` restarts more often."""

import pytest

from tests.acceptance.site import play


@pytest.mark.slow
def test_a_week_of_waiting_reminds_closes_and_goes_on_once_and_changes_nothing(tmp_path):
    done = play("tests.load.plan_week", "--restarts", "6", data=tmp_path, DJANGO_SETTINGS_MODULE="tests.moved_settings")
    assert done.returncode == 0, done.stdout
