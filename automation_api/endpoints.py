"""Endpoints for programs that were written for another planner, with its addresses and names. All rules are those of
plans/.

Why so: runs/DESIGN.md, The API.
"""

from collections.abc import Sequence
from typing import Any

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from ninja import Query, Router

from automation_api import deletion
from plans.models import Plan, Team
from runs.api.endpoints import LastEvent
from runs.api.responses import json_response, reject_unknown_parameters, stream_response
from runs.api.scopes import TokenScope, credential_of, requires_scope
from runs.procedure.schemas import problem_responses

from . import clarification, feedback, schemas
from . import input_task as tasks
from .event_stream import SessionEventStream
from .messages import gates_in_messages, messages_of_plan
from .objects import plan_object, plan_summary, sent_gates, session_object, step_object, tool_lines
from .sessions import plan, plans_of, record_sent_gates, require_same_user, session, session_owner, sessions

router = Router()


@router.post(
    "/input_task",
    response=schemas.InputTaskOut,
    openapi_extra=problem_responses(400, 402, 403, 409, 413, 415, 422, 429),
    summary="Submit a task",
)
@requires_scope(TokenScope.SUBMIT, "plan")
async def input_task(request: HttpRequest, asked: schemas.InputTask) -> HttpResponse:
    """The answer is sent as soon as there is a plan, or questions, or after a minute."""
    require_same_user(request, asked.user_id)
    return json_response(await tasks.submit_task(request, asked))


# ---- deciding ---------------------------------------------------------------------------------------------


@router.post(
    "/human_feedback",
    response=schemas.HumanFeedbackOut,
    openapi_extra=problem_responses(400, 403, 404, 409, 410, 413, 415, 422),
    summary="Approve or reject a step",
)
@requires_scope(TokenScope.DECIDE, "plan")
async def human_feedback(request: HttpRequest, asked: schemas.HumanFeedback) -> HttpResponse:
    """The decision is about the gate of the step that was last sent to this token; 409 if another one is pending now. A
    rejection with a text makes the planner replan the rest, one without a text leaves the step out. Gates within a
    step come with its messages: there the text answers a question, and a rejection refuses a tool call."""
    require_same_user(request, asked.user_id)
    status = await feedback.step_feedback(request, asked)
    return json_response({"status": status, "session_id": asked.session_id, "step_id": asked.step_id})


@router.post(
    "/approve_step_or_steps",
    response=schemas.ApproveStepsOut,
    openapi_extra=problem_responses(400, 403, 404, 409, 410, 413, 415, 422),
    summary="Approve or reject a step, or all steps",
)
@requires_scope(TokenScope.DECIDE, "plan")
async def approve_step_or_steps(request: HttpRequest, asked: schemas.HumanFeedbackForAll) -> HttpResponse:
    """With step_id: the same as human_feedback. Without: approves all pending steps as they were sent to this token or,
    if it was sent nothing of the plan yet, as they were planned. External actions still need their own approval. A
    rejection with a text makes the planner replan, one without a text ends the plan."""
    require_same_user(request, asked.user_id)
    if not asked.step_id:
        return json_response({"status": await sync_to_async(feedback.all_steps_feedback)(request, asked)})
    return json_response({"status": await feedback.step_feedback(request, schemas.HumanFeedback(**asked.model_dump()))})


@router.post(
    "/human_clarification_on_plan",
    response=schemas.HumanClarificationOut,
    openapi_extra=problem_responses(400, 403, 404, 409, 410, 413, 415, 422),
    summary="Send a message to the planner",
)
@requires_scope(TokenScope.STEER, "plan")
def human_clarification_on_plan(request: HttpRequest, asked: schemas.HumanClarification) -> HttpResponse:
    """Answers the planner's questions. If there are none, the planner replans the steps that have not started."""
    require_same_user(request, asked.user_id)
    return json_response({"status": clarification.answer_clarification(request, asked), "session_id": asked.session_id})


# ---- reading ----------------------------------------------------------------------------------------------


@router.get(
    "/plans",
    response=list[schemas.AutomationPlanOut],
    openapi_extra=problem_responses(403, 404, 422),
    url_name="plans",
    summary="List plans with their steps, newest first",
)
def plans(request: HttpRequest, session_id: str = Query("", description="Only plans of this session.")) -> HttpResponse:
    reject_unknown_parameters(request, "session_id")
    which = {"matter": session(request, session_id)} if session_id else {}
    found = plans_of(request, **which)
    _note(request, found)
    return json_response([plan_object(one, _me(request)) for one in found])


