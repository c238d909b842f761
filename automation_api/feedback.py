"""Approvals and rejections of steps. Requests do not name a gate, so they are about the gates that were sent to the
token."""

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any
from uuid import UUID

from asgiref.sync import sync_to_async
from django.core.exceptions import ValidationError
from django.http import HttpRequest

from engine.gate_decisions import DECISION_LENGTH, may_decide, reaches_out
from engine.models import Gate, Run
from engine.models.gates import DecisionValue
from engine.run_control import RunEnded
from plans import comments
from plans.models import Plan, PlanStep, SentGate
from plans.models.queries import number_of
from plans.rules.approval_policy import ApprovalKind, DecisionMeaning
from plans.rules.gate_text import ACTION, parse_action, quoted
from plans.rules.scheduling import ACTION_LENGTH, BEFORE_WORK
from runs.api import gates
from runs.api.errors import ApiError, field_errors
from runs.api.responses import address_of, not_found
from runs.api.scopes import credential_of
from runs.api.waiting import wait_until
from runs.forms import PlainTextField
from runs.rights import STEER

from .objects import gates_at, is_pending, status_of
from .schemas import HumanFeedback, HumanFeedbackForAll
from .sessions import plan_in, session_owner, uuid_of

WAIT_SECONDS = 20.0  # for the gate of a changed step
DECIDED_ON_PAGE_KINDS = (ApprovalKind.UNCERTAIN, ApprovalKind.BUDGET)  # these have more choices than yes and no
ANSWERED_KINDS = (ApprovalKind.QUESTION, ApprovalKind.SEAT)
PATHS = {"text": "human_feedback", "answer": "human_feedback", "decision": "approved", "choice": "approved"}
CHANGED = "It was not sent to you yet as it is now. Look at it, and decide again."


# ---- decisions --------------------------------------------------------------------------------------------


def decision_arguments(gate: Gate, approved: bool, words: str) -> dict[str, Any]:
    """Return an approval or rejection as arguments of `gates.gate_response` for this kind of gate."""
    kind = ApprovalKind(gate.kind)
    if not approved:
        return {"decision": DecisionValue.REJECT, "choice": _refusal(kind, words), "text": words}
    if kind in ANSWERED_KINDS:
        if not words.strip():
            raise field_errors([("human_feedback", "This is a question: write the answer here.")])
        return {"decision": DecisionValue.ANSWER, "answer": words}
    choice = {ApprovalKind.FAILURE: DecisionMeaning.AGAIN, ApprovalKind.PLAN: DecisionMeaning.ACCEPT}.get(kind, "")
    return {"decision": DecisionValue.APPROVE, "choice": choice, "text": words}


def _refusal(kind: ApprovalKind, words: str) -> DecisionMeaning:
    if kind is ApprovalKind.TOOL:
        return DecisionMeaning.REFUSE
    return DecisionMeaning.REVISE if words.strip() else DecisionMeaning.SKIP


def decide(request: HttpRequest, gate: Gate, said: dict[str, Any]) -> Gate:
    """Decide at a gate. Callers make sure that it was sent to the token, or that an approval allows no external
    action."""
    if gate.kind in DECIDED_ON_PAGE_KINDS:
        raise ApiError(409, f"More than yes and no can be said here: {address_of(request)}/gates/{gate.pk}/")
    try:
        return gates.gate_response(request, gate.pk, digest=gate.digest, **said)
    except ApiError as refused:
        errors = [(PATHS.get(path, path), sentence) for path, sentence in refused.errors]
        raise ApiError(refused.status, refused.detail, errors, refused.headers) from refused


# ---- one step ---------------------------------------------------------------------------------------------


async def step_feedback(request: HttpRequest, asked: HumanFeedback) -> str:
    """Decide about one step and return the status sentence of the answer."""
    step, gate, is_changed = await sync_to_async(_step_and_gate)(request, asked)
    if is_changed:
        seen, gate = gate, await _changed(request, step, asked.action)
        _refuse_unseen(step, seen, gate)
    decision = decision_arguments(gate, asked.approved, asked.words)
    after = await sync_to_async(decide)(request, gate, decision)
    return f"{step} {_in_a_word(decision)}{', others are asked as well' if after.pending else ''}"


def _in_a_word(said: dict[str, Any]) -> str:
    return {DecisionValue.ANSWER: "answered", DecisionValue.REJECT: "rejected"}.get(said["decision"], "approved")


