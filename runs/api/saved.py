"""Lists of presets, short or in full, and single presets at their own address."""

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
    """Return an available preset; a name takes precedence over an id. Raises ApiError."""
    for one in (which, parse_number(which)):
        try:
            return preset_named(model, one)
        except ValidationError:
            continue
    raise not_found(str(model._meta.model_name))


def part(found: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: found[name] for name in names}
