"""Writes of plans, by the worker and by people. Each needs a transaction that holds the lock on the run's row."""

import json
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from typing import Any
from uuid import UUID

from django.db.models import Q
from django.utils import timezone

from engine.db import cached_sql
from engine.models import Gate, ModelCall, Run, ToolCall, record_name
from engine.text.search_terms import index_words, label_term
from engine.tools import get_tool
from runs.models import SearchText
from toolbox.agent_step import AgentAct, AgentStep

from ..prompts.planner import PERSON, NamedTools, ProposedPlan, ProposedStep
from ..rules.actions import why_not_replanned
from ..rules.approval_policy import ApprovalKind
from ..rules.enums import (
    PlanOutcome,
    RevisionCause,
    RevisionStatus,
    StepEffect,
    StepEvent,
    StepStatus,
    next_status,
    strongest,
)
from ..rules.places import StepPlace, place_of
from ..rules.scheduling import BEFORE_WORK, has_own_gate
from .plans import Plan, PlanRevision
from .presets import TeamAgentRow
from .queries import failure_of, gate_fields, gate_text_of, load_plan, needs_gate, state_of, step_situation, tool_line
from .steps import PlanMessage, PlanStep, PlanStepMove, PlanStepState

PLANNER, MANAGER, HUMAN = "Planner", "GroupChatManager", "Human"


class PlanLimitReached(Exception):
    """The plan has no revision or step left; the text is shown to the user."""


class PlanOutdated(Exception):
    """A gate was due by the rows that were read, but the rows have changed since."""


# ---- gates ------------------------------------------------------------------------------------------------


def refuse_outdated(plan: UUID, kind: ApprovalKind, number: int | None, asked: tuple[str, str, str]) -> None:
    """Raise PlanOutdated unless exactly this gate is due by the rows in this transaction."""
    found = Plan.objects.planned().get(pk=plan)
    step = found.step(number) if number is not None else None
    if not needs_gate(found, kind, step) or gate_fields(found, kind, step) != asked:
        raise PlanOutdated


# ---- revisions --------------------------------------------------------------------------------------------


def request_revision(plan: UUID, cause: RevisionCause, notes: str = "", by: str = "", step: int | None = None) -> None:
    """Order a new revision in place of the last one and void that one's gates.

    A revision that was never planned does not count towards the limit. Raises PlanLimitReached.
    """
    state = state_of(plan)
    if refused := why_not_replanned(state):
        raise PlanLimitReached(refused)
    number = state.orders + 1
    before = PlanRevision.objects.get(plan=plan, number=state.orders)
    supersede_revision(before, RevisionStatus.REPLACED)
    Gate.objects.filter(run=plan, step__in=[before.gate_step, before.question_step]).void()
    PlanRevision.objects.create(plan_id=plan, number=number, cause=cause, notes=notes, by_name=by, cause_step=step)
    if notes and by:
        SearchText.objects.add(plan, index_words(notes))


def request_revision_after_failure(plan: UUID, number: int) -> None:
    """Order a revision because a step failed, unless one is due already: that one will see the failure, too."""
    now = PlanRevision.objects.filter(plan=plan).latest("number")
    if now.standing in (RevisionStatus.PROPOSED, RevisionStatus.ACCEPTED):
        with suppress(PlanLimitReached):  # then the next action is a gate for a person
            request_revision(
                plan, RevisionCause.FAILURE, failure_of(PlanStep.objects.get(plan=plan, number=number)), step=number
            )


def supersede_revision(revision: PlanRevision, standing: RevisionStatus, **values: Any) -> None:
    PlanRevision.objects.filter(pk=revision.pk).update(standing=standing, **values)


