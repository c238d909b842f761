"""Filters of the history that only plans have."""

from collections.abc import Mapping, Sequence
from typing import Any, cast
from uuid import UUID

from django import forms
from django.db.models import Exists, OuterRef, Q

from runs.procedure import filters

from .models import Plan, Project, Team

OFFERED = 100  # newest projects in the filter


class PlanHistoryForm(filters.RunHistoryForm):
    team = forms.TypedChoiceField(
        required=False, coerce=int, empty_value=None, error_messages={"invalid_choice": "There is no such team."}
    )
    matter = forms.TypedChoiceField(
        required=False,
        coerce=lambda key: UUID(key).hex,
        empty_value=None,
        error_messages={"invalid_choice": "You have no such matter."},
    )
    sets = ("team", "matter")

    def __init__(self, data: Mapping[str, Any], words: Sequence[str], people: filters.People, user: Any) -> None:
        super().__init__(data, words, people)
        team, matter = (cast(forms.ChoiceField, self.fields[name]) for name in self.sets)
        # callables, so that the queries run only if the fields are shown or used
        team.choices = lambda: [("", "All teams"), *teams()]
        asked = str(data.get("matter") or "")
        matter.choices = lambda: [("", "All matters"), *project_choices(user, asked)]


def teams() -> list[tuple[int, str]]:
    """Return id and name of the teams that are available or have plans."""
    planned = Exists(Plan.objects.filter(team_version__team=OuterRef("pk")))
    found = Team.objects.filter(Q(archived=None) | planned).order_by("name")
    return list(found.values_list("pk", "name"))


def project_choices(user: Any, asked: str = "") -> list[tuple[str, str]]:
    """Return id and title of this user's projects, newest first; a closed one only if it is `asked`."""
    if user is None or not user.is_authenticated:
        return []
    own = Project.objects.existing().filter(owner=user).order_by("-created")
    offered = list(own.filter(closed=None)[:OFFERED])
    return [(str(one.pk), one.shown_title) for one in dict.fromkeys([*offered, *_asked(own, asked)])]


def _asked(own: Any, asked: str) -> list[Project]:
    try:
        return list(own.filter(pk=UUID(asked)))
    except ValueError:
        return []
