"""What people on the live page say to an inquiry. It works without scripts."""

from http import HTTPStatus
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST

from engine.steering import Over
from runs.face import faces
from runs.forms import as_typed
from runs.rights import STEER
from runs.views.finding import row_for

from .. import talking
from ..models import OrderKind

SAID = (OrderKind.HINT, OrderKind.STOP, OrderKind.REPLAN)
ENDED = "The inquiry is over: nobody hears it any more."


@require_POST
def say(request: HttpRequest, pk: UUID) -> HttpResponse:
    face = faces()["inquiry"]
    row_for(request, face, pk, STEER)
    typed = as_typed(request.POST)
    kind = next((one for one in SAID if one == typed.get("do")), OrderKind.HINT)
    try:
        talking.say(pk, request.user, kind, typed.get("text", ""))
    except talking.Wrong as wrong:
        return _again(request, pk, str(wrong), HTTPStatus.UNPROCESSABLE_ENTITY)
    except (talking.Refused, Over) as refused:
        why = ENDED if isinstance(refused, Over) else str(refused)
        return _again(request, pk, why, HTTPStatus.CONFLICT)
    return redirect(face.page_name("live"), pk)


def _again(request: HttpRequest, pk: UUID, line: str, status: HTTPStatus) -> HttpResponse:
    """A page of the form, with what was typed and why nothing was said."""
    context = {"display": {"id": str(pk)}, "typed": request.POST.get("text", ""), "line": line}
    return render(request, "inquiries/said.html", {**faces()["inquiry"].page(pk), **context}, status=status)
