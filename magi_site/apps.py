from typing import Any

from django.apps import AppConfig
from django.contrib.admin.apps import SimpleAdminConfig
from django.core import checks
from django.db import connections
from django.db.models.signals import post_migrate


class MagiSiteConfig(AppConfig):
    default = True  # of the several here, which Django would otherwise pass over
    name = "magi_site"
    verbose_name = "API"

    def ready(self) -> None:
        post_migrate.connect(_put_up_again, sender=self)


class AdminConfig(SimpleAdminConfig):
    """Django's own, whose pages are found with all others (`urls.py`): a command that shows none does without."""

    default = False

    def ready(self) -> None:
        checks.register(_check_admin, checks.Tags.admin)


def _check_admin(**asked: Any) -> list[checks.CheckMessage]:
    from django.contrib import admin
    from django.contrib.admin.checks import check_admin_app, check_dependencies

    admin.autodiscover()
    return [*check_dependencies(**asked), *check_admin_app(**asked)]


def _put_up_again(*, using: str, **_: Any) -> None:
    """A migration of Django's own that makes the table of accounts anew would take the trigger on it away."""
    from . import token_triggers

    token_triggers.install_if_missing(connections[using])
