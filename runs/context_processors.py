"""Context of every page."""

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
# placeholders in the compiled query
SOMEBODY, SOMEBODYS_NAME = -1, "\x1fsomebody"
# As an expression it matches no index, nor does an empty step: SQLite would read all runs a user ever started to find
# the few that are active.
OWN_RUNS = F("owner") + 0
ACTIVE = (Run.Status.QUEUED, Run.Status.RUNNING)


def pending_context(request: HttpRequest) -> dict[str, Any]:
    """Return the numbers of pending gates and of active runs of the user, as the navigation shows them.

    Empty if there are none, or if a request was refused before authentication.
    """
    user = getattr(request, "user", None)
    waits, runs = (
        SimpleLazyObject(partial(read, user) if user else str) for read in (pending_gate_count, active_run_count)
    )
    icon = SimpleLazyObject(lambda: _in_icon(str(waits), str(runs)))
    return {"waits_for_me": waits, "runs_of_mine": runs, "icon_counts": icon}


def _in_icon(waits: str, runs: str) -> tuple[int, ...]:
    """Return the numbers for the tab's icon; none if it shows the plain icon."""
    numbers = tuple(int(number.rstrip("+") or 0) for number in (waits, runs))
    return numbers if any(numbers) else ()


def active_run_count(user: Any) -> str:
    """Return the number of the user's queued and running runs, as shown."""
    if not user.is_authenticated:
        return ""
    runs = Run.objects.alias(whose=OWN_RUNS).filter(whose=user.pk, step="", status__in=ACTIVE).order_by()
    return blank_if_zero(capped_number(len(runs.values_list("pk", flat=True)[: MAX_COUNT + 1])))


def pending_gate_count(user: Any) -> str:
    """Return the number of the user's pending gates, as shown."""
    if not user.is_authenticated:
        return ""
    found = _for_somebody(user.has_perm(DECIDE_PERMISSION), connection.vendor)
    return blank_if_zero(capped_number(len(found.rows({SOMEBODY: user.pk, SOMEBODYS_NAME: record_name(user)}))))


@cache
def _for_somebody(decides: bool, vendor: str) -> CompiledQuery:
    """Compile the query once: every page needs it, and building it takes ten times as long as running it."""
    somebody = get_user_model()(pk=SOMEBODY, username=SOMEBODYS_NAME)
    gates = ordered_gates(Gate.objects.for_single_user(somebody, decides=decides))
    return CompiledQuery(gates.values_list("pk")[: MAX_COUNT + 1])


def blank_if_zero(number: str) -> str:
    return "" if number == "0" else number


def capped_count(gates: GateQuerySet) -> int:
    """Count gates up to the limit.

    Counting thousands would take as long as the rest of a page, as would finding a hundred without the index of their
    order.
    """
    return len(gates.values_list("pk", flat=True)[: MAX_COUNT + 1])


def capped_number(number: int) -> str:
    return f"{MAX_COUNT}+" if number > MAX_COUNT else str(number)
