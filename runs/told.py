"""What the open pages of people are told of what waits for them: one look every two seconds serves all of a process.

The truth is in the rows: nothing has to be said for it to be seen, and nothing can get lost.

Why so: docs/decisions.md, Gates.
"""

import asyncio
import json
import logging
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any

from django.db.models import Count, Max
from django.urls import reverse

from engine.hidden import in_one_line
from engine.models import Gate, GateDecision
from engine.reader import read

from .context import counted
from .feed import CLOSED_NOT_FOUND, SOCKETS_PER_USER, TOO_MANY, TRY_AGAIN, signed_in

log = logging.getLogger(__name__)

EVERY = 2.0  # seconds between two looks
AT_ONCE = 20  # so many of what is new are named

Stamp = tuple[Any, ...]


class Listener:
    """One open page of somebody. `after`: the newest gate that it was painted with; below nought: it does not want to
    hear what is newer."""

    def __init__(
        self,
        user: Any,
        session_key: str | None,
        send: Callable[[str], Coroutine[Any, Any, None]],
        close: Callable[[int], Coroutine[Any, Any, None]],
        after: int,
    ) -> None:
        self.user_pk, self.password = user.pk, getattr(user, "password", "")
        self.session_key, self.after = session_key, after
        self.send, self.close = send, close
        self.said = ""


_listeners: set[Listener] = set()
_looking: asyncio.Task[None] | None = None


async def join(listener: Listener) -> None:
    """Tell this page from now on, as long as it is open."""
    global _looking
    if sum(other.user_pk == listener.user_pk for other in _listeners) >= SOCKETS_PER_USER:
        await listener.close(TOO_MANY)
        return
    _listeners.add(listener)  # before the look: what comes after it changes the stamp
    await _tell([listener])
    if _looking is None or _looking.done():
        _looking = asyncio.get_running_loop().create_task(_look())


def leave(listener: Listener) -> None:
    _listeners.discard(listener)


async def _look() -> None:
    before: Stamp = ()
    while _listeners:
        try:
            stamp = await read(_stamp)
            if stamp != before:
                await _tell(list(_listeners))
            before = stamp
        except Exception:
            # The boundary of a task that nobody waits for: the pages connect again by themselves.
            log.exception("Nobody could be told what waits.")
            await _shut(list(_listeners), TRY_AGAIN)
        await asyncio.sleep(EVERY)


def _stamp() -> Stamp:
    """Another one as soon as something else waits for anybody."""
    pending = Gate.objects.pending().aggregate(number=Count("pk"), newest=Max("pk"))
    return pending["number"], pending["newest"], GateDecision.objects.aggregate(last=Max("pk"))["last"]


async def _tell(listeners: Sequence[Listener]) -> None:
    found = await read(partial(_found, listeners))
    await _shut([one for one in listeners if one not in found], CLOSED_NOT_FOUND)
    for listener, message in found.items():
        if message != listener.said:
            listener.said = message
            await listener.send(message)


def _found(listeners: Sequence[Listener]) -> dict[Listener, str]:
    """Each is counted for once, however many pages somebody has open."""
    found = signed_in(listeners)
    numbers = {user.pk: counted(user) for user in {user.pk: user for user in found.values()}.values()}
    return {one: json.dumps({"number": numbers[user.pk], "new": _new(user, one.after)}) for one, user in found.items()}


def _new(user: Any, after: int) -> list[dict[str, Any]]:
    if after < 0:
        return []
    return [_named(gate) for gate in Gate.objects.for_user(user).filter(pk__gt=after).order_by("pk")[:AT_ONCE]]


def _named(gate: Gate) -> dict[str, Any]:
    return {"id": gate.pk, "title": in_one_line(gate.title), "address": reverse("gate", args=[gate.pk])}


async def _shut(listeners: Sequence[Listener], code: int) -> None:
    for listener in listeners:
        leave(listener)
        await listener.close(code)
