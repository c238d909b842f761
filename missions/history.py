"""The filters that the history of missions has in addition to the common ones."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from django import forms
from django.db.models import Exists, OuterRef, Q

from runs.procedure import filters

from .models import Crew, Mission


class MissionHistoryForm(filters.RunHistoryForm):
    crew = forms.TypedChoiceField(
        required=False, coerce=int, empty_value=None, error_messages={"invalid_choice": "There is no such crew."}
    )
    sets = ("crew",)

    def __init__(self, data: Mapping[str, Any], words: Sequence[str], people: filters.People) -> None:
        super().__init__(data, words, people)
        cast(forms.ChoiceField, self.fields["crew"]).choices = lambda: [("", "All crews"), *team_choices()]


def team_choices() -> list[tuple[int, str]]:
    """Crews that are not archived, and archived ones that have missions."""
    worked = Exists(Mission.objects.filter(crew_version__crew=OuterRef("pk")))
    return list(Crew.objects.filter(Q(archived=None) | worked).order_by("name").values_list("pk", "name"))
