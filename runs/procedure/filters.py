"""The filter form of the run history."""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any, cast

from django import forms

QUERY_LENGTH = 1_000
ONESELF, NOBODY = "me", "nobody"  # values of `by` that are not user ids; NOBODY is the command line
LONGEST_FIRST, SHORTEST_FIRST, OLDEST_FIRST = "-took", "took", "created"
ORDERS = {
    "": "newest first",
    OLDEST_FIRST: "oldest first",
    "by": "by who asked",
    "-by": "by who asked, from the end",
    LONGEST_FIRST: "longest first",
    SHORTEST_FIRST: "shortest first",
}
PERIODS = {"today": (0, 0), "yesterday": (1, 1), "week": (6, 0), "month": (29, 0)}
"""First and last day of each period, in days before today."""
PERIOD_NAMES = {"today": "Today", "yesterday": "Yesterday", "week": "Last week", "month": "Last 30 days"}

People = Sequence[tuple[str, str]]
"""Pairs of user id (as text) and display name."""


def period_days(period: str, today: date) -> tuple[date, date]:
    """Return the first and the last day of a period."""
    first, last = PERIODS[period]
    return today - timedelta(days=first), today - timedelta(days=last)


class DayField(forms.DateField):
    def __init__(self, **more: Any) -> None:
        super().__init__(
            required=False,
            input_formats=["%Y-%m-%d"],
            error_messages={"invalid": "Write the day as year, month and day: 2026-11-21."},
            **more,
        )


class RunHistoryForm(forms.Form):
    """Filters and order of the run history. Invalid fields are reported and ignored.

    `people` are the choices of the `by` filter, in addition to the user; without any the filter is removed.
    """

    sets: Sequence[str] = ()  # names of the preset filters that the procedure adds

    q = forms.CharField(
        required=False,
        max_length=QUERY_LENGTH,
        error_messages={"max_length": f"Search for at most {QUERY_LENGTH:,} characters."},
    )
    outcome = forms.ChoiceField(required=False, error_messages={"invalid_choice": "There is no such outcome."})
    by = forms.ChoiceField(
        required=False, label="Asked by", error_messages={"invalid_choice": "Nobody of that name has asked."}
    )
    days = forms.ChoiceField(
        required=False,
        choices=[("", "All days"), *PERIOD_NAMES.items()],
        error_messages={"invalid_choice": "There are no such days."},
    )
    since = DayField(label="From")
    until = DayField(label="To")
    waits = forms.ChoiceField(required=False, choices=[("", "All"), (ONESELF, "For me")])
    sort = forms.ChoiceField(required=False, choices=list(ORDERS.items()))

    def __init__(self, data: Mapping[str, Any], outcomes: Sequence[str], people: People = ()) -> None:
        super().__init__(data, auto_id="%s")
        outcome = cast(forms.ChoiceField, self.fields["outcome"])
        outcome.choices = [("", "All outcomes"), *((word, word.capitalize()) for word in outcomes)]
        if people:
            by = cast(forms.ChoiceField, self.fields["by"])
            by.choices = [("", "Everybody"), (ONESELF, "Me"), (NOBODY, "Command line"), *people]
        else:
            del self.fields["by"]
        self.order_fields(["q", "outcome", *self.sets])

    def clean(self) -> None:
        since, until = self.cleaned_data.get("since"), self.cleaned_data.get("until")
        if since and until and until < since:
            self.add_error("until", "This day is before the first one.")
        if since or until:
            self.cleaned_data.pop("days", None)  # exact dates take precedence over a period

    @property
    def lists(self) -> list[forms.BoundField]:
        return [self[name] for name in ("outcome", *self.sets, "by") if name in self.fields]

    @property
    def dates(self) -> list[forms.BoundField]:
        return [self["since"], self["until"]]

    @property
    def shown(self) -> list[forms.BoundField]:
        """Return the fields whose errors the page shows."""
        return [self["q"], *self.lists, self["days"], *self.dates]

    @property
    def search_terms(self) -> dict[str, Any]:
        """Return the valid, non-empty values by field name."""
        self.is_valid()
        return {name: value for name, value in self.cleaned_data.items() if value not in ("", None)}

    @property
    def order(self) -> str:
        return ORDERS[self.search_terms.get("sort", "")]

    def extra_filters(self, other: "RunHistoryForm") -> None:
        """Add the preset filters of another procedure."""
        self.sets = [*self.sets, *other.sets]
        self.fields |= {name: other.fields[name] for name in other.sets}
