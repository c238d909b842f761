from typing import Any
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils.cache import get_conditional_response
from django.views.decorators.http import require_GET

from ..access_log import log_view
from ..procedure.spec import RunSnapshot, snapshot_of
from ..record.redaction import erasure_of
from ..record.replay import FRAMES_FORMAT, RunReplay
from ..record.replay import build_replay as frames_of
from .row_lookup import AnyFace, row_for, seen_or_404


@require_GET
def replay_page(request: HttpRequest, pk: UUID, face: AnyFace) -> HttpResponse:
    row = row_for(request, face, pk)
    if not row.run.is_ended:
        return redirect(face.page_name("live"), pk)
    return replayed(request, face.snapshot(row), erasure=erasure_of(row.run))


def replayed(request: HttpRequest, seen: RunSnapshot[Any], **more: Any) -> HttpResponse:
    """Render the replay page for a snapshot."""
    past = RunReplay(seen)
    face = past.face
    context = {
        **face.page(seen.run.pk),
        "display": past.display_at(past.moments[0]),
        "end": past.display_at(past.moments[-1]),
        "live_page": f"{face.nouns}/live.html",
        "replay": True,
        "page": "replay",
        **more,
    }
    return render(request, "runs/replay.html", context)


@require_GET
def frames(request: HttpRequest, pk: UUID, face: AnyFace) -> HttpResponse:
    """Return the frames of a replay. They change only if a failed run is retried."""
    run = seen_or_404(face.runs().only("revision", "status", "procedure", "owner_id", "parent_id"), request, pk)
    if not run.is_ended:
        raise Http404
    headers = {"ETag": f'"{run.revision}.{FRAMES_FORMAT}"', "Cache-Control": "private, no-cache"}
    if unchanged := get_conditional_response(request, etag=headers["ETag"]):
        return unchanged
    log_view(run, request.user)
    return JsonResponse(frames_of(snapshot_of(run)), headers=headers)
