"""What the history is asked for."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from django import forms

QUERY_LENGTH = 1_000


class Day(forms.DateField):
    def __init__(self) -> None:
        super().__init__(
            required=False,
            input_formats=["%Y-%m-%d"],
            error_messages={"invalid": "Write the day as year, month and day: 2026-11-21."},
        )


class HistoryForm(forms.Form):
    """Which runs the history shows. Whatever is wrong is said and left out."""

    q = forms.CharField(
        required=False,
        max_length=QUERY_LENGTH,
        error_messages={"max_length": f"Search for at most {QUERY_LENGTH:,} characters."},
    )
    outcome = forms.ChoiceField(required=False, error_messages={"invalid_choice": "There is no such outcome."})
    since = Day()
    until = Day()

    def __init__(self, data: Mapping[str, Any], outcomes: Sequence[str]) -> None:
        super().__init__(data, auto_id="%s")
        outcome = cast(forms.ChoiceField, self.fields["outcome"])
        outcome.choices = [("", "All outcomes"), *((word, word.capitalize()) for word in outcomes)]

    def clean(self) -> None:
        since, until = self.cleaned_data.get("since"), self.cleaned_data.get("until")
        if since and until and until < since:
            self.add_error("until", "This day is before the first one.")

    @property
    def lists(self) -> list[forms.BoundField]:
        return [self["outcome"]]

    @property
    def days(self) -> list[forms.BoundField]:
        return [self["since"], self["until"]]

    @property
    def sought(self) -> dict[str, Any]:
        """What is asked for and right, by the names of the fields."""
        self.is_valid()
        return {name: value for name, value in self.cleaned_data.items() if value not in ("", None)}
