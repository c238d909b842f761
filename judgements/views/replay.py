from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.cache import get_conditional_response
from django.views.decorators.http import require_GET

from runs.face import face_of
from runs.replay import FRAMES_FORM, Past
from runs.replay import replay as frames_of

from ..models import Judgement
from .finding import judgement_for


@require_GET
def replay(request: HttpRequest, pk: UUID) -> HttpResponse:
    judgement = judgement_for(request, pk, whole=True)
    if not judgement.run.over:
        return redirect("live", pk)
    past = Past(face_of(judgement.run).seen(judgement))
    context = {"display": past.display_at(past.moments[0]), "replay": True, "page": "replay"}
    return render(request, "judgements/replay.html", context)


@require_GET
def frames(request: HttpRequest, pk: UUID) -> HttpResponse:
    """What the page plays. It stays as it is, unless a failed judgement is tried again."""
    judgements = Judgement.objects.visible_to(request.user)
    run = get_object_or_404(
        judgements.select_related("run").only("run__revision", "run__status", "run__procedure"), pk=pk
    ).run
    if not run.over:
        raise Http404
    headers = {"ETag": f'"{run.revision}.{FRAMES_FORM}"', "Cache-Control": "private, no-cache"}
    if unchanged := get_conditional_response(request, etag=headers["ETag"]):
        return unchanged
    return JsonResponse(frames_of(face_of(run).seen(judgements.whole().get(pk=pk))), headers=headers)
