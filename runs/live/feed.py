"""Updates of a run's live pages. One feed for each process and run reads and renders once for all.

Messages only say that something has changed. The rows are read after every message and every 1.5 seconds, so that lost,
late, repeated or reordered messages make no difference. Why so: runs/DESIGN.md, The live page.
"""

import asyncio
import logging
import math
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any
from uuid import UUID

from django.contrib.auth import get_user_model

from engine import pubsub
from engine.db.reader import read
from engine.models import ModelCall, Run

from ..access_log import log_view
from ..procedure.fragments import LivePageState, PageFragment
from ..procedure.point_in_time import start_of
from ..procedure.spec import RunSnapshot, snapshot_of, spec_of_run, specs
from ..questions import questions_shown
from ..rights import SEE
from .related_runs import related_runs_fragment, relation_mark
from .session_check import still_signed_in

log = logging.getLogger(__name__)

POLL_SECONDS = 1.5  # seconds after which rows and rights are read without a message
ACCESS_CACHE_SECONDS = 2.0  # seconds: nothing is sent based on an older check of the right to see it
MIN_INTERVAL = 0.05  # seconds between two reads of the rows
TEXT_INTERVAL = 0.25  # seconds between two renderings of streaming text
FLOW_INTERVAL = 0.5  # seconds between two reads of texts that grow outside the rows
SEND_BATCH = 50  # pages to serve before yielding to the event loop
REVEAL_PAUSE = 0.7  # seconds for which pages show an intermediate moment
WINDOW = 8  # unacknowledged messages to one watcher
WINDOW_SIZE = 1_000_000  # and their characters
ACK_TIMEOUT = 3.0  # seconds without an acknowledgement after which a message counts as lost
PING_SECONDS = 30.0
SOCKETS_PER_USER = 20  # for each run
CLOSED_NOT_FOUND = 4404
TOO_MANY = 4429
TRY_AGAIN = 1013  # the page reconnects automatically

NO_DEADLINE = datetime.min.replace(tzinfo=UTC)

_feeds: dict[UUID, "RunFeed"] = {}
_sending: set[asyncio.Task[None]] = set()


async def may_watch(pk: UUID, watcher: "PageWatcher") -> bool:
    began = time.monotonic()
    allowed = await read(partial(_look_at_right, pk, watcher))
    watcher.confirmed = began if allowed else -math.inf
    return allowed


def join(pk: UUID, watcher: "PageWatcher") -> "RunFeed | None":
    """Return the feed for this watcher, or None if the user has too many pages of the run open."""
    feed = _feeds.get(pk)
    if feed is None:
        feed = _feeds[pk] = RunFeed(pk)
    return feed if feed.join(watcher) else None


# ---- one open page ----------------------------------------------------------------------------------------


class PageWatcher:
    """One open page: its user, its version, and the unacknowledged messages.

    Every message contains everything newer than the acknowledged version, so one message is enough to be up to date.
    Nothing is queued for a slow page: when it has room again, it gets the current state.
    """

    def __init__(
        self,
        user: Any,
        session_key: str | None,
        send: Callable[[str], Coroutine[Any, Any, None]],
        close: Callable[[int], Coroutine[Any, Any, None]],
        painted: int = -1,
    ) -> None:
        self.user_pk = user.pk
        self.password = getattr(user, "password", "")  # a new password ends every session
        self.session_key = session_key
        self._send, self._close = send, close
        self.painted = painted  # the run's revision with which the page was rendered
        self.confirmed = -math.inf  # time of the last successful check of the right to see it
        self.acknowledged = 0
        self._sent = 0
        self._on_way: list[tuple[int, int]] = []  # version and size
        self._size_on_way = 0
        self._sent_at = self._heard_at = 0.0

    def wants(self, version: int, now: float) -> bool:
        lost = bool(self._on_way) and now >= self._sent_at + ACK_TIMEOUT
        return (version > self._sent or lost) and self._has_room() and now <= self.confirmed + ACCESS_CACHE_SECONDS

    def _has_room(self) -> bool:
        return len(self._on_way) < WINDOW and self._size_on_way < WINDOW_SIZE

    def send(self, version: int, message: str, now: float) -> None:
        if not self._on_way:
            self._heard_at = now  # the acknowledgement timeout starts
        self._on_way.append((version, len(message)))
        self._size_on_way += len(message)
        self._sent, self._sent_at = version, now
        _do(self._send(message))

    def acknowledge(self, version: int, now: float) -> None:
        """Record that the page has this version. Only versions that were sent can be acknowledged."""
        if any(version == sent for sent, _ in self._on_way):
            self._on_way = [(sent, size) for sent, size in self._on_way if sent > version]
            self._size_on_way = sum(size for _, size in self._on_way)
            self.acknowledged, self._heard_at = max(self.acknowledged, version), now

    def is_silent(self, now: float) -> bool:
        return bool(self._on_way) and now >= self._heard_at + PING_SECONDS

    @property
    def due(self) -> float:
        """Return when to check it again if nothing happens before."""
        if not self._on_way:
            return math.inf
        silent = self._heard_at + PING_SECONDS
        return min(silent, self._sent_at + ACK_TIMEOUT) if self._has_room() else silent

    def close(self, code: int) -> None:
        _do(self._close(code))


