"""What the history is asked for."""

from collections.abc import Mapping
from typing import Any, cast

from django import forms
from django.db.models import Exists, OuterRef, Q

from .models import Council, Judgement

QUERY_LENGTH = 1_000
OUTCOMES = ("approved", "rejected", "error", "cancelled", "judging", "idle")


class Day(forms.DateField):
    def __init__(self) -> None:
        super().__init__(
            required=False,
            input_formats=["%Y-%m-%d"],
            error_messages={"invalid": "Write the day as year, month and day: 2026-11-21."},
        )


class HistoryForm(forms.Form):
    """Which judgements the history shows. Whatever is wrong is said and left out."""

    q = forms.CharField(
        required=False,
        max_length=QUERY_LENGTH,
        error_messages={"max_length": f"Search for at most {QUERY_LENGTH:,} characters."},
    )
    outcome = forms.ChoiceField(
        required=False,
        choices=[("", "All outcomes"), *((word, word.capitalize()) for word in OUTCOMES)],
        error_messages={"invalid_choice": "There is no such outcome."},
    )
    council = forms.TypedChoiceField(
        required=False,
        coerce=int,
        empty_value=None,
        error_messages={"invalid_choice": "There is no such council."},
    )
    since = Day()
    until = Day()

    def __init__(self, data: Mapping[str, Any]) -> None:
        super().__init__(data, auto_id="%s")
        council = cast(forms.ChoiceField, self.fields["council"])
        # read only where they are shown or one is asked for
        council.choices = lambda: [("", "All councils"), *councils()]

    def clean(self) -> None:
        since, until = self.cleaned_data.get("since"), self.cleaned_data.get("until")
        if since and until and until < since:
            self.add_error("until", "This day is before the first one.")

    @property
    def lists(self) -> list[forms.BoundField]:
        return [self["outcome"], self["council"]]

    @property
    def days(self) -> list[forms.BoundField]:
        return [self["since"], self["until"]]

    @property
    def sought(self) -> dict[str, Any]:
        """What is asked for and right, by the names of the fields."""
        self.is_valid()
        return {name: value for name, value in self.cleaned_data.items() if value not in ("", None)}


def councils() -> list[tuple[int, str]]:
    """Those that are offered, and those that have judged."""
    judged = Exists(Judgement.objects.filter(council_version__council=OuterRef("pk")))
    found = Council.objects.filter(Q(archived=None) | judged).order_by("name")
    return list(found.values_list("pk", "name"))
