"""What a person on a seat says in its turn, from the live page; the page of its gate takes the same.

A page with scripts asks for the form alone, and sends it so. Without them the whole page comes back.
"""

from typing import Any
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from engine.gates import DoesNotFit, NotDecided
from engine.models import Gate
from engine.models.gates import Decision
from runs import steering
from runs.face import faces
from runs.forms import as_number
from runs.rights import SEE
from runs.views.finding import row_for
from runs.views.gates import STATUSES
from runs.views.live import page_of

from .. import people

FORM = "debates/_mine.html"


@require_http_methods(["GET", "POST"])
def turn(request: HttpRequest, pk: UUID) -> HttpResponse:
    face = faces()["debate"]
    row = row_for(request, face, pk, SEE)
    if request.method == "POST":
        return _said(request, row)
    if not request.htmx:  # type: ignore[attr-defined]
        return redirect(face.page_name("live"), pk)
    return render(request, FORM, {"display": {"id": str(pk)}, **people.sits(row, request.user)})


def _said(request: HttpRequest, row: Any) -> HttpResponse:
    asked = Gate.objects.filter(run=row.pk, kind=people.KIND)
    gate = asked.filter(pk=as_number(request.POST.get("gate", ""))).first()
    if gate is None:
        raise Http404
    choice = people.SKIP if request.POST.get("said") == people.SKIP else people.SPEAK
    answer = people.answer_of(request.POST) if choice == people.SPEAK else None
    try:
        steering.decide(gate.pk, request.user, Decision.ANSWER, choice=choice, answer=answer)
    except DoesNotFit as refused:
        again = {"gate": gate, "errors": dict(refused.problems), **people.form_of(gate, request.POST)}
        return _back(request, row, 422, **again)
    except NotDecided as refused:
        left = {"gate": None, "line": str(refused), "typed": people.answer_of(request.POST)}
        return _back(request, row, STATUSES[type(refused)], **left)
    if request.htmx:  # type: ignore[attr-defined]
        return render(request, FORM, {"done": choice})
    return redirect(faces()["debate"].page_name("live"), row.pk)


def _back(request: HttpRequest, row: Any, status: int, **more: Any) -> HttpResponse:
    """With what was typed, and why it was not taken."""
    if request.htmx:  # type: ignore[attr-defined]
        return render(request, FORM, {"display": {"id": str(row.pk)}, **more}, status=status)
    return page_of(request, faces()["debate"], row, status, **more)
