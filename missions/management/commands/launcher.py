import asyncio
import contextlib
from argparse import ArgumentParser

from django.core.management.base import CommandError

from engine import console
from missions import workspace
from missions.sandbox_selftest import run_sandbox_probe
from missions.terminals.launcher import Launcher, LauncherServer


class Command(console.ConsoleCommand):
    needs_tables = False
    help = (
        "Begins the commands of missions, for engines that may be another user. It holds nothing: to end it ends none."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--user", type=int, action="append", default=[], help="the number of a user who may ask, too"
        )

    def handle(self, *, user: list[int], **options: object) -> None:
        found = run_sandbox_probe()
        if not found.holds:
            raise CommandError(found.sentence)
        self.stdout.write(found.sentence)
        address = workspace.missions_folder() / workspace.SOCKET
        self.stdout.write(f"Commands are begun at {address}.")
        self.stdout.flush()
        with contextlib.suppress(KeyboardInterrupt):
            asyncio.run(LauncherServer(Launcher(workspace.missions_folder()), frozenset(user)).serve(address))
