"""Six gauges: how much of each limit is used, or what an ended mission has used in all."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from django.template.defaultfilters import filesizeformat

from engine.llm.pricing import format_dollars
from engine.models import Gate
from runs.formatting import format_seconds
from runs.procedure.spec import RunSnapshot

from ..models import Mission
from ..models.asking import bounds_of, cost_limit
from ..models.files import newest_file_versions

DECISION_LABELS: dict[str, str] = {
    Gate.State.APPROVED: "allowed",
    Gate.State.ANSWERED: "answered",
    Gate.State.REJECTED: "refused",
}


@dataclass(frozen=True)
class LimitGauge:
    """`share` is in percent; None where there is no limit."""

    name: str
    value: str
    rest: str
    share: int | None = None


def limit_gauges(seen: RunSnapshot[Mission]) -> Iterator[LimitGauge]:
    yield _of("Steps", len(seen.row.steps.all()), bounds_of(seen.row).steps)
    yield _cost(seen)
    yield from _ended_gauges(seen) if seen.run.is_ended else _running_gauges(seen)


def _of(name: str, value: int, most: int) -> LimitGauge:
    return LimitGauge(name, f"{value:,}", f"of {most:,}", min(100, round(100 * value / most)))


def _cost(seen: RunSnapshot[Mission]) -> LimitGauge:
    if seen.row.rehearsal:
        return LimitGauge("Cost", "nothing", "rehearsed")
    costs = [call.cost for call in seen.calls if call.input_tokens is not None]
    cost, spend = sum(one or 0 for one in costs), cost_limit(seen.row)
    said = "unknown" if None in costs else format_dollars(cost)
    if not spend:
        return LimitGauge("Cost", said, "no limit of its own")
    return LimitGauge("Cost", said, f"of {format_dollars(spend)}", min(100, round(100 * cost / spend)))


def _running_gauges(seen: RunSnapshot[Mission]) -> Iterator[LimitGauge]:
    bounds = bounds_of(seen.row)
    seconds, most = _worked_seconds(seen), bounds.minutes * 60
    share = min(100, round(100 * seconds / most))
    yield LimitGauge("Time", format_seconds(timedelta(seconds=seconds)), f"of {bounds.minutes:,} min", share)
    yield _of("Terminals", sum(one.is_running for one in seen.row.terminals.all()), bounds.terminals)
    size, most = sum(one.size for one in newest_file_versions(seen.row.files.all()).values()), bounds.disk << 20
    yield LimitGauge("Disk", filesizeformat(size), f"of {filesizeformat(most)}", min(100, round(100 * size / most)))
    yield LimitGauge("Sandbox", "bubblewrap", "no network")


def _worked_seconds(seen: RunSnapshot[Mission]) -> float:
    """Seconds of work in all claims; of the present claim up to the newest step."""
    run, steps = seen.run, seen.row.steps.all()
    if not steps or not run.started:
        return 0.0
    last = max(one.settled or one.made for one in steps)
    now = (last - run.claimed_at).total_seconds() if run.status == run.Status.RUNNING and run.claimed_at else 0.0
    return min(run.worked + max(0.0, now), max(0.0, (last - run.started).total_seconds()))


def _ended_gauges(seen: RunSnapshot[Mission]) -> Iterator[LimitGauge]:
    row = seen.row
    yield LimitGauge("Time", format_seconds(timedelta(seconds=seen.run.worked)), "of work")
    yield LimitGauge("Calls", f"{len(seen.calls):,}", f"model call{'s' * (len(seen.calls) != 1)}")
    yield LimitGauge("Commands", f"{len(row.terminals.all()):,}", "once each")
    yield LimitGauge("Gates", f"{len(seen.gates):,}", _decided(seen))


def _decided(seen: RunSnapshot[Mission]) -> str:
    states = [gate.state for gate in seen.gates]
    found = [DECISION_LABELS.get(state, "") for state in states]
    counts = [f"{found.count(word)} {word}" for word in ("allowed", "answered", "refused") if word in found]
    return ", ".join(counts) or ("nothing was asked" if not states else "")
