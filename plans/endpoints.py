"""The HTTP API of plans. Authentication and the format of errors are in runs/api.

Why so: runs/DESIGN.md, The API.
"""

from functools import partial
from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from ninja import Query

from engine.run_control import RunEnded
from runs.api.endpoints import run_router
from runs.api.errors import ApiError, FieldErrors, field_errors
from runs.api.idempotent_submit import IdempotencyHeader, submit_response
from runs.api.rate_limit_headers import count_submission
from runs.api.responses import (
    get_run_or_refuse,
    history_response,
    json_response,
    reject_unknown_parameters,
    run_response,
)
from runs.api.scopes import TokenScope, credential_of, requires_scope
from runs.history.query import RunHistory
from runs.procedure.schemas import location_response, page_schema, problem_responses
from runs.procedure.spec import specs
from runs.rights import STEER

from . import comments, forms, procedure, project_endpoints, schemas, team_endpoints
from .models import Plan, TeamChanged, TeamVersion
from .responses import tool_fields, tools_left_out
from .rules.actions import PLAN_ENDED_TEXT

router = run_router("plan", lists=False)
router.add_router("", project_endpoints.router)
router.add_router("", team_endpoints.router)


@router.post(
    "/plans",
    response={202: schemas.PlanOut},
    openapi_extra=problem_responses(400, 402, 403, 409, 413, 415, 422, 429, also={202: location_response("plan")}),
    summary="Submit a task to be planned",
)
@requires_scope(TokenScope.SUBMIT, "plan")
@count_submission
def submit_plan(request: HttpRequest, asked: schemas.NewPlan, key: IdempotencyHeader = None) -> HttpResponse:
    """A planner makes steps for the agents of a team. People or councils approve the plan, its steps and critical tool
    calls at gates; then agents carry it out. The same request with the same idempotency key returns the plan that was
    submitted first."""
    return submit_response(request, "plan", asked, key, partial(_submit, request, asked))


@router.get(
    "/plans",
    response=page_schema("plans", schemas.PlanOut),
    openapi_extra=problem_responses(422),
    summary="List plans, newest first",
)
def plans(request: HttpRequest, asked: Query[schemas.PlanListQuery]) -> HttpResponse:
    reject_unknown_parameters(request, *schemas.PlanListQuery.model_fields)
    owner = credential_of(request).owner
    history = RunHistory(owner, project_endpoints.plan_list_filter(asked, owner), face=specs()["plan"])
    return history_response(request, asked, history, "plan")


def _submit(request: HttpRequest, asked: schemas.NewPlan, **once: str) -> Plan:
    owner, faults = credential_of(request).owner, FieldErrors()
    values, wrong = forms.submit_values(asked.model_dump(exclude={"team", "begin"}))
    faults.add(wrong)
    with faults.has():
        team = _team(asked.team)
    with faults.has():
        earlier = _earlier(asked.begin, owner)
    faults.raise_if_any()
    faults.add(forms.too_long_for(values["task"], team))
    faults.raise_if_any()
    try:
        return procedure.submit(owner=owner, limited=True, team=team, earlier=earlier, **once, **values)
    except TeamChanged as error:
        raise ApiError(409, f"{error} Nothing was submitted.") from error


def _earlier(which: str | None, owner: Any) -> Plan | None:
    try:
        return forms.plan_to_start_from(which, owner)
    except ValidationError as error:
        raise field_errors([("from", str(error.message))]) from error


def _team(which: str | None) -> TeamVersion:
    try:
        return forms.find_team(which)
    except ValidationError as error:
        raise field_errors([("team", str(error.message))]) from error


@router.post(
    "/plans/{uuid:id}/messages",
    response={202: schemas.PlanOut},
    openapi_extra=problem_responses(400, 403, 404, 409, 413, 415, 422),
    summary="Say something to the planner or to the agent of a step",
)
@requires_scope(TokenScope.STEER, "plan")
def post_plan_comment(request: HttpRequest, id: UUID, asked: schemas.PlanCommentIn) -> HttpResponse:
    """The planner plans again what has not started. The agent of a step reads the message before its next move."""
    return _apply(request, id, partial(comments.post_comment, id, credential_of(request).owner, asked.text, asked.step))


@router.patch(
    "/plans/{uuid:id}/steps/{int:number}",
    response={200: schemas.PlanOut},
    openapi_extra=problem_responses(400, 403, 404, 409, 413, 415, 422),
    summary="Change a step that has not begun",
)
@requires_scope(TokenScope.STEER, "plan")
def edit_step(request: HttpRequest, id: UUID, number: int, asked: schemas.StepChange) -> HttpResponse:
    """Earlier decisions about the step become invalid: the new text needs approval again."""
    values = asked.model_dump(exclude_unset=True)
    change = partial(comments.change_step, id, credential_of(request).owner, number, values)
    return _apply(request, id, change, HTTPStatus.OK)


def _apply(request: HttpRequest, pk: UUID, do: Any, status: HTTPStatus = HTTPStatus.ACCEPTED) -> HttpResponse:
    get_run_or_refuse(request, pk, "plan", STEER)
    try:
        do()
    except comments.NoSuchStep as error:
        raise ApiError(404, str(error)) from error
    except comments.InvalidComment as wrong:
        raise field_errors(wrong.problems) from wrong
    except (comments.CommentRefused, RunEnded) as refused:
        raise ApiError(
            409, str(refused) if isinstance(refused, comments.CommentRefused) else PLAN_ENDED_TEXT
        ) from refused
    return run_response(request, get_run_or_refuse(request, pk, "plan"), status)


@router.get(
    "/tools",
    response=schemas.ToolListOut,
    openapi_extra=problem_responses(422),
    summary="The tools that agents may have",
)
def tools(request: HttpRequest) -> HttpResponse:
    reject_unknown_parameters(request)
    return json_response({"results": list(tool_fields()), "left_out": list(tools_left_out())})
