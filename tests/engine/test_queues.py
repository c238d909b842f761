"""Whose turn it is at a provider: pure, by futures alone."""

import asyncio

import pytest

from engine.llm import queues
from engine.llm.errors import EndpointUnreachable, RateLimited
from engine.llm.queues import ProviderAway, ProviderQueue

LONG = 600.0


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(queues, "FIRST_PAUSE", 0.01)
    monkeypatch.setattr(queues, "LONGEST_PAUSE", 0.02)


def entered(queue, number, patience=LONG):
    return [queue.turn(patience).__enter__() for _ in range(number)]


def granted(turns):
    return [turn.granted.done() for turn in turns]


def away(wait=None):
    failure = EndpointUnreachable("It is away.")
    failure.retry_after = wait
    return failure


async def test_as_many_are_asked_at_once_as_there_are_places_in_the_order_they_came():
    queue = ProviderQueue(2)
    turns = entered(queue, 4)
    assert granted(turns) == [True, True, False, False]
    queue.leave(turns[1])
    assert granted(turns) == [True, True, True, False]


async def test_one_asks_a_provider_that_is_away_and_all_go_on_when_it_is_back():
    queue = ProviderQueue()
    [first] = entered(queue, 1)
    first.lost(away())
    waiting = entered(queue, 3)
    assert granted(waiting) == [False, False, False]
    await waiting[0].granted
    assert granted(waiting) == [True, False, False]
    queue.taken()  # the head of its answer, long before its end
    assert granted(waiting) == [True, True, True]


async def test_who_finds_it_away_again_is_followed_by_another():
    queue = ProviderQueue()
    [first] = entered(queue, 1)
    first.lost(away())
    second, third = entered(queue, 2)
    await second.granted
    second.lost(away())
    await third.granted
    assert queue.absence is not None


async def test_one_that_leaves_while_it_asks_leaves_its_turn_to_the_next():
    queue = ProviderQueue()
    [first] = entered(queue, 1)
    first.lost(away())
    second, third = entered(queue, 2)
    await second.granted
    queue.leave(second)
    await third.granted
    assert third.probes


async def test_a_wait_that_is_named_is_kept_and_what_was_on_its_way_before_ends_it_not():
    queue = ProviderQueue()
    limited, other = entered(queue, 2)
    limited.lost(RateLimited("Slowly.", retry_after=0.05))
    [waiting] = entered(queue, 1)
    queue.taken()
    other.answered()
    assert (queue.absence is not None, granted([waiting])) == (True, [False])
    await waiting.granted


async def test_after_a_limit_of_rate_a_few_go_first_and_more_with_each_that_is_taken():
    queue = ProviderQueue()
    [limited] = entered(queue, 1)
    limited.lost(RateLimited("Slowly.", retry_after=0.01))
    waiting = entered(queue, 9)
    await waiting[0].granted
    counts = []
    for _ in range(3):
        queue.taken()
        counts.append(sum(granted(waiting)))
    assert counts == [2, 4, 8]


async def test_patience_ends_and_a_longer_wait_that_is_named_ends_it_at_once():
    queue = ProviderQueue()
    [first] = entered(queue, 1)
    first.lost(away())
    [probe] = entered(queue, 1)
    await probe.granted
    [impatient] = entered(queue, 1, patience=0.03)
    with pytest.raises(ProviderAway, match="It is away"):
        await impatient.granted
    probe.lost(away(wait=LONG))
    [waiting] = entered(queue, 1, patience=LONG - 1)
    assert isinstance(waiting.granted.exception(), ProviderAway)


async def test_who_is_cancelled_while_it_waits_keeps_nobody_waiting():
    queue = ProviderQueue(1)
    [inside] = entered(queue, 1)

    async def ask():
        with queue.turn(LONG) as turn:
            await turn.granted

    task = asyncio.create_task(ask())
    await asyncio.sleep(0)
    [last] = entered(queue, 1)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    queue.leave(inside)
    assert granted([last]) == [True]


async def test_who_waits_hears_when_a_provider_names_another_wait():
    queue = ProviderQueue()
    first, second, third = entered(queue, 3)
    first.lost(away())
    news = []
    for turn, failure in (
        (second, RateLimited("Slowly.", retry_after=20)),
        (third, RateLimited("Slowly.", retry_after=21)),
    ):
        changes = queue.changes()
        turn.lost(failure)
        news.append((changes.done(), queue.absence.limited, queue.absence.until is not None))
    assert news == [(True, True, True), (False, True, True)]
