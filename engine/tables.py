"""The tables are what the code takes them for. Most starts find them so, and need not read all migrations for that."""

from pathlib import Path
from pkgutil import iter_modules

from django.apps import apps
from django.core.management import call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from .database_errors import DatabaseProblem

MISSING = DatabaseProblem(
    "the database has not the tables that this version needs", "Run manage.py migrate, then this again."
)
# "no such table" and "no such column" of SQLite have no code of their own
UNDEFINED = ("42P01", "42703")  # undefined_table and undefined_column of PostgreSQL


def migrate() -> None:
    if not are_up_to_date():
        call_command("migrate", verbosity=0)


def are_up_to_date() -> bool:
    """Whether every migration that there is was made. By their names alone: Django reads each, and then looks for the
    permissions of all tables besides, which takes longer than everything else at a start."""
    return _there() <= MigrationRecorder(connection).applied_migrations().keys()


def are_missing() -> bool:
    """Whether nothing was ever migrated. One query, of a database that answers."""
    return not MigrationRecorder(connection).applied_migrations()


def lacking(error: BaseException) -> DatabaseProblem | None:
    """MISSING where this error of a statement comes of a migration that was not made; None for all others."""
    cause = error.__cause__
    undefined = getattr(cause, "sqlstate", "") in UNDEFINED or str(cause).startswith(
        ("no such table", "no such column")
    )
    return MISSING if undefined and not are_up_to_date() else None


def _there() -> set[tuple[str, str]]:
    found = ((app.label, iter_modules([str(Path(app.path) / "migrations")])) for app in apps.get_app_configs())
    return {(label, module.name) for label, modules in found for module in modules if module.name[0] not in "_~"}
