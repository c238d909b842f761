"""Actions of the live page: messages, pause, terminal input. They work without scripts."""

from http import HTTPStatus
from typing import Any
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
from ..models import MissionAgent

ENDED_TEXT = "The mission is over: nobody hears it any more. “Continue” begins another one from here."
KEYS = {
    **{"enter": "Enter", "": "nothing more", "esc": "Esc", "tab": "Tab", "backspace": "Backspace", "delete": "Delete"},
    **{"up": "Arrow up", "down": "Arrow down", "left": "Arrow left", "right": "Arrow right"},
    **{"page-up": "Page up", "page-down": "Page down", "home": "Home", "end": "End"},
    **{f"ctrl-{sign}": f"Ctrl {sign.upper()}" for sign in "acdeklnorsuvwxz"},
    **{f"f{number}": f"F{number}" for number in range(1, 13)},
}
SENT_TEXT = "Told. It is read before the next step."


@require_POST
def post_message(request: HttpRequest, pk: UUID) -> HttpResponse:
    row_for(request, specs()["mission"], pk, STEER)
    typed = posted_values(request.POST)
    text, to = typed.get("text", ""), typed.get("to", "")
    try:
        comments.post_message(pk, request.user, text, to)
    except (comments.InvalidMessage, comments.MessageRefused, RunEnded) as refused:
        return _again(request, pk, refused, text=text, to=to)
    if request.htmx:  # type: ignore[attr-defined]
        return render(request, "missions/_say.html", _spoken(pk, line=SENT_TEXT, to=to))
    return redirect(specs()["mission"].page_name("live"), pk)


@require_POST
def pause(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Pause or resume. With scripts the page is not reloaded, so that input elsewhere on it is not lost."""
    row_for(request, specs()["mission"], pk, STEER)
    try:
        comments.pause(pk, request.user, request.POST.get("do") != "resume")
    except (comments.MessageRefused, RunEnded) as refused:
        if not request.htmx:  # type: ignore[attr-defined]
            return _again(request, pk, refused)
    if request.htmx:  # type: ignore[attr-defined]
        return HttpResponse(status=HTTPStatus.NO_CONTENT)  # the live page gets the change by its socket
    return redirect(specs()["mission"].page_name("live"), pk)


@require_POST
def answer_terminal(request: HttpRequest, pk: UUID, number: int) -> HttpResponse:
    """Send a text or a key to a command. On an error, show the form with the input and the reason."""
    row_for(request, specs()["mission"], pk, STEER)
    typed = posted_values(request.POST)
    text, key = typed.get("text", ""), typed.get("key", comments.ENTER)
    status, line = HTTPStatus.OK, "Typed. The terminal shows the result."
    try:
        comments.answer_terminal(pk, request.user, number, text, key)
    except (comments.InvalidMessage, comments.MessageRefused, RunEnded) as refused:
        status = (
            HTTPStatus.UNPROCESSABLE_ENTITY if isinstance(refused, comments.InvalidMessage) else HTTPStatus.CONFLICT
        )
        line = ENDED_TEXT if isinstance(refused, RunEnded) else str(refused)
    wrong = status != HTTPStatus.OK
    if not wrong and not request.htmx:  # type: ignore[attr-defined]
        return redirect("mission-terminal", pk, number)
    context = {"pk": pk, "number": number, "typed": text if wrong else "", "line": line, "wrong": wrong}
    context |= {"keys": KEYS, "key": key}
    page = "missions/_typing.html" if request.htmx else "missions/typed.html"  # type: ignore[attr-defined]
    return render(request, page, {**specs()["mission"].page(pk), **context}, status=status)


def _again(request: HttpRequest, pk: UUID, refused: Exception, text: str = "", to: str = "") -> HttpResponse:
    """The form with the input and the reason; without scripts on a page of its own."""
    status = HTTPStatus.UNPROCESSABLE_ENTITY if isinstance(refused, comments.InvalidMessage) else HTTPStatus.CONFLICT
    line = ENDED_TEXT if isinstance(refused, RunEnded) else str(refused)
    context = _spoken(pk, line=line, to=to, typed=text, wrong=True)
    if request.htmx:  # type: ignore[attr-defined]
        return render(request, "missions/_say.html", context, status=status)
    return render(request, "missions/said.html", {**specs()["mission"].page(pk), **context}, status=status)


def _spoken(pk: UUID, **more: Any) -> dict[str, Any]:
    return {"display": {"id": str(pk), "agents": list(MissionAgent.objects.filter(mission=pk))}, **more}
