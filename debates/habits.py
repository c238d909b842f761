"""Habits of a panel's members over its newest debates: who is in the minority, who changes, who withdraws first."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Prefetch, QuerySet

from . import analysis
from .analysis import AgreementHabits
from .models import Debate, DebateMessage

MOST_HELD = 20


@dataclass(frozen=True)
class PositionsHeld:
    """`number`: the number of debates."""

    number: int
    members: Sequence[AgreementHabits]


def habits_of(debates: QuerySet[Debate]) -> PositionsHeld:
    """Analyse the newest of these debates that have an outcome and no rehearsed member, as a rehearsal follows a
    stated rule."""
    decided = debates.filter(run__outcome__gt="").exclude(members__model__startswith="rehearsal/")
    newest = decided.order_by("-run__ended", "-pk").values("pk")[:MOST_HELD]
    messages = Prefetch("messages", DebateMessage.objects.defer("content", "reasoning", "artifact", "facts"))
    lists = ("options", "members__user", "members__first__verdict", "turns", messages, "steers")
    held = Debate.objects.filter(pk__in=list(newest.values_list("pk", flat=True))).select_related("run")
    courses = [debate.state() for debate in held.prefetch_related(*lists).order_by("-run__ended", "-pk")]
    return PositionsHeld(len(courses), analysis.habits(courses))
