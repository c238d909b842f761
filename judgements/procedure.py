"""A judgement, performed: three rounds, in each of which the agents that have not decided yet decide at once."""

import asyncio
from functools import partial
from typing import Any
from uuid import UUID

from asgiref.sync import async_to_sync

from engine.failures import CallFailed, RunFailed
from engine.live import tell_of_cancelled, wake_engines
from engine.llm import Form
from engine.models import ModelCall, Run
from engine.performance import Performance
from engine.worker import Change

from . import prompts, rules
from .models import Agent, Judgement
from .prompts import Case, Earlier

DECISION = Form(
    name="decision",
    schema=prompts.SCHEMA,
    read=prompts.read_answer,
    preview=prompts.reason_so_far,
    complaint=prompts.complaint,
)


def submit(**judgement: Any) -> Judgement:
    """Queue a judgement and wake the engine. Takes what `Judgement.objects.submit` takes."""
    queued = Judgement.objects.submit(**judgement)
    async_to_sync(wake_engines)()
    return queued


def cancel(judgement: Judgement, by: Any) -> bool:
    """End a judgement that is not over, without a verdict; False where it was over."""
    if not Run.objects.cancel(judgement.pk, by):
        return False
    async_to_sync(tell_of_cancelled)(judgement.pk)
    return True


def retry(judgement: Judgement) -> bool:
    """Let a failed judgement go on with what is missing; False where it has not failed."""
    if not Run.objects.retry(judgement.pk):
        return False
    async_to_sync(wake_engines)()
    return True


async def judge(performance: Performance) -> Change:
    """What is left to do follows from the decisions that exist, so a judgement goes on where it was left."""
    judgement = await performance.read(partial(Judgement.objects.get, pk=performance.run.pk))
    for number in rules.ROUNDS:
        agents = await performance.read(partial(_agents, judgement.pk))
        await _judge_round(performance, judgement, agents, number)
    return judgement.conclude


def _agents(pk: UUID) -> list[Agent]:
    return list(Agent.objects.filter(judgement=pk).prefetch_related("decisions"))


async def _judge_round(performance: Performance, judgement: Judgement, agents: list[Agent], number: int) -> None:
    """Siblings finish: an agent that fails for good ends the run only after the others' answers are kept."""
    earlier = _decisions_before(agents, number)
    undecided = [agent for agent in agents if number not in agent.history]
    work = [_decide(performance, judgement, agent, number, earlier) for agent in undecided]
    outcomes = await asyncio.gather(*work, return_exceptions=True)
    for outcome in outcomes:
        if isinstance(outcome, BaseException) and not isinstance(outcome, CallFailed):
            raise outcome
    for agent, outcome in zip(undecided, outcomes, strict=True):
        if isinstance(outcome, CallFailed):
            raise _failure(agent, number, outcome) from outcome


def _decisions_before(agents: list[Agent], number: int) -> tuple[Earlier, ...]:
    """What every agent of this round is shown; the same for all three, nothing of the round itself."""
    rows = [(d.round, agent.seat, d) for agent in agents for d in agent.decisions.all() if d.round < number]
    return tuple(
        Earlier(round, seat, rules.Decision(d.decision), d.reason)
        for round, seat, d in sorted(rows, key=lambda row: row[:2])
    )


async def _decide(
    performance: Performance, judgement: Judgement, agent: Agent, number: int, earlier: tuple[Earlier, ...]
) -> None:
    case = Case(agent.seat, agent.criteria, judgement.content, number, earlier)

    def keep(call: ModelCall, answer: prompts.Answer) -> None:
        agent.decide(number, answer, call)

    await performance.ask(agent.step(number), agent.model, prompts.messages(case), DECISION, keep)


def _failure(agent: Agent, number: int, problem: CallFailed) -> RunFailed:
    tries = "1 attempt" if problem.attempts == 1 else f"{problem.attempts} attempts"
    sentence = f"{agent.name} gave no decision in round {number} after {tries}: {problem}"
    return RunFailed(problem.code, sentence, agent=agent.seat, round=number, attempts=problem.attempts)
