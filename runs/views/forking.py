"""The page that previews and starts a fork. It works without scripts."""

from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from engine.llm.pricing import to_decimal
from engine.models.budgets import BudgetExceeded
from engine.models.rate_limits import RateLimitReached

from .. import forking
from ..forking import ForkForm, ForkRefused, NoForkPoint, WrongForm
from ..forms import posted_values
from .row_lookup import AnyFace, row_for


@require_http_methods(["GET", "POST"])
def fork(request: HttpRequest, pk: UUID, face: AnyFace) -> HttpResponse:
    row = row_for(request, face, pk)
    typed = posted_values(request.POST if request.method == "POST" else request.GET)
    unit = forking.forks_of(face).unit
    try:
        number = forking.number_of(typed.get(unit, ""))
        shown = forking.preview(row, number)
    except ForkRefused as refused:
        return _refused(request, face, pk, str(refused), 422 if isinstance(refused, NoForkPoint) else 409)
    if request.method == "GET":
        return _page(request, face, row, shown)
    try:
        words, spend = typed.get("words", ""), typed.get("spend", "")
        made = forking.fork(row, number, words, spend, owner=request.user, limited=True, watched=True)
    except WrongForm as wrong:
        return _page(request, face, row, shown, 422, str(wrong))
    except ForkRefused as refused:
        return _page(request, face, row, shown, 409, str(refused))
    except BudgetExceeded as error:
        return _page(request, face, row, shown, 402, str(error))
    except RateLimitReached as reached:
        page = _page(request, face, row, shown, 429, str(reached))
        page.headers["Retry-After"] = str(reached.seconds)
        return page
    return redirect(face.page_name("live"), made.pk)


def _page(
    request: HttpRequest, face: AnyFace, row: Any, shown: forking.ForkEffects, status: int = 200, wrong: str = ""
) -> HttpResponse:
    forks = forking.forks_of(face)
    initial = {"spend": to_decimal(row.run.spend)}
    form = ForkForm(posted_values(request.POST)) if request.method == "POST" else ForkForm(initial=initial)
    context = {
        **face.page(row.run.pk),
        "title": row.run.shown_title,
        "shown": shown,
        "unit": forks.unit,
        "along": forks.along,
        "own": forks.template,
        "styles": forks.styles,
        "form": form,
        "wrong": wrong,
    }
    return render(request, "runs/fork.html", context, status=status)


def _refused(request: HttpRequest, face: AnyFace, pk: UUID, reason: str, status: int) -> HttpResponse:
    context = {**face.page(pk), "reason": reason, "what": "It was not forked"}
    return render(request, "runs/refused.html", context, status=status)
