from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.cache import get_conditional_response
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from engine.models.budgets import BudgetUsedUp
from engine.models.pace import LimitReached
from runs import steering
from runs.fragments import rendered
from runs.rights import STEER

from ..again import again_of
from ..display import display_of
from ..fragments import fragments as fragments_of
from ..models import Judgement
from .finding import judgement_for


@require_GET
def live(request: HttpRequest, pk: UUID) -> HttpResponse:
    judgement = judgement_for(request, pk, whole=True)
    display = display_of(judgement, judgement.calls, {})
    context = {
        "display": display,
        "again": again_of(judgement, request.user),
        "steerable": STEER.covers(request.user, judgement.run),
        "socket": f"/ws/judgements/{pk}/",
        "page": "live",
    }
    return render(request, "judgements/live.html", context)


@require_GET
def fragments(request: HttpRequest, pk: UUID) -> HttpResponse:
    """What a page polls whose socket does not open: every fragment, or that it has them already."""
    judgements = Judgement.objects.visible_to(request.user)
    found = get_object_or_404(judgements.select_related("run").only("run__revision"), pk=pk)
    headers = {"ETag": f'"{found.run.revision}"', "Cache-Control": "no-store"}
    if unchanged := get_conditional_response(request, etag=headers["ETag"]):
        return unchanged
    judgement = get_object_or_404(judgements.whole(), pk=pk)
    return HttpResponse(rendered(fragments_of(display_of(judgement, judgement.calls, {}))), headers=headers)


@require_http_methods(["GET", "POST"])
def cancel(request: HttpRequest, pk: UUID) -> HttpResponse:
    """The page asks in a dialog; without scripts its button leads to the same question here."""
    judgement = judgement_for(request, pk, STEER, whole=True)
    if request.method == "POST":
        steering.cancel(judgement, request.user)
    elif not judgement.run.over:
        return render(request, "judgements/cancel.html", {"display": display_of(judgement, [], {})})
    return redirect("live", pk)


@require_POST
def retry(request: HttpRequest, pk: UUID) -> HttpResponse:
    judgement = judgement_for(request, pk, STEER)
    try:
        steering.retry(judgement, request.user, limited=True)
    except (BudgetUsedUp, LimitReached) as error:
        status = 402 if isinstance(error, BudgetUsedUp) else 429
        return render(request, "judgements/refused.html", {"reason": str(error), "pk": pk}, status=status)
    return redirect("live", pk)
