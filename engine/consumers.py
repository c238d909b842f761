from contextlib import aclosing
from typing import Any
from uuid import UUID

from channels.consumer import AsyncConsumer

from .live import ENGINES, listen
from .worker import Engine


class EngineConsumer(AsyncConsumer):
    """The background consumer. A message is a doorbell; the work is in the rows."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    async def listen(self) -> None:
        """Hear what is said to all engines, until cancelled."""
        async with aclosing(listen(ENGINES)) as messages:
            async for message in messages:
                await self.dispatch(message)

    async def heard_again(self, message: dict[str, Any]) -> None:
        self.engine.ring()

    async def engine_wake(self, message: dict[str, Any]) -> None:
        self.engine.ring()

    async def engine_cancelled(self, message: dict[str, Any]) -> None:
        self.engine.drop(UUID(message["run"]))
