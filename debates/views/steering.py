"""What people on the live page do to a debate. Without scripts a form comes back to the page that it was sent from."""

from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST

from engine.models.budgets import BudgetUsedUp
from runs.face import faces
from runs.forms import as_typed
from runs.rights import SEE, STEER, Right
from runs.views.finding import row_for

from .. import chair


@require_POST
def say(request: HttpRequest, pk: UUID) -> HttpResponse:
    posted = as_typed(request.POST)
    to, key, text = _seat(posted.get("to", "")), posted.get("key", ""), posted.get("text", "")
    do = partial(chair.say, pk, request.user, text, to=to, ask="ask" in posted, key=key)
    return _done(request, pk, STEER, do, text)


@require_POST
def steer(request: HttpRequest, pk: UUID) -> HttpResponse:
    posted = as_typed(request.POST)
    seat, amount = _seat(posted.get("member", "")), _seat(posted.get("amount", "")) or 0
    do = partial(chair.steer, pk, request.user, posted.get("kind", ""), seat=seat, amount=amount)
    return _done(request, pk, STEER, partial(do, key=posted.get("key", "")))


@require_POST
def withdraw(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Whoever sits there leaves; nobody else can."""
    posted = as_typed(request.POST)
    reasoning = posted.get("reasoning", "")
    do = partial(chair.withdraw, pk, request.user, posted.get("verdict", ""), reasoning, posted.get("key", ""))
    return _done(request, pk, SEE, do, reasoning)


def _seat(text: str) -> int | None:
    """None where it names none; a number that nobody sits on is refused like any other."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 5 else None


def _done(request: HttpRequest, pk: UUID, right: Right, do: Callable[[], Any], typed: str = "") -> HttpResponse:
    """Back to the debate; where it was refused, to why, with what was `typed`."""
    face = faces()["debate"]
    row_for(request, face, pk, right)
    try:
        do()
    except (chair.Refused, BudgetUsedUp) as refused:
        status = 402 if isinstance(refused, BudgetUsedUp) else 409
        context = {**face.page(pk), "reason": str(refused), "typed": typed}
        return render(request, "debates/refused.html", context, status=status)
    return redirect(face.page_name("live"), pk)
