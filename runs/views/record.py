from collections.abc import Callable
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from ..evidence_file import evidence_file
from ..face import snapshot_of
from ..given_looks import given_to, note_look
from ..record import record_line, record_of
from ..redaction import erasure_of
from ..replay_file import replay_file
from ..rights import EXPORT, REDACT, SHARE
from .finding import AnyFace, row_for, run_for


@require_GET
def record(request: HttpRequest, pk: UUID, face: AnyFace) -> HttpResponse:
    row = row_for(request, face, pk)
    context = {
        **face.page(pk),
        **record_of(row, list(row.run.calls.order_by("pk").defer(None).defer(*face.record_without))),
        **face.extra(request, row),  # noqa: S610 - a method of our own
        "record_part": f"{face.nouns}/_record.html",
        "given": given_to(request.user, row.run),
        "exportable": EXPORT.covers(request.user, row.run),
        "shareable": SHARE.covers(request.user, row.run),
        "redactable": row.run.over and REDACT.covers(request.user, row.run),
        "erasure": erasure_of(row.run),
        "page": "record",
    }
    return render(request, [f"{face.nouns}/record.html", "runs/record.html"], context)


@require_GET
def record_file(request: HttpRequest, pk: UUID, face: AnyFace) -> HttpResponse:
    return _kept(request, pk, face, "json", lambda: record_line(pk))


@require_GET
def evidence(request: HttpRequest, pk: UUID, face: AnyFace) -> HttpResponse:
    return _kept(request, pk, face, "zip", lambda: evidence_file(pk, face.noun))


@require_GET
def replay(request: HttpRequest, pk: UUID, face: AnyFace) -> HttpResponse:
    """A page to keep, as a file: it carries a policy of its own, and nothing of it is run on this site."""
    if not run_for(request, face, pk, EXPORT).over:
        return _refused(request, pk, face, f"{face.a_noun} that goes on is played again when it is over.", "Not yet")
    return _kept(request, pk, face, "html", lambda: replay_file(snapshot_of(run_for(request, face, pk, EXPORT))))


def _kept(request: HttpRequest, pk: UUID, face: AnyFace, form: str, made: Callable[[], str | bytes]) -> HttpResponse:
    run = run_for(request, face, pk, EXPORT)
    if reason := face.withheld([run]).get(run.pk):
        return _refused(request, pk, face, reason, "There is no record yet")
    note_look(run, request.user)
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
