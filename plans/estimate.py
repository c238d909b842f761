"""Cost of planning a task, estimated before it starts."""

from engine.llm import pricing
from engine.llm.tokens import tokens_of

from .prompts.planner import SYSTEM, PromptOwner

ANSWER = 1_500  # tokens of a plan, including the model's reasoning
INSTRUCTIONS = tokens_of(SYSTEM)


def planning_cost(task: str, model: str, owners: list[PromptOwner]) -> int | None:
    """Return the cost of one answer of the planner in billionths of a dollar; None if the model's price is unknown."""
    agent_texts = [
        f"{one.name} {one.description} {tool.name} {tool.description}" for one in owners for tool in one.tools
    ]
    read = INSTRUCTIONS + sum(map(tokens_of, [task, *agent_texts]))
    return pricing.cost(model, read, ANSWER)
