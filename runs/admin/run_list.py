"""The admin's run list, based on the history query, so that it stays fast however long it is.

Why so: runs/DESIGN.md, Review and the admin.
"""

from calendar import month_name
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Any, cast

from django.contrib import messages
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import ChangeList
from django.db.models import QuerySet, TextChoices
from django.http import HttpRequest

from ..formatting import count_noun
from ..history.query import CURSORS, RunHistory, RunRow
from ..models import SearchText
from ..procedure.filters import QUERY_LENGTH
from ..procedure.spec import known_flags
from .filters import DateRangeFilter, Parts, RunListFilter, date_parts, date_span

MAX_COUNTED = 5_000  # limit of counting


@dataclass(frozen=True)
class RunListEntry:
    """What a line of the list shows."""

    row: RunRow
    flags: list[TextChoices]


class RunChangeList(ChangeList):
    """Gets its rows from the history query, which uses the index; a page starts at a run.

    Each result is a run, or a row of the list's procedure, with its `in_list` entry.
    """

    def get_queryset(self, request: HttpRequest, exclude_parameters: Any = None) -> QuerySet[Any]:
        for name in CURSORS:  # positions of a page of other runs
            self.params.pop(name, None)
            self.filter_params.pop(name, None)
        self.filter_specs, self.has_filters, unknown, _, self.has_active_filters = self.get_filters(request)
        if unknown:
            raise IncorrectLookupParameters
        self.clear_all_filters_qs = self.get_query_string(remove=self.get_filters_params())
        self.face = cast(Any, self.model_admin).requested_procedure(request)
        self.history = RunHistory(request.user, self._sought(request), face=self.face)
        return self.history.newest_first()

    def _sought(self, request: HttpRequest) -> dict[str, Any]:
        sought = {"q": self.query} if self.query else {}
        if len(self.query) > QUERY_LENGTH:
            messages.error(request, f"Search for at most {QUERY_LENGTH:,} characters.")
            sought = {}
        for asked in self.filter_specs:
            if isinstance(asked, RunListFilter):
                sought |= asked.value_or_none
        return sought

    def get_results(self, request: HttpRequest) -> None:
        page, _ = self.history.page_asked(request.GET, self.list_per_page)
        self.page = page
        flags = SearchText.objects.flags_of([one.pk for one in page.found], known_flags(self.face))
        self.result_list = [one if isinstance(one, self.model) else one.run for one in page.found]
        for one, row in zip(self.result_list, page.rows, strict=True):
            one.in_list = RunListEntry(row, flags.get(one.pk, []))
        self.result_count = self.history.count(MAX_COUNTED)
        self.full_result_count = None
        self.show_full_result_count = self.can_show_all = False
        self.show_admin_actions = True
        self.multi_page = page.newer or page.older

    # ---- around the rows ----------------------------------------------------------------------------------

    @property
    def counted(self) -> str:
        return count_noun(
            self.result_count, MAX_COUNTED, str(self.opts.verbose_name), str(self.opts.verbose_name_plural)
        )

    @property
    def pages(self) -> list[tuple[str, str]]:
        """Return the links to other pages."""
        newest = [("Newest", self.get_query_string()), ("Newer", self.get_query_string({"after": self.page.first}))]
        older = [("Older", self.get_query_string({"before": self.page.last}))]
        return (newest if self.page.newer else []) + (older if self.page.older else [])

    @cached_property
    def trail(self) -> "list[DayGroups]":
        """Return the path from all dates to the selected year, month or day."""
        drilled = self._drilled
        return [self._days(drilled[:depth]) for depth in range(len(drilled) + 1)] if self._made else []

    @cached_property
    def further_days(self) -> "list[DayGroups]":
        """Return the next level: years, months or days between the first and the last run.

        Some may have no runs; to know that, all runs would have to be read.
        """
        drilled = self._drilled
        if not self._made or len(drilled) == 3:
            return []
        first, last = self._made
        return [
            self._days((*drilled, number))
            for number in (range(first.year, last.year + 1), range(1, 13), range(1, 32))[len(drilled)]
            if (days := date_span((*drilled, number))) and days[0] <= last and first <= days[1]
        ]

    @property
    def _drilled(self) -> Parts:
        return next(asked.drilled for asked in self.filter_specs if isinstance(asked, DateRangeFilter))

    @cached_property
    def _made(self) -> tuple[date, date] | None:
        """Return the days of the first and the last run."""
        made = self.model._default_manager.order_by(self.date_hierarchy).values_list(self.date_hierarchy, flat=True)
        first, last = made.first(), made.last()
        return (first.date(), last.date()) if first and last else None

    def _days(self, parts: Parts) -> "DayGroups":
        names = date_parts(self.date_hierarchy)
        asked = dict.fromkeys(names) | dict(zip(names, parts, strict=False))
        return DayGroups(_named(parts), self.get_query_string(asked))


@dataclass(frozen=True)
class DayGroups:
    name: str
    address: str


def _named(parts: Parts) -> str:
    if not parts:
        return "All dates"
    return month_name[parts[1]] if len(parts) == 2 else str(parts[-1])
