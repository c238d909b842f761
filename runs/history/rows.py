"""Rows of run lists: outcome, notes on it, and a summary."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import groupby
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.utils.dateformat import format as date_format

from engine.models import Run, override_authors

from ..formatting import action_text, failure_cause, minutes, requester_label
from ..procedure.spec import ListSummary, ProcedureSpec, spec_of_run

AnyFace = ProcedureSpec[Any, Any]
COMMAND_LINE = "command line"
VOID, DASHED = "void", "dash"  # an overridden outcome, and one that never counted
WEEK = timedelta(days=6)  # seven days with today


@dataclass(frozen=True)
class RowNote:
    """A note on the outcome in a row: `state` is its icon and colour, `way` the style of its border."""

    words: str
    state: str = ""
    way: str = ""


@dataclass(frozen=True)
class RunRow:
    id: str
    face: AnyFace
    title: str
    state: str
    word: str
    glance: ListSummary
    stamps: tuple[RowNote, ...]
    held: str
    asked_by: str
    created: datetime
    started: datetime | None
    ended: datetime | None
    over: bool
    revision: int
    override: str | None  # the last override and its author
    overridden_by: str
    reinstated: bool

    @property
    def short_id(self) -> str:
        return self.id[:8]

    @property
    def address(self) -> str:
        return self.face.address("live", UUID(self.id))

    @property
    def took(self) -> str:
        return minutes(self.started, self.ended)

    @property
    def iso(self) -> str:
        return self.created.isoformat()

    @property
    def moment(self) -> str:
        """Return the full time in UTC. The templates' filter takes ten times as long for each row."""
        return f"{self.created:%-d %B %Y, %H:%M:%S} UTC"

    @property
    def day_and_time(self) -> str:
        return f"{self.created:%-d %b, %H:%M}"

    @property
    def when(self) -> str:
        """Return the shortest time that is clear under the heading of its day."""
        today = datetime.now(UTC).date()
        if self.created.date() >= today - timedelta(days=1):
            return date_format(self.created, "H:i")
        return date_format(self.created, "j M, H:i" if self.created.year == today.year else "j M Y")

    @property
    def glance_parts(self) -> list[str]:
        return [f"{self.face.nouns}/_row_glance.html", "runs/_row_glance.html"]


def build_rows(rows: QuerySet[Any], face: AnyFace | None) -> QuerySet[Any]:
    """Add to the query what a list shows."""
    return face.prefetch_for_list(rows) if face else rows.select_related("owner")


def procedure_rows(found: Sequence[Any], glances: Mapping[UUID, ListSummary] | None = None) -> list[RunRow]:
    """Build the list rows of runs, or of one procedure's rows, read with `build_rows`.

    The summaries take a few queries for each procedure, none if `glances` are passed.
    """
    runs = [one if isinstance(one, Run) else one.run for one in found]
    if glances is None:
        glances = _glances_of(runs, found)
    by = override_authors([run.pk for run in runs if run.override is not None])
    return [_row(run, glances[run.pk], by.get(run.pk, "")) for run in runs]


def _glances_of(runs: Sequence[Run], found: Sequence[Any]) -> Mapping[UUID, ListSummary]:
    of_kind = defaultdict(list)
    for run, one in zip(runs, found, strict=True):
        of_kind[run.procedure].append(one)
    return {pk: glance for rows in of_kind.values() for pk, glance in _glances(rows).items()}


def _glances(found: Sequence[Any]) -> Mapping[UUID, ListSummary]:
    """Return the summaries of runs of one procedure. Plain runs are first read as rows of the procedure."""
    if not isinstance(found[0], Run):
        return spec_of_run(found[0].run).glances(found)
    face = spec_of_run(found[0])
    rows = face.rows().model._default_manager.filter(pk__in=[run.pk for run in found])
    return face.glances(list(face.prefetch_for_list(rows)))


def _row(run: Run, glance: ListSummary, overridden_by: str) -> RunRow:
    face = spec_of_run(run)
    state, word = face.filter_labels(run)
    return RunRow(
        id=str(run.pk),
        face=face,
        title=run.shown_title,
        state=glance.signs.get(run.outcome or "", state),
        word=word,
        glance=glance,
        stamps=tuple(_stamps(run, glance, overridden_by)),
        held=_held(run, glance),
        asked_by=requester_label(run) or COMMAND_LINE,
        created=run.created,
        started=run.started,
        ended=run.ended,
        over=run.is_ended,
        revision=run.revision,
        override=run.override,
        overridden_by=overridden_by,
        reinstated=run.reinstated,
    )


def _held(run: Run, glance: ListSummary) -> str:
    if run.override is not None and not run.reinstated:
        return VOID
    return DASHED if glance.rehearsal else ""


def _stamps(run: Run, glance: ListSummary, overridden_by: str) -> list[RowNote]:
    stamps = []
    if run.override is not None:
        state, word = spec_of_run(run).outcome_filter(run.override)
        by = f" by {overridden_by}" if overridden_by else ""
        stamps.append(RowNote(f"{action_text(run)}: {word.lower()}{by}", glance.signs.get(run.override, state)))
    if glance.rehearsal:
        stamps.append(RowNote("Rehearsal", way="dash"))
    if why := failure_cause(run):
        stamps.append(RowNote(why, way="plain"))
    return stamps + [RowNote(note, way="plain") for note in glance.notes]


# ---- by days ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RunDays:
    heading: str
    rows: list[RunRow]


def group_by_day(rows: Sequence[RunRow]) -> list[RunDays]:
    """Group the rows, in the same order, by day, week or month of creation."""
    today = datetime.now(UTC).date()
    return [
        RunDays(heading, list(some)) for heading, some in groupby(rows, lambda row: _heading(row.created.date(), today))
    ]


def _heading(day: date, today: date) -> str:
    if day >= today:
        return "Today"
    if day == today - timedelta(days=1):
        return "Yesterday"
    if day >= today - WEEK:
        return "Last week"
    if (day.year, day.month) == (today.year, today.month):
        return f"Earlier in {date_format(day, 'F')}"
    return date_format(day, "F" if day.year == today.year else "F Y")
