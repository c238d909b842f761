from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET

from runs.face import faces
from runs.record import attempt_of
from runs.rights import EXPORT
from runs.views.finding import row_for

from ..models.secret import firsts_hidden
from ..record.exchange import xml_of


@require_GET
def record_xml(request: HttpRequest, pk: UUID) -> HttpResponse:
    row = row_for(request, faces()["debate"], pk, EXPORT)
    headers = {"Content-Disposition": f'attachment; filename="debate-{str(pk)[:8]}.xml"', "Cache-Control": "no-store"}
    text = xml_of(row)
    return HttpResponse(text, content_type="application/xml; charset=utf-8", headers=headers)


@require_GET
def asked(request: HttpRequest, pk: UUID, number: int) -> HttpResponse:
    """One attempt with its whole prompt: those of all messages would be too long for one page."""
    face = faces()["debate"]
    row = row_for(request, face, pk)
    call = get_object_or_404(row.run.calls.defer(None), pk=number)
    if firsts_hidden(row) and call.step.startswith("first-"):
        raise Http404
    context = {
        **face.page(pk),
        "pk": str(pk),
        "title": row.run.shown_title,
        "step": call.step,
        "attempt": attempt_of(call),
        "redacted": row.run.redacted,
    }
    return render(request, "debates/asked.html", context)
