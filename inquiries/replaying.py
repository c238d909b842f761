"""An inquiry as it was at a moment: its orders, moves and claims as far as they were made."""

from collections.abc import Iterator
from copy import copy
from datetime import datetime
from typing import Any

from runs.face import Snapshot
from runs.past import relisted

from .models import Inquiry


def at(row: Inquiry, moment: datetime) -> Inquiry:
    inquiry = copy(row)
    inquiry.__dict__.pop("state", None)
    lists = dict(inquiry._prefetched_objects_cache)  # type: ignore[attr-defined]
    for name in ("orders", "claims"):
        lists[name] = relisted(lists[name], [one for one in lists[name] if one.made <= moment])
    lists["moves"] = relisted(lists["moves"], [_move(one, moment) for one in lists["moves"] if one.made <= moment])
    inquiry._prefetched_objects_cache = lists  # type: ignore[attr-defined]
    if row.run.ended is None or moment < row.run.ended:
        inquiry.answer = inquiry.trace = inquiry.why = ""
    return inquiry


def _move(one: Any, moment: datetime) -> Any:
    move = copy(one)
    if one.settled is None or one.settled > moment:
        move.settled, move.result, move.tool_call = None, "", None
    return move


def moments(seen: Snapshot[Inquiry]) -> Iterator[datetime]:
    """Whenever its page changed."""
    for call in seen.calls:
        yield call.started
        if call.ended:
            yield call.ended
    yield from (one.made for one in seen.row.orders.all())
    yield from (one.settled for one in seen.row.moves.all() if one.settled)
    for gate in seen.gates:
        yield gate.made
        yield from (one.made for one in gate.decisions.all())
