"""What a row of a list says of judging beside what it says of any run: the votes, and the council."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from engine.llm.providers import is_rehearsal
from engine.models import Run
from runs import face

from . import rules
from .models import Agent, Judgement
from .parts import State
from .rules import Decision

SAYS: dict[State, str] = {
    "approve": "approves",
    "reject": "rejects",
    "judging": "is judging",
    "pending": "waits for the next round",
    "idle": "waits",
    "failed": "failed",
    "stopped": "stopped",
}


@dataclass(frozen=True)
class Vote:
    name: str
    state: State


@dataclass(frozen=True, kw_only=True)
class Glance(face.Glance):
    votes: tuple[Vote, ...]
    decided: bool

    @property
    def approving(self) -> str:
        """Only a judgement with a verdict has been voted on."""
        if self.decided:
            return f"{sum(vote.state == 'approve' for vote in self.votes)} of 3"
        return "–"

    @property
    def votes_in_words(self) -> str:
        return ", ".join(f"{vote.name} {SAYS[vote.state]}" for vote in self.votes)


def glances(judgements: Sequence[Judgement]) -> dict[UUID, Glance]:
    """Of judgements that were read with their runs and councils, in one more query."""
    seated = _seated([judgement.pk for judgement in judgements])
    return {judgement.pk: _glance(judgement, seated[judgement.pk]) for judgement in judgements}


def _glance(judgement: Judgement, seated: "Sequence[_Seated]") -> Glance:
    done = min((len(agent.history) for agent in seated), default=0)
    return Glance(
        votes=tuple(Vote(agent.name, _vote(judgement.run, agent, done)) for agent in seated),
        saved=judgement.council_version.name if judgement.council_version else "",
        rehearsal=any(agent.rehearsal for agent in seated),
        decided=judgement.run.outcome is not None,
    )


@dataclass
class _Seated:
    seat: str
    name: str
    rehearsal: bool
    history: dict[int, Decision]


def _seated(pks: Sequence[UUID]) -> dict[UUID, list[_Seated]]:
    found: dict[UUID, list[_Seated]] = defaultdict(list)
    columns = ("judgement", "seat", "name", "model", "decisions__round", "decisions__decision")
    agents = Agent.objects.filter(judgement__in=pks).order_by("judgement", "seat").values_list(*columns)
    for judgement, seat, name, model, number, decision in agents:
        if not found[judgement] or found[judgement][-1].seat != seat:
            found[judgement].append(_Seated(seat, name, is_rehearsal(model), {}))
        if number:
            found[judgement][-1].history[number] = Decision(decision)
    return found


def _vote(run: Run, agent: _Seated, done: int) -> State:
    """What an agent's place in the triangle shows; `done`: how many rounds all three have decided."""
    if len(agent.history) == len(rules.ROUNDS):
        return "approve" if rules.agent_verdict(agent.history) == rules.Verdict.APPROVED else "reject"
    if run.over:
        return "failed" if (run.error or {}).get("agent") == agent.seat else "stopped"
    if run.status == Run.Status.QUEUED:
        return "idle"
    return "pending" if len(agent.history) > done else "judging"
