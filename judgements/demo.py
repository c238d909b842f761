"""The example for new users: a finished judgement as rows in memory, which is in no table and no statistics."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import models

from engine.models import ModelCall, Review, Run

from . import rules
from .examples import RELEASE as EXAMPLE
from .models import CouncilVersion, Judgement, JudgementAgent, RoundDecision

ID = UUID("6578616d-706c-4500-8000-72656c656173")  # no run has this key
MODEL = "rehearsal/magi"  # a rehearsal, so that its page says that no model was asked
STARTED_AT = datetime(2026, 11, 19, 14, 2, 11, tzinfo=UTC)
ANSWER_SECONDS = {  # seconds until an agent had decided, by round
    "A": (8.4, 9.1, 6.2),
    "B": (6.9, 7.7, 4.8),
    "C": (10.3, 8.2, 9.6),
}


def demo_judgement() -> tuple[Judgement, list[ModelCall]]:
    """Return the judgement and its calls as if read with `with_agents()` and `calls`."""
    calls = list(_calls())
    run = Run(
        pk=ID,
        procedure="judgement",
        title=f"Example: {EXAMPLE.title}",
        asked_by="MAGI",
        status=Run.Status.FINISHED,
        created=STARTED_AT - timedelta(seconds=1),
        started=STARTED_AT,
        ended=calls[-1].ended,
    )
    _hold(run, "reviews", Review, [])
    judgement = Judgement(run=run, content=EXAMPLE.content, council_version=CouncilVersion(name=EXAMPLE.council))
    agents = [_agent(judgement, seat, calls) for seat in rules.SEATS]
    _hold(judgement, "agents", JudgementAgent, agents)
    run.outcome = rules.verdict({agent.seat: agent.history for agent in agents})
    return judgement, calls


def _calls() -> Iterator[ModelCall]:
    """Yield all nine calls by end time; a round starts when the one before it has ended."""
    begun, number = STARTED_AT, 0
    for index, _ in enumerate(rules.ROUNDS):
        for seat in sorted(rules.SEATS, key=lambda seat: ANSWER_SECONDS[seat][index]):
            number += 1
            ended = begun + timedelta(seconds=ANSWER_SECONDS[seat][index])
            yield ModelCall(
                pk=number,
                step=f"{seat}{rules.ROUNDS[index]}",
                attempt=1,
                status=ModelCall.Status.ANSWERED,
                model=MODEL,
                started=begun,
                deadline=ended,
                ended=ended,
            )
        begun = ended


def _agent(judgement: Judgement, seat: str, calls: Sequence[ModelCall]) -> JudgementAgent:
    index = rules.SEATS.index(seat)
    agent = JudgementAgent(
        pk=-1 - index, judgement=judgement, seat=seat, **EXAMPLE.agents(MODEL)[index]
    )  # a key that no row has
    decisions = []
    for number in rules.ROUNDS:
        decision, reason = EXAMPLE.answer(seat, number)
        call = next(call for call in calls if call.step == agent.step(number))
        decisions.append(RoundDecision(agent=agent, round=number, decision=decision, reason=reason, call=call))
    _hold(agent, "decisions", RoundDecision, decisions)
    return agent


def _hold(row: models.Model, name: str, kind: type[models.Model], rows: Sequence[models.Model]) -> None:
    """Cache related rows as if prefetched, so that nothing queries the database for them."""
    found: Any = kind._default_manager.none()
    found._result_cache, found._prefetch_done = list(rows), True
    row.__dict__.setdefault("_prefetched_objects_cache", {})[name] = found
