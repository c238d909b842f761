"""Telling watchers that rows changed, and the engine that work waits. Doorbells only: the truth is in the rows."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any
from uuid import UUID

from channels.layers import get_channel_layer

log = logging.getLogger(__name__)

ENGINE_CHANNEL = "engine"
LONGEST_PUSH = 2.0

_pushes: set[asyncio.Task[None]] = set()


def group_of(run_id: UUID | str) -> str:
    return f"run.{run_id}"


def announce(run_id: UUID) -> None:
    """Rows of this run have changed and are committed. Returns at once; whether anybody hears is no concern."""
    _push(get_channel_layer().group_send(group_of(run_id), {"type": "run.changed"}))


def show_text(run_id: UUID, step: str, text: str) -> None:
    """The answer of one step has grown to `text`. Nothing is stored: the whole text comes again and again."""
    message = {"type": "run.text", "step": step, "text": text}
    _push(get_channel_layer().group_send(group_of(run_id), message))


async def wake_engine() -> None:
    await _quietly(get_channel_layer().send(ENGINE_CHANNEL, {"type": "engine.wake"}))


def _push(message: Coroutine[Any, Any, None]) -> None:
    task = asyncio.get_running_loop().create_task(_quietly(message))
    _pushes.add(task)  # the loop itself keeps only a weak reference
    task.add_done_callback(_pushes.discard)


async def _quietly(message: Coroutine[Any, Any, None]) -> None:
    try:
        async with asyncio.timeout(LONGEST_PUSH):
            await message
    except Exception as error:
        # The boundary to the channel layer: a push can never fail a run. Pages and the sweep find the rows.
        log.warning("A push was lost (%s: %s).", type(error).__name__, error)
