from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET

from runs.procedure.spec import specs
from runs.record.document import attempt_of
from runs.rights import EXPORT
from runs.views.row_lookup import row_for

from ..models.visibility import hides_first_verdicts
from ..record.xml_export import render_debate_xml


@require_GET
def record_xml(request: HttpRequest, pk: UUID) -> HttpResponse:
    row = row_for(request, specs()["debate"], pk, EXPORT)
    headers = {"Content-Disposition": f'attachment; filename="debate-{str(pk)[:8]}.xml"', "Cache-Control": "no-store"}
    text = render_debate_xml(row)
    return HttpResponse(text, content_type="application/xml; charset=utf-8", headers=headers)


@require_GET
def prompt_page(request: HttpRequest, pk: UUID, number: int) -> HttpResponse:
    """Show one attempt with its whole prompt: those of all messages would be too long for one page."""
    face = specs()["debate"]
    row = row_for(request, face, pk)
    call = get_object_or_404(row.run.calls.defer(None), pk=number)
    if hides_first_verdicts(row) and call.step.startswith("first-"):
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
