from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.cache import get_conditional_response
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from engine.budgets import BudgetUsedUp

from .. import procedure
from ..again import again_of
from ..board import board_of
from ..leaves import snapshot
from ..models import Judgement


@require_GET
def live(request: HttpRequest, pk: UUID) -> HttpResponse:
    judgement = get_object_or_404(Judgement.objects.visible_to(request.user).whole(), pk=pk)
    board = board_of(judgement, judgement.calls, {})
    context = {
        "board": board,
        "again": again_of(judgement, request.user),
        "socket": f"/ws/judgements/{pk}/",
        "page": "live",
    }
    return render(request, "judgements/live.html", context)


@require_GET
def leaves(request: HttpRequest, pk: UUID) -> HttpResponse:
    """What a page polls whose socket does not open: every leaf, or that it has them already."""
    judgements = Judgement.objects.visible_to(request.user)
    found = get_object_or_404(judgements.select_related("run").only("run__revision"), pk=pk)
    headers = {"ETag": f'"{found.run.revision}"', "Cache-Control": "no-store"}
    if unchanged := get_conditional_response(request, etag=headers["ETag"]):
        return unchanged
    judgement = get_object_or_404(judgements.whole(), pk=pk)
    return HttpResponse(snapshot(board_of(judgement, judgement.calls, {})), headers=headers)


@require_http_methods(["GET", "POST"])
def cancel(request: HttpRequest, pk: UUID) -> HttpResponse:
    """The page asks in a dialog; without scripts its button leads to the same question here."""
    judgement = get_object_or_404(Judgement.objects.steerable_by(request.user).whole(), pk=pk)
    if request.method == "POST":
        procedure.cancel(judgement, request.user)
    elif not judgement.run.over:
        return render(request, "judgements/cancel.html", {"board": board_of(judgement, [], {})})
    return redirect("live", pk)


@require_POST
def retry(request: HttpRequest, pk: UUID) -> HttpResponse:
    judgement = get_object_or_404(Judgement.objects.steerable_by(request.user), pk=pk)
    try:
        procedure.retry(judgement, request.user)
    except BudgetUsedUp as error:
        return render(request, "judgements/refused.html", {"reason": str(error), "pk": pk}, status=402)
    return redirect("live", pk)
