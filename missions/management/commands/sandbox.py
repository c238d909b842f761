from argparse import ArgumentParser

from django.core.management.base import CommandError

from engine import terminal
from missions.probing import probed


class Command(terminal.Command):
    help = "Says whether commands can be held here; with --probe tries what a hostile program would. Exit 1 if not."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--probe", action="store_true", help="try what the sandbox keeps out")

    def handle(self, *, probe: bool, **options: object) -> None:
        holds, sentence = probed(tries=probe)
        if not holds:
            raise CommandError(sentence)
        self.stdout.write(sentence)