def save_plan(plan: UUID, number: int, call: ModelCall, answer: ProposedPlan, known_failures: Collection[int]) -> None:
    """Save the planner's answer, unless another revision was ordered meanwhile: then only the model call stays.

    `known_failures`: numbers of the failed steps that the planner knew of.
    """
    revision = PlanRevision.objects.get(plan=plan, number=number)
    if revision.standing != RevisionStatus.ORDERED:
        return
    standing = RevisionStatus.ASKED if answer.questions else RevisionStatus.PROPOSED
    planned = {
        "thought": answer.thought,
        "questions": "\n".join(answer.questions),
        "call": call,
        "planned": timezone.now(),
    }
    planned |= {"places": []} if answer.questions else {}
    supersede_revision(revision, standing, **planned)
    if answer.questions:
        save_message(plan, PLANNER, "\n".join(answer.questions))
        return
    places = _save_steps(Plan.objects.planned().get(pk=plan), number, answer.steps, known_failures)
    PlanRevision.objects.filter(pk=revision.pk).update(places=places)
    save_message(plan, PLANNER, answer.thought or f"Revision {Plan.objects.get(pk=plan).revision}.")


def ask_people_how_to_plan(plan: UUID, number: int, why: str) -> None:
    """Ask people how to go on, since the planner's answer was unusable."""
    revision = PlanRevision.objects.get(plan=plan, number=number)
    if revision.standing != RevisionStatus.ORDERED:
        return
    call = ModelCall.objects.filter(run=plan, step=revision.gate_step).latest("pk")
    question = f"{why} How should the rest be planned?"
    about = {"questions": question, "call": call, "planned": timezone.now(), "places": []}
    supersede_revision(revision, RevisionStatus.ASKED, **about)
    save_message(plan, MANAGER, question)


def _save_steps(
    plan: Plan, revision: int, planned: Iterable[ProposedStep], known_failures: Collection[int]
) -> list[int]:
    """Save the steps of a revision and return their numbers by position.

    A step that is planned again unchanged, and has not started, keeps its row and gates if `place_of` finds a position
    for it.
    """
    highest = max((step.number for step in plan.steps.all()), default=0)
    last = max((step.position for step in plan.steps.all()), default=0)
    order = [_step_place(step, highest) for step in plan.steps_now if _is_fixed(step, known_failures)]
    wanted, fixed = list(planned), len(order)
    new, kept = _place_steps(plan, revision, wanted, order, highest)
    places = [place.number for place in order[fixed:]]
    for position, number in enumerate(places, last + 1):
        if number in kept:
            PlanStep.objects.filter(pk=kept[number].pk).update(position=position)
            continue
        step, action = new[number]
        step.position = position
        cached_sql.insert(step)
        _state(step, StepStatus.PLANNED, first=True, action=action, held=step.recorded_facts)
    _drop(revision, [step for step in plan.steps_now if step.number not in kept], known_failures)
    SearchText.objects.add(plan.pk, index_words("\n".join(one.action for one in wanted)))
    return places


def _place_steps(
    plan: Plan, revision: int, planned: Sequence[ProposedStep], order: list[StepPlace], highest: int
) -> tuple[dict[int, tuple[PlanStep, str]], dict[int, PlanStep]]:
    """Return new steps with their actions, and steps that stay, both by number; insert all of them into `order`.

    `highest`: the highest number of a step before this revision.
    """
    old = [step for step in plan.steps_now if step.status in BEFORE_WORK and not step.tools_due]
    waiting = {(gate_text_of(plan, step).matching_key, _as_key(step.needs)): step for step in reversed(old)}
    new: dict[int, tuple[PlanStep, str]] = {}
    kept: dict[int, PlanStep] = {}
    numbers: dict[int, int] = {}  # of steps as the planner has numbered them
    for called, wanted in enumerate(planned, highest + 1):
        needs = None if wanted.needs is None else [numbers.get(need, need) for need in wanted.needs]
        step = _new(plan, revision, highest + 1 + len(new), wanted, needs)
        same = waiting.pop((gate_text_of(plan, step, wanted.action).matching_key, _as_key(needs)), None)
        at = place_of(_step_place(same, highest), order, _before(plan, same)) if same else None
        if same is not None and at is not None:
            kept[same.number] = step = same
        else:
            new[step.number] = step, wanted.action
        order.insert(len(order) if at is None else at, _step_place(step, highest))
        numbers[called] = step.number
    return new, kept


def _step_place(step: PlanStep, highest: int) -> StepPlace:
    return StepPlace(step.number, _as_key(step.needs), is_new=step.number > highest)


