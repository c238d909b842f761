"""What people on the live page do to a debate. With scripts a form comes back by itself, what is typed elsewhere stays;
without them the page does, or why nothing was done with what was typed."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from engine.models.budgets import BudgetUsedUp
from runs.face import faces
from runs.forms import as_typed
from runs.rights import SEE, STEER, Right
from runs.views.finding import row_for

from .. import chair
from ..models import Debate
from ..models.secret import firsts_hidden
from ..scene import scene_of
from ..transcript import said_alone

DONE = {
    "say": "Said. It is heard from the next message on.",
    "steer": "Done.",
    "withdraw": "You have left the debate.",
}


@dataclass(frozen=True)
class Form:
    """One form of the page, by the name of its template, and what was chosen and typed in it."""

    name: str
    to: int | None = None
    typed: str = ""
    ask: bool = False
    verdict: str = ""


@require_POST
def say(request: HttpRequest, pk: UUID) -> HttpResponse:
    posted = as_typed(request.POST)
    to, key, text = _seat(posted.get("to", "")), posted.get("key", ""), posted.get("text", "")
    do = partial(chair.say, pk, request.user, text, to=to, ask="ask" in posted, key=key)
    return _done(request, pk, STEER, do, Form("say", to, text, "ask" in posted))


@require_POST
def steer(request: HttpRequest, pk: UUID) -> HttpResponse:
    posted = as_typed(request.POST)
    seat, amount = _seat(posted.get("member", "")), _seat(posted.get("amount", "")) or 0
    do = partial(chair.steer, pk, request.user, posted.get("kind", ""), seat=seat, amount=amount)
    return _done(request, pk, STEER, partial(do, key=posted.get("key", "")), Form("steer", seat))


@require_POST
def withdraw(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Whoever sits there leaves; nobody else can."""
    posted = as_typed(request.POST)
    verdict, reasoning = posted.get("verdict", ""), posted.get("reasoning", "")
    do = partial(chair.withdraw, pk, request.user, verdict, reasoning, posted.get("key", ""))
    return _done(request, pk, SEE, do, Form("withdraw", typed=reasoning, verdict=verdict))


@require_http_methods(["GET", "HEAD", "POST"])
def alone(request: HttpRequest, pk: UUID) -> HttpResponse:
    """What the members said alone, for who may see it before a person at the table does: after a look on record."""
    face = faces()["debate"]
    row = row_for(request, face, pk, chair.LOOK)
    if not firsts_hidden(row):
        return redirect(face.page_name("live"), pk)
    refused = ""
    if request.method == "POST":
        try:
            chair.look(pk, request.user)
            return redirect("debate-alone", pk)
        except chair.Refused as reason:
            refused = str(reason)
    looked = chair.has_looked(row, request.user)
    context = {
        **face.page(pk),
        "pk": str(pk),
        "title": row.run.shown_title,
        "said": said_alone(scene_of(face.seen(row))) if looked else (),
        "looked": looked,
        "may": chair.may_look(row, request.user) and not looked,
        "refused": refused,
    }
    return render(request, "debates/alone.html", context, status=409 if refused else 200)


def _seat(text: str) -> int | None:
    """None where it names none; a number that nobody sits on is refused like any other."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 5 else None


def _done(request: HttpRequest, pk: UUID, right: Right, do: Callable[[], Any], form: Form) -> HttpResponse:
    """The form as it stands there for the next time; where nothing was done, why, with what was typed."""
    face = faces()["debate"]
    row = row_for(request, face, pk, right)
    try:
        do()
    except (chair.Refused, BudgetUsedUp) as refused:
        status = 402 if isinstance(refused, BudgetUsedUp) else 409
        if request.htmx:  # type: ignore[attr-defined]
            return _again(request, row, form, str(refused), status)
        context = {**face.page(pk), "reason": str(refused), "typed": form.typed}
        return render(request, "debates/refused.html", context, status=status)
    if request.htmx:  # type: ignore[attr-defined]
        return _again(request, row, Form(form.name), DONE[form.name])
    return redirect(face.page_name("live"), pk)


def _again(request: HttpRequest, row: Debate, form: Form, line: str, status: int = 200) -> HttpResponse:
    """With a key of its own: it is another act. Who has left needs no form any more. `line`: what came of it, or why
    it was refused."""
    refused = status != 200
    seats = [{"number": member.seat, "name": member.name} for member in row.seated]
    shown: dict[str, Any] = {"seats": seats, "line": line, "key": secrets.token_hex(16), "to": form.to, "ask": form.ask}
    shown |= {"verdicts": row.settings.options, "verdict": form.verdict, "gone": not refused}
    shown |= {"typed": form.typed, "refused": refused, form.name: reverse(f"debate-{form.name}", args=[row.pk])}
    return render(request, f"debates/_{form.name}.html", shown, status=status)
