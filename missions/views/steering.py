"""What people on the live page say to a mission. It works without scripts."""

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

ENDED = "The mission is over: nobody hears it any more."


@require_POST
def say(request: HttpRequest, pk: UUID) -> HttpResponse:
    face = faces()["mission"]
    row_for(request, face, pk, STEER)
    typed = as_typed(request.POST)
    try:
        if typed.get("do") in ("pause", "resume"):
            talking.pause(pk, request.user, typed["do"] == "pause")
        else:
            talking.say(pk, request.user, typed.get("text", ""), typed.get("to", ""))
    except talking.Wrong as wrong:
        return _again(request, pk, str(wrong), HTTPStatus.UNPROCESSABLE_ENTITY)
    except (talking.Refused, Over) as refused:
        why = ENDED if isinstance(refused, Over) else str(refused)
        return _again(request, pk, why, HTTPStatus.CONFLICT)
    return redirect(face.page_name("live"), pk)


def _again(request: HttpRequest, pk: UUID, line: str, status: HTTPStatus) -> HttpResponse:
    """A page of the form, with what was typed and why nothing was said."""
    context = {"display": {"id": str(pk), "crew": ()}, "typed": request.POST.get("text", ""), "line": line}
    return render(request, "missions/said.html", {**faces()["mission"].page(pk), **context}, status=status)
