"""Decisions of somebody who has read what stands at the gate."""

from typing import Any

from engine import gate_decisions
from engine.models import Gate
from runs import run_actions


def decide_as_read(pk: int, user: Any, decision: str, text: str = "", choice: str = "", **said: Any) -> Gate:
    """As `gates.decide`."""
    return gate_decisions.decide(pk, user, decision, text, choice, digest=Gate.objects.get(pk=pk).digest, **said)


def steer_as_read(pk: int, user: Any, decision: str, **said: Any) -> Gate:
    """As `steering.decide`."""
    return run_actions.decide(pk, user, decision, digest=Gate.objects.get(pk=pk).digest, **said)
