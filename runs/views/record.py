from collections.abc import Callable
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from ..access_log import grants_for, log_view
from ..procedure.spec import snapshot_of
from ..record.document import record_line, record_of
from ..record.evidence_file import build_evidence_file
from ..record.redaction import erasure_of
from ..record.replay_file import replay_file
from ..rights import EXPORT, REDACT, SHARE
from .row_lookup import AnyFace, row_for, run_for


@require_GET
def record(request: HttpRequest, pk: UUID, face: AnyFace) -> HttpResponse:
    row = row_for(request, face, pk)
    context = {
        **face.page(pk),
        **record_of(row, list(row.run.calls.order_by("pk").defer(None).defer(*face.record_without))),
        **face.viewer_context(request, row),
        "record_part": f"{face.nouns}/_record.html",
        "given": grants_for(request.user, row.run),
        "exportable": EXPORT.covers(request.user, row.run),
        "shareable": SHARE.covers(request.user, row.run),
        "redactable": row.run.is_ended and REDACT.covers(request.user, row.run),
        "erasure": erasure_of(row.run),
        "page": "record",
    }
    return render(request, [f"{face.nouns}/record.html", "runs/record.html"], context)


@require_GET
def record_file(request: HttpRequest, pk: UUID, face: AnyFace) -> HttpResponse:
    return _kept(request, pk, face, "json", lambda: record_line(pk))


@require_GET
def evidence(request: HttpRequest, pk: UUID, face: AnyFace) -> HttpResponse:
    return _kept(request, pk, face, "zip", lambda: build_evidence_file(pk, face.noun))


@require_GET
def replay_download(request: HttpRequest, pk: UUID, face: AnyFace) -> HttpResponse:
    """Download a self-contained page, which has its own policy and is not run on this site."""
    if not run_for(request, face, pk, EXPORT).is_ended:
        return _refused(
            request, pk, face, f"{face.noun_with_article} that goes on is played again when it is over.", "Not yet"
        )
    return _kept(request, pk, face, "html", lambda: replay_file(snapshot_of(run_for(request, face, pk, EXPORT))))


def _kept(request: HttpRequest, pk: UUID, face: AnyFace, form: str, made: Callable[[], str | bytes]) -> HttpResponse:
    run = run_for(request, face, pk, EXPORT)
    if reason := face.hidden_run_ids([run]).get(run.pk):
        return _refused(request, pk, face, reason, "There is no record yet")
    log_view(run, request.user)
    return HttpResponse(
        made(),
        content_type="text/html; charset=utf-8" if form == "html" else f"application/{form}",
        headers={
            "Content-Disposition": f'attachment; filename="magi-{pk}.{form}"',
            "Cache-Control": "no-store",
        },
    )


def _refused(request: HttpRequest, pk: UUID, face: AnyFace, reason: str, what: str) -> HttpResponse:
    return render(request, "runs/refused.html", {**face.page(pk), "reason": reason, "what": what}, status=409)
