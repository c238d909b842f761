"""The HTTP API of matters, and what lists of plans are asked for."""

from typing import Annotated, Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from ninja import Query, Router

from engine.models import Gate
from runs.api.answers import json_answer, missing, take_only
from runs.api.endpoints import sought_of
from runs.api.refusals import wrong_fields
from runs.api.schemas import problems
from runs.api.scopes import Scope, credential, needs
from runs.forms import as_number, first_errors

from . import matters, schemas
from .filters import teams
from .forms import MatterForm
from .models import Matter

router = Router()

Closed = Annotated[bool, Query(description="Whether those that are closed are listed, too.")]


@router.get(
    "/matters", response=schemas.Matters, openapi_extra=problems(422), summary="One's own matters, newest first"
)
def own_matters(request: HttpRequest, closed: Closed = False) -> HttpResponse:
    """Plans of one matter know how the earlier ones came out. A name with which a plan is submitted makes one."""
    take_only(request, "closed")
    return json_answer({"results": list(matters.told(matters.own(credential(request).owner, closed=closed)))})


@router.patch(
    "/matters/{uuid:id}",
    response=schemas.Matter,
    openapi_extra=problems(400, 403, 404, 413, 415, 422),
    summary="Call a matter otherwise, or close it",
)
@needs(Scope.STEER, "plan")
def change_matter(request: HttpRequest, id: UUID, asked: schemas.MatterChange) -> HttpResponse:
    """A closed one is in no lists and choices. Its plans go on, and new ones may be submitted by its name."""
    matter = Matter.objects.there().filter(owner=credential(request).owner, pk=id).first()
    if matter is None:
        raise missing("matter")
    if asked.title is not None:
        matter.title = _title(asked.title)
    if asked.closed is not None:
        matter.closed = (matter.closed or timezone.now()) if asked.closed else None
    matter.save(update_fields=["title", "closed"])
    return json_answer(next(matters.told([matter])))


def _title(given: str) -> str:
    form = MatterForm({"title": given})
    if not form.is_valid():
        raise wrong_fields(first_errors(form))
    return str(form.cleaned_data["title"])


# ---- which plans ---------------------------------------------------------------------------------------------


def sought(asked: schemas.SoughtPlans, owner: Any) -> dict[str, Any]:
    """As the history takes it."""
    found = sought_of(asked)
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
    found = found or next((pk for pk, _ in known if pk == as_number(which)), None)
    if found is None:
        raise wrong_fields([("team", "There is no such team.")])
    return found


def _matter(which: str, owner: Any) -> str:
    own = Matter.objects.there().filter(owner=owner)
    key = _key(which)
    found = Matter.objects.called(owner, which).first() or (own.filter(pk=key).first() if key else None)
    if found is None:
        raise wrong_fields([("matter", "You have no such matter.")])
    return found.pk.hex


def _key(which: str) -> UUID | None:
    try:
        return UUID(which)
    except ValueError:
        return None
