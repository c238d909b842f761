"""Performs a judgement: in each of three rounds, all agents without a decision decide at once.

Why so: judgements/DESIGN.md, Judging and reading.
"""

from functools import partial
from typing import Any
from uuid import UUID

from engine.db import cached_sql
from engine.llm.errors import CallFailed
from engine.llm.prompt_blocks import run_boundary
from engine.llm.response_format import ResponseFormat, tokens_for
from engine.models import ModelCall
from engine.runtime.procedure import CommitChange
from engine.runtime.run_context import RunContext
from runs import submissions

from . import prompts, rules
from .models import CouncilChanged, Judgement, JudgementAgent, RoundDecision
from .prompts import EarlierDecision, PromptCase

DECISION = ResponseFormat(
    name="decision",
    schema=prompts.SCHEMA,
    read=prompts.read_answer,
    preview=prompts.preview_reason,
    complaint=prompts.retry_message,
    said=lambda answer: (answer.reason,),
    instructions=prompts.instructions,
    max_tokens=tokens_for(prompts.LONGEST_REASON),
)


def submit(**asked: Any) -> Judgement:
    """Queue a judgement and wake a worker. Takes the arguments of `Judgement.objects.submit` and
    `submissions.submit_run`."""
    return submissions.submit_run(Judgement.objects, refusals=(CouncilChanged,), **asked)


async def perform(run: RunContext) -> CommitChange:
    """Perform the remaining rounds and return the change that saves the verdict. It continues from the stored
    decisions, so an interrupted judgement resumes where it stopped."""
    judgement, agents, decided = await run.read(partial(_so_far, run.pk))
    for number in rules.ROUNDS:
        earlier = _before(decided, number)
        undecided = [agent for agent in agents if (number, agent.seat) not in decided]
        # siblings finish: one that fails permanently ends the run only after the others' answers are saved
        for decision in await run.gather(*(_decide(run, judgement, agent, number, earlier) for agent in undecided)):
            decided[number, decision.seat] = decision
    return judgement.conclude


DecideAgent = dict[tuple[int, str], EarlierDecision]
"""Decisions by round and seat."""


def _so_far(pk: UUID) -> tuple[Judgement, list[JudgementAgent], DecideAgent]:
    [judgement], agents = (
        cached_sql.fetch(Judgement, "pk", [pk]),
        cached_sql.fetch(JudgementAgent, "judgement", [pk], "seat"),
    )
    seats = {agent.pk: agent.seat for agent in agents}
    made = [(seats[one.agent_id], one) for one in cached_sql.fetch(RoundDecision, "agent__judgement", [pk])]
    decided = {
        (d.round, seat): EarlierDecision(d.round, seat, rules.AgentDecision(d.decision), d.reason) for seat, d in made
    }
    return judgement, agents, decided


def _before(decided: DecideAgent, number: int) -> tuple[EarlierDecision, ...]:
    """Return the decisions before round `number`. All three agents of a round see the same ones."""
    return tuple(decided[key] for key in sorted(decided) if key[0] < number)


async def _decide(
    run: RunContext, judgement: Judgement, agent: JudgementAgent, number: int, earlier: tuple[EarlierDecision, ...]
) -> EarlierDecision:
    case = PromptCase(agent.seat, agent.criteria, judgement.content, number, earlier)

    def keep(call: ModelCall, answer: prompts.JudgementAnswer) -> None:
        agent.decide(number, answer, call)

    messages = prompts.messages(case, run_boundary(run.pk))
    try:
        answer = await run.request_model(agent.step(number), agent.model, messages, DECISION, keep, agent.fallback)
    except CallFailed as failure:
        failure.detail |= {"agent": agent.seat, "round": number, "attempts": failure.attempts}
        raise
    return EarlierDecision(number, agent.seat, rules.AgentDecision(answer.decision), answer.reason)
