"""Forms of the live page. With scripts only the form is replaced, and other typed text stays; without them the
whole page is, or a page with the reason for a refusal and the typed text."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from engine.gate_decisions import DecisionRefused, InvalidAnswer
from engine.models import Gate
from engine.models.budgets import BudgetExceeded
from engine.models.gates import DecisionValue
from runs import run_actions
from runs.forms import parse_number, posted_values
from runs.procedure.spec import specs
from runs.rights import SEE, STEER, RunRight
from runs.views.gates import STATUSES
from runs.views.live import page_of
from runs.views.row_lookup import row_for

from .. import human_turns, moderation
from ..models import Debate
from ..models.visibility import hides_first_verdicts
from ..page.context import page_context
from ..page.transcript import first_verdict_views

DONE = {
    "say": "Said. It is heard from the next message on.",
    "steer": "Done.",
    "withdraw": "You have left the debate.",
}


@dataclass(frozen=True)
class ModerationForm:
    """One form of the page by the name of its template, with its values."""

    name: str
    to: int | None = None
    typed: str = ""
    ask: bool = False
    verdict: str = ""


@require_POST
def say(request: HttpRequest, pk: UUID) -> HttpResponse:
    posted = posted_values(request.POST)
    to, key, text = _seat(posted.get("to", "")), posted.get("key", ""), posted.get("text", "")
    do = partial(moderation.post_message, pk, request.user, text, to=to, ask="ask" in posted, key=key)
    return _done(request, pk, STEER, do, ModerationForm("say", to, text, "ask" in posted))


@require_POST
def steer(request: HttpRequest, pk: UUID) -> HttpResponse:
    posted = posted_values(request.POST)
    seat, amount = _seat(posted.get("member", "")), _seat(posted.get("amount", "")) or 0
    do = partial(moderation.apply_steering, pk, request.user, posted.get("kind", ""), seat=seat, amount=amount)
    return _done(request, pk, STEER, partial(do, key=posted.get("key", "")), ModerationForm("steer", seat))


@require_POST
def withdraw(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Withdraw the person on a seat; no other user can."""
    posted = posted_values(request.POST)
    verdict, reasoning = posted.get("verdict", ""), posted.get("reasoning", "")
    do = partial(moderation.withdraw_member, pk, request.user, verdict, reasoning, posted.get("key", ""))
    return _done(request, pk, SEE, do, ModerationForm("withdraw", typed=reasoning, verdict=verdict))


@require_http_methods(["GET", "HEAD", "POST"])
def first_statements_page(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Show the first verdicts to users who may see them before a person at the table does. The view is logged
    first."""
    face = specs()["debate"]
    row = row_for(request, face, pk, moderation.READ_FIRSTS_RIGHT)
    if not hides_first_verdicts(row):
        return redirect(face.page_name("live"), pk)
    refused = ""
    if request.method == "POST":
        try:
            moderation.read_first_statements(pk, request.user)
            return redirect("debate-alone", pk)
        except moderation.ModerationRefused as reason:
            refused = str(reason)
    looked = moderation.has_read_first_statements(row, request.user)
    context = {
        **face.page(pk),
        "pk": str(pk),
        "title": row.run.shown_title,
        "said": first_verdict_views(page_context(face.snapshot(row))) if looked else (),
        "looked": looked,
        "may": moderation.may_read_first_statements(row, request.user) and not looked,
        "refused": refused,
    }
    return render(request, "debates/alone.html", context, status=409 if refused else 200)


def _seat(text: str) -> int | None:
    """Return the seat, or None if the text is no number; an unused number is refused later."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 5 else None


def _done(request: HttpRequest, pk: UUID, right: RunRight, do: Callable[[], Any], form: ModerationForm) -> HttpResponse:
    """Perform an act and return the empty form; if it was refused, the reason and the typed values."""
    face = specs()["debate"]
    row = row_for(request, face, pk, right)
    try:
        do()
    except (moderation.ModerationRefused, BudgetExceeded) as refused:
        status = 402 if isinstance(refused, BudgetExceeded) else 409
        if request.htmx:  # type: ignore[attr-defined]
            return _again(request, row, form, str(refused), status)
        context = {**face.page(pk), "reason": str(refused), "typed": form.typed}
        return render(request, "debates/refused.html", context, status=status)
    if request.htmx:  # type: ignore[attr-defined]
        return _again(request, row, ModerationForm(form.name), DONE[form.name])
    return redirect(face.page_name("live"), pk)


def _again(request: HttpRequest, row: Debate, form: ModerationForm, line: str, status: int = 200) -> HttpResponse:
    """Return the form with a new key, as the next post is another act. After a withdrawal there is no form. `line`:
    the result, or the reason for a refusal."""
    refused = status != 200
    seats = [{"number": member.seat, "name": member.name} for member in row.seated]
    shown: dict[str, Any] = {"seats": seats, "line": line, "key": secrets.token_hex(16), "to": form.to, "ask": form.ask}
    shown |= {"verdicts": row.settings.options, "verdict": form.verdict, "gone": not refused}
    shown |= {"typed": form.typed, "refused": refused, form.name: reverse(f"debate-{form.name}", args=[row.pk])}
    return render(request, f"debates/_{form.name}.html", shown, status=status)


FORM = "debates/_mine.html"


@require_http_methods(["GET", "POST"])
def turn(request: HttpRequest, pk: UUID) -> HttpResponse:
    face = specs()["debate"]
    row = row_for(request, face, pk, SEE)
    if request.method == "POST":
        return _said(request, row)
    if not request.htmx:  # type: ignore[attr-defined]
        return redirect(face.page_name("live"), pk)
    return render(request, FORM, {"display": {"id": str(pk)}, **human_turns.seat_context(row, request.user)})


def _said(request: HttpRequest, row: Any) -> HttpResponse:
    asked = Gate.objects.filter(run=row.pk, kind=human_turns.KIND)
    gate = asked.filter(pk=parse_number(request.POST.get("gate", ""))).first()
    if gate is None:
        raise Http404
    choice = human_turns.SKIP if request.POST.get("said") == human_turns.SKIP else human_turns.SPEAK
    answer = human_turns.answer_of(request.POST) if choice == human_turns.SPEAK else None
    try:
        run_actions.decide(gate.pk, request.user, DecisionValue.ANSWER, choice=choice, answer=answer)
    except InvalidAnswer as refused:
        again = {"gate": gate, "errors": dict(refused.problems), **human_turns.turn_form(gate, request.POST)}
        return _back(request, row, 422, **again)
    except DecisionRefused as refused:
        left = {"gate": None, "line": str(refused), "typed": human_turns.answer_of(request.POST)}
        return _back(request, row, STATUSES[type(refused)], **left)
    if request.htmx:  # type: ignore[attr-defined]
        return render(request, FORM, {"done": choice})
    return redirect(specs()["debate"].page_name("live"), row.pk)


def _back(request: HttpRequest, row: Any, status: int, **more: Any) -> HttpResponse:
    """Show the typed values again, with the reason for the refusal."""
    if request.htmx:  # type: ignore[attr-defined]
        return render(request, FORM, {"display": {"id": str(row.pk)}, **more}, status=status)
    return page_of(request, specs()["debate"], row, status, **more)
