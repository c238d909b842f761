"""What the history of judgements is asked for beside what any history is."""

from collections.abc import Mapping
from typing import Any, cast

from django import forms
from django.db.models import Exists, OuterRef, Q

from runs import filters

from .models import Council, Judgement

OUTCOMES = ("approved", "rejected", "error", "cancelled", "judging", "idle")


class HistoryForm(filters.HistoryForm):
    council = forms.TypedChoiceField(
        required=False,
        coerce=int,
        empty_value=None,
        error_messages={"invalid_choice": "There is no such council."},
    )
    sets = ("council",)

    def __init__(self, data: Mapping[str, Any], people: filters.People = ()) -> None:
        super().__init__(data, OUTCOMES, people)
        council = cast(forms.ChoiceField, self.fields["council"])
        # read only where they are shown or one is asked for
        council.choices = lambda: [("", "All councils"), *councils()]


def councils() -> list[tuple[int, str]]:
    """Those that are offered, and those that have judged."""
    judged = Exists(Judgement.objects.filter(council_version__council=OuterRef("pk")))
    found = Council.objects.filter(Q(archived=None) | judged).order_by("name")
    return list(found.values_list("pk", "name"))
