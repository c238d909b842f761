"""A council asked as a language model is: its verdict, and the reasons of its agents."""

from collections.abc import Mapping
from typing import Any

from runs.as_model import AsModel, Fact

from . import deciding
from .rules import Decision, Verdict

SAYS = {Verdict.APPROVED: "approves", Verdict.REJECTED: "rejects"}
FACTS = {
    "verdict": Fact(words=tuple(Verdict)),
    "decision": Fact(words=tuple(Decision)),
    "approved": Fact("boolean"),
    "reasons": Fact("array"),
}


def said(judgement: Mapping[str, Any], holds: str) -> dict[str, Any]:
    approved = holds == Verdict.APPROVED
    reasons = [_reason(agent) for agent in judgement["agents"]]
    return {
        "verdict": holds,
        "decision": str(Decision.APPROVE if approved else Decision.REJECT),
        "approved": approved,
        "reasons": reasons,
        "reason": "\n".join(reasons),
    }


def _reason(agent: Mapping[str, Any]) -> str:
    who = f"{agent['name']} (agent {agent['seat']})"
    return f"{who} {SAYS[agent['verdict']]} ({agent['score']}): {agent['decisions'][-1]['reason']}"


def _names() -> list[str]:
    return [one.name for one in deciding.offered()]


AS_MODEL = AsModel("council", _names, lambda name, text: {"content": text, "council": name}, said, FACTS)
