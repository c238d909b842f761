from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.cache import get_conditional_response
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from engine.models import Gate, Run
from engine.models.budgets import BudgetExceeded
from engine.models.rate_limits import RateLimitReached
from engine.pubsub import announce_soon

from .. import run_actions
from ..access_log import log_view
from ..live.related_runs import related_runs, related_runs_fragment, relation_mark
from ..procedure.fragments import render_fragments
from ..procedure.spec import RunSnapshot, snapshot_of, specs
from ..questions import questions_shown
from ..record.redaction import erasure_of
from ..rights import STEER
from .row_lookup import AnyFace, row_for, seen_or_404


@require_GET
def live(request: HttpRequest, pk: UUID, face: AnyFace) -> HttpResponse:
    return page_of(request, face, row_for(request, face, pk))


def page_of(request: HttpRequest, face: AnyFace, row: Any, status: int = 200, **more: Any) -> HttpResponse:
    """Render the live page; `more` is additional context, such as a refused submission."""
    pk, seen = row.run.pk, face.snapshot(row)
    if not row.run.is_ended:
        announce_soon(pk)
    context = {
        **face.page(pk),
        "display": face.display(seen),
        "made_mark": relation_mark(seen),
        "questions": seen.questions,
        **face.viewer_context(request, row),
        "steerable": STEER.covers(request.user, row.run),
        "socket": f"/ws/{face.nouns}/{pk}/?painted={row.run.revision}",
        "erasure": erasure_of(row.run),
        **related_runs(row.run, request.user),
        "page": "live",
        "newest_gate": Gate.objects.newest_of_all(),
        **more,
    }
    return render(request, f"{face.nouns}/live.html", context, status=status)


@require_GET
def fragments(request: HttpRequest, pk: UUID, face: AnyFace) -> HttpResponse:
    """Return all fragments, for a page that polls because its socket does not open; 304 if unchanged."""
    run = seen_or_404(face.runs().only("revision", "procedure", "owner_id", "parent_id"), request, pk)
    headers = {"ETag": f'"{run.revision}"', "Cache-Control": "no-store"}
    if unchanged := get_conditional_response(request, etag=headers["ETag"]):
        return unchanged
    log_view(run, request.user)
    seen = snapshot_of(run)
    shown = [*related_runs_fragment(relation_mark(seen)), *questions_shown(seen.questions, seen.texts)]
    shown += face.fragments(face.display(seen))
    return HttpResponse(render_fragments(shown), headers=headers)


@require_GET
def submitted_run(request: HttpRequest, pk: UUID, face: AnyFace) -> HttpResponse:
    """Render the related runs, for a page that was notified that they changed."""
    run = seen_or_404(face.runs(), request, pk)
    answer = render(request, "runs/_made.html", related_runs(run, request.user))
    answer["Cache-Control"] = "no-store"
    return answer


@require_GET
def erased(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Return the mark of the last redaction, for which open pages with texts of the run poll."""
    rows = Run.objects.filter(procedure__in=specs()).only("revision", "redacted", "owner_id")
    return HttpResponse(erasure_of(seen_or_404(rows, request, pk))["mark"], content_type="text/plain")


@require_http_methods(["GET", "POST"])
def cancel(request: HttpRequest, pk: UUID, face: AnyFace) -> HttpResponse:
    """Cancel a run. Without scripts, a GET asks for confirmation, which the page otherwise does in a dialog."""
    row = row_for(request, face, pk, STEER)
    if request.method == "POST":
        run_actions.cancel(row, request.user)
    elif not row.run.is_ended:
        context = {**face.page(pk), "display": face.display(RunSnapshot(row.run, row, [], {}))}
        return render(request, "runs/cancel.html", context)
    return redirect(face.page_name("live"), pk)


@require_POST
def retry(request: HttpRequest, pk: UUID, face: AnyFace) -> HttpResponse:
    row = row_for(request, face, pk, STEER)
    announce_soon(pk)
    try:
        run_actions.retry(row, request.user, limited=True)
    except (BudgetExceeded, RateLimitReached) as error:
        status = 402 if isinstance(error, BudgetExceeded) else 429
        return render(request, "runs/refused.html", {**face.page(pk), "reason": str(error)}, status=status)
    return redirect(face.page_name("live"), pk)