@router.get(
    "/steps/{plan_id}",
    response=list[schemas.AutomationStepOut],
    openapi_extra=problem_responses(403, 404, 422),
    url_name="steps",
    summary="List the steps of a plan",
)
def steps(request: HttpRequest, plan_id: str) -> HttpResponse:
    reject_unknown_parameters(request)
    found = plan(request, plan_id)
    _note(request, [found])
    return json_response([step_object(step, found, _me(request)) for step in found.steps_now])


@router.get(
    "/agent_messages/{path:session_id}",
    response=list[schemas.AutomationMessageOut],
    openapi_extra=problem_responses(403, 404, 422),
    url_name="agent-messages",
    summary="List the messages of a session, oldest first",
)
def agent_messages(request: HttpRequest, session_id: str) -> HttpResponse:
    reject_unknown_parameters(request)
    found = plans_of(request, matter=session(request, session_id))
    return json_response(_by_time(_message_objects(request, found)))


@router.get(
    "/messages",
    response=list[
        schemas.AutomationSessionOut
        | schemas.AutomationPlanWithStepsOut
        | schemas.AutomationStepWithMessagesOut
        | schemas.AutomationMessageOut
    ],
    openapi_extra=problem_responses(403, 422),
    url_name="messages",
    summary="List everything of all sessions, oldest first",
)
def messages(request: HttpRequest) -> HttpResponse:
    """Sessions, plans, steps and messages; each says which it is in data_type."""
    reject_unknown_parameters(request)
    return json_response(_by_time(_lines(request)))


def _lines(request: HttpRequest) -> list[dict[str, Any]]:
    me, found = _me(request), plans_of(request)
    of = {matter: [one for one in found if one.matter_id == matter.pk] for matter in sessions(request)}
    lines = [session_object(matter, plans, me) for matter, plans in of.items()]
    lines += [{**plan_summary(one, me), "content": one.task} for one in found]
    steps = [(step_object(step, one, me), step.action) for one in found for step in one.steps_now]
    lines += [{**line, "content": action} for line, action in steps]
    _note(request, found)
    return lines + _message_objects(request, found)


def _message_objects(request: HttpRequest, plans: Sequence[Plan]) -> list[dict[str, Any]]:
    """Return the messages of these plans, and record their gates as sent to the caller."""
    messages = [message for plan in reversed(plans) for message in messages_of_plan(plan)]
    record_sent_gates(request, gates_in_messages(messages))
    return [message.to_object(_me(request)) for message in messages]


def _note(request: HttpRequest, plans: Sequence[Plan]) -> None:
    record_sent_gates(request, {step: gate for one in plans for step, gate in sent_gates(one).items()})


def _by_time(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(lines, key=lambda line: line["ts"])


@router.get(
    "/events/{path:session_id}",
    response={200: None},
    openapi_extra=problem_responses(403, 404, 422, 429, 503, also={200: schemas.EVENTS}),
    url_name="events",
    summary="Follow a session",
)
async def events(request: HttpRequest, session_id: str, last: LastEvent = None) -> StreamingHttpResponse:
    """Server-sent events from the session's first one, or from the one after Last-Event-ID."""
    reject_unknown_parameters(request)
    found = await sync_to_async(session)(request, session_id)
    known = int(last) if last and last.isascii() and last.isdigit() and len(last) < 10 else 0
    pieces = SessionEventStream(credential_of(request), found, known).pieces()
    await anext(pieces)
    return stream_response(pieces)


@router.delete(
    "/messages",
    response=schemas.DeleteMessagesOut,
    openapi_extra=problem_responses(403, 422),
    url_name="delete-messages",
    summary="Delete all sessions of the token's owner",
)
@requires_scope(TokenScope.STEER, "plan")
def delete_messages(
    request: HttpRequest,
    user_id: str = Query("", description="If given, it must be the token's owner."),
    confirm: str = Query("", description="The name of the token's owner. Deletion cannot be undone."),
) -> HttpResponse:
    """Running plans are cancelled and all texts are erased; a later session may have the same name. The record keeps
    that there were plans, who decided what, and when."""
    reject_unknown_parameters(request, "confirm", "user_id")
    require_same_user(request, user_id)
    return json_response({"status": deletion.delete_sessions(request, confirm)})


@router.get(
    "/api/agent-tools",
    response=list[schemas.AgentToolOut],
    openapi_extra=problem_responses(403, 422),
    url_name="agent-tools",
    summary="List the tools of the agents",
)
def agent_tools(request: HttpRequest) -> HttpResponse:
    reject_unknown_parameters(request)
    teams = [one.current for one in Team.objects.available().with_content() if one.current]
    return json_response(list(tool_lines(teams)))


def _me(request: HttpRequest) -> str:
    return session_owner(request).get_username()
