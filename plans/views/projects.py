"""The page of a project: its plans, its title, and closing it."""

from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from engine.models import Run
from runs.forms import posted_values
from runs.procedure.spec import specs

from .. import projects
from ..forms import ProjectForm
from ..models import Plan, Project

SWITCH = "switch"  # closed or open again


@require_http_methods(["GET", "HEAD", "POST"])
def project_page(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Only the project's owner sees it."""
    found = get_object_or_404(Project.objects.existing().filter(owner=request.user.pk), pk=pk)
    if request.method != "POST":
        return _page(request, found, ProjectForm({"title": found.title}))
    if request.POST.get("do") == SWITCH:
        found.closed = None if found.closed else timezone.now()
        found.save(update_fields=["closed"])
        return redirect("plan-matter", pk)
    form = ProjectForm(posted_values(request.POST))
    if not form.is_valid():
        return _page(request, found, form, 422)
    found.title = form.cleaned_data["title"]
    found.save(update_fields=["title"])
    return redirect("plan-matter", pk)


def _page(request: HttpRequest, found: Project, form: ProjectForm, status: int = 200) -> HttpResponse:
    plans = projects.plans_of_projects([found])[found.pk]
    context = {
        "matter": found,
        "told": projects.project_fields(found, plans),
        "plans": [_plan_row(plan) for plan in reversed(plans[: projects.MOST])],
        "older": max(len(plans) - projects.MOST, 0),
        "form": form,
        "page": "history",
    }
    return render(request, "plans/matter.html", context, status=status)


def _plan_row(plan: Plan) -> dict[str, Any]:
    """Return a row of the list; `state` and `word` as the plan's page shows them."""
    run, face = plan.run, specs()["plan"]
    state, word = face.filter_labels(run)
    remembered = run.outcome is not None and not run.redacted
    over = run.status == Run.Status.FINISHED
    return {"run": run, "state": state, "word": word, "summary": plan.summary if over else "", "remembered": remembered}
