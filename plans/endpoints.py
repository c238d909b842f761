"""The HTTP API of plans. Who calls, and what an error looks like, is the site's business.

Why so: docs/decisions.md, The API.
"""

from functools import partial
from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from ninja import Query

from engine.steering import Over
from runs.api.answers import answer, found, history_answer, json_answer, take_only
from runs.api.endpoints import router_of
from runs.api.limits import submits
from runs.api.refusals import Faults, Refusal, wrong_fields
from runs.api.schemas import page_of, placed, problems
from runs.api.scopes import Scope, credential, needs
from runs.api.submitting import OnceKey, submitted
from runs.face import faces
from runs.history import History
from runs.rights import STEER

from . import forms, matter_endpoints, procedure, schemas, talking, team_endpoints
from .api import tool_objects, tools_left_out
from .models import Plan, TeamChanged, TeamVersion
from .rules.actions import OVER

router = router_of("plan", lists=False)
router.add_router("", matter_endpoints.router)
router.add_router("", team_endpoints.router)


@router.post(
    "/plans",
    response={202: schemas.Plan},
    openapi_extra=problems(400, 402, 403, 409, 413, 415, 422, 429, also={202: placed("plan")}),
    summary="Submit a task to be planned",
)
@needs(Scope.SUBMIT, "plan")
@submits
def submit_plan(request: HttpRequest, asked: schemas.NewPlan, key: OnceKey = None) -> HttpResponse:
    """A planner makes steps for the agents of a team. People or councils decide about the plan, its steps and the calls
    that matter, at gates; then it is carried out. The same request under the same key brings the plan that was
    submitted first."""
    return submitted(request, "plan", asked, key, partial(_submit, request, asked))


@router.get(
    "/plans", response=page_of("plans", schemas.Plan), openapi_extra=problems(422), summary="List plans, newest first"
)
def plans(request: HttpRequest, asked: Query[schemas.SoughtPlans]) -> HttpResponse:
    take_only(request, *schemas.SoughtPlans.model_fields)
    owner = credential(request).owner
    history = History(owner, matter_endpoints.sought(asked, owner), face=faces()["plan"])
    return history_answer(request, asked, history, "plan")


def _submit(request: HttpRequest, asked: schemas.NewPlan, **once: str) -> Plan:
    owner, faults = credential(request).owner, Faults()
    values, wrong = forms.asked(asked.model_dump(exclude={"team", "begin"}))
    faults.add(wrong)
    with faults.noted():
        team = _team(asked.team)
    with faults.noted():
        earlier = _earlier(asked.begin, owner)
    faults.refuse()
    faults.add(forms.too_long_for(values["task"], team))
    faults.refuse()
    try:
        return procedure.submit(owner=owner, limited=True, team=team, earlier=earlier, **once, **values)
    except TeamChanged as error:
        raise Refusal(409, f"{error} Nothing was submitted.") from error


def _earlier(which: str | None, owner: Any) -> Plan | None:
    try:
        return forms.begun_from(which, owner)
    except ValidationError as error:
        raise wrong_fields([("from", str(error.message))]) from error


def _team(which: str | None) -> TeamVersion:
    try:
        return forms.team_named(which)
    except ValidationError as error:
        raise wrong_fields([("team", str(error.message))]) from error


@router.post(
    "/plans/{uuid:id}/messages",
    response={202: schemas.Plan},
    openapi_extra=problems(400, 403, 404, 409, 413, 415, 422),
    summary="Say something to the planner or to the agent of a step",
)
@needs(Scope.STEER, "plan")
def say_in_plan(request: HttpRequest, id: UUID, asked: schemas.PlanWords) -> HttpResponse:
    """To the planner: it plans again what has not begun. To a step: its agent reads it before its next move."""
    return _done(request, id, partial(talking.say, id, credential(request).owner, asked.text, asked.step))


@router.patch(
    "/plans/{uuid:id}/steps/{int:number}",
    response={200: schemas.Plan},
    openapi_extra=problems(400, 403, 404, 409, 413, 415, 422),
    summary="Change a step that has not begun",
)
@needs(Scope.STEER, "plan")
def change_step(request: HttpRequest, id: UUID, number: int, asked: schemas.StepChange) -> HttpResponse:
    """What was decided about it holds no more: the new text is asked about anew."""
    values = asked.model_dump(exclude_unset=True)
    change = partial(talking.change_step, id, credential(request).owner, number, values)
    return _done(request, id, change, HTTPStatus.OK)


def _done(request: HttpRequest, pk: UUID, do: Any, status: HTTPStatus = HTTPStatus.ACCEPTED) -> HttpResponse:
    found(request, pk, "plan", STEER)
    try:
        do()
    except talking.NoSuchStep as error:
        raise Refusal(404, str(error)) from error
    except talking.Wrong as wrong:
        raise wrong_fields(wrong.problems) from wrong
    except (talking.Refused, Over) as refused:
        raise Refusal(409, str(refused) if isinstance(refused, talking.Refused) else OVER) from refused
    return answer(request, found(request, pk, "plan"), status)


@router.get("/tools", response=schemas.Tools, openapi_extra=problems(422), summary="The tools that agents may have")
def tools(request: HttpRequest) -> HttpResponse:
    take_only(request)
    return json_answer({"results": list(tool_objects()), "left_out": list(tools_left_out())})
