"""Messages to the planner: an answer if it asks a question, otherwise a reason to replan the remaining steps."""

from django.core.exceptions import ValidationError
from django.http import HttpRequest

from engine.models import Gate
from engine.models.gates import DecisionValue
from engine.run_control import RunEnded
from plans import comments
from plans.forms import WORDS_LENGTH
from plans.models import Plan
from plans.rules.enums import RevisionStatus
from runs.api import gates
from runs.api.errors import ApiError, field_errors
from runs.forms import PlainTextField
from runs.rights import STEER

from .schemas import HumanClarification
from .sessions import plan_in, session_owner

FIELD = "human_clarification"
WORDS = PlainTextField(max_length=WORDS_LENGTH, needed="Write what is to be said. It is empty.", lines=True)


def answer_clarification(request: HttpRequest, asked: HumanClarification) -> str:
    """Deliver the message to the planner and return the status sentence of the answer."""
    plan, words = plan_in(request, asked.plan_id, asked.session_id), _words(asked.human_clarification)
    if not STEER.covers(session_owner(request), plan.run):
        raise ApiError(403, STEER.refusal("plan"))
    if gate := _pending_question(plan):
        _answer(request, gate, words)
        return "Answered: the planner goes on"
    _say(request, plan, words)
    return "The planner got your message and replans the steps that have not begun"


def _words(given: str) -> str:
    try:
        return WORDS.clean(given)
    except ValidationError as error:
        raise field_errors([(FIELD, str(error.message))]) from error


def _pending_question(plan: Plan) -> Gate | None:
    if plan.current.standing != RevisionStatus.ASKED:
        return None
    gate = Gate.objects.newest(plan.pk, plan.current.question_step)
    return gate if gate and gate.pending else None


def _answer(request: HttpRequest, gate: Gate, words: str) -> None:
    try:
        gates.gate_response(request, gate.pk, decision=DecisionValue.ANSWER, answer=words)
    except ApiError as refused:
        errors = [(FIELD, sentence) for _, sentence in refused.errors]
        raise ApiError(refused.status, refused.detail, errors, refused.headers) from refused


def _say(request: HttpRequest, plan: Plan, words: str) -> None:
    try:
        comments.post_comment(plan.pk, session_owner(request), words)
    except comments.CommentRefused as refused:
        raise ApiError(409, str(refused)) from refused
    except RunEnded as over:
        raise ApiError(409, "The plan is over.") from over
