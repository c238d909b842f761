"""Messages of people to the planner and the agents of a plan, and changes of steps, outside gates."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError

from engine.models import AuthorContribution, RunAuthor, record_name
from runs.forms import validate_text
from runs.run_actions import apply_and_announce

from .models import Plan, PlanStep, writes
from .models.queries import owners_of, why_not
from .prompts.planner import PERSON
from .rules.actions import PlanAction
from .rules.enums import RevisionCause
from .rules.scheduling import ACTION_LENGTH, WORDS_LENGTH

NO_WORDS = "Write what is to be said. It is empty."
NO_ACTION = "Write what is to be done. It is empty."


class CommentRefused(Exception):
    """The message or change was not saved; the text is shown to the user."""


class NoSuchStep(Exception):
    """The plan has no step with this number."""


class InvalidComment(Exception):
    """The input is invalid; `problems` has a field and a sentence each."""

    def __init__(self, problems: Sequence[tuple[str, str]]) -> None:
        super().__init__(" ".join(sentence for _, sentence in problems))
        self.problems = problems


def post_comment(plan: UUID, user: Any, text: str, step: int | None = None) -> None:
    """Save a message to the agent of `step`, or to the planner, which then plans the rest again.

    Raises CommentRefused, NoSuchStep, InvalidComment, and RunEnded.
    """
    by, text = record_name(user), _cleaned("text", text, WORDS_LENGTH, NO_WORDS)

    def write() -> None:
        if step is None:
            if refused := why_not(PlanAction.SAY, Plan.objects.planned().get(pk=plan)):
                raise CommentRefused(refused)
            writes.save_message(plan, writes.HUMAN, text, by=by)
            writes.request_revision(plan, RevisionCause.CLARIFICATION, text, by)
            RunAuthor.objects.note(plan, user, AuthorContribution.SAID)
            return
        target = _step(plan, step)
        _check_allowed(PlanAction.SAY, target)
        writes.save_message(plan, writes.HUMAN, text, by=by, to=step)
        RunAuthor.objects.note(plan, user, AuthorContribution.SAID, target.gate_step)

    apply_and_announce(plan, write)


def _check_allowed(action: PlanAction, step: PlanStep) -> None:
    if refused := why_not(action, step.plan, step):
        raise CommentRefused(refused)


def _step(plan: UUID, number: int) -> PlanStep:
    step = PlanStep.objects.select_related("agent", "plan__run").filter(plan=plan, number=number).first()
    if step is None:
        raise NoSuchStep(f"The plan has no step {number}.")
    return step


def change_step(plan: UUID, user: Any, number: int, given: Mapping[str, Any]) -> None:
    """Change action, owner, tools or needs of a step that has not started; absent keys of `given` change nothing.

    Raises CommentRefused, NoSuchStep, InvalidComment, and RunEnded.
    """

    def write() -> None:
        step = _step(plan, number)
        _check_allowed(PlanAction.CHANGE, step)
        values = _values(Plan.objects.planned().get(pk=plan), step, given)
        # an edit without a difference must not invalidate the step's approval
        if any(getattr(step, name) != value for name, value in values.items()):
            writes.edit(step, user, **values)
            RunAuthor.objects.note(plan, user, AuthorContribution.CHANGED, step.gate_step)

    apply_and_announce(plan, write)


def _values(plan: Plan, step: PlanStep, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the new values of the step's columns. Raises InvalidComment."""
    owner = given.get("owner") or step.owner
    owners = {one.name: [tool.name for tool in one.tools] for one in owners_of(plan.agents)}
    if owner not in owners:
        raise InvalidComment([("owner", f"There is no owner named “{owner}”. The owners are: {', '.join(owners)}.")])
    tools = given.get("tools")
    if unknown := [one for one in tools or [] if one not in owners[owner]]:
        has = ", ".join(owners[owner]) or "no tools"
        raise InvalidComment([("tools", f"{owner} has no tool “{unknown[0]}”, but {has}.")])
    agent = next((one for one in plan.agents if one.name == owner and owner != PERSON), None)
    return {
        "agent": agent,
        **_tools(step, given, owner, owners[owner]),
        "needs": _needs(plan, step, given),
        **_action(given),
    }


def _tools(step: PlanStep, given: Mapping[str, Any], owner: str, has: Sequence[str]) -> dict[str, Any]:
    """Return the tools that are named, or let the planner choose them (`tools_due`).

    The planner chooses if none are named and the action is new or the owner lacks one of the old tools: with the tools
    of the old action an agent might only claim that the step is done.
    """
    if given.get("tools") is not None:
        return {"tools": list(dict.fromkeys(given["tools"])), "tools_due": False}
    another_action = given.get("action") is not None and _action(given)["action"] != step.action
    if another_action or not set(step.tools) <= set(has):
        return {"tools": [], "tools_due": owner != PERSON}
    return {"tools": step.tools, "tools_due": step.tools_due}


def _needs(plan: Plan, step: PlanStep, given: Mapping[str, Any]) -> list[int] | None:
    if "needs" not in given or given["needs"] is None:
        return None if "needs" in given else step.needs
    before = [one.number for one in plan.steps_now if one.position < step.position]
    if wrong := [one for one in given["needs"] if one not in before]:
        there = ", ".join(map(str, before)) or "none"
        raise InvalidComment([("needs", f"It cannot need step {wrong[0]}. Before it are: {there}.")])
    return list(dict.fromkeys(given["needs"]))


def _action(given: Mapping[str, Any]) -> dict[str, str]:
    if given.get("action") is None:
        return {}
    return {"action": _cleaned("action", given["action"], ACTION_LENGTH, NO_ACTION)}


def _cleaned(field: str, text: str, longest: int, needed: str) -> str:
    try:
        return validate_text(text, longest, needed)
    except ValidationError as error:
        raise InvalidComment([(field, error.messages[0])]) from error
