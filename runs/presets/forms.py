"""The form fields for a preset's name and retention, shared by all procedures."""

from typing import Any, ClassVar

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError

from engine.names import look_alike

from .. import retention
from ..forms import PlainTextField, field_label, parse_number
from ..models.presets import NAME_LENGTH, Preset

_WHOLE = "Write a whole number of days, or nothing to keep them for ever."


class PresetForm(forms.Form):
    """A form for a preset; the procedure's form sets `model`."""

    model: ClassVar[type[Preset]]

    name = PlainTextField(max_length=NAME_LENGTH)
    retention_days = forms.IntegerField(
        label="Days that texts are kept",
        required=False,
        min_value=0,
        max_value=retention.LONGEST_DAYS,
        error_messages={
            "invalid": _WHOLE,
            "min_value": _WHOLE,
            "max_value": f"Write at most {retention.LONGEST_DAYS:,} days, or nothing to keep them for ever.",
        },
    )
    short = forms.BooleanField(label="Keep them for less than six months", required=False)

    def __init__(self, saved: Preset | None, *args: Any, **kwargs: Any) -> None:
        """`saved` is the preset to edit, None for a new one."""
        super().__init__(*args, **kwargs)
        self.saved = saved
        self.fields["name"].required = True
        self.fields["name"].needed = f"Give the {self.noun} a name."  # type: ignore[attr-defined]
        self.fields["name"].error_messages["required"] = f"Give the {self.noun} a name."

    @property
    def noun(self) -> str:
        return str(self.model._meta.model_name)

    def clean_name(self) -> str:
        name = self.cleaned_data["name"]
        # an unchanged name may look like another one, from before that was refused
        if self.saved and name == self.saved.name:
            return name
        for other in self.model.objects.only("name", "archived"):
            if other != self.saved and look_alike(name, [other.name]):
                raise ValidationError(self._archived if other.archived else self._taken)
        if complaint := (self.saved or self.model()).name_complaint(name):
            raise ValidationError(complaint)
        return name

    def clean_retention_days(self) -> int:
        """0 or an empty field means for ever. A page without the field changes nothing."""
        if "retention_days" not in self.data:
            return self.initial["retention_days"]
        days, floor = self.cleaned_data["retention_days"] or 0, settings.RETENTION_FLOOR_DAYS
        if retention.minimum_days(days, floor) != days:
            raise ValidationError(f"Write at least {floor:,} days, which this installation asks for, or nothing.")
        return days

    def clean(self) -> None:
        days = self.cleaned_data.get("retention_days", 0)
        if "retention_days" in self.data and retention.is_below_half_year(days) and not self.cleaned_data.get("short"):
            self.add_error("short", f"Tick it, or keep the texts for at least {retention.HALF_YEAR} days.")

    def refuse_name(self) -> None:
        """Report a name that another user took between the check and the commit."""
        self.add_error("name", self._taken)

    @property
    def _taken(self) -> str:
        return f"Another {self.noun} has this name. Give this one another."

    @property
    def _archived(self) -> str:
        return f"An archived {self.noun} has this name. Bring that one back, or give this one another name."


def preset_named(model: type[Preset], which: str | int) -> Any:
    """Return the available preset with this id or name.

    Raises ValidationError if there is none, or if others have had the name too, since the caller may have meant those.
    A number that is an id is always read as the id, never as a name.
    """
    offered = dict(model.objects.available().values_list("pk", "name"))
    number = parse_number(which) if isinstance(which, str) else which
    pk = number if number in offered else next((pk for pk, name in offered.items() if _is_read_as(name, which)), None)
    if pk is None:
        known = ", ".join(offered.values()) or "none"
        noun = model._meta.model_name
        raise ValidationError(f"There is no {noun} “{str(which)[:NAME_LENGTH]}”. Known: {known}.")
    if pk != number and len(called := model.objects.ever_called(str(which))) > 1:
        known = ", ".join(f"{one.pk} (now “{one.name}”)" for one in called)
        noun = model._meta.model_name
        raise ValidationError(f"More than one {noun} has been called “{which}”. Name the one by its id: {known}.")
    return model.objects.with_content().get(pk=pk)


def _is_read_as(name: str, which: str | int) -> bool:
    return isinstance(which, str) and field_label(name) == field_label(which)
