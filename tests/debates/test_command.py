"""With which status `manage.py debate` ends."""

from debates.management.commands.debate import Command
from engine.models import Run


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
