"""Interventions from the live page. They work without scripts."""

from http import HTTPStatus
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST

from engine.run_control import RunEnded
from runs.forms import posted_values
from runs.procedure.spec import specs
from runs.rights import STEER
from runs.views.row_lookup import row_for

from .. import comments
from ..models import AssignmentKind

SAID = (AssignmentKind.HINT, AssignmentKind.STOP, AssignmentKind.REPLAN)
ENDED = "The inquiry is over: nobody hears it any more."


@require_POST
def say(request: HttpRequest, pk: UUID) -> HttpResponse:
    face = specs()["inquiry"]
    row_for(request, face, pk, STEER)
    typed = posted_values(request.POST)
    kind = next((one for one in SAID if one == typed.get("do")), AssignmentKind.HINT)
    try:
        comments.post_hint(pk, request.user, kind, typed.get("text", ""))
    except comments.InvalidHint as wrong:
        return _again(request, pk, str(wrong), HTTPStatus.UNPROCESSABLE_ENTITY)
    except (comments.HintRefused, RunEnded) as refused:
        why = ENDED if isinstance(refused, RunEnded) else str(refused)
        return _again(request, pk, why, HTTPStatus.CONFLICT)
    return redirect(face.page_name("live"), pk)


def _again(request: HttpRequest, pk: UUID, line: str, status: HTTPStatus) -> HttpResponse:
    """Show the form again with the typed text and the error."""
    context = {"display": {"id": str(pk)}, "typed": request.POST.get("text", ""), "line": line}
    return render(request, "inquiries/said.html", {**specs()["inquiry"].page(pk), **context}, status=status)
