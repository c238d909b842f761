"""What a table says of judging beside what it says of any run."""

from collections.abc import Sequence

from django.db.models import Prefetch

from . import rules
from .models import Agent, Judgement, JudgementQuerySet, RoundDecision

OF_AGENT = ("name", "score", "verdict")
HEADS = (
    ["content", "council", "council version"],
    [f"agent {number} {what}" for number in (1, 2, 3) for what in OF_AGENT],
)


def tabled() -> JudgementQuerySet:
    """Without the reasons and what was asked for them."""
    votes = Prefetch("agents__decisions", RoundDecision.objects.defer("reason"))
    judgements = Judgement.objects.select_related("run__owner", "council_version")
    return judgements.prefetch_related(Prefetch("agents", Agent.objects.defer("criteria")), votes)


def columns(judgement: Judgement) -> tuple[Sequence[object], Sequence[object]]:
    version = judgement.council_version
    asked = [judgement.content, version.name if version else "", version.number if version else ""]
    return asked, [cell for agent in judgement.agents.all() for cell in _agent(agent)]


def _agent(agent: Agent) -> tuple[str, str, str]:
    return agent.name, rules.tenths(rules.score(agent.history)), agent.verdict or ""
