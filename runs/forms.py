"""Fields and validation of user input, shared by all forms."""

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from itertools import filterfalse
from typing import Any, cast

from django import forms
from django.core.exceptions import ValidationError

from engine.llm.pricing import DOLLAR
from engine.llm.providers import UnknownProvider, is_rehearsal, resolve_model
from engine.text.invisible_chars import is_invisible

MAX_DOLLARS = 1_000_000
EMPTY, WORDLESS = "It is empty.", "It has no words."


def posted_values(posted: Mapping[str, Any]) -> dict[str, str]:
    """Return posted values with LF line breaks; browsers send CR LF."""
    return {key: str(value).replace("\r\n", "\n") for key, value in posted.items()}


def parse_number(text: str) -> int:
    """Parse a non-negative integer below a billion; 0 for anything else, since no id or count is 0."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


class PlainTextField(forms.CharField):
    """Text of a person, stored as written. Characters that databases or pages cannot store are refused."""

    def __init__(self, *, max_length: int, needed: str = "", lines: bool = False, **more: Any) -> None:
        super().__init__(
            required=bool(needed),
            strip=not lines,
            error_messages={"required": needed},
            widget=forms.Textarea if lines else forms.TextInput,
            **more,
        )
        self.longest, self.needed, self.lines = max_length, needed, lines

    def run_validators(self, value: str) -> None:
        self._refuse_unkeepable(value)
        if len(value) > self.longest:
            over = len(value) - self.longest
            raise ValidationError(f"This is {over:,} character{'s' * (over != 1)} too long.")
        if self.needed and not has_text(value):
            # "?" is not empty, but has no meaning
            raise ValidationError(self.needed.replace(EMPTY, WORDLESS) if value.strip() else self.needed)

    def _refuse_unkeepable(self, value: str) -> None:
        allowed = "\n\r\t" if self.lines else ""
        for position, char in enumerate(value, start=1):
            if char not in allowed and unicodedata.category(char) in ("Cc", "Cs"):
                raise ValidationError(f"Character U+{ord(char):04X} at position {position} cannot be kept.")


def validate_text(text: str, longest: int, needed: str) -> str:
    """Validate text for a run like a form field, for every interface. Raises ValidationError."""
    return str(PlainTextField(max_length=longest, needed=needed, lines=True).clean(text))


class SpendField(forms.DecimalField):
    """A spending limit in US dollars; cleaned to billionths of a dollar, or None."""

    def __init__(self, **more: Any) -> None:
        wanted = f"Write an amount in dollars, as in 3.00: at least 0.01 and at most {MAX_DOLLARS:,}. Or nothing."
        wrong = ("invalid", "min_value", "max_value", "max_digits", "max_decimal_places", "max_whole_digits")
        super().__init__(
            label="At most so many dollars",
            required=False,
            min_value=Decimal("0.01"),
            max_value=MAX_DOLLARS,
            max_digits=16,
            decimal_places=9,
            error_messages=dict.fromkeys(wrong, wanted),
            **more,
        )

    def clean(self, value: Any) -> Any:
        given = super().clean(value)
        return None if given is None else int(given * DOLLAR)


def has_text(text: str) -> bool:
    """Return whether it has a visible letter, number or symbol; spaces, marks and punctuation do not count."""
    return any(unicodedata.category(char)[0] in "LNS" for char in filterfalse(is_invisible, text))


def field_label(name: str) -> str:
    """Normalize a name for comparison: without case, width, repeated spaces and invisible characters."""
    seen = "".join(filterfalse(is_invisible, name))
    return " ".join(unicodedata.normalize("NFKC", seen).casefold().split())


def choice_field(
    label: str, choices: Iterable[tuple[str, str]], initial: str, wrong: str, help_text: str = ""
) -> forms.ChoiceField:
    """A choice field whose empty value is the initial one."""
    return forms.TypedChoiceField(
        label=label,
        help_text=help_text,
        choices=list(choices),
        required=False,
        initial=initial,
        empty_value=initial,
        error_messages={"invalid_choice": wrong},
    )


class NumberedForm(forms.Form):
    """One of several forms. `label` numbers it, as in "Member 2"."""

    noun = ""

    def __init__(self, number: int, posted: Mapping[str, Any] | None, initial: Mapping[str, Any]) -> None:
        super().__init__(posted, initial=dict(initial), prefix=f"{self.noun[0]}{number}", auto_id="%s")
        self.number = number

    @property
    def label(self) -> str:
        return f"{self.noun.capitalize()} {self.number}"

    def need(self, name: str, sentence: str) -> None:
        field = cast(PlainTextField, self.fields[name])
        field.required, field.needed = True, sentence
        field.error_messages["required"] = sentence


@dataclass(frozen=True)
class FieldProblem:
    """One error: `path` for API clients ("agents.1.name"), `field_id` ("a2-name") and `label` for the page."""

    path: str
    field_id: str
    label: str
    message: str


def first_errors(form: forms.Form) -> list[tuple[str, str]]:
    """Return each field that has an error, with its first message, in page order."""
    return [(name, str(form.errors[name][0])) for name in form.fields if name in form.errors]


# ---- models -----------------------------------------------------------------------------------------------


def validate_model(model: str) -> str:
    """Return the model name, which may be empty. Raises ValidationError if no provider is known for it."""
    try:
        if model:
            resolve_model(model)
    except UnknownProvider as error:
        raise ValidationError(str(error)) from error
    return model


def validate_fallback(fallback: str, model: str) -> str:
    """Validate that the fallback can replace the model; empty is allowed."""
    if fallback and fallback == model:
        raise ValidationError("The fallback is the model itself. Name another, or none.")
    if is_rehearsal(fallback) and not is_rehearsal(model):
        raise ValidationError("A rehearsal asks no model, so it cannot stand in for one.")
    return validate_model(fallback)
