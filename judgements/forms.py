"""What a new judgement must be, for every door: the page, the command line, the API."""

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from django import forms
from django.core.exceptions import ValidationError

from engine.providers import UnknownProvider, is_rehearsal, resolve

from .models import CONTENT_LENGTH, CRITERIA_LENGTH, NAME_LENGTH, TITLE_LENGTH


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
        if self.needed and not any(unicodedata.category(char)[0] in "LNS" for char in value):
            raise ValidationError(self.needed)

    def _refuse_unkeepable(self, value: str) -> None:
        allowed = "\n\r\t" if self.lines else ""
        for position, char in enumerate(value, start=1):
            if char not in allowed and unicodedata.category(char) in ("Cc", "Cs"):
                raise ValidationError(f"Character U+{ord(char):04X} at position {position} cannot be kept.")


class ContentForm(forms.Form):
    title = Text(max_length=TITLE_LENGTH)
    content = Text(max_length=CONTENT_LENGTH, needed="Write what is to be decided. It is empty.", lines=True)


class AgentForm(forms.Form):
    name = Text(max_length=NAME_LENGTH)
    model = Text(max_length=200)
    criteria = Text(max_length=CRITERIA_LENGTH, lines=True)
    fallback = Text(max_length=200)

    def __init__(self, number: int, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.number = number
        self._need("name", f"Give agent {number} a name.")
        self._need("model", f"Choose a model for agent {number}.")
        self._need("criteria", f"Write the criteria of agent {number}. An agent cannot decide without them.")

    def _need(self, name: str, sentence: str) -> None:
        field = cast(Text, self.fields[name])
        field.required, field.needed = True, sentence
        field.error_messages["required"] = sentence

    def clean_model(self) -> str:
        return _known(self.cleaned_data["model"])

    def clean_fallback(self) -> str:
        fallback = self.cleaned_data["fallback"]
        if not fallback:
            return ""
        model = self.cleaned_data.get("model", "")
        if fallback == model:
            raise ValidationError("The fallback is the model itself. Name another, or none.")
        if is_rehearsal(fallback) and not is_rehearsal(model):
            raise ValidationError("A rehearsal asks no model, so it cannot stand in for one.")
        return _known(fallback)


def _known(model: str) -> str:
    try:
        resolve(model)
    except UnknownProvider as error:
        raise ValidationError(str(error)) from error
    return model


@dataclass(frozen=True)
class Problem:
    """One thing to correct: `path` for software ("agents.1.name"), `field_id` for the page ("a2-name")."""

    path: str
    field_id: str
    message: str


class Submission:
    """The form of a new judgement: a content and exactly three agents, checked together."""

    def __init__(self, data: Mapping[str, Any] | None = None, *, agents: Iterable[dict] | None = None) -> None:
        """`data` as a page posts it (title, content, a1-name, ...); `agents` to start an unfilled form from."""
        initial = [*(agents or ()), {}, {}, {}][:3]
        self.content = ContentForm(data, auto_id="%s")
        self.agents = [
            AgentForm(number, data, initial=start, prefix=f"a{number}", auto_id="%s")
            for number, start in enumerate(initial, start=1)
        ]

    @classmethod
    def of(cls, title: str, content: str, agents: list[dict[str, str]]) -> "Submission":
        """From values instead of a posted page. Expects three agents with text values."""
        data = {"title": title, "content": content}
        for number, agent in enumerate(agents, start=1):
            data |= {f"a{number}-{key}": value for key, value in agent.items()}
        return cls(data)

    def is_valid(self) -> bool:
        valid = [form.is_valid() for form in (self.content, *self.agents)]
        self._refuse_equal_names()
        return all(valid) and not self.problems

    def values(self) -> dict[str, Any]:
        """What `submit` takes, once valid."""
        return {**self.content.cleaned_data, "agents": [form.cleaned_data for form in self.agents]}

    @property
    def problems(self) -> list[Problem]:
        found = [Problem(name, name, str(errors[0])) for name, errors in self.content.errors.items()]
        for form in self.agents:
            for name, errors in form.errors.items():
                path = f"agents.{form.number - 1}.{name}"
                found.append(Problem(path, f"{form.prefix}-{name}", str(errors[0])))
        return found

    def _refuse_equal_names(self) -> None:
        first: dict[str, int] = {}
        for form in self.agents:
            name = unicodedata.normalize("NFKC", form.cleaned_data.get("name", "")).casefold()
            if not name:
                continue
            if name in first:
                form.add_error(
                    "name",
                    f"Give agent {form.number} another name. Agent {first[name]} already has this one.",
                )
            first.setdefault(name, form.number)
