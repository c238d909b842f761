"""The page of a matter: its plans in their order, and what its owner calls it."""

from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from engine.models import Run
from runs.face import faces
from runs.forms import as_typed

from .. import matters
from ..forms import MatterForm
from ..models import Matter, Plan

SWITCH = "switch"  # closed or open again


@require_http_methods(["GET", "HEAD", "POST"])
def matter(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Of its owner alone."""
    found = get_object_or_404(Matter.objects.there().filter(owner=request.user.pk), pk=pk)
    if request.method != "POST":
        return _page(request, found, MatterForm({"title": found.title}))
    if request.POST.get("do") == SWITCH:
        found.closed = None if found.closed else timezone.now()
        found.save(update_fields=["closed"])
        return redirect("plan-matter", pk)
    form = MatterForm(as_typed(request.POST))
    if not form.is_valid():
        return _page(request, found, form, 422)
    found.title = form.cleaned_data["title"]
    found.save(update_fields=["title"])
    return redirect("plan-matter", pk)


def _page(request: HttpRequest, found: Matter, form: MatterForm, status: int = 200) -> HttpResponse:
    plans = matters.plans_in([found])[found.pk]
    context = {
        "matter": found,
        "told": matters.matter_object(found, plans),
        "plans": [_told(plan) for plan in reversed(plans[: matters.MOST])],
        "older": max(len(plans) - matters.MOST, 0),
        "form": form,
        "page": "history",
    }
    return render(request, "plans/matter.html", context, status=status)


def _told(plan: Plan) -> dict[str, Any]:
    """`state` and `word` as on its plate."""
    run, face = plan.run, faces()["plan"]
    state, word = face.shown(run)
    remembered = run.outcome is not None and not run.redacted
    over = run.status == Run.Status.FINISHED
    return {"run": run, "state": state, "word": word, "summary": plan.summary if over else "", "remembered": remembered}
