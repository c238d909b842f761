"""Words to the planner: an answer where it asks, else a reason to plan the rest anew."""

from django.core.exceptions import ValidationError
from django.http import HttpRequest

from engine.models import Gate
from engine.models.gates import Decision
from engine.steering import Over
from runs.api import gates
from runs.api.refusals import Refusal, wrong_fields
from runs.forms import Text
from runs.rights import STEER

from .. import talking
from ..forms import WORDS_LENGTH
from ..models import Plan
from ..rules.words import Standing
from .schemas import Clarification
from .sessions import owner_of, plan_in

FIELD = "human_clarification"
WORDS = Text(max_length=WORDS_LENGTH, needed="Write what is to be said. It is empty.", lines=True)


def clarified(request: HttpRequest, asked: Clarification) -> str:
    """The sentence that says what became of it."""
    plan, words = plan_in(request, asked.plan_id, asked.session_id), _words(asked.human_clarification)
    if not STEER.covers(owner_of(request), plan.run):
        raise Refusal(403, STEER.refusal("plan"))
    if gate := _asked(plan):
        _answer(request, gate, words)
        return "Answered: the planner goes on"
    _say(request, plan, words)
    return "The planner was told, and plans what has not begun anew"


def _words(given: str) -> str:
    try:
        return WORDS.clean(given)
    except ValidationError as error:
        raise wrong_fields([(FIELD, str(error.message))]) from error


def _asked(plan: Plan) -> Gate | None:
    if plan.current.standing != Standing.ASKED:
        return None
    gate = Gate.objects.newest(plan.pk, plan.current.question_step)
    return gate if gate and gate.pending else None


def _answer(request: HttpRequest, gate: Gate, words: str) -> None:
    try:
        gates.decided(request, gate.pk, decision=Decision.ANSWER, answer=words)
    except Refusal as refused:
        errors = [(FIELD, sentence) for _, sentence in refused.errors]
        raise Refusal(refused.status, refused.detail, errors, refused.headers) from refused


def _say(request: HttpRequest, plan: Plan, words: str) -> None:
    try:
        talking.say(plan.pk, owner_of(request), words)
    except talking.Refused as refused:
        raise Refusal(409, str(refused)) from refused
    except Over as over:
        raise Refusal(409, "The plan is over.") from over
