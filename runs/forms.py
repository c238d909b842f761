"""What people write, for every form."""

import unicodedata
from collections.abc import Mapping
from itertools import filterfalse
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from engine.hidden import hides


def as_typed(posted: Mapping[str, Any]) -> dict[str, str]:
    """What a page posted: a browser sends every line break of a text field as CR LF; what was written has LF."""
    return {key: str(value).replace("\r\n", "\n") for key, value in posted.items()}


class Text(forms.CharField):
    """Text of a person: kept as it was written, but for what no database or page could keep."""

    def __init__(self, *, max_length: int, needed: str = "", lines: bool = False) -> None:
        super().__init__(
            required=bool(needed),
            strip=not lines,
            error_messages={"required": needed},
            widget=forms.Textarea if lines else forms.TextInput,
        )
        self.longest, self.needed, self.lines = max_length, needed, lines

    def run_validators(self, value: str) -> None:
        self._refuse_unkeepable(value)
        if len(value) > self.longest:
            raise ValidationError(f"This is {len(value) - self.longest:,} characters too long.")
        # letters, numbers and symbols say something; spaces, marks and punctuation alone do not
        if self.needed and not any(unicodedata.category(char)[0] in "LNS" for char in filterfalse(hides, value)):
            raise ValidationError(self.needed)

    def _refuse_unkeepable(self, value: str) -> None:
        allowed = "\n\r\t" if self.lines else ""
        for position, char in enumerate(value, start=1):
            if char not in allowed and unicodedata.category(char) in ("Cc", "Cs"):
                raise ValidationError(f"Character U+{ord(char):04X} at position {position} cannot be kept.")
