"""Links to common, saved and loosened searches of the history."""

from dataclasses import dataclass
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from ..forms import PlainTextField
from ..history.query import MAX_COUNTED
from ..models import NAME_LENGTH, QUERY_LENGTH, SavedSearch, TooManySearches
from ..procedure.filters import ONESELF, PERIOD_NAMES
from ..rights import SEE, PermissionReach
from .history_query import HistoryQuery, history_query

QUICK_SEARCHES: dict[str, dict[str, Any]] = {
    "All": {},
    "Today": {"days": "today"},
    "Last week": {"days": "week"},
    "Mine": {"by": ONESELF},
    "Waits for me": {"waits": ONESELF},
    "Failed": {"outcome": "error"},
    "Mine that failed": {"by": ONESELF, "outcome": "error"},
}
MAX_TRIED = 5


@dataclass(frozen=True)
class QuickSearch:
    name: str
    address: str
    count: str = ""
    current: bool = False
    pk: int = 0  # id of a saved one


def quick_searches(asked: HistoryQuery) -> list[QuickSearch]:
    """Return the common searches of these procedures; those by requester only for users who see others' runs."""
    all_of_them = SEE.reach(asked.user) == PermissionReach.ALL
    return [
        _preset(asked, name, sought) for name, sought in QUICK_SEARCHES.items() if all_of_them or "by" not in sought
    ]


def _preset(asked: HistoryQuery, name: str, sought: dict[str, Any]) -> QuickSearch:
    count = quick_count(asked.of(sought).count()) if sought else ""
    return QuickSearch(name, asked.only(sought), count, current=asked.form.search_terms == sought)


def saved(asked: HistoryQuery) -> list[QuickSearch]:
    """Return the user's saved searches."""
    history, now = reverse("runs-history"), asked.whole_query
    return [
        QuickSearch(view.name, f"{history}?{view.query}", current=view.query == now, pk=view.pk)
        for view in SavedSearch.objects.filter(user=asked.user)
    ]


def quick_count(count: int) -> str:
    return f"{MAX_COUNTED:,}+" if count > MAX_COUNTED else f"{count:,}"


@dataclass(frozen=True)
class LoosenedSearch:
    """The result of an empty search without one of its filters."""

    without: str
    are: str
    shown: str
    address: str


NAMES = {"q": "the words", "outcome": "the outcome", "by": "who asked", "waits": "“waits for me”"}
DAYS = ("days", "since", "until")


def loosened_searches(asked: HistoryQuery) -> LoosenedSearch | None:
    """Return the filter without which most runs match; None if removing a single filter is not enough."""
    sought = asked.filtered
    tried = [*(name for name in sought if name not in DAYS), *(["days"] if sought.keys() & set(DAYS) else [])]
    left = [(_count_without(asked, name), name) for name in tried[:MAX_TRIED]]
    count, name = max(left, default=(0, ""), key=lambda one: one[0])
    if not count:
        return None
    without = dict.fromkeys(_together(name))
    are, them = ("is one", "it") if count == 1 else (f"are {quick_count(count)}", f"these {quick_count(count)}")
    return LoosenedSearch(NAMES.get(name, f"the {name}"), are, them, asked.address_of(asked.query(**without)))


def _count_without(asked: HistoryQuery, name: str) -> int:
    return asked.of(
        {other: value for other, value in asked.form.search_terms.items() if other not in _together(name)}
    ).count()


def _together(name: str) -> tuple[str, ...]:
    return DAYS if name == "days" else (name,)


def days_label(sought: dict[str, Any]) -> str:
    """Return the period in a few words."""
    if period := sought.get("days"):
        return PERIOD_NAMES[period]
    since, until = (sought.get(name) and f"{sought[name]:%-d %b %Y}" for name in ("since", "until"))
    if since and until:
        return since if since == until else f"{since} to {until}"
    return f"From {since}" if since else f"To {until}" if until else "All days"


NEEDED = f"Give the view a name of at most {NAME_LENGTH} characters."


class NameForm(forms.Form):
    name = PlainTextField(max_length=NAME_LENGTH, needed=NEEDED)

    def clean_name(self) -> str:
        return " ".join(self.cleaned_data["name"].split())

    @property
    def problem(self) -> str:
        return " ".join(dict.fromkeys([*map(str, self.errors.get("name", ())), NEEDED]))


@require_POST
def save_search(request: HttpRequest) -> HttpResponse:
    """Save the valid part of a history query under a name."""
    form = NameForm(request.POST)
    query = history_query(request.user, QueryDict(request.POST.get("query", "")), None).query()
    if not form.is_valid():
        return _refuse(request, form.problem, query)
    if len(query) > QUERY_LENGTH:
        return _refuse(request, "What is sought is too long to be saved. Seek fewer words.", query)
    try:
        SavedSearch.objects.save_view(request.user, form.cleaned_data["name"], query)
    except TooManySearches as error:
        return _refuse(request, str(error), query)
    return redirect(_history(query))


@require_POST
def delete_search(request: HttpRequest, pk: int) -> HttpResponse:
    get_object_or_404(SavedSearch, pk=pk, user=request.user).delete()
    return redirect("runs-history")


def _refuse(request: HttpRequest, sentence: str, query: str) -> HttpResponse:
    context = {"title": "Not saved", "sentence": sentence, "back": _history(query), "page": "history"}
    return render(request, "runs/not_saved.html", context, status=422)


def _history(query: str) -> str:
    return f"{reverse('runs-history')}{'?' if query else ''}{query}"
