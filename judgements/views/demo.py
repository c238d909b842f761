"""The finished example, at addresses like those of any judgement, for whoever has none of their own yet."""

from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET

from runs.procedure.spec import RunSnapshot, specs
from runs.record.replay import build_replay as frames_of
from runs.views.replay import replayed

from ..demo import demo_judgement


def _seen() -> RunSnapshot[Any]:
    return specs()["judgement"].snapshot(*demo_judgement())


@require_GET
def demo_page(request: HttpRequest) -> HttpResponse:
    face, seen = specs()["judgement"], _seen()
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
def demo_frames(request: HttpRequest) -> HttpResponse:
    return JsonResponse(frames_of(_seen()), headers={"Cache-Control": "private, no-cache"})
