from typing import Any

from django.apps import AppConfig
from django.core import checks
from django.core.exceptions import ImproperlyConfigured


class EngineConfig(AppConfig):
    name = "engine"

    def ready(self) -> None:
        checks.register(_check_tools)


def _check_tools(**_: Any) -> list[checks.CheckMessage]:
    """Two tools of one name, or one that cannot be performed, stop the start of whatever serves or performs."""
    from .tools import own_tools

    try:
        own_tools()
    except ImproperlyConfigured as wrong:
        return [checks.Error(str(wrong), id="engine.E001")]
    return []
