"""What a hook must be, for every door: the API and the page in the library."""

from typing import Any

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError

from engine.models import What
from engine.web.addresses import NotRead, checked, host_of, is_allowed, is_inside
from runs.face import faces
from runs.forms import Text
from runs.models.hooks import ADDRESS_LENGTH, SAVED_LENGTH, Hook, Shape

MOST = 20  # of one person
TOO_MANY = f"You have {MOST} of them, as many as one person may. Take one away first."
WHATS = (("", "Ends, and gates that open"), (What.OVER, "Ends alone"), (What.ASKS, "Gates that open alone"))


def has_too_many(owner: Any) -> bool:
    return Hook.objects.filter(owner=owner).count() >= MOST


def address_of(typed: str) -> str:
    """As it is kept. NotRead where nothing is sent to it; what a name leads to is seen when a message is sent."""
    address = checked(typed, settings.HOOKS_ALLOWED_HOSTS)
    if is_inside(host_of(address)) and not is_allowed(address, settings.HOOKS_ALLOWED_HOSTS):
        raise NotRead("Nothing inside this network is sent to.")
    return address


class HookForm(forms.Form):
    address = Text(
        max_length=ADDRESS_LENGTH,
        needed="Write where messages are to be sent.",
        help_text="As in https://hooks.example.org/magi. Nothing inside this network is sent to.",
    )
    shape = forms.ChoiceField(choices=Shape.choices, initial=Shape.STANDARD, label="In the words of")
    kind = forms.ChoiceField(required=False, label="Of which work")
    saved = Text(
        max_length=SAVED_LENGTH,
        label="Made by",
        help_text="The name of what is kept in the library. Empty: by whatever.",
    )
    what = forms.ChoiceField(choices=WHATS, required=False, label="Of what")

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        kinds = [(kind, face.nouns.capitalize()) for kind, face in faces().items()]
        self.fields["kind"].choices = [("", "All kinds"), *kinds]  # type: ignore[attr-defined]

    def clean_address(self) -> str:
        try:
            return address_of(self.cleaned_data["address"])
        except NotRead as error:
            raise ValidationError(str(error)) from error
