"""The form of a plan team: agents with their tools, the policy, and example tasks."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby
from typing import Any

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.forms.boundfield import BoundField

from engine.councils import with_council_id, with_earlier_id, with_name_now
from engine.names import look_alike
from engine.policy import DEFAULT_POLICY, MOST_PERSONS, REJECT, REMIND, RETURN, parse_policy
from engine.tools import Tool, available_tools, server_tools
from runs import retention
from runs.forms import (
    FieldProblem,
    NumberedForm,
    PlainTextField,
    choice_field,
    first_errors,
    parse_number,
    validate_fallback,
    validate_model,
)
from runs.presets import NAME_LENGTH
from runs.presets.forms import PresetForm

from .models import Team
from .prompts.planner import PERSON as A_PERSON
from .rules.approval_policy import TeamPolicy, needs_no_approval
from .rules.enums import StepEffect
from .rules.policy_text import CALLS, POLICY_ICONS, STEPS
from .team_files import LENGTHS, MOST_AGENTS, MOST_EXAMPLES, ParsedTeam, unknown_council

MOST = {"agent": MOST_AGENTS, "example": MOST_EXAMPLES}
MISSING_TEXT = "not there"  # label of a tool in a team that no longer exists
LONGEST_WAIT = 24 * 365  # hours
APPROVER_CHOICES = {"open": "Nobody", "person": "A person", "council": "A council", "both": "A person and a council"}
EXPIRY_CHOICES = {REMIND: "Reminds, without end", REJECT: "Counts as refused", RETURN: "Goes on without an answer"}
ROWS = {
    "plan": ("quest", "The plan"),
    **{f"steps-{effect}": (POLICY_ICONS[effect], f"Steps that {said}") for effect, said in STEPS.items()},
    f"calls-{StepEffect.READS}": (POLICY_ICONS[StepEffect.READS], "Each look-up, before it is made"),
    **{f"calls-{effect}": (POLICY_ICONS[effect], said) for effect, said in CALLS.items()},
}
"""Rows of the policy's table: icon and subject, by the prefix of the form's fields."""


class ApprovalForm(forms.Form):
    """One demand of a policy: who approves, and how."""

    who = choice_field("Decided by", APPROVER_CHOICES.items(), "person", "Choose one of these.")
    council = PlainTextField(max_length=NAME_LENGTH, label="Name or id of the council")
    persons = forms.IntegerField(
        label="How many persons",
        required=False,
        min_value=1,
        max_value=MOST_PERSONS,
        error_messages=dict.fromkeys(
            ("invalid", "min_value", "max_value"), f"Write a number from 1 to {MOST_PERSONS}."
        ),
    )
    four_eyes = forms.BooleanField(label="Not who asked", required=False)
    blind = forms.BooleanField(label="The person first, without seeing the verdict", required=False)
    hours = forms.IntegerField(
        label="After hours",
        required=False,
        min_value=1,
        max_value=LONGEST_WAIT,
        error_messages=dict.fromkeys(
            ("invalid", "min_value", "max_value"), f"Write a number of hours, 1 to {LONGEST_WAIT:,}."
        ),
    )
    expiry = choice_field("Without an answer", EXPIRY_CHOICES.items(), REMIND, "Choose one of these.")

    def __init__(
        self, key: str, posted: Mapping[str, Any] | None, demand: Mapping[str, Any], saved: Mapping[str, Any]
    ) -> None:
        """`saved`: the team's current demand; its council may also be named by one of its earlier names."""
        start = {**DEFAULT_POLICY, **with_name_now(demand), "blind": demand.get("blind") is not False}
        super().__init__(posted, initial=start, prefix=key, auto_id="%s")
        self._saved_id = with_earlier_id(saved).get("council_id")
        self.key, (self.sign, self.label) = key, ROWS[key]
        if key == f"calls-{StepEffect.REACHES_OUT}":  # always needs approval
            self.fields["who"].choices = [one for one in APPROVER_CHOICES.items() if one[0] != "open"]  # type: ignore[attr-defined]
            self.initial["who"] = "person" if needs_no_approval(demand) else self.initial["who"]

    def clean(self) -> None:
        who, ends = self.cleaned_data.get("who"), self.cleaned_data.get("expiry")
        for name in _unused(str(who), str(ends)):  # hidden on the page, so their content does not matter
            self.errors.pop(name, None)
        if who in ("council", "both") and not self.cleaned_data.get("council") and "council" not in self.errors:
            self.add_error("council", "Name the council, as the library calls it.")
        elif "council" not in self.errors:
            self.cleaned_data["council_id"] = self._saved_id
            if unknown := unknown_council(self.cleaned_data):
                self.add_error("council", unknown)
            self.cleaned_data = with_council_id(self.cleaned_data)
        if who != "open" and ends != REMIND and not self.cleaned_data.get("hours") and "hours" not in self.errors:
            self.add_error("hours", "Say after how many hours.")

    @property
    def demand(self) -> dict[str, Any]:
        """Only if valid."""
        return compact_demand(self.cleaned_data)


