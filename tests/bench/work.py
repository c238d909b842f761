"""The work of all contestants: nine calls in three rounds, each asked as the product asks it."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from judgements import prompts
from judgements.rules import AgentDecision

CRITERIA = "Approve only what is lawful, affordable and can be undone. Name what is missing."
CONTENT = "We want to move the database of our customers to another region on Saturday night. " * 12
SEATS = ("melchior", "balthasar", "casper")
SAID_AFTER = 0.25  # seconds: when an open page says what it has, as live.js does
SPREAD = 3  # rounds: with a slow model judgements begin evenly over the time of one


class BenchPlay(NamedTuple):
    """`number` judgements, as many `at_once` as are said, at an endpoint that takes `delay` milliseconds."""

    number: int
    at_once: int
    delay: int
    pieces: int
    watched: bool
    content: str = CONTENT

    @property
    def ideal(self) -> float:
        """Seconds, if nothing took time but the endpoint."""
        takes = self.number if self.at_once == 1 else 2
        return takes * SPREAD * self.delay / 1000

    @property
    def provider(self) -> str:
        """What the product calls such an endpoint."""
        return f"delay{self.delay}pieces{self.pieces}"

    @property
    def path(self) -> str:
        return f"/delay/{self.delay}/pieces/{self.pieces}/v1"


Ask = Callable[[list[dict[str, str]]], Awaitable[str]]


async def judgement(ask: Ask, content: str) -> None:
    """What the bare contestants do."""
    earlier: tuple[prompts.EarlierDecision, ...] = ()
    for number in (1, 2, 3):
        earlier = await decided(ask, content, number, earlier)


async def decided(
    ask: Ask, content: str, number: int, earlier: tuple[prompts.EarlierDecision, ...] = ()
) -> tuple[prompts.EarlierDecision, ...]:
    """All decisions so far, with those of this round."""
    cases = [prompts.PromptCase(seat, CRITERIA, content, number, earlier) for seat in SEATS]
    reasons = await asyncio.gather(*(ask(prompts.messages(case)) for case in cases))
    made = zip(SEATS, reasons, strict=True)
    return earlier + tuple(
        prompts.EarlierDecision(number, seat, AgentDecision.APPROVE, reason) for seat, reason in made
    )


async def perform(play: BenchPlay, one: Callable[[], Awaitable[None]]) -> None:
    """As many at once as the play says; with a slow model they begin one after the other."""
    left, began = iter(range(play.number)), time.monotonic()

    async def go_on() -> None:
        for number in left:
            begins = began + play.ideal / 2 * number / play.number if play.number == play.at_once else 0
            await asyncio.sleep(max(0.0, begins - time.monotonic()))
            await one()

    await asyncio.gather(*(go_on() for _ in range(play.at_once)))
