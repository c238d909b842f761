from typing import Any

from django.apps import AppConfig
from django.contrib.admin.apps import SimpleAdminConfig
from django.core import checks
from django.db import connections
from django.db.models.signals import post_migrate, pre_migrate


class MagiSiteConfig(AppConfig):
    default = True  # this module has two configs; without a default Django would use neither
    name = "magi_site"
    verbose_name = "API"

    def ready(self) -> None:
        pre_migrate.connect(_remove_triggers, sender=self)
        post_migrate.connect(_install_triggers, sender=self)


class AdminConfig(SimpleAdminConfig):
    """Django's admin without autodiscovery at start: `urls.py` does it, so commands without pages start faster."""

    default = False

    def ready(self) -> None:
        checks.register(_check_admin, checks.Tags.admin)


def _check_admin(**kwargs: Any) -> list[checks.CheckMessage]:
    from django.contrib import admin
    from django.contrib.admin.checks import check_admin_app, check_dependencies

    admin.autodiscover()
    return [*check_dependencies(**kwargs), *check_admin_app(**kwargs)]


def _remove_triggers(*, using: str, plan: Any = None, **_: Any) -> None:
    """PostgreSQL changes no column that a trigger names, and SQLite loses triggers with the table that it copies."""
    from engine.ledger import immutability

    tables = connections[using].introspection.table_names()
    if plan and tables:
        guards = [guard for guard in immutability.all_guards() if guard.table in tables]
        immutability.remove_triggers(connections[using], guards)


def _install_triggers(*, using: str, plan: Any = None, **_: Any) -> None:
    """Triggers of evidence, and that of tokens, which a migration of Django's own would remove with its table."""
    from engine.ledger import immutability, trigger_check

    from . import token_triggers

    # a flush sends this signal too, without a plan; after a migrate that was cut short the next one has nothing to do
    if plan or (plan is not None and trigger_check.trigger_problems(connections[using])):
        immutability.install_all(connections[using])
    token_triggers.install_if_missing(connections[using])
