"""How people steer a mission: messages to its agents, pause and resume, and input to its terminals."""

import time
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db.models import Max

from engine.llm.providers import clean_storable_text
from engine.models import AuthorContribution, RunAuthor, record_name
from runs.forms import validate_text
from runs.run_actions import apply_and_announce

from . import workspace
from .egress_policy import NEVER
from .models import Mission, MissionAgent, Terminal, TerminalInput, writes
from .rules import COORDINATOR, fold_name
from .terminals import keys
from .terminals.drawn import picture
from .terminals.output_spool import OutputSpool, SpoolState, SupervisorSilent
from .tools.commands import LEAVES_PROMPT, hides_input, to_be_typed_before

WORDS_LENGTH = 8_000
NO_WORDS = "Write what you want to say."
TYPED_LENGTH = 1_000
ENTER = "enter"
ENDED = "That command has ended: nothing listens there any more."
TYPING_TIMEOUT = 4.0  # seconds to wait until earlier input of agents has been typed


class MessageRefused(Exception):
    """The mission's state does not allow it. The text is a sentence for people."""


class InvalidMessage(Exception):
    """The input is invalid. The text is a sentence for people."""


def post_message(mission: UUID, user: Any, words: str, to: str = "") -> None:
    """Send a message to the coordinator, or to the agent named `to`.

    The agent reads it before its next step; an agent that has stopped is woken. Raises InvalidMessage and RunEnded.
    """
    try:
        words = validate_text(words.strip(), WORDS_LENGTH, NO_WORDS)
    except ValidationError as error:
        raise InvalidMessage(error.messages[0]) from error
    agent = MissionAgent.objects.filter(mission=mission, folded=fold_name(to)).first() if to else None
    if to and agent is None:
        names = ", ".join(MissionAgent.objects.filter(mission=mission).values_list("name", flat=True))
        raise InvalidMessage(f"There is no agent {to[:40]} in the crew. There are {names}.")

    def write() -> None:
        number = agent.number if agent else COORDINATOR
        name = record_name(user) or "the command line"
        writes.save_agent_message(mission, sender=0, recipient=number, text=words, by_name=name)
        RunAuthor.objects.note(mission, user, AuthorContribution.SAID)
        writes.void_stuck_question(mission)

    apply_and_announce(mission, write)


def pause(mission: UUID, user: Any, on: bool) -> None:
    """Pause (`on`) or resume the mission; calls that are running end first. Raises MessageRefused and RunEnded."""

    def write() -> None:
        if bool(Mission.objects.active().get(pk=mission).paused) == on:
            raise MessageRefused("It is paused already." if on else "It is not paused.")
        writes.pause(mission, on, record_name(user) or "the command line")

    apply_and_announce(mission, write)


# ---- input to terminals -----------------------------------------------------------------------------------------


def answer_terminal(mission: UUID, user: Any, number: int, text: str, key: str = ENTER) -> None:
    """Type a text, a key, or a text and then a key into terminal `number`.

    The row is written before anything is typed, so that it is typed exactly once. Raises MessageRefused, InvalidMessage
    and RunEnded.
    """
    terminal = Terminal.objects.filter(mission=mission, number=number).select_related("mission").first()
    if terminal is None:
        raise InvalidMessage("There is no such terminal.")
    if terminal.mission.policy.get("typing") == NEVER:
        raise MessageRefused("Nobody but its agents types into the terminals of this mission: so it was begun.")
    if len(text) > TYPED_LENGTH or "\n" in text:
        raise InvalidMessage(f"Write one line of at most {TYPED_LENGTH:,} characters.")
    if key and key not in keys.NAMES:
        raise InvalidMessage(f"There is no key {key[:20]}. There are {', '.join(keys.NAMES)}.")
    if not text and not key:
        raise InvalidMessage("Write what is to be typed, or choose a key.")
    spool = workspace.spool(mission, terminal.spool)
    typed = _encode_input(spool, text, key)
    made: list[TerminalInput] = []

    def write() -> None:
        _encode_input(spool, text, key)  # checked again: the command may ask for a password by now
        before = terminal.inputs.aggregate(Max("number"))["number__max"] or 0
        by = record_name(user) or "the command line"
        line = {"number": before + 1, "text": clean_storable_text(typed), "by_name": by[:150]}
        writes.void_stuck_question(mission)
        made.append(TerminalInput.objects.create(terminal=terminal, step=None, **line))
        RunAuthor.objects.note(mission, user, AuthorContribution.SAID)

    apply_and_announce(mission, write)
    _type(spool, made[-1])


def _encode_input(spool: OutputSpool, text: str, key: str) -> str:
    """The characters to send, in the present mode of the terminal. Raises if the command has ended or hides input."""
    if spool.state != SpoolState.LIVES:
        raise MessageRefused(ENDED)
    try:
        by_lines, shown = spool.status()["lines"], picture(spool)
        if hides_input(spool) and (text or key != LEAVES_PROMPT):
            raise InvalidMessage("It asks for a password. Nobody types one here: secrets do not belong into a record.")
    except SupervisorSilent as silent:
        raise MessageRefused(ENDED) from silent
    if key == ENTER:
        return keys.of_text(f"{text}\n", by_lines=by_lines)
    return text + (keys.of_key(key, application=shown.has_application_keys) if key else "")


def _type(spool: OutputSpool, line: TerminalInput) -> None:
    until = time.monotonic() + TYPING_TIMEOUT
    try:
        for number, text in to_be_typed_before(line.terminal, line.number):
            spool.type(number, text.encode())
        while not spool.type(line.number, line.text.encode()):
            if time.monotonic() > until:
                raise MessageRefused("It is written down, and typed as soon as what an agent types there has been.")
            time.sleep(0.1)
    except SupervisorSilent as silent:
        raise MessageRefused(ENDED) from silent
