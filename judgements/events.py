"""Callers that wait for a judgement: until it has ended, or along a stream of its changes.

Each looks at the rows after a nudge, and every few seconds besides: a lost one costs seconds and nothing else. A stream
reads the right to see again with the rows.
"""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol
from uuid import UUID

from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.db import close_old_connections

from engine import live
from engine.reader import read

from .api import judgement_object
from .models import Judgement
from .refusals import Refusal

FALLBACK = 3.0  # seconds after which the rows are looked at without a nudge
CALM = 0.2  # seconds between two looks
SILENCE = 15.0  # seconds after which a stream says that it is still there
PLACES = 200  # callers that wait, in this process
PLACES_PER_USER = 50
AGAIN = {"Retry-After": "5"}
NOT_FOUND = "There is no such judgement."

_taken: Counter[Any] = Counter()


class Credential(Protocol):
    """By what a call was let in."""

    owner: User

    def holder(self) -> User | None:
        """Whose it is, read again; None where it holds no longer."""


@contextmanager
def place(user: User) -> Iterator[None]:
    """One of the places of those who wait. Refusal where none is free."""
    if _taken[user.pk] >= PLACES_PER_USER:
        raise Refusal(429, f"You have {PLACES_PER_USER} calls waiting already. Let one end first.", headers=AGAIN)
    if _taken.total() >= PLACES:
        raise Refusal(503, "Too many calls are waiting. Try again soon, or ask without waiting.", headers=AGAIN)
    _taken[user.pk] += 1
    try:
        yield
    finally:
        _taken[user.pk] -= 1


async def until_ended(pk: UUID, user: User, seconds: float) -> None:
    """Returns when the judgement has ended, or after that time."""
    with place(user), suppress(TimeoutError):
        async with asyncio.timeout(seconds), aclosing(_looks(pk)) as looks:
            async for _ in looks:
                if await read(partial(_has_ended, pk)):
                    return


async def stream(pk: UUID, credential: Credential, address: str, known: int | None) -> AsyncGenerator[str, None]:
    """The judgement at each revision after the one that is `known`, as server-sent events, until it has ended.

    What comes first is empty: with it the caller has a place, or is refused one.
    """
    with place(credential.owner):
        yield ""
        async with aclosing(_looks(pk)) as looks:
            silent_since = asyncio.get_running_loop().time()
            async for now in looks:
                seen = await read(partial(_look, pk, credential, address, known))
                if seen.judgement:
                    known, silent_since = seen.judgement["revision"], now
                    yield event_of(seen.judgement)
                elif now - silent_since >= SILENCE:
                    silent_since = now
                    yield ": still there\n\n"
                if seen.last:
                    return


def event_of(judgement: dict[str, Any]) -> str:
    data = json.dumps(judgement, ensure_ascii=False)
    return f"event: judgement\nid: {judgement['revision']}\ndata: {data}\n\n"


# ---- when to look, and at what ----------------------------------------------------------------------------


async def _looks(pk: UUID) -> AsyncGenerator[float, None]:
    """The time of the loop, whenever the rows may have changed."""
    # a connection is not held while nothing is done with it: a pool has few
    await sync_to_async(close_old_connections)()
    loop, bell = asyncio.get_running_loop(), asyncio.Event()
    listening = loop.create_task(_listen(pk, bell))
    try:
        while True:
            bell.clear()
            yield loop.time()
            await asyncio.sleep(CALM)
            with suppress(TimeoutError):
                async with asyncio.timeout(FALLBACK):
                    await bell.wait()
    finally:
        listening.cancel()


async def _listen(pk: UUID, bell: asyncio.Event) -> None:
    async with aclosing(live.listen(live.group_of(pk))) as messages:
        async for message in messages:
            if message["type"] != "run.text":
                bell.set()


@dataclass(frozen=True)
class Seen:
    """What a look found: the judgement where it has moved on, and whether nothing more is to come."""

    judgement: dict[str, Any] | None
    last: bool


def _has_ended(pk: UUID) -> bool:
    found = Judgement.objects.select_related("run").only("run__status").filter(pk=pk).first()
    return found is None or found.run.over


def _look(pk: UUID, credential: Credential, address: str, known: int | None) -> Seen:
    user = credential.holder()
    mine = Judgement.objects.visible_to(user) if user else Judgement.objects.none()
    found = mine.select_related("run").only("run__revision", "run__status").filter(pk=pk).first()
    if found is None:
        return Seen(None, last=True)
    if found.run.revision == known:
        return Seen(None, last=found.run.over)
    judgement = Judgement.objects.whole().get(pk=pk)
    return Seen(judgement_object(judgement, address), last=judgement.run.over)
