"""The HTTP API of projects (`/matters`), and the filters of lists of plans."""

from typing import Annotated, Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from ninja import Query, Router

from engine.models import Gate
from runs.api.endpoints import history_query_of
from runs.api.errors import field_errors
from runs.api.responses import json_response, not_found, reject_unknown_parameters
from runs.api.scopes import TokenScope, credential_of, requires_scope
from runs.forms import first_errors, parse_number
from runs.procedure.schemas import problem_responses

from . import projects, schemas
from .forms import ProjectForm
from .history import teams
from .models import Project

router = Router()

Closed = Annotated[bool, Query(description="Whether those that are closed are listed, too.")]


@router.get(
    "/matters",
    response=schemas.ProjectListOut,
    openapi_extra=problem_responses(422),
    summary="One's own matters, newest first",
)
def list_projects(request: HttpRequest, closed: Closed = False) -> HttpResponse:
    """The planner of a matter's plan sees how earlier plans of the matter ended. A matter is created when a plan is
    submitted with a new name."""
    reject_unknown_parameters(request, "closed")
    return json_response(
        {"results": list(projects.project_summaries(projects.projects_of(credential_of(request).owner, closed=closed)))}
    )


@router.patch(
    "/matters/{uuid:id}",
    response=schemas.ProjectOut,
    openapi_extra=problem_responses(400, 403, 404, 413, 415, 422),
    summary="Rename or close a matter",
)
@requires_scope(TokenScope.STEER, "plan")
def change_project(request: HttpRequest, id: UUID, asked: schemas.ProjectChange) -> HttpResponse:
    """A closed matter is not in lists and choices. Its plans go on, and new plans may be submitted with its name."""
    matter = Project.objects.existing().filter(owner=credential_of(request).owner, pk=id).first()
    if matter is None:
        raise not_found("matter")
    if asked.title is not None:
        matter.title = _title(asked.title)
    if asked.closed is not None:
        matter.closed = (matter.closed or timezone.now()) if asked.closed else None
    matter.save(update_fields=["title", "closed"])
    return json_response(next(projects.project_summaries([matter])))


def _title(given: str) -> str:
    form = ProjectForm({"title": given})
    if not form.is_valid():
        raise field_errors(first_errors(form))
    return str(form.cleaned_data["title"])


# ---- filters of lists ----------------------------------------------------------------------------------------


def plan_list_filter(asked: schemas.PlanListQuery, owner: Any) -> dict[str, Any]:
    """Return arguments for the run history."""
    found = history_query_of(asked)
    if asked.team:
        found["team"] = _team(asked.team)
    if asked.matter:
        found["matter"] = _matter(asked.matter, owner)
    if asked.waits_for:
        found["among"] = list(Gate.objects.for_user(owner).values_list("run", flat=True))
    return found


def _team(which: str) -> int:
    known = teams()
    found = next((pk for pk, name in known if name == which), None)
    found = found or next((pk for pk, _ in known if pk == parse_number(which)), None)
    if found is None:
        raise field_errors([("team", "There is no such team.")])
    return found


def _matter(which: str, owner: Any) -> str:
    own = Project.objects.existing().filter(owner=owner)
    key = _key(which)
    found = Project.objects.named(owner, which).first() or (own.filter(pk=key).first() if key else None)
    if found is None:
        raise field_errors([("matter", "You have no such matter.")])
    return found.pk.hex


def _key(which: str) -> UUID | None:
    try:
        return UUID(which)
    except ValueError:
        return None
