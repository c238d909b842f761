"""What people say to an inquiry: a hint for who works, that it shall stop and take what is there, another plan."""

from typing import Any
from uuid import UUID

from engine.models import record_name
from engine.steering import interrupt
from runs.steering import act

from .models import Order, OrderKind, keeping
from .rules.course import NEW_PLANS, Impossible
from .rules.limits import HINTS

WORDS_LENGTH = 2_000
REFUSED = {
    OrderKind.HINT: "Its answer is being worded: nobody reads a hint any more.",
    OrderKind.STOP: "It can be stopped while it researches, or answers once more.",
    OrderKind.REPLAN: f"Its answer is being worded, or it was planned anew {NEW_PLANS} times.",
}
NO_WORDS = "Write in a few words what you want."
TOO_MANY_HINTS = f"It was given {HINTS} hints, and takes no more."


class Refused(Exception):
    """Nothing was said. The text is a sentence for people."""


class Wrong(Exception):
    """What was sent cannot be. The text is a sentence for people."""


def say(inquiry: UUID, user: Any, kind: OrderKind, words: str = "") -> None:
    """Refused, Wrong, Over. A hint is read before the next move; the others take the work from whoever is at it."""
    words = words.strip()
    if kind != OrderKind.STOP and len(words.split()) < 2:
        raise Wrong(NO_WORDS)
    if len(words) > WORDS_LENGTH:
        raise Wrong(f"This has {len(words):,} characters, and {WORDS_LENGTH:,} are taken.")

    def write() -> None:
        if kind == OrderKind.HINT and Order.objects.filter(inquiry=inquiry, kind=kind).count() >= HINTS:
            raise Refused(TOO_MANY_HINTS)
        try:
            keeping.say(inquiry, kind, record_name(user), words)
        except Impossible as impossible:
            raise Refused(REFUSED[kind]) from impossible
        if kind != OrderKind.HINT:
            interrupt(inquiry)

    act(inquiry, write)
