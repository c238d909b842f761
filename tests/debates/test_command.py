"""With which status and word `manage.py debate` ends."""

import pytest
from django.contrib.auth.models import User

from debates.history import prefetch_for_table, table_columns
from debates.management.commands.debate import Command
from engine.models import Run
from runs.run_object import run_object
from tests.debates.scenes import undecided


def ended(status, outcome=None):
    return Run(procedure="debate", status=status, outcome=outcome)


ENDS = (
    (ended("finished", "HIRE"), "", 0),
    (ended("finished", "HIRE"), "HIRE", 0),
    (ended("finished", "WAIT"), "HIRE", 1),
    (ended("finished", "no_decision"), "", 2),
    (ended("finished", "no_decision"), "HIRE", 2),
    (ended("failed"), "", 2),
    (ended("cancelled"), "HIRE", 2),
    (ended("waiting"), "HIRE", 3),
)


def test_the_status_says_what_came_of_it():
    for run, expected, status in ENDS:
        command = Command()
        command.expected = expected
        assert command._status(run) == status, (run.status, run.outcome, expected)


@pytest.mark.django_db
def test_people_read_words_where_programs_read_codes(mira: User):
    row = undecided(mira).row
    asked, came = table_columns(prefetch_for_table().get(pk=row.pk))
    assert asked[3:] == ["Majority of all"]
    assert came[:2] == ["HIRE ON CONDITIONS has 2 of 5, and 3 are needed.", "Closed by the chair."]
    told = run_object(row, "https://magi.example")
    assert [told[name] for name in ("outcome", "rule", "no_decision", "because")] == [
        "no_decision",
        "majority",
        "too_few",
        "closed",
    ]
    assert Command().word(row) == "no decision"
