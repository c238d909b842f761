"""A judgement played again: what its page showed at each moment, worked out from its rows.

What is in no row is not played: a reason comes whole with its decision, for how it grew was never stored.

Why so: docs/decisions.md, Pages.
"""

from collections.abc import Iterable, Iterator
from copy import copy
from datetime import datetime, timedelta
from itertools import pairwise, takewhile
from typing import Any

from django.utils.timesince import timesince

from engine.hidden import visible_text
from engine.models import ModelCall, Run
from runs.fragments import Fragment

from .display import Cell, Display, display_of
from .fragments import fragments
from .models import Judgement
from .procedure import sentence_of_failure

FRAMES_FORM = 1  # moves when the frames of the same rows become others: browsers keep them
LONGEST_GAP = timedelta(seconds=30)
SHORTENED = timedelta(seconds=3)


class Past:
    """A judgement read with `whole()` that is over, turned back to one moment after another.

    The rows that it is given become what they were then: they are its own, and are never saved.
    """

    def __init__(self, judgement: Judgement) -> None:
        self._judgement, self._calls = judgement, judgement.calls
        self._run = judgement.run

    @property
    def beginning(self) -> datetime:
        return self._run.started or self._run.created

    @property
    def moments(self) -> list[datetime]:
        """When anything changed, the state before round 1 first. Clocks of other machines may be off a little."""
        end = self._end
        times = {self._run.started, *(t for call in self._calls for t in (call.started, call.ended))}
        between = sorted(time for time in times if time and self.beginning <= time < end)
        return [self._run.created, *between, end]

    @property
    def _end(self) -> datetime:
        return self._run.ended or self.beginning

    def display_at(self, moment: datetime) -> Display:
        over = moment >= self._end
        calls = self._calls if over else [_as_it_was(c, moment) for c in self._calls if c.started <= moment]
        for agent in self._judgement.agents.all():
            agent.known_until = None if over else moment
        self._judgement.run = self._run if over else self._run_at(moment, calls)
        return display_of(self._judgement, calls, {})

    def _run_at(self, moment: datetime, calls: list[ModelCall]) -> Run:
        run = copy(self._run)
        run.status, run.outcome = self._status(calls, moment), None
        run.retries = max((call.series for call in calls), default=0)
        run.started = self._run.started if moment >= self.beginning else None
        failed = run.status == Run.Status.FAILED
        run.ended = max((call.ended for call in calls if call.ended), default=None) if failed else None
        run.error = self._error(calls) if failed else None
        return run

    def _status(self, calls: list[ModelCall], moment: datetime) -> str:
        """Of the run, before its end: it may have failed and been tried again, or been dropped and taken up again."""
        if not self._run.started or moment < self._run.started:
            return Run.Status.QUEUED
        if not calls or any(call.status == ModelCall.Status.OPEN for call in calls):
            return Run.Status.RUNNING
        if _given_up(calls) and not self._goes_on(calls[-1].series, moment):
            return Run.Status.FAILED
        newest = max(calls, key=lambda call: call.ended or call.started)
        return Run.Status.QUEUED if newest.status == ModelCall.Status.INTERRUPTED else Run.Status.RUNNING

    def _goes_on(self, series: int, moment: datetime) -> bool:
        return any(call.series == series and call.started > moment for call in self._calls)

    def _error(self, calls: list[ModelCall]) -> dict[str, str]:
        """What the run said of its failure then; when it was tried again that was forgotten."""
        call = _given_up(calls)
        if not call:
            return {}
        name = next(agent.name for agent in self._judgement.agents.all() if agent.seat == call.step[0])
        return {"message": sentence_of_failure(name, int(call.step[1:]), call.attempt, call.error)}


def _as_it_was(call: ModelCall, moment: datetime) -> ModelCall:
    if call.ended is None or call.ended <= moment:
        return call
    then = copy(call)
    then.status, then.ended, then.retry_at = ModelCall.Status.OPEN, None, None
    then.input_tokens = then.output_tokens = then.cost = None
    then.estimated = False
    return then


