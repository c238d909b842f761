from argparse import ArgumentParser
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError

from engine import console
from plans.forms import find_team
from plans.team_files import team_file_text


class Command(console.ConsoleCommand):
    help = "Write a team as a file of JSON that team_import takes."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="of a team in the library, or its number")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            version = find_team(options["name"])
        except ValidationError as error:
            raise CommandError(error.messages[0]) from error
        self.stdout.write(team_file_text(version), ending="")
