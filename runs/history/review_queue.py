"""The review queue: flagged runs by month and cause.

Why so: runs/DESIGN.md, Review and the admin.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import cached_property
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.utils.dateformat import format as date_format
from django.utils.http import urlencode

from engine.models import ModelCall, Run
from engine.text.search_terms import label_term

from ..models import REHEARSED, RunFlag, SearchText
from ..procedure.spec import ListSummary, ReviewFlag, known_flags, specs
from ..rights import REVIEW, User
from .query import CURSORS, ArrivalTimes, HistoryPage, RunHistory
from .review_reasons import failure_label, reason_sentence
from .rows import RunRow, procedure_rows

MONTHS = 12
PAGE_SIZE = 100
MAX_EXPLAINED = 500  # newest runs of a month whose causes are computed
MAX_CAUSES = 6
ERRORS = ReviewFlag("error", "Errors", "ended without an outcome", "failed")
OVERRIDDEN = ReviewFlag(RunFlag.OVERRIDDEN, "Overridden", "a person decided otherwise", "writes")
BAR_STEP, BAR_WIDTH, BAR_HEIGHT = 9, 6, 28  # of a chart, in its own units


@dataclass(frozen=True)
class ReviewMonth:
    first: date

    @property
    def last(self) -> date:
        return (self.first + timedelta(days=31)).replace(day=1) - timedelta(days=1)

    @property
    def key(self) -> str:
        return f"{self.first:%Y-%m}"

    @property
    def label(self) -> str:
        return date_format(self.first, "F Y")

    @property
    def word(self) -> str:
        return date_format(self.first, "F")

    @property
    def days(self) -> dict[str, date]:
        """Return the month as a history filter."""
        return {"since": self.first, "until": self.last}


def months_before(day: date) -> list[ReviewMonth]:
    """Return twelve months, oldest first."""
    number = 12 * day.year + day.month - 1
    return [ReviewMonth(date(one // 12, one % 12 + 1, 1)) for one in range(number - MONTHS + 1, number + 1)]


@dataclass(frozen=True)
class ReviewBar:
    x: int
    y: int
    height: int
    chosen: bool
    width: int = BAR_WIDTH


@dataclass(frozen=True)
class ReviewTile:
    """The number of runs with a flag in the chosen month and in each of the twelve."""

    look: ReviewFlag
    months: Sequence[ReviewMonth]
    month: ReviewMonth
    numbers: Sequence[int]
    address: str
    chosen: bool

    @property
    def number(self) -> int:
        return self.numbers[self.months.index(self.month)]

    @property
    def figure(self) -> str:
        return f"{self.number:,}"

    @property
    def bars(self) -> Iterator[ReviewBar]:
        """Yield the bars; a month without runs has a height of 1, so that it stays visible."""
        most = max(self.numbers)
        for place, (month, number) in enumerate(zip(self.months, self.numbers, strict=True)):
            height = 1 + round((BAR_HEIGHT - 2) * number / most) if number else 1
            yield ReviewBar(BAR_STEP * place, BAR_HEIGHT - height, height, month == self.month)

    @property
    def caption(self) -> str:
        figures = ", ".join(f"{number:,}" for number in self.numbers)
        return f"{self.look.name} by month, {self.months[0].word} to {self.months[-1].word}: {figures}"


@dataclass(frozen=True)
class FailureCause:
    """A cause of flagged runs. `what` is error code and model, or outcome and override."""

    what: tuple[str, str]
    words: str
    detail: str
    runs: Sequence[UUID]
    share: int  # percent of all runs that have a cause
    address: str
    chosen: bool

    @property
    def number(self) -> int:
        return len(self.runs)

    @property
    def figure(self) -> str:
        return f"{self.number:,}"

    @property
    def key(self) -> str:
        return " ".join(self.what)


@dataclass(frozen=True)
class ReviewLine:
    """A run in the list of flagged runs."""

    row: RunRow
    flags: Sequence[str]
    why: str
    address: str


def review_flags() -> dict[str, ReviewFlag]:
    """Return all flags that need a review by name: common ones, then those of procedures."""
    found: dict[str, ReviewFlag] = {}
    for look in (ERRORS, OVERRIDDEN, *(look for face in specs().values() for look in face.looks)):
        found.setdefault(str(look.flag), look)
    return found


class ReviewQueue:
    """The page of a reviewer. Data is read when it is first used."""

    def __init__(self, user: User, asked: Mapping[str, str], path: str, today: date | None = None) -> None:
        self._user, self._asked, self._path = user, asked, path
        self.months = months_before(today or datetime.now(UTC).date())
        self.month = next((one for one in self.months if one.key == asked.get("month")), self.months[-1])
        self._words: dict[str, str] = {}  # labels of outcomes in the words of their procedures

    def _history(self, sought: Mapping[str, Any], about: int | None = None) -> RunHistory:
        return RunHistory(self._user, sought, REVIEW, about=about)

    # ---- flags ----------------------------------------------------------------------------------------------

    @cached_property
    def look(self) -> ReviewFlag:
        """Return the requested flag, or the first that has any run in the month."""
        if asked := review_flags().get(self._asked.get("look", "")):
            return asked
        return next((look for look in review_flags().values() if self._numbers[look.flag][self._place]), ERRORS)

    @property
    def _place(self) -> int:
        return self.months.index(self.month)

    @cached_property
    def _numbers(self) -> dict[str, list[int]]:
        ends = [*(month.first for month in self.months), self.months[-1].last + timedelta(days=1)]
        times = ArrivalTimes([datetime.combine(day, time.min, UTC) for day in ends])
        return {flag: self._history(_sought(look)).counts_between(times) for flag, look in review_flags().items()}

    @cached_property
    def tiles(self) -> list[ReviewTile]:
        return [
            ReviewTile(look, self.months, self.month, self._numbers[flag], self.address(look=flag), look == self.look)
            for flag, look in review_flags().items()
        ]

    @property
    def of_errors(self) -> bool:
        return self.look == ERRORS

    @property
    def number(self) -> int:
        return self._numbers[self.look.flag][self._place]

    @property
    def nothing(self) -> bool:
        """Return whether no run of the month needs a review."""
        return not any(numbers[self._place] for numbers in self._numbers.values())

    @property
    def in_month(self) -> RunHistory:
        """Return all runs of the month."""
        return self._history(self.month.days)

    @cached_property
    def _of_tile(self) -> RunHistory:
        return self._history(_sought(self.look) | self.month.days, about=self.number)

    # ---- causes ---------------------------------------------------------------------------------------------

    @cached_property
    def _by_cause(self) -> dict[tuple[str, str], list[UUID]]:
        """Return the newest runs by cause, most frequent first."""
        newest = self._of_tile.newest_first()[:MAX_EXPLAINED]
        found = list(newest.values_list("pk", "outcome", "status", "override", "error", "procedure"))
        models = _models_of(newest) if self.of_errors else {}
        causes = defaultdict(list)
        for pk, outcome, status, override, error, kind in found:
            self._words[outcome or status] = (
                specs()[kind].outcome_filter(outcome)[1] if outcome else status.capitalize()
            )
            failed = (error or {}).get("code", ""), models.get(pk, "")
            causes[failed if self.of_errors else (outcome or status, override or "")].append(pk)
        return dict(sorted(causes.items(), key=lambda one: (-len(one[1]), one[0])))

    @cached_property
    def causes(self) -> list[FailureCause]:
        chosen = self._asked.get("cause", "")
        number = sum(map(len, self._by_cause.values()))
        found = [
            FailureCause(
                what=what,
                words=failure_label(what[0]) if self.of_errors else self._words[what[0]],
                detail=what[1] if self.of_errors else _decided_after(*what),
                runs=runs,
                share=round(100 * len(runs) / number),
                address=self.address(look=self.look.flag, cause="" if " ".join(what) == chosen else " ".join(what)),
                chosen=" ".join(what) == chosen,
            )
            for what, runs in self._by_cause.items()
        ]
        return found[:MAX_CAUSES] + [cause for cause in found[MAX_CAUSES:] if cause.chosen]

    @property
    def more_causes(self) -> int:
        return len(self._by_cause) - len(self.causes)

    @cached_property
    def cause(self) -> FailureCause | None:
        return next((cause for cause in self.causes if cause.chosen), None)

    # ---- the list -------------------------------------------------------------------------------------------

    @cached_property
    def _listed(self) -> RunHistory:
        """Return the query of the list. Only the newest runs have a cause, so these are passed by id."""
        if self._asked.get("cause") and self.cause:
            return self._history({"among": self.cause.runs})
        return self._of_tile

    @cached_property
    def page(self) -> HistoryPage:
        return self._listed.page_asked(self._asked, PAGE_SIZE)[0]

    @cached_property
    def lines(self) -> list[ReviewLine]:
        return self._lines(self.page.found)

    def _lines(self, runs: Sequence[Run]) -> list[ReviewLine]:
        """Build the lines from search labels, so that the only procedure data read are the icons of outcomes."""
        labels, signs = SearchText.objects.labels_of([run.pk for run in runs]), _signs_of(runs)
        glances = {
            run.pk: ListSummary(rehearsal=REHEARSED in labels.get(run.pk, ()), signs=signs.get(run.pk, {}))
            for run in runs
        }
        rows = procedure_rows(runs, glances)
        return [self._line(run, row, labels.get(run.pk, set())) for run, row in zip(runs, rows, strict=True)]

    def _line(self, run: Run, row: RunRow, labels: set[str]) -> ReviewLine:
        flags = [flag for flag in known_flags() if label_term("flag", flag) in labels]
        return ReviewLine(
            row=row,
            flags=[str(flag.label).lower() for flag in flags],
            why=reason_sentence(run, row, flags),
            address=self.address_of(run.pk),
        )

    def line_of(self, run: UUID) -> ReviewLine | None:
        """Return the line of a run, whether or not it is on this page."""
        here = [line for line in self.lines if line.row.id == str(run)]
        return next(iter(here or self._lines(self._history({}).of([run]))), None)

    @property
    def newer(self) -> int:
        """Return the number of runs that arrived since the page was opened."""
        newest = self._asked.get("newest", "")
        try:
            return self._listed.newer_than(UUID(newest)) if newest else 0
        except ValueError:
            return 0

    # ---- addresses ------------------------------------------------------------------------------------------

    @property
    def query(self) -> dict[str, str]:
        """Return the parameters of the list."""
        asked = {"month": self.month.key, "look": self.look.flag, "cause": self._asked.get("cause", "")}
        return {name: value for name, value in asked.items() if value}

    @property
    def place(self) -> dict[str, str]:
        """Return the same with the position of the page."""
        return self.query | {name: self._asked[name] for name in CURSORS if self._asked.get(name)}

    def address(self, **asked: str) -> str:
        return f"{self._path}?{urlencode({'month': self.month.key, **{k: v for k, v in asked.items() if v}})}"

    def address_of(self, run: UUID) -> str:
        return f"{self._path}{run}/?{urlencode(self.place)}"

    @property
    def here(self) -> str:
        return f"{self._path}?{urlencode(self.place)}"

    @property
    def newest(self) -> str:
        return f"{self._path}?{urlencode(self.query)}"

    @property
    def newer_page(self) -> str:
        return f"{self._path}?{urlencode(self.query | {'after': self.page.first})}" if self.page.newer else ""

    @property
    def older_page(self) -> str:
        return f"{self._path}?{urlencode(self.query | {'before': self.page.last})}" if self.page.older else ""


def _sought(look: ReviewFlag) -> dict[str, Any]:
    return {"outcome": "error"} if look == ERRORS else {"flag": look.flag}


def _decided_after(outcome: str, override: str) -> str:
    if not override:
        return ""
    return "reinstated" if override == outcome else f"overridden: {override}"


def _signs_of(runs: Sequence[Run]) -> dict[UUID, Mapping[str, str]]:
    """Return the icons of outcomes by run, read once for each procedure."""
    of_kind = defaultdict(list)
    for run in runs:
        of_kind[run.procedure].append(run.pk)
    return {pk: signs for kind, pks in of_kind.items() for pk, signs in specs()[kind].outcome_icons(pks).items()}


def _models_of(failed: QuerySet[Run]) -> dict[UUID, str]:
    """Return the model of each run's last failed call."""
    calls = ModelCall.objects.filter(run__in=failed.values("pk"), status=ModelCall.Status.FAILED).order_by("pk")
    return dict(calls.values_list("run", "model"))
