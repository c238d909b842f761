from collections.abc import Callable
from contextlib import aclosing, suppress
from typing import Any
from uuid import UUID

from channels.consumer import AsyncConsumer, get_handler_name

from ..pubsub import WORKER_GROUP, announce_soon, listen


class EngineConsumer(AsyncConsumer):
    """The background consumer, the ears of an engine. A message is a doorbell; the work is in the rows."""

    def __init__(self, ring: Callable[[], None], drop: Callable[[UUID], None]) -> None:
        self._ring, self._drop = ring, drop

    async def listen(self) -> None:
        """Hear what is said to all engines, until cancelled."""
        async with aclosing(listen(WORKER_GROUP)) as messages:
            async for message in messages:
                await self.dispatch(message)

    async def dispatch(self, message: dict[str, Any]) -> None:
        """What a later version says, and this one does not know, is left to it."""
        if hasattr(self, get_handler_name(message)):
            await super().dispatch(message)

    async def heard_again(self, message: dict[str, Any]) -> None:
        self._ring()

    async def engine_wake(self, message: dict[str, Any]) -> None:
        with suppress(KeyError, TypeError, ValueError):  # of an engine's own version, or of none that it knows
            announce_soon(UUID(message["expected"]))
        self._ring()

    async def engine_cancelled(self, message: dict[str, Any]) -> None:
        self._drop(UUID(message["run"]))
