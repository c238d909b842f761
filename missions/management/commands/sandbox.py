from argparse import ArgumentParser

from django.core.management.base import CommandError

from engine import console
from missions.sandbox_selftest import probe_result, report_landlock


class Command(console.ConsoleCommand):
    needs_tables = False
    help = (
        "Says whether commands can be held here; with --probe tries what a hostile program would, also against what "
        "Landlock would hold, which is only told. Exit 1 if not."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--probe", action="store_true", help="try what the sandbox keeps out")

    def handle(self, *, probe: bool, **options: object) -> None:
        holds, sentence = probe_result(tries=probe)
        if probe:
            self.stdout.write(report_landlock())
        if not holds:
            raise CommandError(sentence)
        self.stdout.write(sentence)
