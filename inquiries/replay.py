"""Reconstructs an inquiry as it was at a given moment, from the times of its rows."""

from collections.abc import Iterator
from copy import copy
from datetime import datetime

from runs.procedure.point_in_time import moments_of_calls, move_at_moment, replace_rows
from runs.procedure.spec import RunSnapshot

from .models import Inquiry


def at_moment(row: Inquiry, moment: datetime) -> Inquiry:
    inquiry = copy(row)
    for folded in ("state", "calculations"):
        inquiry.__dict__.pop(folded, None)
    lists = dict(inquiry._prefetched_objects_cache)  # type: ignore[attr-defined]
    for name in ("orders", "claims"):
        lists[name] = replace_rows(lists[name], [one for one in lists[name] if one.made <= moment])
    there = [
        one for one in lists["sources"] if one.document_id or one.made <= moment
    ]  # documents came with the submission
    lists["sources"] = replace_rows(lists["sources"], there)
    lists["moves"] = replace_rows(
        lists["moves"], [move_at_moment(one, moment) for one in lists["moves"] if one.made <= moment]
    )
    inquiry._prefetched_objects_cache = lists  # type: ignore[attr-defined]
    if row.run.ended is None or moment < row.run.ended:
        inquiry.answer = inquiry.trace = inquiry.why = ""
    return inquiry


def moments(seen: RunSnapshot[Inquiry]) -> Iterator[datetime]:
    """Yield the moments at which the page changed. Those of gates are added for all procedures (runs/record/replay)."""
    yield from moments_of_calls(seen.calls)
    yield from (one.made for one in seen.row.orders.all())
    yield from (one.made for one in seen.row.sources.all() if not one.document_id)
    yield from (one.settled for one in seen.row.moves.all() if one.settled)