def _before(plan: Plan, step: PlanStep) -> set[int]:
    """Return the numbers of the steps before this one, without those that were left out."""
    left_out = (StepStatus.REJECTED, StepStatus.SUPERSEDED)
    before = [one for one in plan.steps_now if one.position < step.position and one.status not in left_out]
    return {one.number for one in before if not one.skipped}


def _is_fixed(step: PlanStep, known_failures: Collection[int]) -> bool:
    """Tell whether a revision must leave the step as it is: it is completed or running, or it failed while the planner
    was answering, so that the failure has not been handled yet."""
    unseen = step.status == StepStatus.FAILED and not step.skipped and step.number not in known_failures
    return unseen or step.status in (StepStatus.COMPLETED, StepStatus.WORKING)


def _as_key(needs: list[int] | None) -> tuple[int, ...] | None:
    return None if needs is None else tuple(needs)


def _new(plan: Plan, revision: int, number: int, wanted: ProposedStep, needs: list[int] | None) -> PlanStep:
    return PlanStep(
        plan=plan,
        number=number,
        first_in=revision,
        agent=_agent_named(plan, wanted.owner),
        tools=list(wanted.tools),
        needs=needs,
        effect=effect_of(wanted.tools),
    )


def effect_of(names: Iterable[str]) -> StepEffect:
    return strongest([tool_line(name).effect for name in names])


def _drop(revision: int, steps: Iterable[PlanStep], known_failures: Collection[int]) -> None:
    """Drop the steps that this revision does not take over, and void their gates."""
    for step in steps:
        if _is_fixed(step, known_failures):
            continue
        if step.status in BEFORE_WORK:
            set_step_state(step, StepEvent.DROP)
        PlanStep.objects.filter(pk=step.pk).update(last_in=revision - 1)


def accept_revision(plan: UUID) -> None:
    """Accept the proposed revision, and approve all its steps that need no approval.

    They are approved here in one commit; as actions of their own each would need one.
    """
    if not PlanRevision.objects.filter(plan=plan, standing=RevisionStatus.PROPOSED).update(
        standing=RevisionStatus.ACCEPTED
    ):
        return
    found = load_plan(plan)
    for step in found.steps_now:
        if not has_own_gate(step_situation(step), found.effective_policy):
            _approve_without_decision(step)


# ---- steps ------------------------------------------------------------------------------------------------


def set_step_state(
    step: PlanStep, event: StepEvent, by: str = "", why: str = "", author: Any = None, **values: Any
) -> None:
    """Apply an event to a step: update its columns, add a PlanStepState, and void its gates if it no longer waits.

    `by`: name of who decided; `author`: the user who edited the step. Raises TransitionNotAllowed.
    """
    status = next_status(StepStatus(step.status), event)
    what = {"action": values.pop("action"), "held": None} if "action" in values else {}
    now = timezone.now()
    if event is StepEvent.BEGIN:
        values |= {"began": now}
    if event is StepEvent.SKIP:
        values |= {"skipped": True}
    if event is StepEvent.AGAIN:
        values |= {"series": step.series + 1}
    values |= {"status": status}
    cached_sql.update(PlanStep, step.pk, **{name: getattr(value, "pk", value) for name, value in values.items()})
    for name, value in values.items():
        setattr(step, name, value)
    if status not in (StepStatus.AWAITING, StepStatus.APPROVED, StepStatus.WORKING):
        _void(step)
    what |= {"held": step.recorded_facts} if what else {}
    _state(step, status, event=event, by_name=by, by_user=author, why=why, made=now, **what)


def _state(step: PlanStep, status: StepStatus, *, first: bool = False, **values: Any) -> None:
    numbers = [] if first else cached_sql.select(PlanStepState, "step", [step.pk], ["number"])
    about = {"step": step, "number": len(numbers) + 1, "status": status, "series": step.series}
    cached_sql.insert(PlanStepState(**about, **values))


def _void(step: PlanStep) -> None:
    """Void the step's own gate and those within it."""
    if cached_sql.exists(Gate, "run", [step.plan_id], state=Gate.State.PENDING):
        its = Q(step=step.gate_step) | Q(step__startswith=f"{step.gate_step}-")
        Gate.objects.filter(its, run=step.plan_id).void()


