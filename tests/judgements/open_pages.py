"""Pages that are open on a judgement, without a browser, and what happens to its rows meanwhile."""

import asyncio
import itertools
import re

from channels.db import database_sync_to_async

from engine import pubsub
from engine.models import ModelCall, Run
from runs.live import feed
from runs.live.feed import PageWatcher
from tests.databases import tampering
from tests.waiting import LIMIT

numbers = itertools.count()


class StoppedClock:
    """In place of the module `time` of feeds: it stands still until a test moves it."""

    def __init__(self):
        self.now = 1_000.0

    def monotonic(self):
        return self.now

    async def moves(self, page, seconds):
        """The feed of this page has looked at the rows after so many seconds, and done what was due by then."""
        for part in (seconds, 2 * feed.MIN_INTERVAL):
            self.now = now = self.now + part
            pubsub.announce(page.feed._pk)
            await until(lambda now=now: page.feed._looked_at >= now)


class LivePage:
    """An open page: it applies messages as live.js does. One that is deaf acknowledges nothing."""

    def __init__(self, user, deaf=False, session_key=None, painted=-1):
        self.watcher = PageWatcher(user, session_key, self._take, self._end, painted)
        self.deaf, self.closed, self.version = deaf, None, 0
        self.messages, self.fragments = [], {}

    async def open(self, pk):
        assert await feed.may_watch(pk, self.watcher)
        self.feed = feed.join(pk, self.watcher)
        return self

    async def _take(self, message):
        self.messages.append(message)
        version = int(re.match(r"<!--(\d+)-->", message)[1])
        if version > self.version and not self.deaf:
            self.version = version
            self.fragments |= {re.search(r'id="([^"]+)"', part)[1]: part for part in parts(message)}
        if not self.deaf:
            self.feed.acknowledge(self.watcher, self.version)

    async def _end(self, code):
        self.closed = code

    def hears_again(self):
        self.deaf = False
        self.feed.acknowledge(self.watcher, int(re.match(r"<!--(\d+)-->", self.messages[-1])[1]))

    @property
    def shown(self):
        return "".join(self.fragments.values())

    @property
    def last(self):
        return self.messages[-1] if self.messages else ""


def parts(message):
    """The fragments of a message: each begins with an element that is swapped by its id."""
    starts = [m.start() for m in re.finditer(r'<\w+[^<>]*\sid="[^"]+"[^<>]*hx-swap-oob', message)]
    return [message[a:b].strip() for a, b in itertools.pairwise([*starts, len(message)])]


async def until(true):
    async with asyncio.timeout(LIMIT):
        while not true():
            await asyncio.sleep(0.01)


async def change(judgement, announced=True):
    """Rows that pages show are changed, and their revision with them."""
    title = f"Agent {next(numbers)}"
    await database_sync_to_async(_rename)(judgement, title)
    if announced:
        pubsub.announce(judgement.pk)
    return title


def _rename(judgement, name):
    with tampering():  # nothing else that a page shows can become any other text
        judgement.agents.filter(seat="A").update(criteria=name)
    run = Run.objects.get(pk=judgement.pk)
    Run.objects.filter(pk=judgement.pk).update(revision=run.revision + 1)


def ask(judgement, step, attempt=1):
    run = Run.objects.get(pk=judgement.pk)
    Run.objects.filter(pk=run.pk).update(status="running", revision=run.revision + 1)
    return ModelCall.objects.create(run=run, step=step, attempt=attempt, model="x", prompt="", deadline=run.created)


async def asked(judgement, *steps, attempt=1):
    for step in steps:
        await database_sync_to_async(ask)(judgement, step, attempt)
    pubsub.announce(judgement.pk)
