"""Lists of what is saved to be used again, in short or whole, and one of them at an address of its own."""

from collections.abc import Callable, Iterable
from typing import Any

from django.core.exceptions import ValidationError
from django.http import HttpResponse

from runs.forms import parse_number
from runs.presets import Preset
from runs.presets.forms import preset_named

from ..procedure.schemas import SoughtSaved
from .responses import json_response, not_found

ToObject = Callable[[Any], dict[str, Any]]


def list_answer(asked: SoughtSaved, rows: Iterable[Any], *, short: ToObject, whole: ToObject) -> HttpResponse:
    return json_response({"results": list(map(whole if asked.full else short, rows))})


def saved_one(model: type[Preset], which: str) -> Any:
    """One that is offered; a name is taken before an id."""
    for one in (which, parse_number(which)):
        try:
            return preset_named(model, one)
        except ValidationError:
            continue
    raise not_found(str(model._meta.model_name))


def part(found: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: found[name] for name in names}
