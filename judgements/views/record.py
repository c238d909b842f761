from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET

from ..again import again_of
from ..models import Judgement
from ..record import record_line, record_of


@require_GET
def record(request: HttpRequest, pk: UUID) -> HttpResponse:
    judgement = get_object_or_404(Judgement.objects.visible_to(request.user).whole(), pk=pk)
    found = record_of(judgement, list(judgement.run.calls.order_by("pk")))
    context = {
        "record": found,
        "board": found.board,
        "again": again_of(judgement, request.user),
        "redactable": judgement.run.over and judgement.is_redactable_by(request.user),
        "page": "record",
    }
    return render(request, "judgements/record.html", context)


@require_GET
def record_file(request: HttpRequest, pk: UUID) -> HttpResponse:
    judgement = get_object_or_404(Judgement.objects.visible_to(request.user), pk=pk)
    return HttpResponse(
        record_line(judgement.pk),
        content_type="application/json",
        headers={
            "Content-Disposition": f'attachment; filename="magi-{pk}.json"',
            "Cache-Control": "no-store",
        },
    )
