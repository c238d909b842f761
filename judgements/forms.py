"""Forms that validate a new judgement or council for every interface: page, command line and API."""

from collections.abc import Iterable, Mapping
from typing import Any, cast

from django import forms
from django.conf import settings

from engine.models import TITLE_LENGTH
from engine.names import look_alike
from runs import retention
from runs.forms import FieldProblem, PlainTextField, first_errors, validate_fallback, validate_model
from runs.presets import NAME_LENGTH
from runs.presets.forms import PresetForm, preset_named

from .estimate import MODELS, too_long_for
from .models import CONTENT_LENGTH, CRITERIA_LENGTH, AgentValues, Council


class JudgementContentForm(forms.Form):
    title = PlainTextField(max_length=TITLE_LENGTH)
    content = PlainTextField(max_length=CONTENT_LENGTH, needed="Write what is to be decided. It is empty.", lines=True)


class CouncilForm(PresetForm):
    model = Council


def council_named(which: str | int) -> Council:
    return preset_named(Council, which)


class JudgementAgentForm(forms.Form):
    name = PlainTextField(max_length=NAME_LENGTH)
    model = PlainTextField(max_length=200)
    criteria = PlainTextField(max_length=CRITERIA_LENGTH, lines=True)
    fallback = PlainTextField(max_length=200)

    def __init__(self, number: int, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.number = number
        self._need("name", f"Give agent {number} a name.")
        self._need("model", f"Choose a model for agent {number}.")
        self._need("criteria", f"Write the criteria of agent {number}. An agent cannot decide without them.")

    @property
    def opening(self) -> str:
        """First line of its criteria, for the short form."""
        return str(self["criteria"].value() or "").strip().partition("\n")[0]

    def _need(self, name: str, sentence: str) -> None:
        field = cast(PlainTextField, self.fields[name])
        field.required, field.needed = True, sentence
        field.error_messages["required"] = sentence

    def take_default_model(self) -> None:
        """Make the model optional, as in a council: an empty one means the installation's default."""
        field = cast(PlainTextField, self.fields["model"])
        field.required, field.needed = False, ""

    def clean_model(self) -> str:
        return validate_model(self.cleaned_data["model"])

    def clean_fallback(self) -> str:
        model = self.cleaned_data["model"] or settings.DEFAULT_MODEL if "model" in self.cleaned_data else ""
        return validate_fallback(self.cleaned_data["fallback"], model)


class AgentFormset:
    """A form of its own fields and exactly three agents, validated together."""

    def __init__(self, own: forms.Form, data: Mapping[str, Any] | None, agents: Iterable[AgentValues] | None) -> None:
        initial: list[AgentValues] = [*(agents or ()), {}, {}, {}][:3]
        self.own = own
        self.agents = [
            JudgementAgentForm(number, data, initial=start, prefix=f"a{number}", auto_id="%s")
            for number, start in enumerate(initial, start=1)
        ]

    def is_valid(self) -> bool:
        valid = [form.is_valid() for form in (self.own, *self.agents)]
        self._refuse_equal_names()
        return all(valid) and not self.problems

    def values(self) -> dict[str, Any]:
        """Return the own fields and agents as the models take them. Call only if valid."""
        return {**self.own.cleaned_data, "agents": [form.cleaned_data for form in self.agents]}

    @property
    def problems(self) -> list[FieldProblem]:
        """Problems of all fields, empty if the form was not posted."""
        found = [
            FieldProblem(name, name, str(self.own.fields[name].label or name.capitalize()), message)
            for name, message in first_errors(self.own)
        ]
        for form in self.agents:
            for name, message in first_errors(form):
                path, label = f"agents.{form.number - 1}.{name}", f"Agent {form.number}, {name}"
                found.append(FieldProblem(path, f"{form.prefix}-{name}", label, message))
        return found

    def _refuse_equal_names(self) -> None:
        earlier: dict[str, int] = {}
        for form in self.agents:
            name = form.cleaned_data.get("name", "")
            if same := look_alike(name, earlier):
                form.add_error(
                    "name",
                    f"Give agent {form.number} another name. Agent {earlier[same]} already has this one.",
                )
            else:
                earlier[name] = form.number


def posted_agents(posted: Mapping[str, str]) -> list[AgentValues]:
    """Return the three agents as a page posted them, unchecked."""
    names = JudgementAgentForm.base_fields
    return [{name: posted.get(f"a{number}-{name}", "") for name in names} for number in (1, 2, 3)]


class JudgementSubmission(AgentFormset):
    """Form of a new judgement: a content and its three agents."""

    def __init__(
        self,
        data: Mapping[str, Any] | None = None,
        *,
        agents: Iterable[AgentValues] | None = None,
        initial: Mapping[str, Any] | None = None,
    ) -> None:
        """`data` as a page posts it (title, content, a1-name, ...). An unposted form begins with `agents` and `initial`
        (title, content, ...)."""
        self.content = JudgementContentForm(data, initial=dict(initial or {}), auto_id="%s")
        super().__init__(self.content, data, agents)

    @classmethod
    def of(cls, values: Mapping[str, Any], agents: list[dict[str, str]]) -> "JudgementSubmission":
        """Build the form from values (title, content, ...) instead of a posted page. Expects three agents."""
        data = dict(values)
        for number, agent in enumerate(agents, start=1):
            data |= {f"a{number}-{key}": value for key, value in agent.items()}
        return cls(data)

    def is_valid(self) -> bool:
        super().is_valid()
        self._refuse_what_is_too_long()
        return not self.problems

    def _refuse_what_is_too_long(self) -> None:
        """Add an error for each model whose context length is known and too small."""
        content = self.content.cleaned_data.get("content", "")
        for form in self.agents:
            agent = {"criteria": "", **form.cleaned_data}
            for name in MODELS:
                if said := too_long_for(content, agent, name):
                    form.add_error(name, said)


class CouncilSubmission(AgentFormset):
    """Form of a council, new or changed: a name and three agents, whose models may be empty."""

    def __init__(
        self,
        data: Mapping[str, Any] | None = None,
        *,
        council: Council | None = None,
        name: str = "",
        agents: Iterable[AgentValues] | None = None,
        retention_days: int | None = None,
    ) -> None:
        """`data` as a page posts it (name, a1-name, ...); `council` is the one to change.

        `retention_days`: defaults to that of the council, or of a new one.
        """
        if retention_days is None:
            retention_days = (council or Council()).kept_days
        start = {"name": name, "retention_days": retention_days, "short": retention.is_below_half_year(retention_days)}
        super().__init__(CouncilForm(council, data, initial=start, auto_id="%s"), data, agents)
        for form in self.agents:
            form.take_default_model()

    def values(self) -> dict[str, Any]:
        """Return the values of a version."""
        values = super().values()
        return {"name": values["name"], "agents": values["agents"]}

    @property
    def retention_days(self) -> int:
        """Days that texts are stored. Read only if valid."""
        return self.own.cleaned_data["retention_days"]

    def refuse_name(self) -> None:
        """Add the error for a name that was taken between validation and commit."""
        cast(CouncilForm, self.own).refuse_name()