def _do(work: Coroutine[Any, Any, None]) -> None:
    """Run it in its own task, so that a slow socket does not delay the others."""
    task = asyncio.get_running_loop().create_task(work)
    _sending.add(task)
    task.add_done_callback(_done)


def _done(task: "asyncio.Task[None]") -> None:
    _sending.discard(task)
    if not task.cancelled() and (error := task.exception()):
        log.warning("A live page could not be reached (%s: %s).", type(error).__name__, error)


# ---- reading the rows -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RenderedState:
    """The result of one read; the rows only if the revision has changed."""

    allowed: frozenset[PageWatcher]
    revision: int = -1
    rows: RunSnapshot[Any] | None = None
    read_by: int = 0  # the revision at the end of the read: the rows are not newer
    made: str = ""  # their `related_runs.relation_mark`


def _look(pk: UUID, watchers: list[PageWatcher], revision: int) -> RenderedState:
    found = Run.objects.only("revision", "owner", "procedure", "parent").filter(pk=pk, procedure__in=specs()).first()
    if found is None:
        return RenderedState(frozenset())
    if found.revision == revision:
        return RenderedState(_allowed(found, watchers), revision, read_by=found.revision)
    # the revision of the first query: later changes are found by the next read
    rows = snapshot_of(found)
    read_by = Run.objects.values_list("revision", flat=True).get(pk=pk)
    # after the rows, so that users who signed out meanwhile are sent none of them
    return RenderedState(_allowed(found, watchers), found.revision, rows, read_by, relation_mark(rows))


def _look_at_right(pk: UUID, watcher: PageWatcher) -> bool:
    found = Run.objects.only("owner", "parent", "status").filter(pk=pk, procedure__in=specs()).first()
    if found is None or not _allowed(found, [watcher]):
        return False
    if found.is_ended:  # the whole run is sent at once
        log_view(found, get_user_model().objects.get(pk=watcher.user_pk))
    return True


def _allowed(run: Run, watchers: list[PageWatcher]) -> frozenset[PageWatcher]:
    """Return the watchers who may see the run: active users with the right and a valid session. Few queries for all."""
    found = still_signed_in(watchers)
    may = SEE.covering(list({user.pk: user for user in found.values()}.values()), run)
    return frozenset(watcher for watcher in found if watcher.user_pk in may)


# ---- the feed ---------------------------------------------------------------------------------------------


