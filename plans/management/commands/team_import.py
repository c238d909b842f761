import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from django.db import IntegrityError

from engine import console, tables
from engine.decoding import UnknownEncoding, decoded
from engine.plurals import counted
from plans import team_files
from plans.models import Team
from runs.presets import NameReserved


class Command(console.ConsoleCommand):
    help = "Make a team of a file of JSON, or another version of the one that has its name."
    needs_tables = False  # this command migrates: importing a team may be the first thing that is done

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", help="as team_export writes it; - for standard input")

    def handle(self, *args: Any, **options: Any) -> None:
        tables.migrate()
        try:
            team = team_files.parse_team_file(_text_of(options["file"]))
        except team_files.InvalidTeamFile as wrong:
            raise CommandError(str(wrong)) from wrong
        for sentence in team.left_out:
            self.stderr.write(f"Left out: {sentence}")
        existing = Team.objects.filter(name=team.name).first()
        if len(Team.objects.ever_called(team.name)) > 1:
            raise CommandError(
                f"More than one team has been called {team.name}. Change the one that is meant by its id."
            )
        if existing and existing.archived:
            raise CommandError(f"The team {team.name} is archived. Bring it back, or name yours otherwise.")
        try:
            if existing:
                version = existing.revise(name=team.name, author=None, **team.held)
            else:
                version = Team.objects.create_first(name=team.name, owner=None, **team.held).current
        except NameReserved as reserved:
            raise CommandError(str(reserved)) from reserved
        except IntegrityError as error:
            raise CommandError(f"Another team has the name {team.name}, or one that looks like it.") from error
        self.stdout.write(
            f"{version.name}, version {version.number}, with {counted(len(team.held['agents']), 'agent')}."
        )


def _text_of(file: str) -> str:
    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        return decoded(data).text
    except OSError as error:
        raise CommandError(f"{file} cannot be read: {error.strerror}.") from error
    except UnknownEncoding as error:
        raise CommandError(f"{file} {error}") from error
