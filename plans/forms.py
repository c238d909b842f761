"""Validation of new plans, for the page, the command line and the API."""

from typing import Any
from uuid import UUID

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError

from engine.llm.tokens import prompt_tokens, too_long
from engine.models import TITLE_LENGTH
from runs.forms import PlainTextField, SpendField, first_errors, parse_number
from runs.presets.forms import preset_named

from .comments import NO_ACTION, NO_WORDS
from .models import Plan, Team, TeamVersion
from .models.plans import TASK_LENGTH
from .models.presets import TeamAgentRow
from .models.queries import owners_of, usable_tools
from .prompts import agent, planner
from .prompts.planner import Messages, PlannerBrief
from .rules.scheduling import ACTION_LENGTH, WORDS_LENGTH

PROJECT_NAME_LENGTH = 100
RESULT_TOKENS = 500  # of an action and the result of a first tool call
NO_TEAM = "There is no team. Make one in the library."


class PlanForm(forms.Form):
    task = PlainTextField(
        max_length=TASK_LENGTH, needed="Write what is to be done. It is empty.", lines=True, label="Task"
    )
    title = PlainTextField(max_length=TITLE_LENGTH, label="Title")
    matter = PlainTextField(
        max_length=PROJECT_NAME_LENGTH,
        label="Matter",
        help_text="Its plans know how the earlier ones came out.",
    )
    spend = SpendField()


def plan_to_start_from(key: Any, owner: Any) -> Plan | None:
    """Return the owner's completed plan with this id, as the example of a new one; None without a key.

    Raises ValidationError if there is no such plan.
    """
    if not key:
        return None
    found = Plan.objects.completed(owner).filter(pk=key).first() if _is_uuid(key) else None
    if found is None:
        raise ValidationError("You have no such plan that is done and not erased.")
    return found


def _is_uuid(key: Any) -> bool:
    try:
        return bool(UUID(str(key)))
    except ValueError:
        return False


class ProjectForm(forms.Form):
    title = PlainTextField(max_length=TITLE_LENGTH)


def submit_values(given: dict[str, Any]) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """Return arguments of `Plan.objects.submit`, and problems: a field and a sentence each."""
    form = PlanForm({name: value for name, value in given.items() if value is not None})
    return (form.cleaned_data if form.is_valid() else {}), first_errors(form)


def find_team(name_or_id: str | int | None) -> TeamVersion:
    """Return the current version of the team with this name or id; of the first available team if `which` is None.

    Raises ValidationError if there is none.
    """
    if name_or_id is not None:
        return preset_named(Team, name_or_id).current
    first = Team.objects.available().with_content().first()
    if first is None or first.current is None:
        raise ValidationError(NO_TEAM)
    return first.current


def too_long_for(task: str, team: TeamVersion) -> list[tuple[str, str]]:
    """Return the problem if the task exceeds the context of one of the team's models, as far as its size is known."""
    agents = list(team.agents.all())
    brief = PlannerBrief(task=task, owners=owners_of(agents))
    requests = [("planner", [team.planner or settings.DEFAULT_MODEL], planner.planner_messages(brief))]
    requests += [
        (one.name, [one.model or settings.DEFAULT_MODEL, one.fallback], _first_move(task, one)) for one in agents
    ]
    for name, models, messages in requests:
        for model in models:
            if sentence := too_long(model, prompt_tokens(messages) + RESULT_TOKENS, f"the first request to the {name}"):
                return [("task", f"{sentence} Shorten the task, or choose a team whose models read more.")]
    return []


def _first_move(task: str, one: TeamAgentRow) -> Messages:
    about = (one.name, one.description, one.system)
    return agent.step_messages(agent.StepWork(*about, goal=task, action="", tools=usable_tools(one.tools)))


class CommentForm(forms.Form):
    text = PlainTextField(max_length=WORDS_LENGTH, needed=NO_WORDS, lines=True)


class StepEditForm(forms.Form):
    """Edit of a step. `tools`: those that were ticked for the chosen owner."""

    action = PlainTextField(max_length=ACTION_LENGTH, needed=NO_ACTION, lines=True)
    owner = PlainTextField(max_length=80, needed="Choose who does it.")
    needs = PlainTextField(max_length=200)

    def __init__(self, typed: Any, tools: list[str]) -> None:
        super().__init__(typed)
        self._tools = tools

    def clean_needs(self) -> list[int] | None:
        """Return numbers of steps; None means all steps before this one."""
        given = self.cleaned_data["needs"].strip()
        if given.casefold() == "all":
            return None
        numbers = [part for part in given.replace(",", " ").split() if part]
        if wrong := [part for part in numbers if not parse_number(part)]:
            raise ValidationError(
                f"“{wrong[0][:20]}” is no number of a step. Write them as in 1, 2; or all; or nothing."
            )
        return list(map(parse_number, numbers))

    @property
    def change(self) -> dict[str, Any]:
        return {**self.cleaned_data, "tools": self._tools}
