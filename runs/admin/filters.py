"""Filters of the admin's run list."""

import re
from calendar import monthrange
from collections.abc import Iterator
from datetime import date
from typing import Any

from django.contrib import admin
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from ..formatting import user_label
from ..procedure.filters import DayField
from ..procedure.spec import ProcedureSpec, known_flags, specs

AnyFace = ProcedureSpec[Any, Any]
Parts = tuple[int, ...]
"""A year, optionally with a month, or with a month and a day."""

MOST_PEOPLE = 20
MAX_TYPED = 200  # characters of a name
KIND = "kind"


class RunListFilter(admin.SimpleListFilter):
    """A part of the history query. It does not filter rows: the index answers all filters at once."""

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        return queryset

    @property
    def value_or_none(self) -> dict[str, Any]:
        """Return its part of the history query; empty if the value is not one of the choices."""
        value = self.value()
        return self.apply(value) if value in {str(known) for known, _ in self.lookup_choices} else {}

    def apply(self, value: Any) -> dict[str, Any]:
        return {str(self.parameter_name): value}


class KindFilter(RunListFilter):
    """The procedure of the list; the list itself reads it."""

    title = parameter_name = KIND

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        kinds = [(kind, face.noun.capitalize()) for kind, face in specs().items()]
        return kinds if len(kinds) > 1 else []

    def apply(self, value: Any) -> dict[str, Any]:
        return {}


class StatusFilter(RunListFilter):
    title = parameter_name = "status"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        face = model_admin.requested_procedure(request)
        words = (*face.outcomes, *face.standings) if face else tuple(ProcedureSpec.standings)
        return [(word, word.capitalize()) for word in words]

    def apply(self, value: Any) -> dict[str, Any]:
        return {"outcome": value}


class FlagFilter(RunListFilter):
    title = parameter_name = "flag"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(flag.value, flag.label) for flag in known_flags(model_admin.requested_procedure(request))]


class RehearsalFilter(RunListFilter):
    """A filter for procedures whose `filters` include it."""

    title = parameter_name = "rehearsal"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("no", "Models were asked"), ("yes", "Rehearsed")]

    def apply(self, value: Any) -> dict[str, Any]:
        return {"rehearsal": value == "yes"}


class TypedFilter(RunListFilter):
    """A filter with its own form fields. It reads all its parameters itself."""

    parameters: tuple[str, ...] = ()

    def __init__(self, request: HttpRequest, params: dict[str, Any], model: Any, model_admin: Any) -> None:
        super().__init__(request, params, model, model_admin)
        self.asked = self.used_parameters | {name: params.pop(name)[-1] for name in self.parameters if name in params}
        self.others: list[tuple[str, str]] = []

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return []

    def has_output(self) -> bool:
        return True

    def expected_parameters(self) -> list[str | None]:
        return [self.parameter_name, *self.parameters]

    def choices(self, changelist: Any) -> Iterator[Any]:
        """Store the page's other parameters for the form, then yield the choices."""
        self.others = [(k, v) for k, v in changelist.params.items() if k not in self.expected_parameters()]
        yield {
            "selected": not any(self.asked.values()),
            "query_string": changelist.get_query_string(dict.fromkeys(self.expected_parameters())),
            "display": "All",
        }


class PersonFilter(TypedFilter):
    """Filter by requester: `person` is a user id or "nobody" (command line); `who` searches among all users."""

    title = parameter_name = "person"
    parameters = ("who",)
    template = "admin/runs/_filter_person.html"
    NOBODY = "nobody"

    def __init__(self, request: HttpRequest, params: dict[str, Any], model: Any, model_admin: Any) -> None:
        super().__init__(request, params, model, model_admin)
        self.person, self.who = self.asked.get("person", ""), self._name(self.asked.get("who", ""))
        self.people = self._people()
        self.too_many = len(self.people) > MOST_PEOPLE

    @staticmethod
    def _name(typed: str) -> str:
        """Truncate the name, and remove NUL, which databases refuse."""
        return typed.replace("\0", "")[:MAX_TYPED].strip()

    def _people(self) -> list[User]:
        """Return the selected user, or those whose names match all words as prefixes; at most MOST_PEOPLE + 1."""
        if self.person:
            known = re.fullmatch(r"[0-9]{1,18}", self.person)
            return list(User.objects.filter(pk=self.person)) if known else []
        if not self.who:
            return []
        found = User.objects.order_by("username")
        for word in self.who.split():
            found = found.filter(
                Q(username__istartswith=word) | Q(first_name__istartswith=word) | Q(last_name__istartswith=word)
            )
        return list(found[: MOST_PEOPLE + 1])

    @property
    def value_or_none(self) -> dict[str, Any]:
        if self.person == self.NOBODY:
            return {"owners": [None]}
        if not (self.person or self.who):
            return {}
        return {"owners": [] if self.too_many else [user.pk for user in self.people]}

    def choices(self, changelist: Any) -> Iterator[Any]:
        yield from super().choices(changelist)
        people = [] if self.too_many else [(str(user.pk), user_label(user)) for user in self.people]
        for value, name in [*people, (self.NOBODY, "Command line")]:
            yield {
                "selected": value == self.person,
                "query_string": changelist.get_query_string({"person": value, "who": None}),
                "display": name,
            }


class DateRangeFilter(TypedFilter):
    """Filter by a range of days, and by the year, month or day of the date hierarchy."""

    title, parameter_name = "date", "since"
    template = "admin/runs/_filter_date.html"

    def __init__(self, request: HttpRequest, params: dict[str, Any], model: Any, model_admin: Any) -> None:
        self.parameters = ("until", *date_parts(model_admin.date_hierarchy))
        super().__init__(request, params, model, model_admin)
        self.problems: dict[str, str] = {}
        self.since, self.until = self._day("since"), self._day("until")
        self.drilled = self._drilled()

    def _day(self, name: str) -> date | None:
        try:
            return DayField().clean(self.asked.get(name, ""))
        except ValidationError as error:
            self.problems[name] = error.messages[0]
            return None

    def _drilled(self) -> Parts:
        """Return the selected year, month and day, as far as they are valid."""
        parts: Parts = ()
        for name in self.parameters[1:]:
            value = self.asked.get(name, "")
            if not re.fullmatch(r"0*[1-9][0-9]{0,3}", value) or not date_span((*parts, int(value))):
                break
            parts = (*parts, int(value))
        return parts

    @property
    def value_or_none(self) -> dict[str, Any]:
        first, last = (self.drilled and date_span(self.drilled)) or (None, None)
        since, until = list(filter(None, (self.since, first))), list(filter(None, (self.until, last)))
        return ({"since": max(since)} if since else {}) | ({"until": min(until)} if until else {})


def date_parts(hierarchy: str) -> list[str]:
    """Return the parameters of Django's date hierarchy: created__year and so on."""
    return [f"{hierarchy}__{part}" for part in ("year", "month", "day")]


def date_span(parts: Parts) -> tuple[date, date] | None:
    """Return the first and the last day of a year, a month or a day; None if it does not exist."""
    year, month, day = (*parts, *(0, 0, 0)[len(parts) :])
    try:
        last = day or monthrange(year, month or 12)[1]
        return date(year, month or 1, day or 1), date(year, month or 12, last)
    except ValueError:
        return None
