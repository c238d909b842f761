from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from ..record import record_line, record_of
from ..redaction import erasure_of
from ..rights import EXPORT, REDACT
from .finding import AnyFace, row_for, run_for


@require_GET
def record(request: HttpRequest, pk: UUID, face: AnyFace) -> HttpResponse:
    row = row_for(request, face, pk)
    context = {
        **face.page(pk),
        **record_of(row, list(row.run.calls.order_by("pk").defer(None).defer(*face.record_without))),
        **face.extra(request, row),  # noqa: S610 - a method of our own
        "record_part": f"{face.nouns}/_record.html",
        "exportable": EXPORT.covers(request.user, row.run),
        "redactable": row.run.over and REDACT.covers(request.user, row.run),
        "erasure": erasure_of(row.run),
        "page": "record",
    }
    return render(request, [f"{face.nouns}/record.html", "runs/record.html"], context)


@require_GET
def record_file(request: HttpRequest, pk: UUID, face: AnyFace) -> HttpResponse:
    run = run_for(request, face, pk, EXPORT)
    if reason := face.withheld([run]).get(run.pk):
        context = {**face.page(pk), "reason": reason, "what": "There is no record yet"}
        return render(request, "runs/refused.html", context, status=409)
    return HttpResponse(
        record_line(run.pk),
        content_type="application/json",
        headers={
            "Content-Disposition": f'attachment; filename="magi-{pk}.json"',
            "Cache-Control": "no-store",
        },
    )
