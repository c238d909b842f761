"""What people say to an inquiry: a hint for who works, that it shall stop and take what is there, another plan."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.utils import timezone

from engine.models import Part, RunAuthor, record_name
from engine.steering import interrupt
from runs.forms import said
from runs.steering import act

from .models import Order, OrderKind, keeping
from .models.looking import looked_at
from .models.reading import possible_words_to
from .rules.course import NEW_PLANS
from .rules.limits import HINTS

WORDS_LENGTH = 2_000
JUST_NOW = timedelta(seconds=5)
REFUSED = {
    OrderKind.HINT: "Its answer is being worded: nobody reads a hint any more.",
    OrderKind.STOP: "It can be stopped while it researches, or answers once more.",
    OrderKind.REPLAN: f"Its answer is being worded, or it was re-planned {NEW_PLANS} times.",
}
NO_WORDS = "Write in a few words what you want."
TOO_MANY_HINTS = f"It was given {HINTS} hints, and takes no more."


class Refused(Exception):
    """Nothing was said. The text is a sentence for people."""


class Wrong(Exception):
    """What was sent cannot be. The text is a sentence for people."""


def say(inquiry: UUID, user: Any, kind: OrderKind, words: str = "") -> None:
    """Refused, Wrong, Over. A hint is read before the next move; the others take the work from whoever is at it."""
    words = _cleaned(words.strip(), NO_WORDS if kind != OrderKind.STOP else "")
    if kind != OrderKind.STOP and len(words.split()) < 2:
        raise Wrong(NO_WORDS)

    def write() -> None:
        if kind == OrderKind.STOP and _said_just_now(inquiry):
            return  # sent twice: a second stop would leave out what the first one asks for
        if kind not in (possible := possible_words_to(looked_at(inquiry))):
            raise Refused(TOO_MANY_HINTS if kind == OrderKind.HINT and possible else REFUSED[kind])
        keeping.say(inquiry, kind, record_name(user), words)
        if words:
            RunAuthor.objects.note(inquiry, user, Part.ASKED_CHANGES if kind == OrderKind.REPLAN else Part.SAID)
        if kind != OrderKind.HINT:
            interrupt(inquiry)

    act(inquiry, write)


def _cleaned(words: str, needed: str) -> str:
    try:
        return said(words, WORDS_LENGTH, needed)
    except ValidationError as error:
        raise Wrong(error.messages[0]) from error


def _said_just_now(inquiry: UUID) -> bool:
    newest = Order.objects.filter(inquiry=inquiry).order_by("-number").first()
    stopped = newest is not None and newest.kind == OrderKind.STOP
    return stopped and newest is not None and timezone.now() - newest.made < JUST_NOW
