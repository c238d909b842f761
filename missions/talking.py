"""What people say to a mission: a message to one of its crew, that it shall pause, or go on."""

from typing import Any
from uuid import UUID

from engine.models import record_name
from runs.steering import act

from .models import Agent, Mission, keeping
from .rules import COORDINATOR, folded

WORDS_LENGTH = 8_000
NO_WORDS = "Write what you want to say."


class Refused(Exception):
    """Nothing was said. The text is a sentence for people."""


class Wrong(Exception):
    """What was sent cannot be. The text is a sentence for people."""


def say(mission: UUID, user: Any, words: str, to: str = "") -> None:
    """To the coordinator, or to the agent that is named. Read before its next step; one that has stopped is woken.
    Refused, Wrong, Over."""
    words = words.strip()
    if not words:
        raise Wrong(NO_WORDS)
    if len(words) > WORDS_LENGTH:
        raise Wrong(f"This has {len(words):,} characters, and {WORDS_LENGTH:,} are taken.")
    agent = Agent.objects.filter(mission=mission, folded=folded(to)).first() if to else None
    if to and agent is None:
        names = ", ".join(Agent.objects.filter(mission=mission).values_list("name", flat=True))
        raise Wrong(f"There is no agent {to[:40]} in the crew. There are {names}.")

    def write() -> None:
        number = agent.number if agent else COORDINATOR
        name = record_name(user) or "the command line"
        keeping.write_message(mission, sender=0, recipient=number, text=words, by_name=name)

    act(mission, write)


def pause(mission: UUID, user: Any, on: bool) -> None:
    """It takes effect after the acts that are under way. Refused, Over."""

    def write() -> None:
        if bool(Mission.objects.at_work().get(pk=mission).paused) == on:
            raise Refused("It is paused already." if on else "It is not paused.")
        keeping.pause(mission, on, record_name(user) or "the command line")

    act(mission, write)
