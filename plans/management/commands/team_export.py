from argparse import ArgumentParser
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError

from engine import terminal
from plans.forms import team_named
from plans.team_files import written_as_file


class Command(terminal.Command):
    help = "Write a team as a file of JSON that team_import takes."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="of a team in the library, or its number")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            version = team_named(options["name"])
        except ValidationError as error:
            raise CommandError(error.messages[0]) from error
        self.stdout.write(written_as_file(version), ending="")
