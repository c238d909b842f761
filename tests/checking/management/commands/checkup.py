from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

from runs.run_command import RunCommand
from runs.submissions import submit_run
from tests.checking.models import Check
from tests.checking.rules import CheckingOutcome


class Command(RunCommand[Check]):
    help = "Have a question answered and the answer checked."
    well = (CheckingOutcome.SOUND, CheckingOutcome.APPROVED)

    def add_own_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("question")

    def submit(self, options: dict[str, Any]) -> Check:
        models = {"writer": "rehearsal/instant", "checker": "rehearsal/instant"}
        return submit_run(Check.objects, owner=None, question=options["question"], **models)

    def report_start(self, row: Check) -> Iterator[str]:
        yield f"Checking {row}."
