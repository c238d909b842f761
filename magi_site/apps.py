from typing import Any

from django.apps import AppConfig
from django.db import connections
from django.db.models.signals import post_migrate


class MagiSiteConfig(AppConfig):
    name = "magi_site"
    verbose_name = "API"

    def ready(self) -> None:
        post_migrate.connect(_put_up_again, sender=self)


def _put_up_again(*, using: str, **_: Any) -> None:
    """A migration of Django's own that makes the table of accounts anew would take the trigger on it away."""
    from . import ended_tokens

    ended_tokens.install_where_it_is_gone(connections[using])
