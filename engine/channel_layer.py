"""The channel layer between processes, which can tell how many hear a group."""

import asyncio
from typing import Any
from weakref import WeakKeyDictionary

from channels_redis.pubsub import RedisPubSubChannelLayer

LONGEST_QUESTION = 1.0  # seconds; a model waits to be asked meanwhile


class CountingLayer(RedisPubSubChannelLayer):
    """Redis itself counts who is subscribed, in all processes; the layer below it never asks."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._questions: WeakKeyDictionary[asyncio.AbstractEventLoop, _Question] = WeakKeyDictionary()

    async def listeners(self, group: str) -> int:
        """How many processes hear this group now. TimeoutError, and what the client of Redis raises."""
        layer, loop = self._get_layer(), asyncio.get_running_loop()
        question = self._questions.get(loop)
        if question is None or question.asked:
            question = self._questions[loop] = _Question(layer, question)
        return await question.about(layer._get_group_channel_name(group))


class _Question:
    """About all channels that are named until it is asked: when the one before it is over. So a thousand who want to
    know at the same time take two ways to Redis, and no push waits for them."""

    def __init__(self, layer: Any, before: "_Question | None") -> None:
        self.channels: set[str] = set()
        self.asked = False
        self._asking = asyncio.create_task(self._ask(layer, before))

    async def about(self, channel: str) -> int:
        self.channels.add(channel)
        heard = await asyncio.shield(self._asking)  # who gives up waiting takes the answer from nobody else
        return heard[channel.encode()]

    async def _ask(self, layer: Any, before: "_Question | None") -> dict[bytes, int]:
        if before:
            await asyncio.wait([before._asking])
        self.asked = True
        [shard] = layer._shards  # of one server, as REDIS_URL names one
        shard._ensure_redis()
        async with asyncio.timeout(LONGEST_QUESTION):
            return dict(await shard._redis.pubsub_numsub(*self.channels))
