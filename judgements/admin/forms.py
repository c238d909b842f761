from typing import Any

from django import forms

from engine.models import REVIEW_LENGTH
from runs.forms import Text

from ..rules import Verdict

NOTE = "note"


class ReviewForm(forms.Form):
    """A note, or a person's own verdict with its reason."""

    what = forms.ChoiceField(
        choices=[(NOTE, "Note"), (Verdict.APPROVED, "Override: approved"), (Verdict.REJECTED, "Override: rejected")],
        widget=forms.RadioSelect,
        initial=NOTE,
        error_messages={"required": "Choose what it is.", "invalid_choice": "Choose what it is."},
    )
    text = Text(max_length=REVIEW_LENGTH, needed="Write the note, or the reason for deciding otherwise.", lines=True)

    @property
    def review(self) -> dict[str, Any]:
        """As `runs.reviews.add` takes it."""
        what = self.cleaned_data["what"]
        return {"text": self.cleaned_data["text"], "outcome": None if what == NOTE else Verdict(what)}