def approve_step(plan: UUID, number: int) -> None:
    """Approve a step that needs no decision."""
    _approve_without_decision(PlanStep.objects.get(plan=plan, number=number))


def _approve_without_decision(step: PlanStep) -> None:
    if step.status in (StepStatus.PLANNED, StepStatus.AWAITING) and not step.tools_due:
        set_step_state(step, StepEvent.PASSED if step.status == StepStatus.PLANNED else StepEvent.APPROVE)


def await_approval(plan: UUID, number: int) -> None:
    """Mark the step as awaiting a decision, unless it was changed meanwhile and needs none now."""
    found = load_plan(plan)
    step = found.step(number)
    if (
        step.status == StepStatus.PLANNED
        and not step.tools_due
        and has_own_gate(step_situation(step), found.effective_policy)
    ):
        set_step_state(step, StepEvent.ASKED)


def start_step(plan: UUID, number: int) -> None:
    """Start an approved step and consume its gate, if it has one.

    If the step's text is no longer the approved one, it goes back to planned and needs approval again.
    """
    found = load_plan(plan)
    step = found.step(number)
    if step.status != StepStatus.APPROVED or found.current.standing != RevisionStatus.ACCEPTED or found.stopped:
        return
    asked = has_own_gate(step_situation(step), found.effective_policy)
    gate = Gate.objects.newest(plan, step.gate_step) if asked else None
    if asked and not (gate and gate.approved and gate.permits(gate_text_of(found, step).text, "", None)):
        set_step_state(step, StepEvent.CHANGED, why="It is not what was approved any more.")
        return
    if gate:
        gate.consume()
    set_step_state(step, StepEvent.BEGIN)


def edit(step: PlanStep, by: Any, **values: Any) -> None:
    """Change action, owner, tools or needs of a step. Its approval becomes invalid, and the open gate of the whole plan
    is void, since that text has changed, too."""
    values = {"action": step.action, "tools": step.tools, **values}
    set_step_state(step, StepEvent.CHANGED, by=record_name(by), author=by, **values, effect=effect_of(values["tools"]))
    proposed = PlanRevision.objects.filter(plan=step.plan_id, standing=RevisionStatus.PROPOSED)
    Gate.objects.filter(run=step.plan_id, step__in=[one.gate_step for one in proposed]).void()


def save_named_tools(pk: UUID, number: int, named: NamedTools) -> bool:
    """Save owner and tools that the planner named for a changed step; return False if it was changed again meanwhile.

    `number`: how many states the step had when the planner was asked.
    """
    step = PlanStep.objects.select_related("agent", "plan__team_version").get(pk=pk)
    if not step.tools_due or step.status not in BEFORE_WORK or len(step.history) != number:
        return False
    held: dict[str, Any] = {
        "agent": _agent_named(step.plan, named.owner),
        "tools": list(named.tools),
        "tools_due": False,
    }
    set_step_state(
        step, StepEvent.CHANGED, why=named.thought, action=step.action, **held, effect=effect_of(named.tools)
    )
    return True


def assign_to_person(plan: UUID, pk: UUID, number: int, why: str) -> None:
    """Make a person the owner of a changed step, since the planner's answer was unusable."""
    if save_named_tools(pk, number, NamedTools(why, PERSON, ())):
        save_message(plan, MANAGER, f"{why} {PlanStep.objects.get(pk=pk)} is for a person now.")


def _agent_named(plan: Plan, owner: str) -> TeamAgentRow | None:
    """None for a person."""
    return next((one for one in plan.agents if one.name == owner and owner != PERSON), None)


def fail_step(plan: UUID, number: int, why: str, series: int | None = None) -> None:
    """Let a running step fail. `series`: the one that failed; nothing happens if a retry has started since."""
    step = PlanStep.objects.get(plan=plan, number=number)
    if step.status == StepStatus.WORKING and series in (None, step.series):
        set_step_state(step, StepEvent.GIVE_UP, why=why)
        save_message(plan, MANAGER, f"{step}: {why}")


# ---- moves ------------------------------------------------------------------------------------------------


