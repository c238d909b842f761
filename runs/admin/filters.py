"""What the reviewers' list can be asked for beside words."""

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
"""A year, or a year and a month, or a year, a month and a day."""

MOST_PEOPLE = 20
MAX_TYPED = 200  # letters of a name
KIND = "kind"


class RunListFilter(admin.SimpleListFilter):
    """One thing that the history is asked for. It filters no rows: the index answers for all things at once."""

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        return queryset

    @property
    def value_or_none(self) -> dict[str, Any]:
        """As `History` takes it; nothing where nothing, or what there is not, is asked for."""
        value = self.value()
        return self.apply(value) if value in {str(known) for known, _ in self.lookup_choices} else {}

    def apply(self, value: Any) -> dict[str, Any]:
        return {str(self.parameter_name): value}


class KindFilter(RunListFilter):
    """Which face the list has: it is asked for by the list itself."""

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
    """Of kinds whose `filters` have it."""

    title = parameter_name = "rehearsal"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("no", "Models were asked"), ("yes", "Rehearsed")]

    def apply(self, value: Any) -> dict[str, Any]:
        return {"rehearsal": value == "yes"}


class TypedFilter(RunListFilter):
    """A filter with fields of its own. It reads all its parameters itself."""

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
        """What the form must send along of the page's other parameters, then the choices beside it."""
        self.others = [(k, v) for k, v in changelist.params.items() if k not in self.expected_parameters()]
        yield {
            "selected": not any(self.asked.values()),
            "query_string": changelist.get_query_string(dict.fromkeys(self.expected_parameters())),
            "display": "All",
        }


class PersonFilter(TypedFilter):
    """Who asked: `person` is a user's number, or nobody for the command line; `who` is looked up among all users."""

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
        """No longer than a name is, and without what no database takes."""
        return typed.replace("\0", "")[:MAX_TYPED].strip()

    def _people(self) -> list[User]:
        """The chosen one, or those whose names begin with all the words; one beyond `MOST_PEOPLE` stands for more."""
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
    """From one day to another, and the year, month or day that was gone into."""

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
        """As far as they are asked for and there are such."""
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
    """By what Django's own date hierarchy would ask for a year, a month and a day: created__year and so on."""
    return [f"{hierarchy}__{part}" for part in ("year", "month", "day")]


def date_span(parts: Parts) -> tuple[date, date] | None:
    """The first and the last day of a year, a month or a day; None where there is no such."""
    year, month, day = (*parts, *(0, 0, 0)[len(parts) :])
    try:
        last = day or monthrange(year, month or 12)[1]
        return date(year, month or 1, day or 1), date(year, month or 12, last)
    except ValueError:
        return None
