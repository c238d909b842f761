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
TOO_MANY_TEXT = f"You have {MAX_WEBHOOKS} webhooks, which is the limit. Delete one first."
EVENT_CHOICES = (
    ("", "Runs that end or need a decision"),
    (RunEventType.OVER, "Runs that end"),
    (RunEventType.ASKS, "Runs that need a decision"),
)


def has_reached_limit(owner: Any) -> bool:
    return Webhook.objects.filter(owner=owner).count() >= MAX_WEBHOOKS


def webhook_address(typed: str) -> str:
    """Validate and normalize an address. Raises AddressRefused if it is internal.

    The address that a name resolves to is checked when a message is sent.
    """
    address = check_address(typed, settings.HOOKS_ALLOWED_HOSTS)
    if is_internal_host(host_of(address)) and not is_allowed(address, settings.HOOKS_ALLOWED_HOSTS):
        raise AddressRefused("Addresses inside this network are refused.")
    return address


class WebhookForm(forms.Form):
    address = PlainTextField(
        max_length=ADDRESS_LENGTH,
        needed="Enter the address that messages are sent to.",
        help_text="For example https://hooks.example.org/magi. Addresses inside this network are refused.",
    )
    shape = forms.ChoiceField(choices=WebhookFormat.choices, initial=WebhookFormat.STANDARD, label="Format")
    kind = forms.ChoiceField(required=False, label="Type")
    saved = PlainTextField(
        max_length=SAVED_LENGTH,
        label="Library entry",
        help_text="Only runs that were started with the entry of this name. Empty: all runs.",
    )
    what = forms.ChoiceField(choices=EVENT_CHOICES, required=False, label="Events")

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        kinds = [(kind, face.nouns.capitalize()) for kind, face in specs().items()]
        self.fields["kind"].choices = [("", "All types"), *kinds]  # type: ignore[attr-defined]

    def clean_address(self) -> str:
        try:
            return webhook_address(self.cleaned_data["address"])
        except AddressRefused as error:
            raise ValidationError(str(error)) from error
