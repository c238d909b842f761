"""Lists of what is saved to be used again, in short or whole, and one of them at an address of its own."""

from collections.abc import Callable, Iterable
from typing import Any

from django.core.exceptions import ValidationError
from django.http import HttpResponse

from runs.forms import as_number
from runs.saved import Saved
from runs.saved.forms import named

from .answers import json_answer, missing
from .schemas import SoughtSaved

ToObject = Callable[[Any], dict[str, Any]]


def list_answer(asked: SoughtSaved, rows: Iterable[Any], *, short: ToObject, whole: ToObject) -> HttpResponse:
    return json_answer({"results": list(map(whole if asked.full else short, rows))})


def saved_one(model: type[Saved], which: str) -> Any:
    """One that is offered; a name is taken before an id."""
    for one in (which, as_number(which)):
        try:
            return named(model, one)
        except ValidationError:
            continue
    raise missing(str(model._meta.model_name))


def part(found: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: found[name] for name in names}
