"""Submission of a task; the request waits until there is a plan."""

from contextlib import suppress
from functools import partial
from typing import Any
from uuid import UUID, uuid4

from asgiref.sync import sync_to_async
from django.conf import settings
from django.core.exceptions import ValidationError
from django.http import HttpRequest

from engine.db.reader import read
from engine.models import Run
from plans import forms, procedure
from plans.models import Plan, TeamChanged, TeamVersion
from plans.models.presets import OF_SETTING, team_of_setting
from plans.rules.approval_policy import TeamPolicy, step_by_step_policy
from plans.rules.enums import RevisionStatus
from runs.api.errors import ApiError, field_errors
from runs.api.idempotent_submit import queue_once
from runs.api.waiting import wait_until
from runs.forms import PlainTextField

from .schemas import InputTask
from .sessions import session_owner

WAIT_SECONDS = 60.0  # after these the answer is that planning goes on


async def submit_task(request: HttpRequest, asked: InputTask) -> dict[str, Any]:
    session = _session(asked.session_id) if asked.session_id else str(uuid4())
    pk = await sync_to_async(queue_once)(request, "plan", {}, partial(_submit, request, asked, session))
    with suppress(ApiError):  # too many requests wait already: answer with the present status
        await wait_until(pk, session_owner(request), WAIT_SECONDS, _is_planned)
    return {
        "status": await read(partial(_status, pk)),
        "session_id": session,
        "plan_id": str(pk),
        "description": asked.description,
        "user_id": session_owner(request).get_username(),
    }


def _session(name: str) -> str:
    field = PlainTextField(max_length=forms.PROJECT_NAME_LENGTH)
    field.strip = False  # the answer must repeat it unchanged
    try:
        return field.clean(name)
    except ValidationError as error:
        raise field_errors([("session_id", str(error.message))]) from error


def _submit(request: HttpRequest, asked: InputTask, session: str) -> Plan:
    values, wrong = forms.submit_values({"task": asked.description})
    _refuse(wrong)
    team = _team()
    _refuse(forms.too_long_for(values["task"], team))
    of_source = {"matter": session, "team": team, "policy": step_by_step_policy(TeamPolicy.of(team.policy))}
    try:
        return procedure.submit(owner=session_owner(request), limited=True, **{**values, **of_source})
    except TeamChanged as error:
        raise ApiError(409, f"{error} Nothing was submitted.") from error


def _refuse(wrong: list[tuple[str, str]]) -> None:
    if wrong:
        raise field_errors([("description", sentence) for _, sentence in wrong])


def _team() -> TeamVersion:
    team = team_of_setting()
    if team is None or team.archived or team.current is None:
        which = settings.COMPAT_TEAM
        why = f"“{which}” is archived." if team else f"There is no team “{which}”, or more than one was called so."
        raise ApiError(409, f"{why} {OF_SETTING} says which gets these tasks, by its id or its name.")
    version: TeamVersion = team.current
    return version


def _is_planned(pk: UUID) -> bool:
    """Tell whether all gates of the new plan are open, or the run has ended."""
    run = Run.objects.only("status").get(pk=pk)
    return run.is_ended or run.status == Run.Status.WAITING


def _status(pk: UUID) -> str:
    plan = Plan.objects.select_related("run").prefetch_related("revisions", "steps").get(pk=pk)
    if plan.run.status == Run.Status.FAILED:
        return f"Failed: {(plan.run.error or {}).get('message', 'there is no plan.')}"
    if plan.run.status == Run.Status.CANCELLED:
        return "Failed: it was cancelled."
    if plan.current.standing == RevisionStatus.ASKED:
        return f"The planner asks: {plan.current.questions}"
    steps = len(plan.steps_now)
    if not steps:
        return "Planning goes on"
    return f"Planned: {steps} step{'s' if steps > 1 else ''}"
