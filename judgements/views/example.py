"""The finished example, at addresses like those of any judgement, for whoever has none of their own yet."""

from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET

from runs.face import Snapshot, faces
from runs.replay import replay as frames_of
from runs.views.replay import replayed

from ..exhibit import exhibit


def _seen() -> Snapshot[Any]:
    return faces()["judgement"].seen(*exhibit())


@require_GET
def example(request: HttpRequest) -> HttpResponse:
    face, seen = faces()["judgement"], _seen()
    context = {**face.page(seen.run.pk), "display": face.display(seen), "steerable": False, "page": "example"}
    return render(request, "judgements/example.html", context)


@require_GET
def record(request: HttpRequest) -> HttpResponse:
    """There is none: nobody was asked, and nothing is kept."""
    return redirect("example")


@require_GET
def replay(request: HttpRequest) -> HttpResponse:
    return replayed(request, _seen())


@require_GET
def frames(request: HttpRequest) -> HttpResponse:
    return JsonResponse(frames_of(_seen()), headers={"Cache-Control": "private, no-cache"})
