from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

from runs.command import RunCommand
from runs.submissions import submit
from tests.checking.models import Check
from tests.checking.rules import Outcome


class Command(RunCommand[Check]):
    help = "Have a question answered and the answer checked."
    well = (Outcome.SOUND, Outcome.APPROVED)

    def add_own_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("question")

    def submit(self, options: dict[str, Any]) -> Check:
        models = {"writer": "rehearsal/instant", "checker": "rehearsal/instant"}
        return submit(Check.objects, owner=None, question=options["question"], **models)

    def begins(self, row: Check) -> Iterator[str]:
        yield f"Checking {row}."
