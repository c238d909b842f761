from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET

from engine.models import Run

from ..access_log import log_view
from ..history.comparison import compare_runs
from ..procedure.spec import spec_of_run, specs
from .row_lookup import seen_or_404

SELECT_TWO_TEXT = "Tick two in the history to compare them here."
SAME_KIND_TEXT = "Only two runs of one kind can be compared."


@require_GET
def compare(request: HttpRequest) -> HttpResponse:
    """Compare the runs `a` and `b`. Selections from a list come as `run`; the earlier one becomes A."""
    if "run" in request.GET:
        return _ticked(request)
    if not (request.GET.get("a") and request.GET.get("b")):
        return _refused(request, SELECT_TWO_TEXT)
    runs = [_run(request, request.GET[side]) for side in ("a", "b")]
    if refused := _why_not(runs):
        return _refused(request, refused)
    for run in runs:
        log_view(run, request.user)
    face = spec_of_run(runs[0])
    rows = face.rows().in_bulk([run.pk for run in runs])
    swapped = address_of(runs[1].pk, runs[0].pk)
    context = {
        "face": face,
        "page": "history",
        "swapped": swapped,
        **compare_runs(face, [rows[run.pk] for run in runs]),
    }
    return render(request, "runs/compare.html", context)


def address_of(a: UUID, b: UUID) -> str:
    return f"{reverse('compare')}?a={a}&b={b}"


def _ticked(request: HttpRequest) -> HttpResponse:
    ticked = list(dict.fromkeys(request.GET.getlist("run")))
    if len(ticked) != 2:
        return _refused(request, SELECT_TWO_TEXT)
    runs = sorted((_run(request, pk) for pk in ticked), key=lambda run: run.created)
    refused = _why_not(runs)
    return _refused(request, refused) if refused else redirect(address_of(*(run.pk for run in runs)))


def _run(request: HttpRequest, pk: str) -> Run:
    try:
        wanted = UUID(pk)
    except ValueError:
        wanted = UUID(int=0)  # no run has this id
    run: Run = seen_or_404(Run.objects.filter(procedure__in=specs()), request, wanted)
    return run


def _why_not(runs: list[Run]) -> str:
    if runs[0].procedure != runs[1].procedure:
        return SAME_KIND_TEXT
    return "" if runs[0].pk != runs[1].pk else "These are one and the same."


def _refused(request: HttpRequest, reason: str) -> HttpResponse:
    return render(request, "runs/compare_refused.html", {"reason": reason, "page": "history"}, status=400)
