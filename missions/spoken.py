"""A conversation with a mission on a terminal: each line that is typed is said to its crew, or decides at its gate.

Why so: docs/decisions.md, Missions.
"""

import queue
import sys
import threading
from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.db import connection

from engine.gates import DoesNotFit, NotDecided, may_decide
from engine.models import Gate
from engine.models.gates import Decision
from engine.steering import Over
from runs import steering

from . import talking

ALLOW, REFUSE = "allow", "refuse"


class Talk:
    """Listens in a thread of its own. `say`: tells on the terminal what came of a line, where that is no echo. What is
    typed decides at the gate whose text was shown, and at no other one."""

    def __init__(self, user: Any, say: Callable[[str], None]) -> None:
        self._user, self._say = user, say
        self._mission: UUID | None = None
        self._shown = 0
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

    def asks(self, gate: Gate) -> str:
        """The text, which has been read from now on, and what can be typed."""
        self._shown = gate.pk
        return f"  {gate.text}\n  {self._question(gate)}"

    def _question(self, gate: Gate) -> str:
        return "Write an answer." if _is_question(gate) else f"Write “{ALLOW}”, or “{REFUSE}” and why."

    # ---- its thread -----------------------------------------------------------------------------------------

    def _listen(self) -> None:
        for line in sys.stdin:
            if words := line.strip():
                self._hear(words)
        self.listens = False
        self._goals.put("")

    def _hear(self, words: str) -> None:
        if self._mission is None:
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
        gate = Gate.objects.whole().filter(run=mission, pk=self._shown).first()
        to, _, rest = words[1:].partition(" ") if words.startswith("@") else ("", "", words)
        if gate is None or to or not (gate.pending and self.may_decide(gate)):
            if not to and _is_a_decision(words):
                self._say("Nothing that was shown here waits for you: nothing was decided.")
                return
            talking.say(mission, self._user, rest, to)
        elif _is_question(gate):
            steering.decide(gate.pk, self._user, Decision.ANSWER, choice=gate.choices[0]["word"], text=words)
        else:
            self._decide(gate, words)

    def _decide(self, gate: Gate, words: str) -> None:
        word, _, why = words.partition(" ")
        decisions = {ALLOW: Decision.APPROVE, REFUSE: Decision.REJECT}
        if (decision := decisions.get(word.casefold())) is None:
            self._say(self._question(gate))
            return
        named = any(one["word"] == word.casefold() for one in gate.choices)
        steering.decide(gate.pk, self._user, decision, choice=word.casefold() if named else "", text=why)


def _is_a_decision(words: str) -> bool:
    return words.partition(" ")[0].casefold() in (ALLOW, REFUSE)


def _is_question(gate: Gate) -> bool:
    return bool(gate.choices) and all(one["decision"] == Decision.ANSWER for one in gate.choices)
