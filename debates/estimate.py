"""What a debate may cost, before it starts: every message is said, by the dearest model that may say it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.llm import prices

ANSWER = 700  # tokens of one answer, the thinking of a model included
MESSAGE, LINE = 260, 45  # tokens of a message as others read it whole, and as one line of the minutes
WHOLE = 30  # of the newest messages are read whole, on average
INSTRUCTIONS = 1_400
LIKELY = 30  # messages of a debate that ends by itself


@dataclass(frozen=True)
class Estimate:
    """`cost` in billionths of a dollar; None where the price of a model is unknown. `likely`: if it ends sooner."""

    calls: int
    cost: int | None
    likely: int | None


def estimate(
    question: str,
    members: Iterable[Mapping[str, Any]],
    timekeeper: str,
    most: int,
    documents: int = 0,
) -> Estimate:
    """`documents`: tokens of what was attached."""
    asked = [one for one in members if one.get("model")]
    base = INSTRUCTIONS + prices.tokens_of(question) + documents
    at_most = _cost(asked, timekeeper, base, most)
    likely = _cost(asked, timekeeper, base, min(LIKELY, most))
    return Estimate(2 * len(asked) + most, at_most, likely)


def prompt_tokens(base: int, said: int) -> int:
    """Of one request after so many messages."""
    return base + min(said, WHOLE) * MESSAGE + max(0, said - WHOLE) * LINE


def _cost(asked: Sequence[Mapping[str, Any]], timekeeper: str, base: int, most: int) -> int | None:
    """First verdicts, every message by every member in equal parts, closing, and the notes of a model."""
    if not asked:
        return 0
    turns = sum(prompt_tokens(base, said) for said in range(most)) // len(asked)
    tokens = turns + base + prompt_tokens(base, most)
    answers = ANSWER * (most // len(asked) + 3)
    costs = [_dearest(one, tokens, answers) for one in asked]
    costs.append(prices.cost(timekeeper, 400 * (most // 4 + 1), 100 * (most // 4 + 1)) if timekeeper else 0)
    known = [cost for cost in costs if cost is not None]
    return sum(known) if len(known) == len(costs) else None


def turn_cost(question: str, member: Mapping[str, Any], said: int) -> int:
    """Of one more answer after so many messages; nothing where that is unknown."""
    tokens = prompt_tokens(INSTRUCTIONS + prices.tokens_of(question), said)
    return _dearest(member, tokens, ANSWER) or 0


def _dearest(one: Mapping[str, Any], tokens: int, answers: int) -> int | None:
    costs = [prices.cost(model, tokens, answers) for model in (one["model"], one.get("fallback")) if model]
    return None if None in costs else max(cost for cost in costs if cost is not None)
