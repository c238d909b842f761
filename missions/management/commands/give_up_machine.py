from argparse import ArgumentParser
from functools import partial
from uuid import UUID

from django.core.management.base import CommandError

from engine import terminal
from engine.models import Run
from engine.steering import Over
from missions.models import keeping
from runs.steering import act


class Command(terminal.Command):
    help = (
        "Let a mission go on elsewhere, when the machine with its workspace does not come back: its commands are cut, "
        "and it begins from the files that are kept."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("mission", type=UUID)

    def handle(self, *, mission: UUID, **options: object) -> None:
        run = Run.objects.filter(pk=mission, procedure="mission").exclude(host="").first()
        if run is None:
            raise CommandError("There is no such mission, or it is bound to no machine.")
        if Run.objects.in_progress().filter(pk=mission).exists():
            raise CommandError(f"An engine on {run.host} works on it.")
        try:
            act(mission, partial(keeping.give_up, mission, "The command line"))
        except Over as over:
            raise CommandError("It is over.") from over
        self.stdout.write(f"{run.host} was given up.")
