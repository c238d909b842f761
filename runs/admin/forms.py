from collections.abc import Mapping, Sequence
from typing import Any, cast

from django import forms

from engine.models import REVIEW_LENGTH

from ..forms import Text

NOTE = "note"


class ReviewForm(forms.Form):
    """A note, or what a person decides instead, one of the `outcomes`, with its reason."""

    what = forms.ChoiceField(
        widget=forms.RadioSelect,
        initial=NOTE,
        error_messages={"required": "Choose what it is.", "invalid_choice": "Choose what it is."},
    )
    text = Text(max_length=REVIEW_LENGTH, needed="Write the note, or the reason for deciding otherwise.", lines=True)

    def __init__(self, outcomes: Sequence[str], data: Mapping[str, Any] | None = None) -> None:
        super().__init__(data)
        what = cast(forms.ChoiceField, self.fields["what"])
        what.choices = [(NOTE, "Note"), *((outcome, f"Override: {outcome}") for outcome in outcomes)]

    @property
    def review(self) -> dict[str, Any]:
        """As `runs.reviews.add` takes it."""
        what = self.cleaned_data["what"]
        return {"text": self.cleaned_data["text"], "outcome": None if what == NOTE else what}