def _unused(who: str, ends: str) -> set[str]:
    """Return the names of fields that have no effect with these choices."""
    of = {"open": {"council", "persons", "hours"}, "person": {"council"}, "council": {"persons"}}
    return of.get(who, set()) | ({"hours"} if ends == REMIND else set())


def compact_demand(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a demand without default values and without fields that have no effect."""
    who, ends = given.get("who") or "person", given.get("expiry") or REMIND
    demand: dict[str, Any] = {"who": who}
    if who == "open":
        return demand
    if who != "council":
        demand |= {"persons": given.get("persons") or 1, "four_eyes": bool(given.get("four_eyes"))}
    if who != "person":
        demand |= {"council": given.get("council") or "", "council_id": given.get("council_id")}
    if who == "both" and not given.get("blind"):
        demand |= {"blind": False}
    if ends != REMIND:
        demand |= {"expiry": ends, "hours": given.get("hours")}
    return {name: value for name, value in demand.items() if name == "who" or value != DEFAULT_POLICY[name]}


class TeamAgentForm(NumberedForm):
    noun = "agent"

    name = PlainTextField(max_length=NAME_LENGTH, label="Name")
    model = PlainTextField(max_length=LENGTHS["model"], label="Model")
    fallback = PlainTextField(max_length=LENGTHS["model"], label="Fallback model")
    description = PlainTextField(
        max_length=LENGTHS["description"], label="What it does", help_text="By this the planner gives it steps."
    )
    system = PlainTextField(
        max_length=LENGTHS["system"], lines=True, label="What it is told: who it is, and what it must heed"
    )

    def __init__(
        self,
        number: int,
        posted: Mapping[str, Any] | None,
        initial: Mapping[str, Any],
        known: Mapping[str, Tool[Any]],
        gone: frozenset[str],
    ) -> None:
        """`gone`: tools in saved teams that no longer exist; this agent may keep those that it had."""
        super().__init__(number, posted, initial)
        self.need("name", f"Give agent {number} a name.")
        had = {*initial.get("tools", ()), *posted_tools(posted or {}, number)}
        self._known = known
        for name in (*_by_servers(known), *sorted(had & gone)):
            self.fields[f"tool-{name}"] = forms.BooleanField(
                label=name, required=False, initial=name in initial.get("tools", ())
            )

    def clean_name(self) -> str:
        name = self.cleaned_data["name"]
        if look_alike(name, [A_PERSON]):
            raise ValidationError(f"“{name}” is the seat of a person in every team. Take another name.")
        return name

    def clean_model(self) -> str:
        return validate_model(self.cleaned_data["model"])

    def clean_fallback(self) -> str:
        return validate_fallback(
            self.cleaned_data["fallback"], self.cleaned_data.get("model") or settings.DEFAULT_MODEL
        )

    @property
    def shelves(self) -> list[tuple[str, list[tuple[BoundField, str, str, str]]]]:
        """Groups of tools: each tool with its field, the icon and label of its effect, and its description."""
        ticks = [(name.removeprefix("tool-"), self[name]) for name in self.fields if name.startswith("tool-")]
        groups = groupby(ticks, lambda one: one[0].rpartition(".")[0])
        return [(about, [(field, *self._tool_label(name)) for name, field in some]) for about, some in groups]

    def _tool_label(self, name: str) -> tuple[str, str, str]:
        tool = self._known.get(name)
        if name in server_tools():
            return ("out", "the whole server", "All that it has and an administrator has classed, also later.")
        if tool is None:
            return ("warn", MISSING_TEXT, "Nothing here has this tool any more.")
        return (POLICY_ICONS[StepEffect(tool.effect)], str(tool.effect).replace("_", " "), tool.description)

    @property
    def has(self) -> list[tuple[str, str, str]]:
        """The ticked tools, each with the icon and label of its effect."""
        ticks = [(field, sign, effect) for _, some in self.shelves for field, sign, effect, _ in some]
        return [(str(field.label), sign, effect) for field, sign, effect in ticks if field.value()]

    @property
    def values(self) -> dict[str, Any]:
        """Only if valid."""
        given = self.cleaned_data
        own = {name: given[name] for name in ("name", "description", "system", "model", "fallback")}
        return {
            **own,
            "tools": [name.removeprefix("tool-") for name in given if name.startswith("tool-") and given[name]],
        }


def _by_servers(known: Iterable[str]) -> list[str]:
    """Sort names of tools: those of an MCP server come after the name of the whole server."""
    names, whole = list(known), server_tools()
    theirs = [[one, *(name for name in names if name.startswith(one[:-1]))] for one in whole]
    return [*(name for name in names if not any(name in some for some in theirs)), *chain.from_iterable(theirs)]


class TaskExampleForm(NumberedForm):
    """An example task; an empty one is not saved."""

    noun = "example"

    task = PlainTextField(max_length=LENGTHS["example"], lines=True)

    def __init__(self, number: int, posted: Mapping[str, Any] | None, initial: Mapping[str, Any]) -> None:
        super().__init__(number, posted, initial)
        self.fields["task"].label = f"Task {number}"


class TeamForm(PresetForm):
    model = Team
    field_order = ("name", "retention_days", "short")

    description = PlainTextField(max_length=LENGTHS["description"], label="What it is for")
    planner = PlainTextField(max_length=LENGTHS["model"], label="Planner’s model")
    ahead = forms.BooleanField(label="Ask for all steps at once, with the plan", required=False)

    def clean_planner(self) -> str:
        return validate_model(self.cleaned_data["planner"])


class TeamSubmission:
    """The complete form, for a new or an existing team."""

    def __init__(
        self,
        data: Mapping[str, Any] | None = None,
        *,
        team: Team | None = None,
        gone: frozenset[str] = frozenset(),
        retention_days: int | None = None,
        policy: Mapping[str, Any] | None = None,
        examples: Sequence[str] = (),
        agents: Sequence[Mapping[str, Any]] = (),
        **own: Any,
    ) -> None:
        """`data`: posted values; `team`: the team to change; all else: initial values of a form that is not posted."""
        days = (team or Team()).kept_days if retention_days is None else retention_days
        held = policy or TeamPolicy().as_json()
        start = {"retention_days": days, "short": retention.is_below_half_year(days), "ahead": held["ahead"], **own}
        known = available_tools("plan")
        self.own = TeamForm(team, data, initial=start, auto_id="%s")
        self.agents = [TeamAgentForm(number, data, one, known, gone) for number, one in _places("agent", data, agents)]
        tasks = [{"task": one} for one in examples]
        self.examples = [TaskExampleForm(number, data, one) for number, one in _places("example", data, tasks)]
        self._kept = team.current.policy if team and team.current else None
        saved = policy_to_forms(self._kept) if self._kept else {}
        self.demands = [
            ApprovalForm(key, data, demand, saved.get(key, {})) for key, demand in policy_to_forms(held).items()
        ]
        self._wrong_count: list[FieldProblem] = []
        self._unknown_tool_problems = list(_unknown_tool_problems(self.agents, data or {}))

    def is_valid(self) -> bool:
        valid = [form.is_valid() for form in (self.own, *self.agents, *self.examples, *self.demands)]
        if not 1 <= len(self.agents) <= MOST_AGENTS:
            said = f"A team has one to {MOST_AGENTS} agents."
            self._wrong_count = [FieldProblem("agents", "agents", "Agents", said)]
        self._refuse_equal()
        return all(valid) and not self.problems

    def _refuse_equal(self) -> None:
        earlier: dict[str, int] = {}
        for form in self.agents:
            name = form.cleaned_data.get("name", "")
            if same := look_alike(name, earlier):
                form.add_error("name", f"Agent {earlier[same]} has this name already. Take another.")
            else:
                earlier[name] = form.number

    def values(self) -> dict[str, Any]:
        """Arguments of `Team.objects.create_first` and `Team.revise`, without the author; only if valid."""
        given = self.own.cleaned_data
        return {
            **{name: given[name] for name in ("name", "description", "planner")},
            "policy": self._policy(),
            "examples": [form.cleaned_data["task"] for form in self.examples if form.cleaned_data["task"].strip()],
            "agents": [form.values for form in self.agents],
        }

    def _policy(self) -> dict[str, Any]:
        """Return the stored policy if the form says the same: then saving makes no new version."""
        policy = forms_to_policy({form.key: form.demand for form in self.demands}, self.own.cleaned_data["ahead"])
        return self._kept if self._kept and _parsed_policy(self._kept) == _parsed_policy(policy) else policy

    @property
    def retention_days(self) -> int:
        """Only if valid."""
        return self.own.cleaned_data["retention_days"]

    def refuse_name(self) -> None:
        self.own.refuse_name()

    @property
    def problems(self) -> list[FieldProblem]:
        """All problems, in the order of the page."""
        found = [FieldProblem(name, name, self._label(name), sentence) for name, sentence in first_errors(self.own)]
        found += [*self._wrong_count, *self._unknown_tool_problems]
        several: list[ApprovalForm | NumberedForm] = [*self.agents, *self.demands, *self.examples]
        for form in several:
            for name, sentence in first_errors(form):
                path, label = f"{form.prefix}.{name}", f"{form.label}, {form.fields[name].label}"
                found.append(FieldProblem(path, f"{form.prefix}-{name}", label, sentence))
        return found

    def _label(self, name: str) -> str:
        return str(self.own.fields[name].label or "Name")


# ---- posted values --------------------------------------------------------------------------------------------


def count_in(posted: Mapping[str, Any], noun: str) -> int:
    """Return how many forms of this noun were posted, at most one more than allowed: enough to refuse them."""
    of, last = f"{noun[0]}", {"agent": "name", "example": "task"}[noun]
    numbers = (number for number in range(1, MOST[noun] + 2) if f"{of}{number}-{last}" in posted)
    return max(numbers, default=0)


def _places(
    noun: str, posted: Mapping[str, Any] | None, given: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the number of each form, with its initial values."""
    count = len(given) if posted is None else count_in(posted, noun)
    return ((number, given[number - 1] if number <= len(given) else {}) for number in range(1, count + 1))


def _unknown_tool_problems(forms: Iterable[TeamAgentForm], posted: Mapping[str, Any]) -> Iterator[FieldProblem]:
    """Yield a problem for each agent with unknown tools. The page does not offer them, so another client sent them."""
    for form in forms:
        if names := [name for name in posted_tools(posted, form.number) if f"tool-{name}" not in form.fields]:
            said = f"There is no tool {', '.join(f'“{name[:80]}”' for name in names)} here."
            yield FieldProblem(f"{form.prefix}.tools", f"{form.prefix}-name", f"{form.label}, tools", said)


def posted_tools(posted: Mapping[str, Any], number: int) -> list[str]:
    return [key.partition("-tool-")[2] for key in posted if key.startswith(f"a{number}-tool-")]


def posted_team_values(posted: Mapping[str, Any]) -> dict[str, Any]:
    """Return posted values, unchecked, as initial values of a `TeamSubmission`."""
    own = {name: posted.get(name, "") for name in ("name", "description", "planner", "retention_days")}
    demands = {key: _posted_demand(posted, key) for key in ROWS}
    return {
        **own,
        "short": "short" in posted,
        "policy": forms_to_policy(demands, "ahead" in posted),
        "examples": [posted.get(f"e{number}-task", "") for number in range(1, count_in(posted, "example") + 1)],
        "agents": [_posted_agent(posted, number) for number in range(1, count_in(posted, "agent") + 1)],
    }


def _posted_agent(posted: Mapping[str, Any], number: int) -> dict[str, Any]:
    texts = ("name", "description", "system", "model", "fallback")
    return {**{name: posted.get(f"a{number}-{name}", "") for name in texts}, "tools": posted_tools(posted, number)}


def _posted_demand(posted: Mapping[str, Any], key: str) -> dict[str, Any]:
    texts = {name: posted.get(f"{key}-{name}", "") for name in ("who", "council", "expiry")}
    numbers = {name: posted.get(f"{key}-{name}", "") for name in ("persons", "hours")}
    ticks = {name: f"{key}-{name}" in posted for name in ("four_eyes", "blind")}
    return {**texts, **ticks, **{name: parse_number(said) or said for name, said in numbers.items()}}


# ---- a policy as the rows of a table --------------------------------------------------------------------------


def policy_to_forms(policy: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return the demands of a policy by the prefixes of their forms' fields."""
    return {key: policy[part][effect] if effect else policy[part] for key, part, effect in _keys()}


def forms_to_policy(demands: Mapping[str, Mapping[str, Any]], ahead: bool) -> dict[str, Any]:
    """Return the policy of these demands; the inverse of `policy_to_forms`."""
    policy: dict[str, Any] = {"plan": {}, "steps": {}, "calls": {}, "ahead": ahead}
    for key, part, effect in _keys():
        if effect:
            policy[part][effect] = dict(demands[key])
        else:
            policy[part] = dict(demands[key])
    return policy


def _keys() -> Iterator[tuple[str, str, str]]:
    for key in ROWS:
        part, _, effect = key.partition("-")
        yield key, part, effect


def _parsed_policy(policy: Mapping[str, Any]) -> Any:
    return [parse_policy(demand) for demand in policy_to_forms(policy).values()], policy["ahead"]


KEPT = ("retention_days", "short")


class TextSubmission:
    """A team from a file or text, with the checks of `TeamForm`."""

    def __init__(self, read: ParsedTeam, posted: Mapping[str, Any], team: Team | None) -> None:
        """`posted`: values of the retention fields, if there are any."""
        self.read, self.left_out = read, read.left_out
        days = (team or Team()).kept_days
        data = {"name": read.name, **{name: posted[name] for name in KEPT if name in posted}}
        start = {"retention_days": days, "short": retention.is_below_half_year(days)}
        self.own = TeamForm(team, data, initial=start, auto_id="%s")

    def is_valid(self) -> bool:
        return self.own.is_valid()

    def values(self) -> dict[str, Any]:
        """Arguments of `Team.objects.create_first` and `Team.revise`, without the author; only if valid."""
        return {"name": self.own.cleaned_data["name"], **self.read.held}

    @property
    def retention_days(self) -> int:
        """Only if valid."""
        return self.own.cleaned_data["retention_days"]

    @property
    def problems(self) -> list[tuple[str, str]]:
        return first_errors(self.own)

    def refuse_name(self) -> None:
        self.own.refuse_name()
