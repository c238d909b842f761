"""Replay of a run: what its page showed at each moment, computed from its rows.

How a text grew is not stored: it is written evenly from the start of the model call to its end.

Why so: runs/DESIGN.md, Pages.
"""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from itertools import pairwise, takewhile
from typing import Any

from django.utils.timesince import timesince

from engine.text.invisible_chars import visible_text

from ..procedure.fragments import PageFragment
from ..procedure.point_in_time import start_of
from ..procedure.spec import ProcedureSpec, RunSnapshot, spec_of_run
from ..procedure.tool_usage import moments_of_uses
from ..procedure.wait_reason import moments_of

FRAMES_FORMAT = 5  # increment when the same rows give different frames: browsers cache them
LONGEST_GAP = timedelta(seconds=30)
SHORTENED_GAP = timedelta(seconds=3)


class RunReplay:
    """A run that is over, in its state at any moment."""

    def __init__(self, seen: RunSnapshot[Any]) -> None:
        self._seen = seen
        self.face = spec_of_run(seen.run)

    @property
    def beginning(self) -> datetime:
        return start_of(self._seen.run)

    @property
    def moments(self) -> list[datetime]:
        """Return the times of all changes, starting with the creation. Clocks of other machines may be slightly off."""
        run, end = self._seen.run, self._seen.end
        times = {run.started, *self.face.moments(self._seen)}
        times |= {*moments_of(self._seen.parks, self._seen.gates), *moments_of_uses(self._seen.uses)}
        between = sorted(time for time in times if time and self.beginning <= time < end)
        return [run.created, *between, end]

    def display_at(self, moment: datetime) -> Any:
        return self.face.display(self._seen.at(moment))


def build_replay(seen: RunSnapshot[Any], drawn: Callable[[str], str] = str) -> dict[str, Any]:
    """Return everything that a page needs to play a run: frames with their times, and the versions of each fragment.

    `drawn` transforms the HTML. A version is the number of its frame, the numbers of characters that stay at the start
    and at the end of the previous version, and the text between them.
    """
    past = RunReplay(seen)
    frames: list[dict[str, Any]] = []
    versions: dict[str, list[tuple[int, int, int, str]]] = {}
    shown: dict[str, str] = {}
    contexts: dict[str, dict[str, Any]] = {}
    before = None
    for moment in past.moments:
        display = past.display_at(moment)
        fresh = {
            fragment.place: drawn(fragment.html(oob=False, replay=True))
            for fragment in _changed(past.face.fragments(display), contexts)
        }
        changed = {key: html for key, html in fresh.items() if shown.get(key) != html}
        if changed or moment == past.moments[-1]:
            for key, html in changed.items():
                versions.setdefault(key, []).append((len(frames), *_difference(shown.get(key, ""), html)))
            shown |= changed
            frames.append(_frame(past.face, moment, before, display))
            before = display
    _name_once(frames)
    _lay_out(frames, past.beginning)
    return {"length": frames[-1]["at"], "frames": frames, "fragments": versions}


def _changed(fragments: Iterable[PageFragment], contexts: dict[str, dict[str, Any]]) -> Iterator[PageFragment]:
    """Yield the fragments whose context has changed since they were last rendered."""
    for fragment in fragments:
        if fragment.replayed and contexts.get(fragment.place) != fragment.context:
            contexts[fragment.place] = fragment.context
            yield fragment


def _difference(before: str, after: str) -> tuple[int, int, str]:
    start = _common(before, after)
    end = _common(reversed(before[start:]), reversed(after[start:]))
    return start, end, after[start : len(after) - end]


def _common(one: Iterable[str], other: Iterable[str]) -> int:
    """Count the characters of the common prefix."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _frame(face: ProcedureSpec[Any, Any], moment: datetime, before: Any, display: Any) -> dict[str, Any]:
    said = display.announcement if before is None or before.announcement != display.announcement else ""
    mark, chapter = face.replay_mark(before, display), face.chapter(before, display)
    return {"moment": moment, "said": visible_text(said), "mark": mark, "chapter": chapter}


def _name_once(frames: list[dict[str, Any]]) -> None:
    """Keep a chapter's name only where it started first; when it is resumed, it continues."""
    begun: set[str] = set()
    for frame in frames:
        if frame["chapter"] in begun:
            frame["chapter"] = ""
        begun.add(frame["chapter"])


def _lay_out(frames: list[dict[str, Any]], beginning: datetime) -> None:
    """Place the frames on a timeline of seconds; gaps over LONGEST_GAP are shortened and announced."""
    moments = [max(frame.pop("moment"), beginning) for frame in frames]
    at = timedelta()
    for frame, (moment, following) in zip(frames, pairwise([*moments, moments[-1]]), strict=True):
        gap = following - moment
        frame |= {"at": round(at.total_seconds(), 3), "now": round(moment.timestamp() * 1000)}
        frame["gap"] = f"{_length(moment, following)} left out." if gap > LONGEST_GAP else ""
        at += SHORTENED_GAP if gap > LONGEST_GAP else gap


def _length(start: datetime, end: datetime) -> str:
    seconds = int((end - start).total_seconds())
    return f"{seconds} seconds" if seconds < 60 else timesince(start, end, depth=1).replace("\xa0", " ")
