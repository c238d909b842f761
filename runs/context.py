"""What every page knows besides its own."""

from typing import Any

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from engine.models import Gate
from engine.models.gates import GateQuerySet, in_order

COUNTED_TO = 99


def waiting(request: HttpRequest) -> dict[str, Any]:
    """How many things wait for whoever looks, as the bar says it: nothing where nothing does, or where a request was
    refused before anybody was known."""
    return {"waits_for_me": SimpleLazyObject(lambda: counted(request.user) if hasattr(request, "user") else "")}


def counted(user: Any) -> str:
    """How many things wait for this person, as it is said."""
    if not user.is_authenticated:
        return ""
    return in_bar(as_said(first_of(in_order(Gate.objects.for_user(user)))))


def in_bar(number: str) -> str:
    return "" if number == "0" else number


def first_of(gates: GateQuerySet) -> int:
    """How many these are, as far as it is said: to count thousands would take as long as all else on a page, and so
    would to look for a hundred without the index that has them in their order."""
    return len(gates.values_list("pk", flat=True)[: COUNTED_TO + 1])


def as_said(number: int) -> str:
    return f"{COUNTED_TO}+" if number > COUNTED_TO else str(number)
