from typing import Any

from django.core.management.commands import migrate
from django.db import connections

from engine import console
from engine.founding import found

NOT_ALL = ("app_label", "plan", "check_unapplied", "fake", "fake_initial", "prune")


class Command(console.ConsoleCommand, migrate.Command):
    """Django's own, but for a database in which there is nothing yet: that one is founded."""

    needs_tables = False

    def handle(self, *args: Any, **options: Any) -> None:
        if not any(options.get(name) for name in NOT_ALL):
            found(connections[options["database"]])
        super().handle(*args, **options)
