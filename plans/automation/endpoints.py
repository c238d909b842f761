"""The calls of programs that were written for another planner: its addresses, its names, and no rule of their own.

Why so: docs/decisions.md, The API.
"""

from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from runs.api.answers import json_answer, take_only
from runs.api.schemas import problems
from runs.api.scopes import Scope, needs

from ..models import Matter, Team
from . import schemas, tasks
from .objects import plan_line, plan_object, session_object, step_object, tool_lines
from .sessions import owner_of, plan, plans_of, same_user, session
from .thread import thread_of

router = Router()


@router.post(
    "/input_task",
    response=schemas.TaskTaken,
    openapi_extra=problems(400, 402, 403, 409, 413, 415, 422, 429),
    summary="Submit a task",
)
@needs(Scope.SUBMIT, "plan")
async def input_task(request: HttpRequest, asked: schemas.InputTask) -> HttpResponse:
    """The answer comes as soon as there is a plan to look at, or questions, or after a minute."""
    same_user(request, asked.user_id)
    return json_answer(await tasks.taken(request, asked))


# ---- looking ----------------------------------------------------------------------------------------------


@router.get(
    "/plans",
    response=list[schemas.Plan],
    openapi_extra=problems(403, 404, 422),
    url_name="plans",
    summary="List plans with their steps, newest first",
)
def plans(request: HttpRequest, session_id: str = Query("", description="Of this session alone.")) -> HttpResponse:
    take_only(request, "session_id")
    which = {"matter": session(request, session_id)} if session_id else {}
    return json_answer([plan_object(one, _me(request)) for one in plans_of(request, **which)])


@router.get(
    "/steps/{plan_id}",
    response=list[schemas.Step],
    openapi_extra=problems(403, 404, 422),
    url_name="steps",
    summary="List the steps of a plan",
)
def steps(request: HttpRequest, plan_id: str) -> HttpResponse:
    take_only(request)
    found = plan(request, plan_id)
    return json_answer([step_object(step, found, _me(request)) for step in found.steps_now])


@router.get(
    "/agent_messages/{path:session_id}",
    response=list[schemas.Message],
    openapi_extra=problems(403, 404, 422),
    url_name="agent-messages",
    summary="List the messages of a session, oldest first",
)
def agent_messages(request: HttpRequest, session_id: str) -> HttpResponse:
    take_only(request)
    found = plans_of(request, matter=session(request, session_id))
    return json_answer(_by_time([said.as_object(_me(request)) for one in found for said in thread_of(one)]))


@router.get(
    "/messages",
    response=list[schemas.Session | schemas.PlanShown | schemas.StepShown | schemas.Message],
    openapi_extra=problems(403, 422),
    url_name="messages",
    summary="List everything of all sessions, oldest first",
)
def messages(request: HttpRequest) -> HttpResponse:
    """Sessions, plans, steps and messages; each says which it is in data_type."""
    take_only(request)
    return json_answer(_by_time(_lines(request)))


def _lines(request: HttpRequest) -> list[dict[str, Any]]:
    me, found = _me(request), plans_of(request)
    of = {matter: [one for one in found if one.matter_id == matter.pk] for matter in _sessions(request)}
    lines = [session_object(matter, plans, me) for matter, plans in of.items()]
    lines += [{**plan_line(one, me), "content": one.task} for one in found]
    steps = [(step_object(step, one, me), step.action) for one in found for step in one.steps_now]
    lines += [{**line, "content": action} for line, action in steps]
    return lines + [said.as_object(me) for one in reversed(found) for said in thread_of(one)]


def _sessions(request: HttpRequest) -> list[Matter]:
    return list(Matter.objects.filter(owner=owner_of(request)))


def _by_time(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(lines, key=lambda line: line["ts"])


@router.get(
    "/api/agent-tools",
    response=list[schemas.AgentTool],
    openapi_extra=problems(403, 422),
    url_name="agent-tools",
    summary="List the tools of the agents",
)
def agent_tools(request: HttpRequest) -> HttpResponse:
    take_only(request)
    teams = [one.current for one in Team.objects.offered().whole() if one.current]
    return json_answer(list(tool_lines(teams)))


def _me(request: HttpRequest) -> str:
    return owner_of(request).get_username()
