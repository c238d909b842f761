"""Pages of the finished example, at URLs like those of any judgement, for users who have no judgement yet."""

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
    """Redirect to the example: it has no record, because no model was asked and nothing is saved."""
    return redirect("example")


@require_GET
def replay(request: HttpRequest) -> HttpResponse:
    return replayed(request, _seen())


@require_GET
def demo_frames(request: HttpRequest) -> HttpResponse:
    return JsonResponse(frames_of(_seen()), headers={"Cache-Control": "private, no-cache"})
