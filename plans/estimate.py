"""What it costs to plan a task, before it starts."""

from engine.llm import pricing
from engine.llm.tokens import tokens_of

from .prompts.planner import SYSTEM, PromptOwner

ANSWER = 1_500  # tokens of a plan, the thinking of a model included
INSTRUCTIONS = tokens_of(SYSTEM)


def planning_cost(task: str, model: str, owners: list[PromptOwner]) -> int | None:
    """Of one answer of the planner, in billionths of a dollar; None where its price is unknown."""
    told = [f"{one.name} {one.description} {tool.name} {tool.description}" for one in owners for tool in one.tools]
    read = INSTRUCTIONS + sum(map(tokens_of, [task, *told]))
    return pricing.cost(model, read, ANSWER)
