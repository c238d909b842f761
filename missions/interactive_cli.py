"""A conversation with a mission on a terminal: each line is a message to its crew or a decision at a gate.

Why so: missions/DESIGN.md, Missions.
"""

import queue
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any
from uuid import UUID

from django.db import connection

from engine.gate_decisions import DecisionRefused, InvalidAnswer, may_decide
from engine.models import Gate
from engine.models.gates import DECIDED_STATES, DecisionValue
from engine.run_control import RunEnded
from runs import run_actions
from runs.approvals.pending import DecisionOption, options
from runs.typed_decisions import SYNONYMS, Typed, UnreadableDecision, listed, read

from . import comments
from .tools.ask_person import OTHER_ANSWER

QUESTION, NOT_DECIDED = "Write an answer.", "Nothing was decided."
NOTHING_WAITS = "Nothing that was shown here waits for you: nothing was decided."


class InteractiveSession:
    """Reads lines of stdin in a thread. A line decides only at the gate whose text was shown last.

    `say` prints errors and questions on the terminal.
    """

    def __init__(self, user: Any, say: Callable[[str], None]) -> None:
        self._user, self._say = user, say
        self._mission: UUID | None = None
        self._shown, self._digest = 0, ""
        self._goals: queue.Queue[str] = queue.Queue()
        self.listens, self.last = True, ""
        threading.Thread(target=self._listen, daemon=True).start()

    def start(self, mission: UUID) -> None:
        self._mission, self.last = mission, str(mission)

    def next_goal(self) -> str:
        """Wait for the first line after a mission has ended; empty at the end of the input."""
        self._mission = None
        return self._goals.get() if self.listens or not self._goals.empty() else ""

    def may_decide(self, gate: Gate) -> bool:
        return bool(self._user and may_decide(Gate.objects.with_decisions().get(pk=gate.pk), self._user))

    def asks(self, gate: Gate) -> list[str]:
        """The gate's text and the possible answers, as lines. The next decision is about this gate."""
        self._shown, self._digest = gate.pk, gate.digest
        return [f"  {gate.text}", *self._question(Gate.objects.with_decisions().get(pk=gate.pk))]

    def _question(self, gate: Gate) -> list[str]:
        found = self._options(gate)
        if _takes_free_text(found):
            return [f"  {QUESTION}"]
        return [*listed(found), "  Write the number or the word of one. Words of your own follow a colon."]

    def _options(self, gate: Gate) -> list[DecisionOption]:
        return [one for one in options(gate, self._user) if one.decision in DECIDED_STATES]

    # ---- the thread -----------------------------------------------------------------------------------------

    def _listen(self) -> None:
        for line in sys.stdin:
            self._receive(line.strip())
        self.listens = False
        self._goals.put("")

    def _receive(self, words: str) -> None:
        if self._mission is None:
            if words:
                self._goals.put(words)
            return
        try:
            self.handle_line(self._mission, words)
        except RunEnded:
            self._goals.put(words)
        except (comments.InvalidMessage, DecisionRefused, InvalidAnswer) as wrong:
            self._say(str(wrong))
        finally:
            connection.close()

    def handle_line(self, mission: UUID, words: str) -> None:
        """Decide at the shown gate, or send the line to the crew. An empty line shows the question again."""
        gate = Gate.objects.with_decisions().filter(run=mission, pk=self._shown).first()
        to, _, rest = words[1:].partition(" ") if words.startswith("@") else ("", "", words)
        if gate and not to and gate.pending and self.may_decide(gate):
            self._decide(gate, words)
        elif not to and _is_a_decision(gate, words):
            self._shown = 0
            self._say(NOTHING_WAITS)
        elif words:
            comments.post_message(mission, self._user, rest, to)

    def _decide(self, gate: Gate, words: str) -> None:
        found = self._options(gate)
        try:
            typed = _read(words, found)
        except UnreadableDecision as wrong:
            for line in (f"{wrong} {NOT_DECIDED}", *self._question(gate)):
                self._say(line)
            return
        one = typed.option
        run_actions.decide(gate.pk, self._user, one.decision, choice=one.word, text=typed.text, digest=self._digest)


def _read(words: str, found: Sequence[DecisionOption]) -> Typed:
    if not _takes_free_text(found):
        return read(words, found, needs_words=[OTHER_ANSWER])
    if not words:
        raise UnreadableDecision(QUESTION)
    return Typed(found[0], words)


def _takes_free_text(found: Sequence[DecisionOption]) -> bool:
    """Whether the gate has no choices, so that any text is an answer."""
    return len(found) == 1 and found[0].decision == DecisionValue.ANSWER


def _is_a_decision(gate: Gate | None, words: str) -> bool:
    """Whether the line is meant for a gate: it is a word such as "approve", or a choice of the gate shown last."""
    if words.partition(" ")[0].casefold() in SYNONYMS.values():
        return True
    choices = [DecisionOption(**one) for one in gate.choices] if gate else []
    if _takes_free_text(choices):
        return False
    with suppress(UnreadableDecision):
        return bool(read(words, choices))
    return False
