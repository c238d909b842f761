"""The page of pending gates, and the page of one gate with its decision."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from engine.gate_decisions import (
    DecisionRefused,
    DecisionTooLate,
    GateClosed,
    InvalidAnswer,
    NotAnApprover,
    check_batch,
)
from engine.models import Gate
from engine.models.gates import DecisionValue
from runs import run_actions
from runs.approvals import bulk

from ..access_log import log_view
from ..approvals.pending import MAX_ITEMS, VIEWS, gate_context, group_gates, group_of, may_see
from ..approvals.reminders import wants_email
from ..approvals.stats import MIN_APPROVALS, approval_fatigue_hints, approval_numbers, format_numbers
from ..context_processors import MAX_COUNT, blank_if_zero, capped_count, capped_number
from ..formatting import format_token_split
from ..forms import parse_number
from ..procedure.spec import spec_of_run
from ..record.redaction import erasure_of
from ..rights import SEE

STATUSES: Mapping[type[DecisionRefused], int] = {NotAnApprover: 403, GateClosed: 409, DecisionTooLate: 410}


@require_http_methods(["GET", "HEAD", "POST"])
def pending_page(request: HttpRequest) -> HttpResponse:
    """List the gates. A POST decides the same at all selected gates, and the page shows each result."""
    view = request.GET.get("view", "")
    if view not in VIEWS:
        raise Http404
    if request.method != "POST":
        return _waiting(request, view)
    read = [_named(request, named) for named in request.POST.getlist("gate")]
    decision, _, choice = request.POST.get("said", "").partition(" ")
    text = request.POST.get("text", "").strip()
    if problem := _not_together(read, decision, choice, text):
        at = parse_number(request.POST.get("batch", ""))
        typed = {"ticked": request.POST.getlist("gate"), "typed": text, "typed_at": at}
        return _waiting(request, view, 422, line=problem, **typed)
    results = bulk.decide_batch(read, request.user, decision, text, choice)
    return _waiting(request, view, results=results, left=sum(bool(one.refused) for one in results))


def _named(request: HttpRequest, named: str) -> tuple[Gate, str]:
    """Return a selected gate with the digest of the text that was shown."""
    pk, _, digest = named.partition(" ")
    found = Gate.objects.with_decisions().filter(pk=int(pk)).first() if pk.isdecimal() and len(pk) < 19 else None
    if found is None or not may_see(found, request.user):
        raise Http404
    return found, digest


def _not_together(read: Sequence[tuple[Gate, str]], decision: str, choice: str, text: str) -> str:
    """Return why these cannot be decided together, as a sentence; empty if they can."""
    if not read:
        return "Nothing was ticked, so nothing was decided."
    try:
        check_batch(read)
    except InvalidAnswer as refused:
        return str(refused)
    if decision == DecisionValue.REJECT and not choice and not text:
        return "Say why, in a word: nothing was decided."
    return ""


def _waiting(request: HttpRequest, view: str, status: int = 200, **more: Any) -> HttpResponse:
    found = {name: read(request.user) for name, (_, read) in VIEWS.items()}
    begin = parse_number(request.GET.get("from", ""))
    keys = list(found[view].values_list("pk", flat=True)[: max(begin + MAX_ITEMS, MAX_COUNT) + 1])
    counts = {name: len(keys) if name == view else capped_count(gates) for name, gates in found.items()}
    tabs = [{"view": name, "word": word, "number": capped_number(counts[name])} for name, (word, _) in VIEWS.items()]
    page = _rows(keys[begin : begin + MAX_ITEMS + 1])
    shown = group_gates(page[:MAX_ITEMS])
    if view in ("", "groups"):
        shown = [bulk.merge_group(group, request.user) for group in shown]
    context = {"groups": shown, "tabs": tabs, "view": view, "page": "waiting", "after": Gate.objects.newest_of_all()}
    context |= {"waits_for_me": blank_if_zero(tabs[0]["number"])}
    context |= {"mail": wants_email(request.user), "begin": begin, "before": max(begin - MAX_ITEMS, 0)}
    context |= {"next": begin + MAX_ITEMS if len(page) > MAX_ITEMS else 0}
    now = timezone.now()
    numbers = approval_numbers(request.user, now, counts[""])
    context |= {"numbers": format_numbers(numbers)}
    context |= {
        "too_often": list(approval_fatigue_hints(request.user, now)) if numbers.approved >= MIN_APPROVALS else []
    }
    return render(request, "runs/waiting.html", {**context, **more}, status=status)


def _rows(keys: Sequence[int]) -> list[Gate]:
    """Read gates by keys that were found without reading rows, so that the page's end is known."""
    rows = Gate.objects.filter(pk__in=keys).listed().prefetch_related("reminders").in_bulk()
    return [rows[key] for key in keys if key in rows]