def _given_up(calls: list[ModelCall]) -> ModelCall | None:
    """The call of the newest series after which an agent was not asked again, if there is one."""
    ends = (call for call in calls if call.status == ModelCall.Status.FAILED and call.retry_at is None)
    return next((call for call in ends if call.series == calls[-1].series), None)


# ---- frames -----------------------------------------------------------------------------------------------


def replay(judgement: Judgement) -> dict[str, Any]:
    """All that the page needs to play a judgement: what changes when, and the versions of every fragment.

    A version is the number of its frame, how many characters stay at the beginning and at the end of the one before,
    and what comes between.
    """
    past = Past(judgement)
    frames: list[dict[str, Any]] = []
    versions: dict[str, list[tuple[int, int, int, str]]] = {}
    shown: dict[str, str] = {}
    before: Display | None = None
    for moment in past.moments:
        display = past.display_at(moment)
        fresh = {fragment.place: fragment.html(oob=False, replay=True) for fragment in _changed(before, display)}
        changed = {key: html for key, html in fresh.items() if shown.get(key) != html}
        if changed or moment == past.moments[-1]:
            for key, html in changed.items():
                versions.setdefault(key, []).append((len(frames), *_difference(shown.get(key, ""), html)))
            shown |= changed
            frames.append(_frame(moment, before, display))
            before = display
    _lay_out(frames, past.beginning)
    return {"length": frames[-1]["at"], "frames": frames, "fragments": versions}


def _changed(before: Display | None, display: Display) -> Iterator[Fragment]:
    """The fragments that may look otherwise than before."""
    known = {*before.seats, *_cells(before)} if before else set()
    for fragment in fragments(display):
        shows = fragment.context.get("seat") or fragment.context.get("cell")
        if fragment.replayed and shows not in known:
            yield fragment


def _cells(display: Display) -> list[Cell]:
    return [cell for number in display.rounds for cell in number.cells]


def _difference(before: str, after: str) -> tuple[int, int, str]:
    start = _common(before, after)
    end = _common(reversed(before[start:]), reversed(after[start:]))
    return start, end, after[start : len(after) - end]


def _common(one: Iterable[str], other: Iterable[str]) -> int:
    """How many characters are the same from the beginning on."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _frame(moment: datetime, before: Display | None, display: Display) -> dict[str, Any]:
    said = display.announcement if before is None or before.announcement != display.announcement else ""
    return {"moment": moment, "said": visible_text(said), "mark": _mark(before, display)}


def _mark(before: Display | None, display: Display) -> str:
    """The state that stands out on the time line: of a decision, of a failure, of the end."""
    if before is None:
        return ""
    if display.over:
        return display.state
    new = [
        cell.state for was, cell in zip(_cells(before), _cells(display), strict=True) if cell != was and cell.decided
    ]
    return new[-1] if new else ""


def _lay_out(frames: list[dict[str, Any]], beginning: datetime) -> None:
    """Put the frames on a line of seconds from the beginning; gaps that nobody would wait for are short, and said."""
    moments = [max(frame.pop("moment"), beginning) for frame in frames]
    at = timedelta()
    for frame, (moment, following) in zip(frames, pairwise([*moments, moments[-1]]), strict=True):
        gap = following - moment
        frame |= {"at": round(at.total_seconds(), 3), "now": round(moment.timestamp() * 1000)}
        frame["pause"] = f"Pause of {_length(moment, following)} left out." if gap > LONGEST_GAP else ""
        at += SHORTENED if gap > LONGEST_GAP else gap


def _length(start: datetime, end: datetime) -> str:
    seconds = int((end - start).total_seconds())
    return f"{seconds} seconds" if seconds < 60 else timesince(start, end, depth=1).replace("\xa0", " ")
