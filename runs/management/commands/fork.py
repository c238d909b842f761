from argparse import ArgumentParser
from typing import Any
from uuid import UUID

from django.core.management.base import CommandError

from engine import console
from engine.models import Run
from engine.models.budgets import BudgetExceeded
from runs import forking
from runs.forking import ForkEffects, ForkRefused, NoForkPoint, WrongForm
from runs.procedure.spec import spec_of_run
from runs.run_command import USAGE
from runs.site_url import address

from .gates import named


class Command(console.ConsoleCommand):
    help = (
        "Go on from a step or message of a run, as another run. Exit status: 0 it was queued, 1 it was refused, 64 bad "
        "usage."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("run", type=UUID, metavar="RUN")
        parser.add_argument("--at", required=True, metavar="N", help="the number of the step or message, from 1")
        parser.add_argument("--words", default="", help="said first in the new run")
        parser.add_argument("--spend", metavar="MONEY", help="dollars at most, as in 3.00 (default: as the origin)")
        parser.add_argument("--by", default="", metavar="USER", help="whose it is")
        parser.add_argument("--preview", action="store_true", help="say what would be left behind, and start nothing")

    def handle(self, *, run: UUID, at: str, by: str, preview: bool, **options: Any) -> None:
        found = Run.objects.filter(pk=run).first()
        if found is None:
            raise CommandError(f"There is no run {run}.", returncode=USAGE)
        row = spec_of_run(found).rows().get(pk=run)
        try:
            number = forking.number_of(at)
            if preview:
                self._show(forking.preview(row, number))
                return
            said = {"words": options["words"], "spend": options["spend"]}
            made = forking.fork(row, number, owner=named(by) if by else None, **said)
        except (NoForkPoint, WrongForm) as wrong:
            raise CommandError(str(wrong), returncode=USAGE) from wrong
        except (ForkRefused, BudgetExceeded) as refused:
            raise CommandError(str(refused)) from refused
        self.stdout.write(f"{made.pk}\n{address()}{spec_of_run(found).address('live', made.pk)}")

    def _show(self, shown: ForkEffects) -> None:
        self.stdout.write(f"A fork after {shown.place} leaves behind:")
        for part in shown.undone:
            self.stdout.write(f"{part.title}:" if part.lines else f"{part.title}: {part.none}")
            for line in part.lines:
                self.stdout.write(f"  {line}")
        for part in shown.stays:
            self.stdout.write(f"{part.title} stay: {', '.join(part.lines) or part.none}")
        for note in shown.notes:
            self.stdout.write(note)
