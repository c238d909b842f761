"""A week in which plans wait, in short. `python -m tests.plan_week` restarts more often."""

from tests.acceptance.site import play


def test_a_week_of_waiting_reminds_closes_and_goes_on_once_and_changes_nothing(tmp_path):
    done = play("tests.plan_week", "--restarts", "6", data=tmp_path, DJANGO_SETTINGS_MODULE="tests.moved_settings")
    assert done.returncode == 0, done.stdout
