"""Telling watchers that rows changed, and engines that work waits. Doorbells only: the truth is in the rows."""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncGenerator, Coroutine
from typing import Any
from uuid import UUID

from channels.layers import InMemoryChannelLayer, get_channel_layer

from .json_logs import RepeatFilter

log = logging.getLogger(__name__)
log.addFilter(RepeatFilter(30))  # seconds: while Redis is away, each piece of a text is a push that is lost

WORKER_GROUP = "engines"  # the group of all engines
PUSH_TIMEOUT = 2.0
RELISTEN_SECONDS = 1.0  # seconds after which a layer that failed is tried again
PAGE_LOAD_SECONDS = 10.0  # seconds that a page which was called for takes at most until its socket is open

_pushes: set[asyncio.Task[None]] = set()
_announced: set[UUID] = set()  # in this turn of the event loop
_expected: dict[UUID, float] = {}  # until when somebody is on the way


def group_of(run_id: UUID | str) -> str:
    return f"run.{run_id}"


# ---- saying -----------------------------------------------------------------------------------------------


def announce(run_id: UUID) -> None:
    """Rows of this run have changed and are committed. Returns at once; whether anybody hears is no concern.

    Said once for all that changes in one turn of the event loop.
    """
    if run_id not in _announced and is_group_name(group_of(run_id)):
        _announced.add(run_id)
        _push(_announce(run_id))


async def _announce(run_id: UUID) -> None:
    _announced.discard(run_id)
    await publish_revision(run_id)


def is_group_name(group: str) -> bool:
    """Whether somebody may listen to this group, said at once: of what other processes do nothing is known here; in the
    layer that is for one process alone it is plain."""
    layer = get_channel_layer()
    return bool(layer.groups.get(group)) if isinstance(layer, InMemoryChannelLayer) else True


def announce_soon(run_id: UUID) -> None:
    """Somebody is on the way to the page of this run, and counts as watching from now on."""
    now = time.monotonic()
    for late in [pk for pk, until in list(_expected.items()) if until < now]:
        _expected.pop(late, None)
    _expected[run_id] = now + PAGE_LOAD_SECONDS


async def is_watched(run_id: UUID) -> bool:
    """Whether somebody may see a text of this run while it grows, in whichever process; also where that cannot be
    asked now."""
    if _expected.get(run_id, 0) > time.monotonic():
        return True
    listeners = getattr(get_channel_layer(), "listeners", None)  # of the layer between processes alone
    if listeners is None:
        return is_group_name(group_of(run_id))
    try:
        return bool(await listeners(group_of(run_id)))
    except Exception as error:
        # The boundary to the channel layer: if it fails, answers are streamed, at worst to nobody.
        log.warning("Who watches cannot be asked now (%s: %s), so answers stream.", type(error).__name__, error)
        return True


def show_text(run_id: UUID, step: str, text: str) -> None:
    """The answer of one step has grown to `text`. Nothing is stored: the whole text comes again and again."""
    if is_group_name(group_of(run_id)):
        _push(_say(group_of(run_id), {"type": "run.text", "step": step, "text": text}))


async def wake_workers(expected: UUID | None = None) -> None:
    """`expected`: the run whose page opens next, which the engines take as watched until it has."""
    if expected:
        announce_soon(expected)
    await _say(WORKER_GROUP, {"type": "engine.wake"} | ({"expected": str(expected)} if expected else {}))


async def publish_cancelled(run_id: UUID) -> None:
    """A run has been cancelled: its engine stops asking models for it now instead of at its next look."""
    await _say(WORKER_GROUP, {"type": "engine.cancelled", "run": str(run_id)})
    await publish_revision(run_id)


async def publish_revision(run_id: UUID) -> None:
    """As `announce`, for those who wait until it is said."""
    await _say(group_of(run_id), {"type": "run.changed"})


def _push(message: Coroutine[Any, Any, None]) -> None:
    task = asyncio.get_running_loop().create_task(message)
    _pushes.add(task)  # the loop itself keeps only a weak reference
    task.add_done_callback(_pushes.discard)


async def _say(group: str, message: dict[str, Any]) -> None:
    try:
        async with asyncio.timeout(PUSH_TIMEOUT):
            await get_channel_layer().group_send(group, message)
    except Exception as error:
        # The boundary to the channel layer: a push can never fail a run. Pages and the sweep find the rows.
        log.warning("A push was lost (%s: %s).", type(error).__name__, error)


# ---- hearing ----------------------------------------------------------------------------------------------


async def listen(group: str) -> AsyncGenerator[dict[str, Any], None]:
    """Every message to a group, for as long as it is iterated.

    `{"type": "heard.again"}` comes first, and once more whenever the layer was away: whoever hears it looks at the
    rows, for what was said meanwhile is lost.
    """
    while True:
        channel = ""
        try:
            layer = get_channel_layer()
            async with asyncio.timeout(PUSH_TIMEOUT):
                channel = await layer.new_channel()
                await layer.group_add(group, channel)
            yield {"type": "heard.again"}
            while True:
                yield await layer.receive(channel)
        except Exception as error:
            # The boundary to the channel layer: whatever it raises, the page must get pushes again.
            log.warning("Pushes to %s cannot be heard now (%s: %s).", group, type(error).__name__, error)
            await asyncio.sleep(RELISTEN_SECONDS)
        finally:
            await _leave(group, channel)


async def _leave(group: str, channel: str) -> None:
    with contextlib.suppress(Exception):  # the boundary again: a layer that is gone needs no leaving
        async with asyncio.timeout(PUSH_TIMEOUT):
            await get_channel_layer().group_discard(group, channel)


async def connection_problem() -> str:
    """What keeps a message from coming back through the layer, in a word; empty where nothing does."""
    try:
        async with asyncio.timeout(PUSH_TIMEOUT):
            layer = get_channel_layer()
            channel = await layer.new_channel()
            await layer.send(channel, {"type": "echo"})
            await layer.receive(channel)
    except Exception as error:
        # The boundary to the channel layer, as above.
        return type(error).__name__
    return ""
