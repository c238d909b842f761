"""Six numbers: how much of each limit is used up, and of one that is over, what it took."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from django.template.defaultfilters import filesizeformat

from engine.llm.prices import dollars
from engine.models import Gate
from runs.face import Snapshot
from runs.words import lasting

from ..models import Mission
from ..models.asking import bounds_of, may_cost
from ..models.files import newest

DECIDED: dict[str, str] = {
    Gate.State.APPROVED: "allowed",
    Gate.State.ANSWERED: "answered",
    Gate.State.REJECTED: "refused",
}


@dataclass(frozen=True)
class Gauge:
    """`share`: in percent; None where nothing bounds it."""

    name: str
    value: str
    rest: str
    share: int | None = None


def gauges(seen: Snapshot[Mission]) -> Iterator[Gauge]:
    yield _of("Steps", len(seen.row.steps.all()), bounds_of(seen.row).steps)
    yield _cost(seen)
    yield from _came_to(seen) if seen.run.over else _going_on(seen)


def _of(name: str, value: int, most: int) -> Gauge:
    return Gauge(name, f"{value:,}", f"of {most:,}", min(100, round(100 * value / most)))


def _cost(seen: Snapshot[Mission]) -> Gauge:
    if seen.row.rehearsal:
        return Gauge("Cost", "nothing", "rehearsed")
    costs = [call.cost for call in seen.calls if call.input_tokens is not None]
    cost, spend = sum(one or 0 for one in costs), may_cost(seen.row)
    said = "unknown" if None in costs else dollars(cost)
    if not spend:
        return Gauge("Cost", said, "no limit of its own")
    return Gauge("Cost", said, f"of {dollars(spend)}", min(100, round(100 * cost / spend)))


def _going_on(seen: Snapshot[Mission]) -> Iterator[Gauge]:
    bounds = bounds_of(seen.row)
    seconds, most = _worked(seen), bounds.minutes * 60
    share = min(100, round(100 * seconds / most))
    yield Gauge("Time", lasting(timedelta(seconds=seconds)), f"of {bounds.minutes:,} min", share)
    yield _of("Terminals", sum(one.living for one in seen.row.terminals.all()), bounds.terminals)
    size, most = sum(one.size for one in newest(seen.row.files.all()).values()), bounds.disk << 20
    yield Gauge("Disk", filesizeformat(size), f"of {filesizeformat(most)}", min(100, round(100 * size / most)))
    yield Gauge("Sandbox", "bubblewrap", "no network")


def _worked(seen: Snapshot[Mission]) -> float:
    """Over all claims; of that which goes on, up to the newest thing that happened."""
    run, steps = seen.run, seen.row.steps.all()
    if not steps or not run.started:
        return 0.0
    last = max(one.settled or one.made for one in steps)
    now = (last - run.claimed_at).total_seconds() if run.status == run.Status.RUNNING and run.claimed_at else 0.0
    return min(run.worked + max(0.0, now), max(0.0, (last - run.started).total_seconds()))


def _came_to(seen: Snapshot[Mission]) -> Iterator[Gauge]:
    row = seen.row
    yield Gauge("Time", lasting(timedelta(seconds=seen.run.worked)), "of work")
    yield Gauge("Calls", f"{len(seen.calls):,}", f"model call{'s' * (len(seen.calls) != 1)}")
    yield Gauge("Commands", f"{len(row.terminals.all()):,}", "once each")
    yield Gauge("Gates", f"{len(seen.gates):,}", _decided(seen))


def _decided(seen: Snapshot[Mission]) -> str:
    states = [gate.state for gate in seen.gates]
    found = [DECIDED.get(state, "") for state in states]
    counts = [f"{found.count(word)} {word}" for word in ("allowed", "answered", "refused") if word in found]
    return ", ".join(counts) or ("nothing was asked" if not states else "")
