"""Notifications on open pages about pending gates and ended runs: one read every two seconds serves a whole process.

Everything is read from the rows, so that no message is needed and none can get lost. Why so: engine/DESIGN.md, Gates.
"""

import asyncio
import json
import logging
from collections import defaultdict
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any

from django.db.models import Count, Max
from django.urls import reverse
from django.utils import timezone

from engine.db.reader import read
from engine.models import Gate, GateDecision, Run
from engine.text.invisible_chars import single_line

from ..context_processors import ACTIVE, OWN_RUNS, blank_if_zero, capped_number, pending_gate_count
from ..procedure.spec import spec_of_run, specs
from .feed import CLOSED_NOT_FOUND, SOCKETS_PER_USER, TOO_MANY, TRY_AGAIN
from .session_check import still_signed_in

log = logging.getLogger(__name__)

POLL_SECONDS = 2.0  # seconds between two reads
MAX_NAMED = 20  # maximum number of new items that are named
MAX_ABSENCE_SECONDS = 24 * 3600  # seconds; after a longer absence, users look at the history

ListenerStamp = tuple[Any, ...]


class NotificationListener:
    """One open page of a user.

    `after` is the newest gate with which it was rendered; negative if it wants no new ones. `since` is the time in
    seconds since the epoch from which it wants the user's ended runs; 0 means now, negative none.
    """

    def __init__(
        self,
        user: Any,
        session_key: str | None,
        send: Callable[[str], Coroutine[Any, Any, None]],
        close: Callable[[int], Coroutine[Any, Any, None]],
        after: int,
        since: int = -1,
    ) -> None:
        self.user_pk, self.password = user.pk, getattr(user, "password", "")
        self.session_key, self.after = session_key, after
        now = int(timezone.now().timestamp())
        self.since = since if since < 0 else min(max(since or now, now - MAX_ABSENCE_SECONDS), now)
        self.send, self.close = send, close
        self.waits: dict[str, Any] = {}  # the last sent state of gates
        self.said = ""

    @property
    def follows(self) -> bool:
        return self.since > 0


_listeners: set[NotificationListener] = set()
_looking: asyncio.Task[None] | None = None


async def join(listener: NotificationListener) -> None:
    """Notify this page from now on, as long as it is open."""
    global _looking
    if sum(other.user_pk == listener.user_pk for other in _listeners) >= SOCKETS_PER_USER:
        await listener.close(TOO_MANY)
        return
    _listeners.add(listener)  # before the read: later events change the stamp
    await _tell([listener])
    if _looking is None or _looking.done():
        _looking = asyncio.get_running_loop().create_task(_look())


def leave(listener: NotificationListener) -> None:
    _listeners.discard(listener)


async def _look() -> None:
    before: ListenerStamp = ()
    while _listeners:
        try:
            stamp = await read(_stamp)
            anew = stamp != before
            await _tell([one for one in _listeners if anew or one.follows], anew)
            before = stamp
        except Exception:
            # The boundary of a background task: the pages reconnect automatically.
            log.exception("Nobody could be told what waits.")
            await _shut(list(_listeners), TRY_AGAIN)
        await asyncio.sleep(POLL_SECONDS)


def _stamp() -> ListenerStamp:
    """Return a stamp that changes as soon as the pending gates of any user change."""
    pending = Gate.objects.pending().aggregate(number=Count("pk"), newest=Max("pk"))
    return pending["number"], pending["newest"], GateDecision.objects.aggregate(last=Max("pk"))["last"]


async def _tell(listeners: Sequence[NotificationListener], anew: bool = True) -> None:
    """Notify the listeners; if `anew`, the gates of all are counted again."""
    if not listeners:
        return
    found = await read(partial(_found, listeners, anew))
    news = {one: message for one, message in found.items() if message != one.said}
    # checked again, because a user may have signed out after the first check
    there = await read(partial(still_signed_in, list(news))) if news else {}
    await _shut([one for one in listeners if one not in (there if one in news else found)], CLOSED_NOT_FOUND)
    for listener in there:
        if listener.said != news[listener]:  # a concurrent read may have sent it already
            listener.said = news[listener]
            await listener.send(listener.said)


def _found(listeners: Sequence[NotificationListener], anew: bool) -> dict[NotificationListener, str]:
    """Return the message for each listener. Gates are counted once for each user, whatever the number of pages."""
    found = still_signed_in(listeners)
    due = {one: user for one, user in found.items() if anew or not one.waits}
    numbers = {user.pk: pending_gate_count(user) for user in {user.pk: user for user in due.values()}.values()}
    for one, user in due.items():
        one.waits = {"number": numbers[user.pk], "new": _new(user, one.after)}
    going = _going([one for one in found if one.follows])
    return {one: json.dumps(one.waits | (_said_of(going, one) if one.follows else {})) for one in found}


@dataclass(frozen=True)
class RunStatusLine:
    """Running runs of each user, and those that have ended, newest first."""

    numbers: Mapping[int, int] = field(default_factory=dict)
    ended: Mapping[int | None, Sequence[Run]] = field(default_factory=dict)


def _going(listeners: Sequence[NotificationListener]) -> RunStatusLine:
    """Read both in two queries. Child runs are reported with their parent."""
    if not listeners:
        return RunStatusLine()
    theirs = {"whose__in": {one.user_pk for one in listeners}, "step": "", "procedure__in": specs()}
    of_theirs = Run.objects.alias(whose=OWN_RUNS).filter(**theirs)
    under_way = of_theirs.filter(status__in=ACTIVE).order_by().values_list("owner").annotate(number=Count("pk"))
    since = datetime.fromtimestamp(min(one.since for one in listeners), UTC)
    # these conditions match indexes; a redacted run has no title to show
    ended = defaultdict(list)
    for run in of_theirs.filter(redacted=None, ended__gte=since).order_by("-ended")[: MAX_NAMED * len(listeners)]:
        ended[run.owner_id].append(run)
    return RunStatusLine(dict(under_way), ended)


def _said_of(going: RunStatusLine, one: NotificationListener) -> dict[str, Any]:
    ended = [run for run in going.ended.get(one.user_pk, ()) if run.ended and run.ended.timestamp() >= one.since]
    return {
        "since": one.since,
        "running": blank_if_zero(capped_number(going.numbers.get(one.user_pk, 0))),
        "over": [_over(run) for run in ended[:MAX_NAMED]],
    }


def _over(run: Run) -> dict[str, str]:
    face = spec_of_run(run)
    _, word = face.filter_labels(run)
    return {"title": single_line(run.shown_title), "word": word, "address": face.address("live", run.pk)}


def _new(user: Any, after: int) -> list[dict[str, Any]]:
    if after < 0:
        return []
    return [_named(gate) for gate in Gate.objects.for_user(user).filter(pk__gt=after).order_by("pk")[:MAX_NAMED]]


def _named(gate: Gate) -> dict[str, Any]:
    return {"id": gate.pk, "title": single_line(gate.title), "address": reverse("gate", args=[gate.pk])}


async def _shut(listeners: Sequence[NotificationListener], code: int) -> None:
    for listener in listeners:
        leave(listener)
        await listener.close(code)
