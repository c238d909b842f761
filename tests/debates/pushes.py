"""What a push to the pages of a long debate takes: nine members, message 200, a hundred watchers.

`python -m tests.debates.pushes`; the suite asks for the sizes (`test_pushes.py`).
"""

import asyncio
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.acceptance.site import environment
from tests.stage import set_up

WATCHERS = 100
AGAIN = 30  # times each is measured; the middle one counts


@dataclass(frozen=True)
class Push:
    milliseconds: float
    size: int


@dataclass(frozen=True)
class Weighed:
    """`said`: a message has come and somebody else speaks; `changed`: its speaker has changed its verdict, too;
    `grown`: a text has grown. `connected`: the size of what a page gets that was painted just before."""

    said: Push
    changed: Push
    grown: Push
    connected: int


def milliseconds(do: Callable[[], Any]) -> tuple[float, Any]:
    began = time.process_time()
    result = do()
    return (time.process_time() - began) * 1000, result


def pushed(before: Any, now: Any, *, growing: bool = False, again: int = AGAIN) -> Push:
    """From one look at the rows to the next, or within the same one as a text grows."""
    from debates.page.display import display_of, fragments
    from runs.procedure.fragments import LivePageState

    def take(page: LivePageState, seen: Any) -> None:
        shown = fragments(display_of(seen))
        page.update((one for one in shown if one.steps or not growing), 10)

    times = []
    for _ in range(again):
        page = LivePageState()
        page.update(fragments(display_of(before)), 10)
        version = page.version
        times.append(milliseconds(lambda page=page: take(page, now))[0])
    return Push(statistics.median(times), len(page.newer_than(version).encode()))


def weigh(owner: Any, again: int = AGAIN) -> Weighed:
    from debates.page.display import display_of, fragments
    from runs.procedure.fragments import LivePageState
    from tests.debates.long import CONTENT, long_debate

    table = long_debate(owner, messages=196)
    looks = [table.seen()]
    step = table.opened.step
    for told in ({}, {"verdict": "DO NOT HIRE", "reasoning": "It is not answered.", "moved_by": (table.said,)}):
        table.say(None, f"{CONTENT} {len(looks)}", **told)
        table.speaks(1 + len(looks), why="call")
        looks.append(table.seen())
    page = LivePageState()
    page.update(fragments(display_of(looks[-1])), 10)
    grown = replace(looks[0], texts={step: CONTENT})
    return Weighed(
        pushed(looks[0], looks[1], again=again),
        pushed(looks[1], looks[2], again=again),
        pushed(looks[0], grown, growing=True, again=again),
        len(page.newer_than(0, 10).encode()),
    )


# ---- a hundred watchers of one debate -------------------------------------------------------------------------


async def watched(pk: Any, owner: Any) -> tuple[float, float, float]:
    """Milliseconds until the first and the last of them has all that is new, and of the processor."""
    from engine.models import Run
    from engine.pubsub import publish_revision
    from runs.live import feed

    feed.SOCKETS_PER_USER = WATCHERS
    got: list[float] = []
    watchers: list[feed.PageWatcher] = []

    def watcher() -> feed.PageWatcher:
        async def send(message: str) -> None:
            got.append(time.perf_counter())
            version = int(message[4 : message.index("-->")])
            asyncio.get_running_loop().call_soon(lambda: joined.acknowledge(one, version))

        async def close(code: int) -> None:
            raise AssertionError(f"closed with {code}")

        one = feed.PageWatcher(owner, None, send, close)
        watchers.append(one)
        return one

    for one in [watcher() for _ in range(WATCHERS)]:
        assert await feed.may_watch(pk, one)
        joined = feed.join(pk, one)
        assert joined
    await asyncio.sleep(2)
    got.clear()
    await Run.objects.filter(pk=pk).aupdate(status="queued", revision=1_000)
    began, worked = time.perf_counter(), time.process_time()
    await publish_revision(pk)
    with suppress(TimeoutError):
        async with asyncio.timeout(10):
            while len(got) < WATCHERS:
                await asyncio.sleep(0.001)
    for one in watchers:
        joined.leave(one)
    assert len(got) >= WATCHERS, f"{len(got)} of {WATCHERS} were told"
    return (got[0] - began) * 1000, (got[WATCHERS - 1] - began) * 1000, (time.process_time() - worked) * 1000


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="magi-") as folder:
        set_up(environment(Path(folder)))
        from django.conf import settings
        from django.contrib.auth.models import User
        from django.test import Client
        from django.urls import reverse

        from tests.debates.long import long_debate

        owner = User.objects.create_superuser("mira")
        found = weigh(owner)
        for name, push in (("a message", found.said), ("a change", found.changed), ("growing text", found.grown)):
            print(f"push of {name}: {push.milliseconds:.1f} ms of the processor, {push.size:,} bytes")
        print(f"a page that connects gets {found.connected:,} bytes")
        settings.ALLOWED_HOSTS = ["*"]
        table, client = long_debate(owner), Client()
        client.force_login(owner)
        views = []
        for _ in range(6):
            began = time.perf_counter()
            views.append((milliseconds(lambda: client.get(reverse("debate-live", args=[table.pk]))), began))
        (first, page), *later = [view for view, _ in views]
        usual = statistics.median(one for one, _ in later)
        print(f"first view: {first:.0f} ms of the processor, later ones {usual:.0f} ms, {len(page.content):,} bytes")
        first, last, worked = asyncio.run(watched(table.pk, owner))
        print(f"{WATCHERS} watchers: the first has it after {first:.0f} ms, the last after {last:.0f} ms")
        print(f"in {worked:.0f} ms of the processor")


if __name__ == "__main__":
    main()