def _step_and_gate(request: HttpRequest, asked: HumanFeedback) -> tuple[PlanStep, Gate, bool]:
    """Return step and gate, and whether the step must be changed first. It is not changed if the decision would be
    refused anyway."""
    plan = plan_in(request, asked.plan_id, asked.session_id)
    step = _step_of(request, plan, asked.step_id)
    check_feedback(asked)
    gate, owner = _sent_gate(request, plan, step), session_owner(request)
    if not _is_changed(step, asked) or not gate.pending or not may_decide(gate, owner):
        return step, gate, False
    if not STEER.covers(owner, plan.run):
        raise ApiError(403, STEER.refusal("plan"))
    return step, gate, True


def check_feedback(asked: HumanFeedback | HumanFeedbackForAll) -> None:
    """Refuse contradictory feedback, and texts that are too long or cannot be stored."""
    if len(asked.words) > DECISION_LENGTH:
        raise field_errors([("human_feedback", f"It has more than {DECISION_LENGTH:,} characters.")])
    wrong = _two_things(asked)
    if wrong:
        raise field_errors([("updated_action", wrong)])
    if asked.action:
        _check_action(asked.action)


def _two_things(asked: HumanFeedback | HumanFeedbackForAll) -> str:
    if asked.action and not asked.approved:
        return "Change it and approve it, or reject it and say why."
    if asked.action and not asked.step_id:
        return "One text cannot be the action of many steps: name the step."
    return ""


def _check_action(action: str) -> None:
    try:
        PlainTextField(max_length=ACTION_LENGTH, lines=True, needed="Write what is to be done.").clean(action)
    except ValidationError as error:
        raise field_errors([("updated_action", str(error.message))]) from error


def _step_of(request: HttpRequest, plan: Plan, key: str) -> PlanStep:
    pk = uuid_of(key)
    found = next((step for step in plan.steps.all() if step.pk == pk), None)
    if found:
        return found
    if pk and PlanStep.objects.filter(pk=pk, plan__run__owner=session_owner(request)).exists():
        raise field_errors([("step_id", "The step is of another plan.")])
    raise not_found("step")


def _sent_gate(request: HttpRequest, plan: Plan, step: PlanStep) -> Gate:
    """Return the gate of this step that the caller was sent. Raises ApiError 409 if it is not pending any more."""
    at_step = gates_at(plan, step)
    asked = [gate for gate in at_step if is_pending(gate)]
    sent = SentGate.objects.by_step(credential_of(request).pk, plan.pk).get(step.pk)
    if late := next((gate for gate in at_step if gate.pk == sent and _is_late(gate)), None):
        return late  # deciding there is refused with the time of its end
    if not asked:
        raise ApiError(409, f"{step} is {status_of(step, at_step)}: nothing waits to be decided.")
    if found := next((gate for gate in asked if gate.pk == sent), None):
        return found
    raise ApiError(409, f"{step} is {status_of(step, at_step)}. {CHANGED}")


def _is_late(gate: Gate) -> bool:
    return gate.state == Gate.State.EXPIRED or (
        gate.state == Gate.State.REJECTED and not (gate.last_decision and gate.last_decision.by)
    )


# ---- a changed step ---------------------------------------------------------------------------------------


def _is_changed(step: PlanStep, asked: HumanFeedback) -> bool:
    return bool(asked.action) and asked.action != step.action


async def _changed(request: HttpRequest, step: PlanStep, action: str) -> Gate:
    """Change the step and return its new gate."""
    await sync_to_async(change_action)(request, step, action)
    with suppress(ApiError):  # too many requests wait already: the gate may be there anyway
        await wait_until(step.plan_id, session_owner(request), WAIT_SECONDS, partial(_is_asked, step, action))
    gate = await sync_to_async(_gate_about)(step, action)
    if gate is None and await sync_to_async(_is_a_persons)(step):
        raise ApiError(409, f"{step} was changed, and is for a person now: no agent of the team has a tool for it.")
    if gate is None:
        raise ApiError(409, f"{step} was changed, and is not asked about yet. Look at it, and approve it then.")
    return gate


def _refuse_unseen(step: PlanStep, seen: Gate, gate: Gate) -> None:
    """Refuse an approval if the planner named another owner or other tools for the changed step: the caller has not
    seen these."""
    if gate.text.partition(ACTION)[0] != seen.text.partition(ACTION)[0]:
        raise ApiError(
            409, f"{step} was changed, and has another agent or other tools now. Look at it, and approve it then."
        )


