from argparse import ArgumentParser
from functools import partial
from uuid import UUID

from django.core.management.base import CommandError

from engine import console
from engine.models import Run
from engine.run_control import RunEnded
from missions.models import writes
from runs.run_actions import apply_and_announce


class Command(console.ConsoleCommand):
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
            apply_and_announce(mission, partial(writes.abandon_mission, mission, "The command line"))
        except RunEnded as over:
            raise CommandError("It is over.") from over
        self.stdout.write(f"{run.host} was given up.")
