"""What the history is asked for."""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any, cast

from django import forms

QUERY_LENGTH = 1_000
ONESELF, NOBODY = "me", "nobody"  # who asked, beside the numbers of users; nobody is the command line
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
"""Each from so many days ago to so many."""
PERIOD_NAMES = {"today": "Today", "yesterday": "Yesterday", "week": "Last week", "month": "Last 30 days"}

People = Sequence[tuple[str, str]]
"""The numbers of users as texts, each with a name."""


def period_days(period: str, today: date) -> tuple[date, date]:
    """The first and the last day of a period."""
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
    """Which runs the history shows, and in which order. Whatever is wrong is said and left out.

    `people` may be asked for as those who asked, and oneself, where there are any.
    """

    sets: Sequence[str] = ()  # fields that ask for a saved set, as a procedure has them

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
            self.cleaned_data.pop("days", None)  # what is said exactly holds

    @property
    def lists(self) -> list[forms.BoundField]:
        return [self[name] for name in ("outcome", *self.sets, "by") if name in self.fields]

    @property
    def dates(self) -> list[forms.BoundField]:
        return [self["since"], self["until"]]

    @property
    def shown(self) -> list[forms.BoundField]:
        """Those that a page shows with what is wrong with them."""
        return [self["q"], *self.lists, self["days"], *self.dates]

    @property
    def search_terms(self) -> dict[str, Any]:
        """What is asked for and right, by the names of the fields."""
        self.is_valid()
        return {name: value for name, value in self.cleaned_data.items() if value not in ("", None)}

    @property
    def order(self) -> str:
        return ORDERS[self.search_terms.get("sort", "")]

    def extra_filters(self, other: "RunHistoryForm") -> None:
        """Let the saved sets of another kind be asked for, too."""
        self.sets = [*self.sets, *other.sets]
        self.fields |= {name: other.fields[name] for name in other.sets}