class RunFeed:
    """Follows one run for all its watchers in this process, from the first to the last."""

    def __init__(self, pk: UUID) -> None:
        self._pk = pk
        self._watchers: set[PageWatcher] = set()
        self._page = LivePageState()
        self._rows: RunSnapshot[Any] | None = None
        self._shown: RunSnapshot[Any] | None = None  # the rows, or an intermediate moment
        self._passed = NO_DEADLINE  # the last intermediate moment that was shown
        self._revision, self._read_by = -1, 0
        self._reached = -1  # the last revision that was shown completely
        self._made = ""
        self._texts: dict[str, tuple[int, str]] = {}  # step -> id of its model call, and text so far
        self._grown: Mapping[str, str] = {}  # texts that grow outside the rows
        self._open: dict[str, int] = {}  # step -> id of its open model call
        self._looked_at = self._grown_at = -math.inf
        self._look_at, self._grow_at, self._go_on_at = -math.inf, math.inf, math.inf
        self._flow_at = math.inf
        self._bell = asyncio.Event()
        loop = asyncio.get_running_loop()
        self._tasks = [loop.create_task(self._listen()), loop.create_task(self._follow_to_the_end())]

    # ---- watchers ----

    def join(self, watcher: PageWatcher) -> bool:
        if sum(other.user_pk == watcher.user_pk for other in self._watchers) >= SOCKETS_PER_USER:
            return False
        self._watchers.add(watcher)
        self._serve(watcher, time.monotonic())
        if watcher.painted > self._reached:
            self._nudge()
        return True

    def leave(self, watcher: PageWatcher) -> None:
        self._watchers.discard(watcher)
        if not self._watchers:
            self._end()

    def acknowledge(self, watcher: PageWatcher, version: int) -> None:
        now = time.monotonic()
        watcher.acknowledge(version, now)
        if watcher in self._watchers:
            self._serve(watcher, now)

    def _shut_out(self, watcher: PageWatcher, code: int) -> None:
        watcher.close(code)
        self.leave(watcher)

    def _end(self) -> None:
        for task in self._tasks:
            task.cancel()
        if _feeds.get(self._pk) is self:
            del _feeds[self._pk]

    # ---- messages of the channel layer ----

    async def _listen(self) -> None:
        async for message in pubsub.listen(pubsub.group_of(self._pk)):
            if message["type"] == "run.text":
                self._grow(message["step"], message["text"])
            else:
                self._nudge()

    def _nudge(self) -> None:
        self._look_at = min(self._look_at, max(time.monotonic(), self._looked_at + MIN_INTERVAL))
        self._bell.set()

    def _grow(self, step: str, text: str) -> None:
        """Accept text only while the rows show its model call as open; otherwise read the rows."""
        if step not in self._open:
            self._nudge()
            return
        self._texts[step] = self._open[step], text
        self._grow_at = max(time.monotonic(), self._grown_at + TEXT_INTERVAL)
        self._bell.set()

    # ---- following ----

    async def _follow_to_the_end(self) -> None:
        try:
            await self._follow()
        except Exception:
            # The boundary of one feed: its pages reconnect automatically and get the whole state.
            log.exception("The live pages of a run could not be brought up to date.")
            for watcher in list(self._watchers):
                self._shut_out(watcher, TRY_AGAIN)
        finally:
            self._end()

    async def _follow(self) -> None:
        while True:
            self._bell.clear()
            if time.monotonic() >= self._look_at:
                await self._look()
            if time.monotonic() >= self._go_on_at:
                self._go_on()
            if time.monotonic() >= self._flow_at:
                await self._flow()
            if time.monotonic() >= self._grow_at:
                self._render_growing()
            await self._serve_all()
            await self._wait()

    async def _wait(self) -> None:
        own = self._look_at, self._grow_at, self._go_on_at, self._flow_at
        due = min(*own, *(watcher.due for watcher in self._watchers))
        with suppress(TimeoutError):
            async with asyncio.timeout(max(0, due - time.monotonic())):
                await self._bell.wait()

    async def _serve_all(self) -> None:
        """Serve in batches, so that messages are sent before all watchers are served."""
        for number, watcher in enumerate(list(self._watchers), 1):
            if watcher in self._watchers:
                self._serve(watcher, time.monotonic())
            if number % SEND_BATCH == 0:
                await asyncio.sleep(0)

    def _serve(self, watcher: PageWatcher, now: float) -> None:
        if watcher.is_silent(now):
            self._shut_out(watcher, TRY_AGAIN)
        # never back to an older state
        elif watcher.painted <= self._reached and watcher.wants(self._page.version, now):
            watcher.send(self._page.version, self._page.newer_than(watcher.acknowledged, watcher.painted), now)

    async def _look(self) -> None:
        self._looked_at = time.monotonic()
        self._look_at = self._looked_at + POLL_SECONDS
        watchers, began = list(self._watchers), self._looked_at
        seen = await read(partial(_look, self._pk, watchers, self._revision))
        for watcher in watchers:
            if watcher in seen.allowed:
                watcher.confirmed = began
                watcher.painted = min(watcher.painted, seen.read_by)  # no more than exists, whatever the page claims
            else:
                self._shut_out(watcher, CLOSED_NOT_FOUND)
        if seen.rows:
            self._made = seen.made
            self._take_over(seen.rows, seen.revision, seen.read_by)

    def _take_over(self, rows: RunSnapshot[Any], revision: int, read_by: int) -> None:
        if rows.run.redacted:  # perhaps just now, perhaps again
            self._page.unsettle()
            self._texts, self._go_on_at = {}, math.inf
        if self._rows is None or rows.run.redacted:  # earlier moments are not news, or must no longer be shown
            self._passed = max(spec_of_run(rows.run).reveal_pauses(rows.row), default=NO_DEADLINE)
        self._rows, self._revision, self._read_by = rows, revision, read_by
        self._grown, self._flow_at = rows.texts, time.monotonic() + FLOW_INTERVAL if rows.texts else math.inf
        latest = {call.step: call for call in rows.calls}
        under_way = {step: call.pk for step, call in latest.items() if call.status == ModelCall.Status.OPEN}
        cancelled = rows.run.status == Run.Status.CANCELLED  # then the last texts are cut off and stay
        written = {call.pk for call in latest.values()} if cancelled else under_way.values()
        # the text of an attempt ends with it
        self._texts = {step: (call, text) for step, (call, text) in self._texts.items() if call in written}
        self._open = under_way
        if self._go_on_at == math.inf:
            self._go_on()

    def _go_on(self) -> None:
        """Show the rows or, for a short time, the next intermediate moment."""
        rows = self._rows
        if rows is None:
            raise RuntimeError("There is nothing to go on to before the first look at the rows.")
        # A moment before the start comes from a clock that is behind; it would show the state before the start.
        passed = max(self._passed, start_of(rows.run))
        moment = next((halt for halt in spec_of_run(rows.run).reveal_pauses(rows.row) if halt > passed), None)
        if moment:
            self._shown, self._passed = rows.at(moment), moment
        else:
            self._shown, self._reached = rows, self._revision
        self._page.update(self._fragments(), self._read_by)
        # from the end of rendering, which on a busy machine takes a good part of the pause
        self._go_on_at = time.monotonic() + REVEAL_PAUSE if moment else math.inf

    async def _flow(self) -> None:
        if self._rows is None:
            raise RuntimeError("Nothing grows outside the rows before the first look at them.")
        grown = await read(partial(spec_of_run(self._rows.run).partial_text, self._rows.row))
        self._flow_at = time.monotonic() + FLOW_INTERVAL
        if grown != self._grown:
            self._grown, self._grow_at = grown, time.monotonic()

    def _render_growing(self) -> None:
        self._grown_at, self._grow_at = time.monotonic(), math.inf
        self._page.update((fragment for fragment in self._fragments() if fragment.steps), self._read_by)

    def _fragments(self) -> Iterator[PageFragment]:
        if self._shown is None:
            raise RuntimeError("There is nothing to show before the first look at the rows.")
        face = spec_of_run(self._shown.run)
        texts = {**self._grown, **{step: text for step, (_, text) in self._texts.items()}}
        # before the procedure's own, whose last fragment, the socket, must come last
        yield from related_runs_fragment(self._made)
        yield from questions_shown(self._shown.questions, texts)
        yield from face.fragments(face.display(replace(self._shown, texts=texts)))
