from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from runs.rights import EXPORT, REDACT

from ..again import again_of
from ..record import record_line, record_of
from .finding import judgement_for


@require_GET
def record(request: HttpRequest, pk: UUID) -> HttpResponse:
    judgement = judgement_for(request, pk, whole=True)
    found = record_of(judgement, list(judgement.run.calls.order_by("pk")))
    context = {
        "record": found,
        "display": found.display,
        "again": again_of(judgement, request.user),
        "exportable": EXPORT.covers(request.user, judgement.run),
        "redactable": judgement.run.over and REDACT.covers(request.user, judgement.run),
        "page": "record",
    }
    return render(request, "judgements/record.html", context)


@require_GET
def record_file(request: HttpRequest, pk: UUID) -> HttpResponse:
    judgement = judgement_for(request, pk, EXPORT)
    return HttpResponse(
        record_line(judgement.pk),
        content_type="application/json",
        headers={
            "Content-Disposition": f'attachment; filename="magi-{pk}.json"',
            "Cache-Control": "no-store",
        },
    )
