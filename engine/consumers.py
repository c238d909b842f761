from channels.consumer import AsyncConsumer

from .worker import Engine


class EngineConsumer(AsyncConsumer):
    """The background consumer on the engine's own channel. A message is a doorbell; the work is in the rows."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    async def engine_wake(self, message: dict) -> None:
        self.engine.ring()
