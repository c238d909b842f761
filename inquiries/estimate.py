"""Estimate of calls and cost before there is a plan: a range from no rejections to some."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from engine.llm import pricing
from engine.llm.tokens import tokens_of

from .rules.events import InquiryStage

STEPS = 3  # assumed research steps
INSTRUCTIONS, GROWTH, ANSWER = 1_500, 1_500, 400  # tokens of a prompt, that each move adds to it, and of an answer
SOURCE_TOKENS = 20  # of a source's line in a prompt, without its title
COUNCIL_CALLS = 9  # calls
BEST_CASE_CALLS = {"plan": 1, "research": 3, "answer": 2, "review": 2}  # calls, or twice as many reviews
REJECTED_CALLS = {"plan": 2, "research": 6, "answer": 4, "review": 3}


@dataclass(frozen=True)
class InquiryEstimate:
    """Least and most model calls, and cost in billionths of a dollar; None if a model's price is unknown."""

    calls: tuple[int, int]
    cost: tuple[int, int] | None


def estimate(models: Mapping[str, str], critics: Mapping[str, Mapping[str, Any]]) -> InquiryEstimate:
    """`models`: by role; `critics`: of roles that a person or council has, as in a submission."""
    found = [list(_calls(models, critics, taken)) for taken in (BEST_CASE_CALLS, REJECTED_CALLS)]
    costs = [[pricing.cost(model, tokens, ANSWER) for model, tokens in calls] for calls in found]
    counted = len(found[0]), len(found[1])
    if any(cost is None for calls in costs for cost in calls):
        return InquiryEstimate(counted, None)
    least, most = (sum(cost or 0 for cost in calls) for calls in costs)
    return InquiryEstimate(counted, (least, most))


def least_prompt(question: str, titles: Iterable[str]) -> int:
    """Return the tokens that a model of the inquiry must be able to read: the first prompt and the result of a move."""
    return INSTRUCTIONS + GROWTH + tokens_of(question) + sum(SOURCE_TOKENS + tokens_of(title) for title in titles)


def _calls(
    models: Mapping[str, str], critics: Mapping[str, Mapping[str, Any]], taken: Mapping[str, int]
) -> Iterator[tuple[str, int]]:
    """Yield model and prompt tokens of each call."""
    yield from [(models[InquiryStage.PLANNER], INSTRUCTIONS)] * taken["plan"]
    for _ in range(STEPS):
        yield from _moves(models[InquiryStage.RESEARCHER], taken["research"])
    yield from _moves(models[InquiryStage.EXPERT], taken["answer"])
    yield models[InquiryStage.FINALIZER], INSTRUCTIONS + GROWTH
    for critic, works in (
        (InquiryStage.CRITIC_PLANNER, 1),
        (InquiryStage.CRITIC_RESEARCHER, STEPS),
        (InquiryStage.CRITIC_EXPERT, 1),
    ):
        reviews = works * taken["review"] // 2
        kind = critics.get(critic, {}).get("kind", "model")
        times = {"person": 0, "council": COUNCIL_CALLS * reviews}.get(kind, reviews)
        yield from [(models[critic], INSTRUCTIONS + GROWTH)] * times


def _moves(model: str, number: int) -> Iterator[tuple[str, int]]:
    yield from ((model, INSTRUCTIONS + GROWTH * made) for made in range(number))