def _is_a_persons(step: PlanStep) -> bool:
    now = PlanStep.objects.get(pk=step.pk)
    return now.agent_id is None and not now.tools_due


def change_action(request: HttpRequest, step: PlanStep, action: str) -> None:
    try:
        comments.change_step(step.plan_id, session_owner(request), step.number, {"action": action})
    except comments.CommentRefused as refused:
        raise ApiError(409, str(refused)) from refused
    except RunEnded as over:
        raise ApiError(409, "The plan is over.") from over


def _gate_about(step: PlanStep, action: str) -> Gate | None:
    asked = Gate.objects.newest(step.plan_id, step.gate_step)
    return asked if asked and asked.pending and parse_action(asked.text) == quoted(action) else None


def _is_asked(step: PlanStep, action: str, plan: UUID) -> bool:
    now = PlanStep.objects.only("status", "agent", "tools_due").get(pk=step.pk)
    if now.agent_id is None and not now.tools_due:
        return True  # a person's step has no gate of its own
    over = now.status not in BEFORE_WORK or Run.objects.only("status").get(pk=plan).is_ended
    return over or _gate_about(step, action) is not None


# ---- all steps --------------------------------------------------------------------------------------------


def all_steps_feedback(request: HttpRequest, asked: HumanFeedbackForAll) -> str:
    plan = plan_in(request, asked.plan_id, asked.session_id)
    check_feedback(asked)
    waiting = [gate for gate in plan.run.gates.all() if is_pending(gate)]
    if not waiting:
        raise ApiError(409, "Nothing of this plan waits to be decided.")
    return _all_approved(request, plan, waiting, asked) if asked.approved else _plan_rejected(request, waiting, asked)


def _plan_rejected(request: HttpRequest, waiting: Sequence[Gate], asked: HumanFeedbackForAll) -> str:
    """Reject the plan at its own gate, else at the first gate that offers the choice."""
    choice = DecisionMeaning.REVISE if asked.words.strip() else DecisionMeaning.END
    takes = [gate for gate in waiting if choice in {one["word"] for one in gate.choices}]
    gate = min(takes, key=lambda one: (one.kind != ApprovalKind.PLAN, one.pk), default=None)
    if gate is None:
        raise ApiError(409, "What waits of this plan takes no such answer.")
    decide(request, gate, {"decision": DecisionValue.REJECT, "choice": choice, "text": asked.words})
    return "Plan rejected: the planner replans it" if choice is DecisionMeaning.REVISE else "Plan rejected: it ends"


def _all_approved(request: HttpRequest, plan: Plan, waiting: Sequence[Gate], asked: HumanFeedbackForAll) -> str:
    sent = SentGate.objects.by_step(credential_of(request).pk, plan.pk)
    results = Counter(
        _approved(request, plan, gate, sent, asked.words) for gate in waiting if gate.kind != ApprovalKind.PLAN
    )
    if not results["had changed"]:
        for gate in (gate for gate in waiting if gate.kind == ApprovalKind.PLAN):
            decide(request, gate, decision_arguments(gate, True, asked.words))
    return _counted(results)


def _approved(request: HttpRequest, plan: Plan, gate: Gate, sent: dict[UUID, int], words: str) -> str:
    """Approve one gate if allowed, and return the result. A caller that was sent gates of the plan approves only these;
    one that was sent none approves the gates of all steps."""
    step = next((one for one in plan.steps.all() if one.number == number_of(gate)), None)
    is_sent = step is not None and sent.get(step.pk) == gate.pk
    if gate.cut or (gate.kind not in (ApprovalKind.STEP, ApprovalKind.PLAN) and reaches_out(gate)):
        return "still waiting"  # needs its own approval
    if gate.kind == ApprovalKind.STEP and sent and not is_sent:
        return "had changed"
    if step is None or gate.kind in DECIDED_ON_PAGE_KINDS or (gate.kind != ApprovalKind.STEP and not is_sent):
        return "still waiting"
    if gate.kind in ANSWERED_KINDS and not words.strip():
        return "still waiting"
    try:
        decide(request, gate, decision_arguments(gate, True, words))
    except ApiError as refused:
        return "had changed" if refused.status == 409 else "still waiting"
    return "approved"


def _counted(results: Counter[str]) -> str:
    """Return a text such as "4 steps approved, 1 had changed"."""
    steps = f"{results['approved']} step{'' if results['approved'] == 1 else 's'} approved"
    others = (f"{results[word]} {word}" for word in ("had changed", "still waiting") if results[word])
    return ", ".join([steps, *others])