def save_move(seen: PlanStep, call: ModelCall, answer: AgentStep) -> None:
    """Save an agent's answer as a move, unless the step has ended or was retried since `seen` was read."""
    [step] = cached_sql.fetch(PlanStep, "pk", [seen.pk])
    if step.status != StepStatus.WORKING or step.series != seen.series:
        return
    step.agent = seen.agent  # the agent of a started step never changes
    made = {"act": answer.act, "thought": answer.thought, "text": answer.text, "call": call}
    if answer.act is AgentAct.CALL:
        made |= {"tool": answer.tool, "arguments": json.dumps(answer.arguments, ensure_ascii=False, sort_keys=True)}
    settled = None if answer.act in (AgentAct.CALL, AgentAct.ASK) else timezone.now()
    number = len(seen.moves_now) + 1
    cached_sql.insert(PlanStepMove(step=step, series=step.series, number=number, settled=settled, **made))
    if answer.act is AgentAct.REPLY:
        set_step_state(step, StepEvent.REPLY, why=answer.text)
    elif answer.act is AgentAct.GIVE_UP:
        set_step_state(step, StepEvent.GIVE_UP, why=answer.text)
    if answer.act is not AgentAct.CALL:
        save_message(step.plan_id, step.owner, answer.text)


def save_result(plan: UUID, move: int, call: ToolCall) -> None:
    """Save the result of a tool call in its move. A call that was invalid has no row, so `call.pk` is None."""
    tool = get_tool(call.tool)
    refused = call.status == ToolCall.Status.FAILED
    result = tool.describe_result(call) if tool else call.error
    values = {"result": result, "refused": refused, "settled": timezone.now()}
    values |= {"tool_call": call} if call.pk else {}
    PlanStepMove.objects.filter(pk=move, settled=None).update(**values)


def refuse_call(move: int, why: str) -> None:
    """Settle a move whose tool call is not made."""
    PlanStepMove.objects.filter(pk=move, settled=None).update(result=why, refused=True, settled=timezone.now())


def save_answer(step: PlanStep, answer: str) -> None:
    PlanStepMove.objects.filter(step=step, series=step.series, settled=None).update(
        result=answer, settled=timezone.now()
    )


# ---- messages, and the end --------------------------------------------------------------------------------


def save_message(plan: UUID, source: str, content: str, by: str = "", to: int = 0) -> None:
    numbers = [number for (number,) in cached_sql.select(PlanMessage, "plan", [plan], ["number"])]
    about = {"source": source, "content": content, "by_name": by, "to_step": to}
    cached_sql.insert(PlanMessage(plan_id=plan, number=max(numbers, default=0) + 1, **about))
    SearchText.objects.add(plan, index_words(content))


def stop(plan: UUID, by: str = "") -> None:
    """End the plan: skip all steps that have not started. The worker concludes the run when it next reads the plan."""
    Plan.objects.filter(pk=plan).update(stopped=True)
    for step in PlanStep.objects.select_related("agent").filter(plan=plan, last_in=None, status__in=BEFORE_WORK):
        set_step_state(step, StepEvent.SKIP, by=by)


def save_summary(plan: UUID, summary: str) -> None:
    Plan.objects.filter(pk=plan, summary="").update(summary=summary)
    SearchText.objects.add(plan, index_words(summary))


def conclude(plan: UUID, outcome: PlanOutcome) -> None:
    Run.objects.filter(pk=plan).update(outcome=outcome)
    SearchText.objects.add(plan, [label_term("outcome", outcome)])


def erase(plan: UUID) -> None:
    """Erase all texts; statuses, tools, numbers, names and times stay."""
    Plan.objects.filter(pk=plan).update(task="", summary="")
    Plan.objects.filter(pk=plan, matter_name__isnull=False).update(matter_name="")
    PlanRevision.objects.filter(plan=plan).update(notes="", thought="", questions="")
    PlanStepState.objects.filter(step__plan=plan).update(why="", action="")
    PlanStepMove.objects.filter(step__plan=plan).update(thought="", arguments="", text="", result="")
    PlanMessage.objects.filter(plan=plan).update(content="")
