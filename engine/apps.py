from typing import Any

from django.apps import AppConfig
from django.core import checks
from django.core.exceptions import FieldDoesNotExist, ImproperlyConfigured


class EngineConfig(AppConfig):
    name = "engine"

    def ready(self) -> None:
        checks.register(_check_tools)
        checks.register(_check_immutable)


def _check_tools(**_: Any) -> list[checks.CheckMessage]:
    """Two tools of one name, or one that cannot be performed, stop the start of whatever serves or performs."""
    from .tools import own_tools

    try:
        own_tools()
    except ImproperlyConfigured as wrong:
        return [checks.Error(str(wrong), id="engine.E001")]
    return []


def _check_immutable(**_: Any) -> list[checks.CheckMessage]:
    """Every model of an app with evidence says what may happen to its rows, and names fields that it has."""
    from .ledger import immutability

    found: list[checks.CheckMessage] = [
        checks.Error(
            f"{model._meta.label} does not declare what may happen to its rows.",
            hint="Write `immutable = Immutable()` with the fields that may change, or `immutable = None` if all may.",
            obj=model,
            id="engine.E002",
        )
        for model in immutability.undeclared_models()
    ]
    for model in immutability.guarded_models():
        try:
            immutability.table_of(model)
        except FieldDoesNotExist as error:
            found.append(checks.Error(f"`immutable` of {model._meta.label}: {error}.", obj=model, id="engine.E003"))
    return found
