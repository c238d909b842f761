"""What people write, for every form."""

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
    """What a page posted: a browser sends every line break of a text field as CR LF; what was written has LF."""
    return {key: str(value).replace("\r\n", "\n") for key, value in posted.items()}


def parse_number(text: str) -> int:
    """0 for what is none; nothing that we count has it."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


class PlainTextField(forms.CharField):
    """Text of a person: kept as it was written, but for what no database or page could keep."""

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
            # "?" is not empty, and does not say what is meant
            raise ValidationError(self.needed.replace(EMPTY, WORDLESS) if value.strip() else self.needed)

    def _refuse_unkeepable(self, value: str) -> None:
        allowed = "\n\r\t" if self.lines else ""
        for position, char in enumerate(value, start=1):
            if char not in allowed and unicodedata.category(char) in ("Cc", "Cs"):
                raise ValidationError(f"Character U+{ord(char):04X} at position {position} cannot be kept.")


def validate_text(text: str, longest: int, needed: str) -> str:
    """What somebody says to a run, through whichever door: as a form would take it. ValidationError."""
    return str(PlainTextField(max_length=longest, needed=needed, lines=True).clean(text))


class SpendField(forms.DecimalField):
    """The most that something may cost, in dollars as people write them; cleaned, in billionths, or None."""

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
    """Letters, numbers and symbols do; spaces, marks, punctuation and what nobody sees alone do not."""
    return any(unicodedata.category(char)[0] in "LNS" for char in filterfalse(is_invisible, text))


def field_label(name: str) -> str:
    """A name as people tell it from another: without case, width, doubled spaces and what nobody sees."""
    seen = "".join(filterfalse(is_invisible, name))
    return " ".join(unicodedata.normalize("NFKC", seen).casefold().split())


def choice_field(
    label: str, choices: Iterable[tuple[str, str]], initial: str, wrong: str, help_text: str = ""
) -> forms.ChoiceField:
    """Empty is what it is at first."""
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
    """One of several. `label` says which one, as in "Member 2"."""

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
    """One thing to correct: `path` for software ("agents.1.name"); `field_id` ("a2-name") and `label` for the page."""

    path: str
    field_id: str
    label: str
    message: str


def first_errors(form: forms.Form) -> list[tuple[str, str]]:
    """Each field with what is wrong, in the order of the page."""
    return [(name, str(form.errors[name][0])) for name in form.fields if name in form.errors]


# ---- models -----------------------------------------------------------------------------------------------


def validate_model(model: str) -> str:
    """The same, or empty; ValidationError where no provider is known for it."""
    try:
        if model:
            resolve_model(model)
    except UnknownProvider as error:
        raise ValidationError(str(error)) from error
    return model


def validate_fallback(fallback: str, model: str) -> str:
    """One that can stand in for the model, or none."""
    if fallback and fallback == model:
        raise ValidationError("The fallback is the model itself. Name another, or none.")
    if is_rehearsal(fallback) and not is_rehearsal(model):
        raise ValidationError("A rehearsal asks no model, so it cannot stand in for one.")
    return validate_model(fallback)
