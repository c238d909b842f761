"""Cost estimate of a judgement before it starts: nine calls, rather too high than too low."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from engine.llm import pricing
from engine.llm.tokens import tokens_of, too_long
from engine.text.invisible_chars import visible_json

from . import prompts, rules

ANSWER = 1_500  # tokens of one answer, including the model's thinking
REASON = 250  # tokens of one reason in the prompt of the next round
MODELS = ("model", "fallback")  # the fields of an agent that name a model
INSTRUCTIONS = tokens_of(prompts.SYSTEM)


@dataclass(frozen=True)
class JudgementEstimate:
    """`cost` in billionths of a US dollar; None if the price of a model is unknown."""

    calls: int
    input_tokens: int
    output_tokens: int
    cost: int | None


def estimate(content: str, agents: Iterable[Mapping[str, str]]) -> JudgementEstimate:
    calls = [(agent, _asked(content, agent, number)) for agent in agents for number in rules.ROUNDS]
    costs = [_dearest(agent, tokens) for agent, tokens in calls]
    known = [cost for cost in costs if cost is not None]
    return JudgementEstimate(
        calls=len(calls),
        input_tokens=sum(tokens for _, tokens in calls),
        output_tokens=ANSWER * len(calls),
        cost=sum(known) if len(known) == len(costs) else None,
    )


def _asked(content: str, agent: Mapping[str, str], number: int) -> int:
    seen = REASON * len(rules.SEATS) * (number - 1)
    return INSTRUCTIONS + tokens_of(visible_json(content)) + tokens_of(agent["criteria"]) + seen


def largest_prompt(content: str, agent: Mapping[str, str]) -> int:
    """Return the tokens of the agent's prompt in the last round, which is the largest."""
    return _asked(content, agent, rules.ROUNDS[-1])


def too_long_for(content: str, agent: Mapping[str, str], name: str) -> str:
    """Return why the content is too long for this agent; empty if it fits. `name`: the field of its model, `model`
    or `fallback`."""
    said = too_long(agent.get(name) or "", largest_prompt(content, agent), "this judgement")
    return said and f"{said} Name another model, or shorten the content: it has {len(content):,} characters."


def _dearest(agent: Mapping[str, str], tokens: int) -> int | None:
    """Return the higher cost of the agent's model and its fallback, or None if a price is unknown."""
    models = [model for model in (agent["model"], agent.get("fallback")) if model]
    costs = [pricing.cost(model, tokens, ANSWER) for model in models]
    return None if None in costs else max(cost for cost in costs if cost is not None)
