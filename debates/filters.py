"""What the history of debates is asked for beside what any history is."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from django import forms
from django.db.models import Exists, OuterRef, Q

from runs import filters

from .models import WORD_LENGTH, Debate, Panel, PanelOption, Remark
from .rules.outcome import NO_DECISION

OFFERED = 40  # words of options


class AnyWord(forms.ChoiceField):
    """An outcome may be any words: those of the panels are offered, and whatever is asked for is sought."""

    def valid_value(self, value: Any) -> bool:
        return len(str(value)) <= WORD_LENGTH


class HistoryForm(filters.HistoryForm):
    panel = forms.TypedChoiceField(
        required=False, coerce=int, empty_value=None, error_messages={"invalid_choice": "There is no such panel."}
    )
    flag = forms.ChoiceField(
        required=False,
        label="What came about",
        choices=[("", "Anything"), *Remark.choices],
        error_messages={"invalid_choice": "There is nothing of that kind to look for."},
    )
    sets = ("panel", "flag")

    def __init__(self, data: Mapping[str, Any], standings: Sequence[str], people: filters.People = ()) -> None:
        super().__init__(data, standings, people)
        asked = str(data.get("outcome") or "")
        self.fields["outcome"] = AnyWord(required=False, choices=lambda: list(_outcomes(asked, standings)))
        panel = cast(forms.ChoiceField, self.fields["panel"])
        # read only where they are shown or one is asked for
        panel.choices = lambda: [("", "All panels"), *panels()]
        self.order_fields(["q", "outcome", *self.sets])


def panels() -> list[tuple[int, str]]:
    """Those that are offered, and those that have debated."""
    debated = Exists(Debate.objects.filter(panel_version__panel=OuterRef("pk")))
    found = Panel.objects.filter(Q(archived=None) | debated).order_by("name")
    return list(found.values_list("pk", "name"))


def _outcomes(asked: str, standings: Sequence[str]) -> list[tuple[str, str]]:
    """The options of the panels as they are now, then what there is without one."""
    current = Panel.objects.filter(archived=None).values("current")
    now = PanelOption.objects.filter(version__in=current).order_by("word")
    words = [*now.values_list("word", flat=True).distinct()[:OFFERED], NO_DECISION, *standings]
    known = dict.fromkeys([*words, asked] if asked else words)
    return [("", "All outcomes"), *((word, in_words(word)) for word in known)]


def in_words(outcome: str) -> str:
    """As lists say it: what is shouted is said, and what has a shape of its own keeps it."""
    if outcome == NO_DECISION:
        return "No decision"
    return outcome.capitalize() if outcome in (outcome.upper(), outcome.lower()) else outcome
