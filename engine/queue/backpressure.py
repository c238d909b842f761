"""How late this process comes to what is due. Whoever takes on more than it can do makes all wait, pages too.

Why so: engine/DESIGN.md, Runs, the queue and the writer.
"""

import asyncio

TICK_SECONDS = 0.1  # seconds
MAX_LAG_SECONDS = 0.05  # seconds behind, on the average of some beats: from there on nothing more is taken on
AVERAGE_WEIGHT = 0.3  # how much the last beat says of that average


class EventLoopLag:
    def __init__(self) -> None:
        self.behind = 0.0

    @property
    def is_high(self) -> bool:
        return self.behind > MAX_LAG_SECONDS

    async def tick(self) -> None:
        """For as long as it is to be known."""
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + TICK_SECONDS
            await asyncio.sleep(TICK_SECONDS)
            self.measure(loop.time() - due)

    def measure(self, behind: float) -> None:
        self.behind += AVERAGE_WEIGHT * (behind - self.behind)
