"""Validation of webhooks, for the API and the page in the library."""

from typing import Any

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError

from engine.models import RunEventType
from engine.web.url_policy import AddressRefused, check_address, host_of, is_allowed, is_internal_host
from runs.forms import PlainTextField
from runs.models.webhooks import ADDRESS_LENGTH, SAVED_LENGTH, Webhook, WebhookFormat
from runs.procedure.spec import specs

MAX_WEBHOOKS = 20  # of one user
TOO_MANY_TEXT = f"You have {MAX_WEBHOOKS} of them, as many as one person may. Take one away first."
EVENT_CHOICES = (
    ("", "Ends, and gates that open"),
    (RunEventType.OVER, "Ends alone"),
    (RunEventType.ASKS, "Gates that open alone"),
)


def has_reached_limit(owner: Any) -> bool:
    return Webhook.objects.filter(owner=owner).count() >= MAX_WEBHOOKS


def webhook_address(typed: str) -> str:
    """Validate and normalize an address. Raises AddressRefused if it is internal.

    The address that a name resolves to is checked when a message is sent.
    """
    address = check_address(typed, settings.HOOKS_ALLOWED_HOSTS)
    if is_internal_host(host_of(address)) and not is_allowed(address, settings.HOOKS_ALLOWED_HOSTS):
        raise AddressRefused("Nothing inside this network is sent to.")
    return address


class WebhookForm(forms.Form):
    address = PlainTextField(
        max_length=ADDRESS_LENGTH,
        needed="Write where messages are to be sent.",
        help_text="As in https://hooks.example.org/magi. Nothing inside this network is sent to.",
    )
    shape = forms.ChoiceField(choices=WebhookFormat.choices, initial=WebhookFormat.STANDARD, label="In the words of")
    kind = forms.ChoiceField(required=False, label="Of which work")
    saved = PlainTextField(
        max_length=SAVED_LENGTH,
        label="Made by",
        help_text="The name of what is kept in the library. Empty: by whatever.",
    )
    what = forms.ChoiceField(choices=EVENT_CHOICES, required=False, label="Of what")

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        kinds = [(kind, face.nouns.capitalize()) for kind, face in specs().items()]
        self.fields["kind"].choices = [("", "All kinds"), *kinds]  # type: ignore[attr-defined]

    def clean_address(self) -> str:
        try:
            return webhook_address(self.cleaned_data["address"])
        except AddressRefused as error:
            raise ValidationError(str(error)) from error
