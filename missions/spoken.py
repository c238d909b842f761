"""A conversation with a mission on a terminal: each line that is typed is said to its crew, or decides at its gate.

Why so: docs/decisions.md, Missions.
"""

import queue
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any
from uuid import UUID

from django.db import connection

from engine.gates import DoesNotFit, NotDecided, may_decide
from engine.models import Gate
from engine.models.gates import SPOKEN, Decision
from engine.steering import Over
from runs import steering
from runs.deciding import Option, options
from runs.typed_decisions import SYNONYMS, NotRead, Typed, listed, read

from . import talking
from .tools.asking import OTHER

QUESTION, NOT_DECIDED = "Write an answer.", "Nothing was decided."
NOTHING_WAITS = "Nothing that was shown here waits for you: nothing was decided."


class Talk:
    """Listens in a thread of its own. `say`: tells on the terminal what came of a line, where that is no echo. What is
    typed decides at the gate whose text was shown, and at no other one."""

    def __init__(self, user: Any, say: Callable[[str], None]) -> None:
        self._user, self._say = user, say
        self._mission: UUID | None = None
        self._shown, self._digest = 0, ""
        self._goals: queue.Queue[str] = queue.Queue()
        self.listens, self.last = True, ""
        threading.Thread(target=self._listen, daemon=True).start()

    def begin(self, mission: UUID) -> None:
        self._mission, self.last = mission, str(mission)

    def next_goal(self) -> str:
        """What is typed once a mission is over; empty at the end of the input."""
        self._mission = None
        return self._goals.get() if self.listens or not self._goals.empty() else ""

    def may_decide(self, gate: Gate) -> bool:
        return bool(self._user and may_decide(Gate.objects.whole().get(pk=gate.pk), self._user))

    def asks(self, gate: Gate) -> list[str]:
        """The text, which has been read from now on, and what can be typed, in lines."""
        self._shown, self._digest = gate.pk, gate.digest
        return [f"  {gate.text}", *self._question(Gate.objects.whole().get(pk=gate.pk))]

    def _question(self, gate: Gate) -> list[str]:
        found = self._options(gate)
        if _takes_any_words(found):
            return [f"  {QUESTION}"]
        return [*listed(found), "  Write the number or the word of one. Words of your own follow a colon."]

    def _options(self, gate: Gate) -> list[Option]:
        return [one for one in options(gate, self._user) if one.decision in SPOKEN]

    # ---- its thread -----------------------------------------------------------------------------------------

    def _listen(self) -> None:
        for line in sys.stdin:
            self._hear(line.strip())
        self.listens = False
        self._goals.put("")

    def _hear(self, words: str) -> None:
        if self._mission is None:
            if words:
                self._goals.put(words)
            return
        try:
            self.take(self._mission, words)
        except Over:
            self._goals.put(words)
        except (talking.Wrong, NotDecided, DoesNotFit) as wrong:
            self._say(str(wrong))
        finally:
            connection.close()

    def take(self, mission: UUID, words: str) -> None:
        """Decide by this line at the gate that was shown, or say it to the crew. An empty line asks again, and decides
        nothing."""
        gate = Gate.objects.whole().filter(run=mission, pk=self._shown).first()
        to, _, rest = words[1:].partition(" ") if words.startswith("@") else ("", "", words)
        if gate and not to and gate.pending and self.may_decide(gate):
            self._decide(gate, words)
        elif not to and _is_a_decision(gate, words):
            self._shown = 0
            self._say(NOTHING_WAITS)
        elif words:
            talking.say(mission, self._user, rest, to)

    def _decide(self, gate: Gate, words: str) -> None:
        found = self._options(gate)
        try:
            typed = _read(words, found)
        except NotRead as wrong:
            for line in (f"{wrong} {NOT_DECIDED}", *self._question(gate)):
                self._say(line)
            return
        one = typed.option
        steering.decide(gate.pk, self._user, one.decision, choice=one.word, text=typed.text, digest=self._digest)


def _read(words: str, found: Sequence[Option]) -> Typed:
    if not _takes_any_words(found):
        return read(words, found, needs_words=[OTHER])
    if not words:
        raise NotRead(QUESTION)
    return Typed(found[0], words)


def _takes_any_words(found: Sequence[Option]) -> bool:
    """Whether whatever is typed is the answer: nothing was given to choose from."""
    return len(found) == 1 and found[0].decision == Decision.ANSWER


def _is_a_decision(gate: Gate | None, words: str) -> bool:
    """Whether it can only be meant for a gate: for the one that was shown last, or for any."""
    if words.partition(" ")[0].casefold() in SYNONYMS.values():
        return True
    choices = [Option(**one) for one in gate.choices] if gate else []
    if _takes_any_words(choices):
        return False
    with suppress(NotRead):
        return bool(read(words, choices))
    return False
