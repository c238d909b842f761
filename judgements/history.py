"""History of judgements: its filters and table rows, in addition to those of every history."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast
from uuid import UUID

from django import forms
from django.db.models import Exists, OuterRef, Prefetch, Q

from engine.llm.providers import is_rehearsal
from engine.models import Run
from runs.procedure import filters, spec

from . import rules
from .models import Council, Judgement, JudgementAgent, JudgementQuerySet, RoundDecision
from .rules import AgentDecision
from .view_model import AgentState

OUTCOMES = ("approved", "rejected", "error", "cancelled", "judging", "idle")


class JudgementHistoryForm(filters.RunHistoryForm):
    council = forms.TypedChoiceField(
        required=False,
        coerce=int,
        empty_value=None,
        error_messages={"invalid_choice": "There is no such council."},
    )
    sets = ("council",)

    def __init__(self, data: Mapping[str, Any], people: filters.People = ()) -> None:
        super().__init__(data, OUTCOMES, people)
        council = cast(forms.ChoiceField, self.fields["council"])
        # lazy: queried only if the choices are shown or validated
        council.choices = lambda: [("", "All councils"), *councils()]


def councils() -> list[tuple[int, str]]:
    """Return id and name of all councils that are available or have judged."""
    judged = Exists(Judgement.objects.filter(council_version__council=OuterRef("pk")))
    found = Council.objects.filter(Q(archived=None) | judged).order_by("name")
    return list(found.values_list("pk", "name"))


VOTE_TEXT: dict[AgentState, str] = {
    "approve": "approves",
    "reject": "rejects",
    "judging": "is judging",
    "pending": "waits for the next round",
    "idle": "waits",
    "failed": "failed",
    "stopped": "stopped",
}


@dataclass(frozen=True)
class SummaryVote:
    name: str
    state: AgentState


@dataclass(frozen=True, kw_only=True)
class JudgementSummary(spec.ListSummary):
    votes: tuple[SummaryVote, ...]
    decided: bool

    @property
    def approving(self) -> str:
        """Return how many agents approve, or a dash if there is no verdict."""
        if self.decided:
            return f"{sum(vote.state == 'approve' for vote in self.votes)} of 3"
        return "–"

    @property
    def votes_in_words(self) -> str:
        return ", ".join(f"{vote.name} {VOTE_TEXT[vote.state]}" for vote in self.votes)


def judgement_summaries(judgements: Sequence[Judgement]) -> dict[UUID, JudgementSummary]:
    """Return the table rows of judgements that were read with their runs and councils, in one more query."""
    seated = _seated([judgement.pk for judgement in judgements])
    return {judgement.pk: _glance(judgement, seated[judgement.pk]) for judgement in judgements}


def _glance(judgement: Judgement, seated: "Sequence[_SummaryAgent]") -> JudgementSummary:
    done = min((len(agent.history) for agent in seated), default=0)
    return JudgementSummary(
        votes=tuple(SummaryVote(agent.name, _vote(judgement.run, agent, done)) for agent in seated),
        saved=judgement.council_version.name if judgement.council_version else "",
        rehearsal=any(agent.rehearsal for agent in seated),
        decided=judgement.run.outcome is not None,
    )


@dataclass
class _SummaryAgent:
    seat: str
    name: str
    rehearsal: bool
    history: dict[int, AgentDecision]


def _seated(pks: Sequence[UUID]) -> dict[UUID, list[_SummaryAgent]]:
    found: dict[UUID, list[_SummaryAgent]] = defaultdict(list)
    columns = ("judgement", "seat", "name", "model", "decisions__round", "decisions__decision")
    agents = JudgementAgent.objects.filter(judgement__in=pks).order_by("judgement", "seat").values_list(*columns)
    for judgement, seat, name, model, number, decision in agents:
        if not found[judgement] or found[judgement][-1].seat != seat:
            found[judgement].append(_SummaryAgent(seat, name, is_rehearsal(model), {}))
        if number:
            found[judgement][-1].history[number] = AgentDecision(decision)
    return found


def _vote(run: Run, agent: _SummaryAgent, done: int) -> AgentState:
    """Return an agent's state in the table. `done`: the number of rounds that all three have decided."""
    if len(agent.history) == len(rules.ROUNDS):
        return "approve" if rules.agent_verdict(agent.history) == rules.Verdict.APPROVED else "reject"
    if run.is_ended:
        return "failed" if (run.error or {}).get("agent") == agent.seat else "stopped"
    if run.status == Run.Status.QUEUED:
        return "idle"
    return "pending" if len(agent.history) > done else "judging"


AGENT_HEADERS = ("name", "score", "verdict")
TABLE_HEADERS = (
    ["content", "council", "council version"],
    [f"agent {number} {what}" for number in (1, 2, 3) for what in AGENT_HEADERS],
)


def prefetch_for_table() -> JudgementQuerySet:
    """Return the judgements with what the table shows, without reasons and criteria."""
    votes = Prefetch("agents__decisions", RoundDecision.objects.defer("reason"))
    judgements = Judgement.objects.select_related("run__owner", "council_version")
    return judgements.prefetch_related(Prefetch("agents", JudgementAgent.objects.defer("criteria")), votes)


def table_columns(judgement: Judgement) -> tuple[Sequence[object], Sequence[object]]:
    version = judgement.council_version
    asked = [judgement.content, version.name if version else "", version.number if version else ""]
    return asked, [cell for agent in judgement.agents.all() for cell in _agent(agent)]


def _agent(agent: JudgementAgent) -> tuple[str, str, str]:
    return agent.name, rules.to_tenths(rules.score(agent.history)), agent.verdict or ""
