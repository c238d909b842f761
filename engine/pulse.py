"""How late this process comes to what is due. Whoever takes on more than it can do makes all wait, pages too.

Why so: docs/decisions.md, Runs, the queue and the writer.
"""

import asyncio

BEAT = 0.1  # seconds
LATE = 0.05  # seconds behind, on the average of some beats: from there on nothing more is taken on
NEWEST = 0.3  # how much the last beat says of that average


class Pulse:
    def __init__(self) -> None:
        self.behind = 0.0

    @property
    def late(self) -> bool:
        return self.behind > LATE

    async def beat(self) -> None:
        """For as long as it is to be known."""
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + BEAT
            await asyncio.sleep(BEAT)
            self.feel(loop.time() - due)

    def feel(self, behind: float) -> None:
        self.behind += NEWEST * (behind - self.behind)
