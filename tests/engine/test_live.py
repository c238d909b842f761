"""Whether anybody watches a run, as the engine asks before it has an answer streamed."""

import asyncio
from contextlib import aclosing
from uuid import uuid4

import pytest
from channels.layers import get_channel_layer

from engine import channel_layer, pubsub
from engine.queue.consumer import EngineConsumer

NO_REDIS = "redis://127.0.0.1:1/0"


def redis_at(settings, url):
    settings.CHANNEL_LAYERS = {"default": {"BACKEND": "engine.channel_layer.CountingLayer", "CONFIG": {"hosts": [url]}}}


@pytest.fixture
def run():
    return uuid4()


async def test_who_watches_through_redis_is_counted_for_as_long_as_they_do(settings, redis_url, run):
    redis_at(settings, redis_url)
    assert not await pubsub.is_watched(run)
    async with aclosing(pubsub.listen(pubsub.group_of(run))) as messages:
        await anext(messages)
        assert await pubsub.is_watched(run)
        assert not await pubsub.is_watched(uuid4())
    assert not await pubsub.is_watched(run)
    await get_channel_layer().flush()


async def test_a_thousand_who_want_to_know_at_once_are_told_that_nobody_watches(settings, redis_url):
    redis_at(settings, redis_url)
    assert not any(await asyncio.gather(*(pubsub.is_watched(uuid4()) for _ in range(1000))))
    await get_channel_layer().flush()


async def test_where_redis_does_not_answer_a_run_may_be_watched(settings, run, monkeypatch):
    monkeypatch.setattr(channel_layer, "LONGEST_QUESTION", 0.1)
    server = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
    redis_at(settings, f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}/0")
    assert await asyncio.gather(pubsub.is_watched(run), pubsub.is_watched(uuid4())) == [True, True]
    server.close()


async def test_where_redis_is_away_a_run_may_be_watched(settings, run):
    redis_at(settings, NO_REDIS)
    assert await pubsub.is_watched(run)


async def test_an_engine_in_another_process_hears_whose_page_opens_next(settings, run):
    async with aclosing(pubsub.listen(pubsub.WORKER_GROUP)) as messages:
        await anext(messages)
        await pubsub.wake_workers(run)
        said = await anext(messages)
    pubsub._expected.clear()
    rung = []
    await EngineConsumer(lambda: rung.append(1), rung.append).dispatch(said)
    assert await pubsub.is_watched(run)
    assert rung == [1]
