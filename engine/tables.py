"""The tables are what the code takes them for. Most starts find them so, and need not read all migrations for that."""

from pathlib import Path
from pkgutil import iter_modules

from django.apps import apps
from django.core.management import call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder


def migrate() -> None:
    if not are_up_to_date():
        call_command("migrate", verbosity=0)


def are_up_to_date() -> bool:
    """Whether every migration that there is was made. By their names alone: Django reads each, and then looks for the
    permissions of all tables besides, which takes longer than everything else at a start."""
    return _there() <= MigrationRecorder(connection).applied_migrations().keys()


def _there() -> set[tuple[str, str]]:
    found = ((app.label, iter_modules([str(Path(app.path) / "migrations")])) for app in apps.get_app_configs())
    return {(label, module.name) for label, modules in found for module in modules if module.name[0] not in "_~"}
