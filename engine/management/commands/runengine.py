import asyncio
import signal
from argparse import ArgumentParser
from typing import Any

from engine import console
from engine.queue.worker import Worker


class Command(console.ConsoleCommand):
    help = "One more engine process."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--concurrency", type=int, help="runs in progress at once")

    def handle(self, *, concurrency: int | None, **options: Any) -> None:
        asyncio.run(perform(concurrency))


async def perform(concurrency: int | None) -> None:
    """Claim and perform runs until SIGTERM or SIGINT, then shut down gracefully."""
    engine = Worker(concurrency)
    loop, asked_to_stop = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, asked_to_stop.set)
    performing = asyncio.create_task(engine.run())
    stopping = asyncio.create_task(asked_to_stop.wait())
    await asyncio.wait([stopping, performing], return_when=asyncio.FIRST_COMPLETED)
    await engine.stop()
    await performing  # an engine that ended by itself ends the process with its error
