from typing import Any

from django.core.management.commands import migrate
from django.db import connections

from engine import console
from engine.db.empty_database import create_tables
from engine.ledger.immutability import install_all

PARTIAL = ("app_label", "plan", "check_unapplied", "fake", "fake_initial", "prune")


class Command(console.ConsoleCommand, migrate.Command):
    """Django's command, but in an empty database it creates all tables at once."""

    needs_tables = False

    def handle(self, *args: Any, **options: Any) -> None:
        connection = connections[options["database"]]
        if not any(options.get(name) for name in PARTIAL):
            create_tables(connection, install_all)
        super().handle(*args, **options)
