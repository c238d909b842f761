"""One of the ten small goals, twice: `python -m tests.missions.goals` reaches all of them, three times each."""

import pytest
from django.contrib.auth.models import User

from engine.audit.full_verification import verify_all
from missions import workspace
from tests.conftest import need
from tests.missions.goals import GOALS, plain, wrong

CONFLICT = next(one for one in GOALS if one.name == "conflict")


@pytest.mark.django_db
def test_a_goal_is_reached_with_the_same_rows_each_time(mira: User):
    need("sandbox", not workspace.missing_programs(), workspace.missing_programs())
    assert wrong(CONFLICT, mira, times=2) == []
    assert verify_all().faults == []


def test_only_how_long_something_took_is_left_out_of_what_is_compared():
    assert plain('{"exit_code": 1, "seconds": 0.25} Ran 1 test in 0.003s') == plain(
        '{"exit_code": 1, "seconds": 7} Ran 1 test in 1.2s'
    )
    assert plain('{"exit_code": 1}') != plain('{"exit_code": 2}')
