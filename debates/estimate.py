"""Cost estimate of a debate before it starts: all messages, by the most expensive model that may write them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from engine.llm import pricing
from engine.llm.providers import is_rehearsal
from engine.llm.tokens import ANSWER
from engine.llm.tokens import tokens_of as tokens_of_text

from .prompts.wording import count_noun

MESSAGE, LINE = 260, 45  # tokens of a message in full, and as one line of the minutes
FULL_HISTORY = 30  # newest messages in full, on average
INSTRUCTIONS = 1_400
LEAST_WHOLE, LEAST_LINES = 8, 20  # messages that a member must see to answer sensibly
LIKELY_MESSAGES = 30  # messages of a debate that ends by itself
SECONDS = (8, 15)  # per message of a model, from and to; a rehearsal takes at most a minute


@dataclass(frozen=True)
class DebateEstimate:
    """`cost` in billionths of a US dollar; None if the price of a model is unknown. `likely`: the cost if it ends
    early. `minutes`: from and to, for all messages, without the time that persons take."""

    calls: int
    cost: int | None
    likely: int | None
    minutes: tuple[int, int]

    @property
    def seconds(self) -> str:
        least, longest = self.minutes
        return f"{least} to {longest} minutes" if least < longest else count_noun(longest, "minute")


class HasText(Protocol):
    """A document, whether attached already or not."""

    @property
    def text(self) -> str: ...


def tokens_of(question: str, documents: Iterable[HasText] = ()) -> int:
    """Return the tokens of what every member reads first. Lines of documents are numbered."""
    texts = [document.text for document in documents]
    return tokens_of_text(question) + sum(tokens_of_text(text) + 2 * (text.count("\n") + 1) for text in texts)


def estimate(read: int, members: Iterable[Mapping[str, Any]], timekeeper: str, most: int) -> DebateEstimate:
    """Estimate a debate of at most `most` messages. `read`: the result of `tokens_of`."""
    asked = [one for one in members if one.get("model")]
    base = INSTRUCTIONS + read
    at_most = _cost(asked, timekeeper, base, most)
    likely = _cost(asked, timekeeper, base, min(LIKELY_MESSAGES, most))
    return DebateEstimate(2 * len(asked) + most, at_most, likely, _minutes(asked, most))


def _minutes(asked: Sequence[Mapping[str, Any]], most: int) -> tuple[int, int]:
    """Return the minutes from and to, if all members write the same number of messages."""
    if not asked:
        return 0, 0
    real = sum(not is_rehearsal(one["model"]) for one in asked)
    least, longest = (-(-most * real * seconds // (60 * len(asked))) for seconds in SECONDS)
    return least, max(longest, 1)


def prompt_tokens(base: int, said: int) -> int:
    """Return the tokens of one request after `said` messages."""
    return base + min(said, FULL_HISTORY) * MESSAGE + max(0, said - FULL_HISTORY) * LINE


def least_prompt(read: int, most: int) -> int:
    """Return the tokens of the longest request to a model with no room for more: older messages are lines or left
    out."""
    whole = min(most, LEAST_WHOLE)
    return INSTRUCTIONS + read + whole * MESSAGE + min(most - whole, LEAST_LINES) * LINE


def _cost(asked: Sequence[Mapping[str, Any]], timekeeper: str, base: int, most: int) -> int | None:
    """Return the cost of first verdicts, all messages in equal parts, closing, and the timekeeper's notes; None if
    a price is unknown."""
    if not asked:
        return 0
    turns = sum(prompt_tokens(base, said) for said in range(most)) // len(asked)
    tokens = turns + base + prompt_tokens(base, most)
    answers = ANSWER * (most // len(asked) + 3)
    costs = [_dearest(one, tokens, answers) for one in asked]
    costs.append(pricing.cost(timekeeper, 400 * (most // 4 + 1), 100 * (most // 4 + 1)) if timekeeper else 0)
    known = [cost for cost in costs if cost is not None]
    return sum(known) if len(known) == len(costs) else None


def turn_cost(read: int, member: Mapping[str, Any], said: int) -> int:
    """Return the cost of one more answer after `said` messages; 0 if the price is unknown."""
    tokens = prompt_tokens(INSTRUCTIONS + read, said)
    return _dearest(member, tokens, ANSWER) or 0


def _dearest(one: Mapping[str, Any], tokens: int, answers: int) -> int | None:
    costs = [pricing.cost(model, tokens, answers) for model in (one["model"], one.get("fallback")) if model]
    return None if None in costs else max(cost for cost in costs if cost is not None)
