"""Interventions of people: a hint, stopping the research early, or a new plan."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.utils import timezone

from engine.models import AuthorContribution, RunAuthor, record_name
from engine.run_control import signal_worker
from runs.forms import validate_text
from runs.run_actions import apply_and_announce

from .models import Assignment, AssignmentKind, writes
from .models.queries import possible_words_to
from .models.rule_state import load_inquiry
from .rules.limits import HINTS
from .rules.state import NEW_PLANS

WORDS_LENGTH = 2_000
RECENT_PERIOD = timedelta(seconds=5)
REFUSED = {
    AssignmentKind.HINT: "Its answer is being worded: nobody reads a hint any more.",
    AssignmentKind.STOP: "It can be stopped while it researches, or answers once more.",
    AssignmentKind.REPLAN: f"Its answer is being worded, or it was re-planned {NEW_PLANS} times.",
}
NO_WORDS = "Write in a few words what you want."
TOO_MANY_HINTS = f"It was given {HINTS} hints, and takes no more."


class HintRefused(Exception):
    """The intervention is not possible now; the text is shown to the user."""


class InvalidHint(Exception):
    """The text is invalid; the message is shown to the user."""


def post_hint(inquiry: UUID, user: Any, kind: AssignmentKind, words: str = "") -> None:
    """Save an intervention. A hint is read before the next move; the other kinds interrupt the present work.

    Raises InvalidHint, HintRefused, and RunEnded.
    """
    words = _cleaned(words.strip(), NO_WORDS if kind != AssignmentKind.STOP else "")
    if kind != AssignmentKind.STOP and len(words.split()) < 2:
        raise InvalidHint(NO_WORDS)

    def write() -> None:
        if kind == AssignmentKind.STOP and _stopped_just_now(inquiry):
            return  # posted twice: a second stop would also leave out the result that the first one waits for
        if kind not in (possible := possible_words_to(load_inquiry(inquiry))):
            raise HintRefused(TOO_MANY_HINTS if kind == AssignmentKind.HINT and possible else REFUSED[kind])
        writes.save_hint(inquiry, kind, record_name(user), words)
        if words:
            changes = kind == AssignmentKind.REPLAN
            part = AuthorContribution.ASKED_CHANGES if changes else AuthorContribution.SAID
            RunAuthor.objects.note(inquiry, user, part)
        if kind != AssignmentKind.HINT:
            signal_worker(inquiry)

    apply_and_announce(inquiry, write)


def _cleaned(words: str, needed: str) -> str:
    try:
        return validate_text(words, WORDS_LENGTH, needed)
    except ValidationError as error:
        raise InvalidHint(error.messages[0]) from error


def _stopped_just_now(inquiry: UUID) -> bool:
    newest = Assignment.objects.filter(inquiry=inquiry).order_by("-number").first()
    stopped = newest is not None and newest.kind == AssignmentKind.STOP
    return stopped and newest is not None and timezone.now() - newest.made < RECENT_PERIOD
