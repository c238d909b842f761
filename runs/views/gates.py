"""What waits for somebody, and one of those things with its decision."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from engine.gates import Closed, DoesNotFit, NotAsked, NotDecided, TooLate, check_batch
from engine.models import Gate
from engine.models.gates import Decision
from runs import batches, steering

from ..asked_often import in_words, numbers_of
from ..context import COUNTED_TO, as_said, first_of, in_bar
from ..deciding import MOST, VIEWS, at_gate, group_of, groups, may_see
from ..face import face_of
from ..forms import as_number
from ..given_looks import note_look
from ..redaction import erasure_of
from ..reminders import is_told_by_mail
from ..rights import SEE
from ..too_often import LEAST, too_often
from ..usage import used_both_ways

STATUSES: Mapping[type[NotDecided], int] = {NotAsked: 403, Closed: 409, TooLate: 410}


@require_http_methods(["GET", "HEAD", "POST"])
def waiting(request: HttpRequest) -> HttpResponse:
    """What is posted decides the same at all that was ticked; the page then says what came of each."""
    view = request.GET.get("view", "")
    if view not in VIEWS:
        raise Http404
    if request.method != "POST":
        return _waiting(request, view)
    read = [_named(request, named) for named in request.POST.getlist("gate")]
    decision, _, choice = request.POST.get("said", "").partition(" ")
    text = request.POST.get("text", "").strip()
    if problem := _not_together(read, decision, choice, text):
        at = as_number(request.POST.get("batch", ""))
        typed = {"ticked": request.POST.getlist("gate"), "typed": text, "typed_at": at}
        return _waiting(request, view, 422, line=problem, **typed)
    results = batches.decide(read, request.user, decision, text, choice)
    return _waiting(request, view, results=results, left=sum(bool(one.refused) for one in results))


def _named(request: HttpRequest, named: str) -> tuple[Gate, str]:
    """A gate that was ticked, with the digest of the text that stood there."""
    pk, _, digest = named.partition(" ")
    found = Gate.objects.whole().filter(pk=int(pk)).first() if pk.isdecimal() and len(pk) < 19 else None
    if found is None or not may_see(found, request.user):
        raise Http404
    return found, digest


def _not_together(read: Sequence[tuple[Gate, str]], decision: str, choice: str, text: str) -> str:
    """Why nothing can be said at these together, in a sentence; empty where it can."""
    if not read:
        return "Nothing was ticked, so nothing was decided."
    try:
        check_batch(read)
    except DoesNotFit as refused:
        return str(refused)
    if decision == Decision.REJECT and not choice and not text:
        return "Say why, in a word: nothing was decided."
    return ""


def _waiting(request: HttpRequest, view: str, status: int = 200, **more: Any) -> HttpResponse:
    found = {name: read(request.user) for name, (_, read) in VIEWS.items()}
    begin = as_number(request.GET.get("from", ""))
    keys = list(found[view].values_list("pk", flat=True)[: max(begin + MOST, COUNTED_TO) + 1])
    counts = {name: len(keys) if name == view else first_of(gates) for name, gates in found.items()}
    tabs = [{"view": name, "word": word, "number": as_said(counts[name])} for name, (word, _) in VIEWS.items()]
    page = _rows(keys[begin : begin + MOST + 1])
    shown = groups(page[:MOST])
    if view in ("", "groups"):
        shown = [batches.put_together(group, request.user) for group in shown]
    context = {"groups": shown, "tabs": tabs, "view": view, "page": "waiting", "after": Gate.objects.newest_of_all()}
    context |= {"waits_for_me": in_bar(tabs[0]["number"])}
    context |= {"mail": is_told_by_mail(request.user), "begin": begin, "before": max(begin - MOST, 0)}
    context |= {"next": begin + MOST if len(page) > MOST else 0}
    now = timezone.now()
    numbers = numbers_of(request.user, now, counts[""])
    context |= {"numbers": in_words(numbers)}
    context |= {"too_often": list(too_often(request.user, now)) if numbers.approved >= LEAST else []}
    return render(request, "runs/waiting.html", {**context, **more}, status=status)


def _rows(keys: Sequence[int]) -> list[Gate]:
    """By their keys, which were found without a row being read: it is known then where to stop."""
    rows = Gate.objects.filter(pk__in=keys).listed().prefetch_related("reminders").in_bulk()
    return [rows[key] for key in keys if key in rows]


@require_http_methods(["GET", "HEAD", "POST"])
def gate(request: HttpRequest, pk: int, here: bool = False) -> HttpResponse:
    """`here`: as a part of the live page. Without scripts that page comes back once something was said, or the gate's
    own page with why it was not taken."""
    found = Gate.objects.whole().filter(pk=pk).first()
    if found is None or not may_see(found, request.user):
        raise Http404
    note_look(found.run, request.user)
    if request.method != "POST":
        return _page(request, found)
    if "look" in request.POST:
        return _look(request, found)
    decision, _, choice = request.POST.get("said", "").partition(" ")
    text = request.POST.get("text", "").strip()
    answer = face_of(found.run).gate_answer(found, request.POST) if decision == Decision.ANSWER else None
    try:
        if decision == Decision.REJECT and not choice and not text:
            raise DoesNotFit([("text", "Say why, in a word.")])
        digest = request.POST.get("digest", "")
        steering.decide(pk, request.user, decision, text=text, choice=choice, answer=answer, digest=digest)
    except DoesNotFit as refused:
        return _page(request, found, 422, errors=dict(refused.problems))
    except NotDecided as refused:
        return _page(request, Gate.objects.whole().get(pk=pk), STATUSES[type(refused)], line=str(refused))
    return _done(request, found)


def _done(request: HttpRequest, gate: Gate) -> HttpResponse:
    if not _is_here(request):
        return redirect("gate", gate.pk)
    if request.htmx:  # type: ignore[attr-defined]
        return _page(request, Gate.objects.whole().get(pk=gate.pk))
    return redirect(f"{face_of(gate.run).address('live', gate.run_id)}#gate-{gate.pk}")


def _is_here(request: HttpRequest) -> bool:
    return bool(request.resolver_match and request.resolver_match.kwargs.get("here"))


def _look(request: HttpRequest, found: Gate) -> HttpResponse:
    try:
        steering.look(found.pk, request.user)
    except NotAsked as refused:
        return _page(request, found, 403, line=str(refused))
    return _done(request, found)


def _page(request: HttpRequest, gate: Gate, status: int = 200, **more: Any) -> HttpResponse:
    here = _is_here(request) and request.htmx  # type: ignore[attr-defined]
    context = {**at_gate(gate, request.user, request.POST), **more}
    if here:
        return render(request, "runs/_at_gate.html", context, status=status)
    face = face_of(gate.run)
    context |= {
        "place": face.places([(gate.run_id, gate.step)]).get((gate.run_id, gate.step), ("", ""))[0],
        "live": face.address("live", gate.run_id),
        "group": group_of(gate)[0],
        "used": used_both_ways(list(gate.run.calls.all())),
        "erasure": erasure_of(gate.run) if SEE.covers(request.user, gate.run) else None,
        "page": "waiting",
    }
    return render(request, "runs/gate.html", context, status=status)