@require_http_methods(["GET", "HEAD", "POST"])
def gate_page(request: HttpRequest, pk: int, here: bool = False) -> HttpResponse:
    """Show a gate or decide at it; `here` means as a part of the live page.

    Without scripts, a decision leads back to the live page, and a refusal to the gate's own page with the reason.
    """
    found = Gate.objects.with_decisions().filter(pk=pk).first()
    if found is None or not may_see(found, request.user):
        raise Http404
    log_view(found.run, request.user)
    if request.method != "POST":
        return _page(request, found)
    if "look" in request.POST:
        return _look(request, found)
    decision, _, choice = request.POST.get("said", "").partition(" ")
    text = request.POST.get("text", "").strip()
    answer = spec_of_run(found.run).gate_answer(found, request.POST) if decision == DecisionValue.ANSWER else None
    try:
        if decision == DecisionValue.REJECT and not choice and not text:
            raise InvalidAnswer([("text", "Say why, in a word.")])
        digest = request.POST.get("digest", "")
        run_actions.decide(pk, request.user, decision, text=text, choice=choice, answer=answer, digest=digest)
    except InvalidAnswer as refused:
        return _page(request, found, 422, errors=dict(refused.problems))
    except DecisionRefused as refused:
        return _page(request, Gate.objects.with_decisions().get(pk=pk), STATUSES[type(refused)], line=str(refused))
    return _done(request, found)


def _done(request: HttpRequest, gate: Gate) -> HttpResponse:
    if not _is_here(request):
        return redirect("gate", gate.pk)
    if request.htmx:  # type: ignore[attr-defined]
        return _page(request, Gate.objects.with_decisions().get(pk=gate.pk))
    return redirect(f"{spec_of_run(gate.run).address('live', gate.run_id)}#gate-{gate.pk}")


def _is_here(request: HttpRequest) -> bool:
    return bool(request.resolver_match and request.resolver_match.kwargs.get("here"))


def _look(request: HttpRequest, found: Gate) -> HttpResponse:
    try:
        run_actions.read_gate(found.pk, request.user)
    except NotAnApprover as refused:
        return _page(request, found, 403, line=str(refused))
    return _done(request, found)


def _page(request: HttpRequest, gate: Gate, status: int = 200, **more: Any) -> HttpResponse:
    here = _is_here(request) and request.htmx  # type: ignore[attr-defined]
    context = {**gate_context(gate, request.user, request.POST), **more}
    if here:
        return render(request, "runs/_at_gate.html", context, status=status)
    face = spec_of_run(gate.run)
    context |= {
        "place": face.step_labels([(gate.run_id, gate.step)]).get((gate.run_id, gate.step), ("", ""))[0],
        "live": face.address("live", gate.run_id),
        "group": group_of(gate)[0],
        "used": format_token_split(list(gate.run.calls.all())),
        "erasure": erasure_of(gate.run) if SEE.covers(request.user, gate.run) else None,
        "page": "waiting",
    }
    return render(request, "runs/gate.html", context, status=status)
