"""Whose gates are whose, as conditions of one query: what `GateQuerySet` puts together."""

from typing import Any

from django.apps import apps
from django.db.models import Exists, Manager, OuterRef, Q, Subquery
from django.db.models.lookups import In

from .claims import ACTIVE_STATUSES


def _rows_of(name: str) -> Manager[Any]:
    """Named, for the models of gates ask for these conditions."""
    return apps.get_model("engine", name)._default_manager


def written_by(user: Any) -> Q:
    written = _rows_of("GateAuthor").filter(by_author(user), gate=OuterRef("pk"))
    asked = Q(run_condition(owner=user)) | Q(run_condition(owner=None, asked_by=user.get_username()))
    return asked | Q(Exists(written))


def by_author(user: Any) -> Q:
    """Of rows about authors. Who has the name of one whose account was deleted may be the same person with a new one,
    and the record tells them by that name."""
    return Q(author__user=user) | Q(author__user=None, author__name=user.get_username())


def run_condition(**is_so: Any) -> Exists:
    """Looked up gate by gate: a join might begin with thousands of runs, and sort what it finds at the end."""
    return Exists(_rows_of("Run").filter(pk=OuterRef("run"), **is_so))


def run_is_active() -> In:
    """As a value that is compared: PostgreSQL would join with all runs what merely exists, and sort thousands of gates
    where an index has the first fifty in their order."""
    runs = _rows_of("Run").filter(pk=OuterRef("run"))
    return In(Subquery(runs.values("status")), list(ACTIVE_STATUSES))


def decidable_by(user: Any) -> Q:
    return Q(asked_user=user) | Q(asked_group__in=user.groups.values("pk"))


def asked_by_permission() -> Q:
    return Q(asked="")  # the two keys are empty then: asked for as well, SQLite would collect by them, and sort


def council_only() -> Q:
    passed_on = _rows_of("GateDecision").filter(decision="turn").values("gate")
    return Q(policy__who="council") & ~Q(pk__in=passed_on)


def decided_by(user: Any) -> Q:
    """Where this person has decided, and is not to do so once more."""
    said = _rows_of("GateDecision").filter(by_user=user).exclude(decision="look")
    of_councils = _rows_of("GateDecision").exclude(judged_by=None).values("gate")
    return Q(pk__in=said.values("gate")) & ~Q(pk__in=of_councils)
