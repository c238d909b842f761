"""What every page knows besides its own."""

from functools import cache, partial
from typing import Any

from django.contrib.auth import get_user_model
from django.db import connection
from django.db.models import F
from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from engine.db.cached_sql import CompiledQuery
from engine.models import Gate, Run
from engine.models.gates import DECIDE_PERMISSION, GateQuerySet, ordered_gates
from engine.models.runs import record_name

MAX_COUNT = 99
# stand in for whoever asks
SOMEBODY, SOMEBODYS_NAME = -1, "\x1fsomebody"
# as a sum it is in no index, nor is an empty step: SQLite would read all that somebody ever began, for few that go on
OWN_RUNS = F("owner") + 0
ACTIVE = (Run.Status.QUEUED, Run.Status.RUNNING)


def pending_context(request: HttpRequest) -> dict[str, Any]:
    """How many things wait for whoever looks, as the bar says it, and how many of their runs are under way: nothing
    where nothing is, or where a request was refused before anybody was known."""
    user = getattr(request, "user", None)
    waits, runs = (SimpleLazyObject(partial(read, user) if user else str) for read in (cached_counts, active_counts))
    icon = SimpleLazyObject(lambda: _in_icon(str(waits), str(runs)))
    return {"waits_for_me": waits, "runs_of_mine": runs, "icon_counts": icon}


def _in_icon(waits: str, runs: str) -> tuple[int, ...]:
    """The numbers of the tab's icon; none where it shows the mark alone."""
    numbers = tuple(int(number.rstrip("+") or 0) for number in (waits, runs))
    return numbers if any(numbers) else ()


def active_counts(user: Any) -> str:
    """How many runs that this person began are at work or about to be, as it is said."""
    if not user.is_authenticated:
        return ""
    runs = Run.objects.alias(whose=OWN_RUNS).filter(whose=user.pk, step="", status__in=ACTIVE).order_by()
    return bar_number(capped_number(len(runs.values_list("pk", flat=True)[: MAX_COUNT + 1])))


def cached_counts(user: Any) -> str:
    """How many things wait for this person, as it is said."""
    if not user.is_authenticated:
        return ""
    found = _for_somebody(user.has_perm(DECIDE_PERMISSION), connection.vendor)
    return bar_number(capped_number(len(found.rows({SOMEBODY: user.pk, SOMEBODYS_NAME: record_name(user)}))))


@cache
def _for_somebody(decides: bool, vendor: str) -> CompiledQuery:
    """Each page asks it: to put the query together anew takes ten times as long as the database does."""
    somebody = get_user_model()(pk=SOMEBODY, username=SOMEBODYS_NAME)
    gates = ordered_gates(Gate.objects.for_single_user(somebody, decides=decides))
    return CompiledQuery(gates.values_list("pk")[: MAX_COUNT + 1])


def bar_number(number: str) -> str:
    return "" if number == "0" else number


def newest_gate(gates: GateQuerySet) -> int:
    """How many these are, as far as it is said: to count thousands would take as long as all else on a page, and so
    would to look for a hundred without the index that has them in their order."""
    return len(gates.values_list("pk", flat=True)[: MAX_COUNT + 1])


def capped_number(number: int) -> str:
    return f"{MAX_COUNT}+" if number > MAX_COUNT else str(number)
