"""What the history of inquiries is asked for beside what any history is."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from django import forms
from django.db.models import Exists, OuterRef, Q

from runs import filters

from .models import Inquiry, Roster


class HistoryForm(filters.HistoryForm):
    roster = forms.TypedChoiceField(
        required=False, coerce=int, empty_value=None, error_messages={"invalid_choice": "There is no such roster."}
    )
    sets = ("roster",)

    def __init__(self, data: Mapping[str, Any], words: Sequence[str], people: filters.People) -> None:
        super().__init__(data, words, people)
        cast(forms.ChoiceField, self.fields["roster"]).choices = lambda: [("", "All rosters"), *rosters()]


def rosters() -> list[tuple[int, str]]:
    """Those that are offered, and those whose posts were asked."""
    asked = Exists(Inquiry.objects.filter(roster_version__roster=OuterRef("pk")))
    return list(Roster.objects.filter(Q(archived=None) | asked).order_by("name").values_list("pk", "name"))
