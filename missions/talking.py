"""What people say to a mission: a message to one of its crew, that it shall pause, or go on; and what they type where a
command asks."""

import time
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db.models import Max

from engine.llm.providers import storable
from engine.models import Gate, Part, RunAuthor, record_name
from runs.forms import said
from runs.steering import act

from . import workshop
from .models import Agent, Mission, Terminal, TerminalInput, keeping
from .rules import COORDINATOR, STUCK_STEP, folded
from .terminals.screen import Screen
from .terminals.spool import Silent, Spool, State
from .terminals.waiting import Waiting
from .tools.commands import standing

WORDS_LENGTH = 8_000
NO_WORDS = "Write what you want to say."
TYPED_LENGTH = 1_000
TYPED_WITHIN = 4.0  # seconds: what an agent typed before is typed first


class Refused(Exception):
    """Nothing was said. The text is a sentence for people."""


class Wrong(Exception):
    """What was sent cannot be. The text is a sentence for people."""


def say(mission: UUID, user: Any, words: str, to: str = "") -> None:
    """To the coordinator, or to the agent that is named. Read before its next step; one that has stopped is woken.
    Refused, Wrong, Over."""
    try:
        words = said(words.strip(), WORDS_LENGTH, NO_WORDS)
    except ValidationError as error:
        raise Wrong(error.messages[0]) from error
    agent = Agent.objects.filter(mission=mission, folded=folded(to)).first() if to else None
    if to and agent is None:
        names = ", ".join(Agent.objects.filter(mission=mission).values_list("name", flat=True))
        raise Wrong(f"There is no agent {to[:40]} in the crew. There are {names}.")

    def write() -> None:
        number = agent.number if agent else COORDINATOR
        name = record_name(user) or "the command line"
        keeping.write_message(mission, sender=0, recipient=number, text=words, by_name=name)
        RunAuthor.objects.note(mission, user, Part.SAID)
        # whoever is told something can go on: what they shall do is asked no more
        Gate.objects.filter(run=mission, step__startswith=STUCK_STEP).void()

    act(mission, write)


def pause(mission: UUID, user: Any, on: bool) -> None:
    """It takes effect after the acts that are under way. Refused, Over."""

    def write() -> None:
        if bool(Mission.objects.at_work().get(pk=mission).paused) == on:
            raise Refused("It is paused already." if on else "It is not paused.")
        keeping.pause(mission, on, record_name(user) or "the command line")

    act(mission, write)


# ---- where a command asks ---------------------------------------------------------------------------------------


def answer(mission: UUID, user: Any, number: int, text: str) -> None:
    """Type a line into a terminal, once, as written down before. Refused, Wrong, Over."""
    terminal = Terminal.objects.filter(mission=mission, number=number).first()
    if terminal is None:
        raise Wrong("There is no such terminal.")
    if len(text) > TYPED_LENGTH or "\n" in text:
        raise Wrong(f"Write one line of at most {TYPED_LENGTH:,} characters.")
    spool = workshop.spool(mission, terminal.spool)
    _listens(spool)
    made: list[TerminalInput] = []

    def write() -> None:
        before = terminal.inputs.aggregate(Max("number"))["number__max"] or 0
        by = record_name(user) or "the command line"
        line = {"number": before + 1, "text": storable(f"{text}\n"), "by_name": by[:150]}
        made.append(TerminalInput.objects.create(terminal=terminal, step=None, **line))
        RunAuthor.objects.note(mission, user, Part.SAID)

    act(mission, write)
    _type(spool, made[-1])


def _listens(spool: Spool) -> None:
    if spool.state != State.LIVES:
        raise Refused("That command has ended: nothing listens there any more.")
    if standing(spool, Screen()) == Waiting.PASSWORD:
        raise Wrong("It asks for a password. Nobody types one here: secrets do not belong into a record.")


def _type(spool: Spool, line: TerminalInput) -> None:
    until = time.monotonic() + TYPED_WITHIN
    try:
        while not spool.type(line.number, line.text.encode()):
            if time.monotonic() > until:
                raise Refused("It is written down, and typed as soon as what an agent types there has been.")
            time.sleep(0.1)
    except Silent as silent:
        raise Refused("That command has ended: nothing listens there any more.") from silent
