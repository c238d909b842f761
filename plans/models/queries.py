"""Reads the rows of a plan into the states that its rules and prompts take."""

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any
from uuid import UUID

from django.db.models import Count, Max, Q

from engine.db.cached_sql import fetch, freeze_row, group_by_column, select
from engine.llm.fitting import Fitted, fitted
from engine.llm.pricing import format_dollars
from engine.models import ACTIVE_STATUSES, Fork, Gate, ModelCall, Run, ToolCall
from engine.models.runs import has_read_untrusted_input
from engine.tools import available_tools, get_tool

from ..prompts import agent, planner, summary
from ..prompts.planner import (
    PERSON,
    EarlierPlan,
    ExamplePlan,
    ExamplePlanStep,
    FixedStep,
    Messages,
    PlannerBrief,
    PromptOwner,
    PromptTool,
    ToolsBrief,
    UnbegunStep,
)
from ..rules import actions, gate_text, scheduling
from ..rules.actions import PlanAction, PlanState
from ..rules.approval_policy import ApprovalKind
from ..rules.claims import claim_note, figures
from ..rules.enums import RevisionCause, RevisionStatus, StepEffect, StepStatus, strongest
from ..rules.gate_text import GateText, GateToolLine
from ..rules.scheduling import MOVES, PlanSituation
from .plans import Plan, PlanRevision
from .presets import TeamAgentRow, TeamVersion
from .steps import PlanMessage, PlanStep, PlanStepMove, PlanStepState

GATE_OF_STEP = re.compile(r"step-(\d+)(?:-|$)")
OF_STEP = re.compile(r"step-(\d{1,4})-")
EARLIER = 10  # earlier plans of the project that the planner sees
EARLIER_LENGTH = 4_000  # characters of their texts in all
FIXED_STATES = (StepStatus.COMPLETED, StepStatus.WORKING)
PERSON_OWNER = PromptOwner(PERSON, "A person, who does what no tool can do, and says when it is done.")


def load_plan(pk: UUID) -> Plan:
    """Load a plan with all rows that the rules need, so that they make no queries. Texts for prompts are read later.

    This runs after every action of a plan, so it uses prepared SQL (engine/db/cached_sql.py).
    """
    [plan], [plan.run] = fetch(Plan, "pk", [pk]), fetch(Run, "pk", [pk])
    [plan.team_version] = fetch(TeamVersion, "plans", [pk])
    plan.agents = fetch(TeamAgentRow, "version__plans", [pk], "seat")
    steps, agents = fetch(PlanStep, "plan", [pk], "number"), {one.pk: one for one in plan.agents}
    of_step = group_by_column(fetch(PlanStepMove, "step__plan", [pk], "series", "number"), "step_id")
    for step in steps:
        step.plan, step.agent = plan, agents.get(step.agent_id) if step.agent_id else None
        freeze_row(step, moves=of_step[step.pk])
        for move in of_step[step.pk]:
            move.step = step
    _load_used_effects(steps)
    freeze_row(plan, steps=steps, revisions=fetch(PlanRevision, "plan", [pk], "number"))
    plan_situation(plan)  # fills the cached properties: the rules run outside the database thread
    return plan


def _load_used_effects(steps: Iterable[PlanStep]) -> None:
    """Set `used` of each step whose completion may be a mere claim, in one query."""
    completed = [step for step in steps if step.may_claim]
    keys = {step: [move.tool_call_id for move in step.moves.all() if move.tool_call_id] for step in completed}
    wanted = [key for of_step in keys.values() for key in of_step]
    status_and_effect = ("pk", "status", "effect")
    done = {
        pk: StepEffect(effect)
        for pk, status, effect in (select(ToolCall, "pk", wanted, status_and_effect) if wanted else ())
        if status == ToolCall.Status.DONE
    }
    for step, of_step in keys.items():
        effects = [done[key] for key in of_step if key in done]
        step.used = strongest(effects) if effects else None


def note_of(step: PlanStep) -> str:
    return claim_note(step_situation(step))


def figures_of(plan: Plan) -> str:
    """Return what the tools did, counted, to check the summary. Needs moves with their calls."""
    calls = [move.tool_call for step in plan.steps.all() for move in step.moves.all() if move.tool_call]
    done = [(call.tool, StepEffect(call.effect)) for call in calls if call.done]
    return figures(map(step_situation, plan.steps_now), done)


def plan_situation(plan: Plan) -> PlanSituation:
    revisions = sorted(plan.revisions.all(), key=lambda one: one.number)
    return PlanSituation(
        revisions=tuple(map(_revision, revisions)),
        steps=tuple(map(step_situation, plan.steps_now)),
        policy=plan.effective_policy,
        ended=plan.stopped,
        more=len(plan.steps.all()) < scheduling.STEPS_IN_ALL,
        used_up=plan.spent,
    )


def _revision(row: PlanRevision) -> scheduling.RevisionSituation:
    return scheduling.RevisionSituation(
        row.number, RevisionStatus(row.standing), RevisionCause(row.cause), bool(row.by_name)
    )


def step_situation(row: PlanStep) -> scheduling.StepSituation:
    moves = row.moves_now
    last = moves[-1] if moves else None
    waits = last is not None and last.settled is None
    return scheduling.StepSituation(
        number=row.number,
        status=StepStatus(row.status),
        owner=row.kind,
        effect=StepEffect(row.effect),
        needs=None if row.needs is None else tuple(row.needs),
        skipped=row.skipped,
        series=row.series,
        moves=len(moves),
        refusals=sum(move.refused for move in moves),
        asks=waits and last is not None and last.act == "ask",
        calls=waits and last is not None and last.act == "call",
        used=row.used if row.may_claim else None,
        dropped=row.last_in is not None,
        tools_due=row.tools_due,
    )


# ---- what can be done -------------------------------------------------------------------------------------


def state_of(pk: UUID) -> PlanState:
    """Read the state of a plan in one query."""
    never = Q(revisions__planned=None, revisions__standing__in=[RevisionStatus.ORDERED, RevisionStatus.REPLACED])
    counted = Plan.objects.filter(pk=pk).annotate(
        had=Count("steps", distinct=True),
        planned=Count("revisions", filter=~never, distinct=True),
        orders=Max("revisions__number"),
    )
    status, stopped, had, planned, orders = counted.values_list(
        "run__status", "stopped", "had", "planned", "orders"
    ).get()
    return PlanState(status not in ACTIVE_STATUSES, stopped, had, planned, orders or 0)


def loaded_plan_state(plan: Plan) -> PlanState:
    """Return the same as `state_of` for a plan whose steps and revisions were loaded."""
    revisions = list(plan.revisions.all())
    never = [
        one
        for one in revisions
        if not one.planned and one.standing in (RevisionStatus.ORDERED, RevisionStatus.REPLACED)
    ]
    orders = max((one.number for one in revisions), default=0)
    return PlanState(plan.run.is_ended, plan.stopped, len(plan.steps.all()), len(revisions) - len(never), orders)


def why_not(action: PlanAction, plan: Plan, step: PlanStep | None = None) -> str:
    """Return why this action is refused, in a sentence; empty if it is possible. Needs states and messages."""
    if step is None:
        return actions.why_not(action, loaded_plan_state(plan))
    is_message = action is PlanAction.SAY
    times = sum(one.is_remark_to(step) for one in plan.messages.all()) if is_message else step.times_changed
    return actions.why_not(action, loaded_plan_state(plan), step_situation(step), times)


def possible_actions(plan: Plan, step: PlanStep | None = None) -> list[str]:
    """Return the actions that are possible now for the plan or the step, in the words of the API."""
    offered = PlanAction if step else (PlanAction.SAY,)
    return [action.value for action in offered if not why_not(action, plan, step)]


def refused_at(gate: Gate) -> set[tuple[str, str]]:
    """Return decision and choice of what would be refused at a pending gate."""
    if gate.kind not in set(ApprovalKind) or not gate.pending:
        return set()
    kind = ApprovalKind(gate.kind)
    number = number_of(gate)
    step = step_situation(PlanStep.objects.get(plan=gate.run_id, number=number)) if number else None
    return set(actions.refused_at(kind, state_of(gate.run_id), step))


def number_of(gate: Gate) -> int | None:
    """Return the number of the step that a gate is about; None for the plan."""
    found = GATE_OF_STEP.match(gate.step)
    return int(found[1]) if found else None


# ---- what is decided about --------------------------------------------------------------------------------


def gate_text_of(plan: Plan, step: PlanStep, action: str = "") -> GateText:
    """Return the text for a step's gate, with the tools as they are described now: a changed description changes the
    text."""
    version = plan.team_version
    return GateText(
        step.number,
        step.owner,
        f"{version.name}, version {version.number}",
        [tool_line(name) for name in step.tools],
        step.needs,
        action or step.action,
    )


def tool_line(name: str) -> GateToolLine:
    """Return the tool's line; a tool that no longer exists has an empty definition and the strongest effect."""
    tool = get_tool(name)
    return (
        GateToolLine(name, StepEffect(tool.effect), tool.definition)
        if tool
        else GateToolLine(name, StepEffect.REACHES_OUT, "")
    )


def text_of_plan(plan: Plan) -> str:
    steps = [step for step in plan.steps_now if step.status in scheduling.BEFORE_WORK]
    return gate_text.text_of_plan(plan.task, [gate_text_of(plan, step) for step in steps])


def text_of_failure(step: PlanStep) -> str:
    reason = step.error or "Something that it needs is missing."
    return f"{step}:\n{gate_text.quoted(step.action)}\n\nWhat was said of it:\n{gate_text.quoted(reason)}"


def text_of_budget(plan: Plan) -> str:
    more = format_dollars((plan.budget or 0) + (plan.run.spend or 0))
    return f"It has cost the {format_dollars(plan.budget)} that it may cost. To go on, it may cost {more} in all."


DONE_TEXT = "This was done already: its result stands above."
TOO_MANY_CALLS = "There are no calls left for this step: reply, or give up."


def gate_fields(plan: Plan, kind: ApprovalKind, step: PlanStep | None) -> tuple[str, str, str]:
    """Return the gate's key, title and text."""
    of = f"of {plan.run.shown_title}"
    if kind is ApprovalKind.BUDGET:
        asked = (plan.budget or 0) // (plan.run.spend or 1)
        return f"budget-{asked}", f"The money {of}", text_of_budget(plan)
    if step is None:
        if kind is ApprovalKind.PLAN:
            return plan.current.gate_step, f"The plan {of}", text_of_plan(plan)
        return plan.current.question_step, f"The planner asks: {plan.run.shown_title}", plan.current.questions
    title = f"{step} {of}"
    match kind:
        case ApprovalKind.STEP:
            return step.gate_step, title, gate_text_of(plan, step).text
        case ApprovalKind.SEAT:
            return step.key, title, step.action
        case ApprovalKind.FAILURE:
            return f"{step.key}-failed-{plan.current.number}", title, text_of_failure(step)
    return step.moves_now[-1].key, title, step.moves_now[-1].text


def is_pending_at(gate: Gate, step: PlanStep) -> bool:
    """Tell whether the gate is about the step or about something within it."""
    return gate.step == step.gate_step or gate.step.startswith(f"{step.gate_step}-")


def needs_gate(plan: Plan, kind: ApprovalKind, step: PlanStep | None) -> bool:
    """Tell whether a decision of this kind is still needed."""
    if plan.stopped:
        return False
    if kind is ApprovalKind.BUDGET:
        return plan.spent
    if step is None:
        due = kind is ApprovalKind.PLAN and any(one.tools_due for one in plan.steps_now)
        return not due and plan.current.standing == (
            RevisionStatus.PROPOSED if kind is ApprovalKind.PLAN else RevisionStatus.ASKED
        )
    now = step_situation(step)
    if kind is ApprovalKind.STEP:
        return now.status is StepStatus.AWAITING and not now.tools_due
    if kind is ApprovalKind.FAILURE:
        return (now.status is StepStatus.FAILED and not now.skipped) or now.status in scheduling.BEFORE_WORK
    within = {ApprovalKind.SEAT: now.owner is scheduling.StepOwner.PERSON, ApprovalKind.QUESTION: now.asks}.get(
        kind, now.calls
    )
    return now.status is StepStatus.WORKING and within


# ---- prompts ----------------------------------------------------------------------------------------------


def planner_brief(plan: Plan, revision: PlanRevision) -> PlannerBrief:
    now = plan.steps_now
    load_states(now)
    return PlannerBrief(
        task=plan.task,
        owners=owners_of(plan.agents),
        cause=RevisionCause(revision.cause),
        notes=notes_of(plan, revision),
        answers=answers_of(plan),
        fixed=[
            FixedStep(one.number, one.owner, one.action, one.status, one.reply, note_of(one))
            for one in now
            if one.status in FIXED_STATES
        ],
        left=[
            UnbegunStep(one.number, one.owner, one.action, one.tools, one.needs)
            for one in now
            if one.status in scheduling.BEFORE_WORK
        ],
        earlier=_earlier(plan),
        example=_example(plan),
        asked=_question_count(plan),
        first=max((one.number for one in plan.steps.all()), default=0) + 1,
        most=min(scheduling.STEPS_OF_ONE, scheduling.STEPS_IN_ALL - len(plan.steps.all())),
    )


def _question_count(plan: Plan) -> int:
    """Count how often the planner asked. Questions because its answer was unusable do not count."""
    calls = [one.call_id for one in plan.revisions.all() if one.questions and one.call_id]
    return ModelCall.objects.filter(pk__in=calls, status=ModelCall.Status.ANSWERED).count() if calls else 0


def tools_brief_of(plan: Plan, step: PlanStep) -> ToolsBrief:
    load_states([step])
    return ToolsBrief(plan.task, step.action, step.owner, owners_of(plan.agents), len(step.history))


def notes_of(plan: Plan, revision: PlanRevision) -> str:
    """Return why the rest is planned again: the notes of this revision, of earlier ones that were never planned, and
    all failures."""
    backwards = sorted(plan.revisions.all(), key=lambda one: -one.number)
    causes = [revision, *takewhile(lambda one: one.planned is None, backwards[1:])]
    failed = [step for step in failed_in(plan) if step.number not in {one.cause_step for one in causes}]
    return "\n\n".join(filter(None, [*(one.notes for one in reversed(causes)), *map(failure_of, failed)]))


def failed_in(plan: Plan) -> list[PlanStep]:
    """Return failed steps that nobody chose to skip."""
    return [step for step in plan.steps_now if step.status == StepStatus.FAILED and not step.skipped]


def failure_of(step: PlanStep) -> str:
    return f"{step.action}\n{step} failed: {step.error or 'something that it needs is missing.'}"


def owners_of(agents: Iterable[TeamAgentRow]) -> list[PromptOwner]:
    return [
        *(PromptOwner(one.name, one.description, [*map(_prompt_tool, one.tools_now)]) for one in agents),
        PERSON_OWNER,
    ]


def _prompt_tool(name: str) -> PromptTool:
    tool = get_tool(name)
    return PromptTool(name, tool_line(name).effect, tool.description if tool else "It is not there at present.")


def answers_of(plan: Plan) -> list[tuple[str, str]]:
    revisions = [one for one in plan.revisions.all() if one.questions and one.standing != RevisionStatus.ASKED]
    gates = [(one.questions, Gate.objects.newest(plan.pk, one.question_step)) for one in revisions]
    return [(questions, _answer(gate)) for questions, gate in gates]


def _answer(gate: Gate | None) -> str:
    return str((gate and (gate.answer or gate.words)) or "No answer.")


def _earlier(plan: Plan) -> list[EarlierPlan]:
    before = Plan.objects.planned().filter(run__in=Run.objects.filter(plan.project_plans, redacted=None))
    found = before.order_by("-run__created")[:EARLIER]
    each = EARLIER_LENGTH // EARLIER
    return [EarlierPlan(one.task[:each], one.run.outcome or "", one.summary[:each], figures_of(one)) for one in found]


def _example(plan: Plan) -> ExamplePlan | None:
    """Return the plan that serves as the example, with its completed steps; None if its texts are erased."""
    found = Plan.objects.planned().filter(pk=plan.earlier_id, run__redacted=None).first() if plan.earlier_id else None
    if found is None or Fork.objects.filter(run=plan.pk).exists():  # a fork must not repeat what was done there
        return None
    done = [step for step in found.steps_now if step.status == StepStatus.COMPLETED]
    return ExamplePlan(found.task[:EARLIER_LENGTH], [ExamplePlanStep(one.owner, one.action, one.tools) for one in done])


def step_labels(keys: Collection[tuple[UUID, str]]) -> dict[tuple[UUID, str], tuple[str, str]]:
    """Return label and page anchor of each step, by run and key of a move."""
    rows = PlanStep.objects.filter(plan__in={plan for plan, _ in keys}, last_in=None)
    there = set(rows.values_list("plan", "number"))
    numbers = {(plan, key): int(match[1]) for plan, key in keys if (match := OF_STEP.match(key))}
    found = {where: number for where, number in numbers.items() if (where[0], number) in there}
    return {where: (f"Step {number}", f"step-{number}") for where, number in found.items()}


def plans_shown_this_plan(pk: UUID) -> list[Plan]:
    """Return the plans whose planner read texts of this one: later plans of its project, and plans with it as their
    example. Oldest first."""
    plan = Plan.objects.select_related("run").get(pk=pk)
    shown = Q(earlier=pk)
    if plan.matter_id:
        shown |= Q(matter=plan.matter_id, run__created__gt=plan.run.created)
    later = Plan.objects.filter(shown, run__redacted=None)
    return list(later.select_related("run").order_by("run__created"))


def has_untrusted_input(plan: Plan) -> bool:
    """Tell whether the plan read untrusted text, itself or through plans that its planner was shown."""
    own = any(move.tool_call and move.tool_call.outside for step in plan.steps.all() for move in step.moves.all())
    return own or ((plan.matter_id or plan.earlier_id) is not None and has_read_untrusted_input(plan.run))


def agent_work(plan: Plan, step: PlanStep) -> agent.StepWork:
    assert step.agent  # noqa: S101 - a person is not prompted
    needed, made = _needed(plan, step), step.moves_now
    load_states([*needed, step])
    outside = _from_outside(made)
    return agent.StepWork(
        agent=step.agent.name,
        description=step.agent.description,
        system=step.agent.system,
        goal=plan.task,
        action=step.action,
        tools=usable_tools(step.tools),
        results=[agent.StepResult(one.action, one.reply, note_of(one)) for one in needed],
        remarks=[said.content for said in fetch(PlanMessage, "plan", [plan.pk], "number") if said.is_remark_to(step)],
        moves=[_move_for_prompt(move, move.tool_call_id in outside) for move in made],
        left=MOVES - len(made),
    )


def fit_planner_brief(brief: PlannerBrief, model: str, mark: str | None = None) -> Fitted:
    """Fit the planner's prompt into the model's context by leaving out earlier plans and steps; texts of people
    stay."""
    others = {"earlier": brief.earlier[::-1], "examples": [brief.example] if brief.example else []}
    parts = others | {"fixed": brief.fixed, "left": brief.left}

    def asked(shown: Any, said: str) -> Messages:
        others = {"earlier": shown.pop("earlier")[::-1], "example": next(iter(shown.pop("examples")), None)}
        return planner.planner_messages(replace(brief, **shown, **others), mark, said)

    return fitted(lambda shown, said: asked({**shown}, said), parts, [model])


def fit_agent_work(work: agent.StepWork, models: Iterable[str], mark: str | None = None) -> Fitted:
    """Fit an agent's prompt into the models' context by leaving out results of earlier steps and moves; remarks of
    people stay."""
    parts = {name: getattr(work, name) for name in ("results", "moves")}
    kept = {"results": 1, "moves": 2}
    return fitted(lambda shown, said: agent.step_messages(replace(work, **shown), mark, said), parts, models, kept)


def fit_ending(task: str, outcome: str, ending: summary.Ending, model: str, mark: str | None = None) -> Fitted:
    def asked(shown: Any, said: str) -> Messages:
        return summary.summary_messages(task, outcome, replace(ending, steps=shown["steps"]), mark, said)

    return fitted(asked, {"steps": ending.steps}, [model])


def usable_tools(names: Iterable[str]) -> list[agent.OfferedTool]:
    """Return the tools among `names` that exist now."""
    known = available_tools("plan")
    usable = (known[name] for name in names if name in known)
    return [agent.OfferedTool(tool.name, tool.description, tool.schema, not tool.server) for tool in usable]


def _needed(plan: Plan, step: PlanStep) -> Sequence[PlanStep]:
    before = [one for one in plan.steps_now if one.position < step.position and one.status == StepStatus.COMPLETED]
    return before if step.needs is None else [one for one in before if one.number in step.needs]


def needed_by(plan: UUID, number: int) -> list[int]:
    """Return the numbers of this step and of all steps whose results reach it, directly or not."""
    steps = {step.number: step for step in PlanStep.objects.filter(plan=plan)}
    found, left = [], [number]
    while left:
        step = steps[left.pop()]
        found.append(step.number)
        before = [one.number for one in steps.values() if one.position < step.position]
        needed = {*(before if step.needs is None else step.needs), *_planned_from(steps.values(), step)}
        left += needed & {*steps} - {*found, *left}
    return found


def planned_from(plan: UUID, number: int) -> list[int]:
    """Return the numbers of this step and of the steps of earlier revisions: the planner knew them when it wrote the
    step's action."""
    steps = list(PlanStep.objects.filter(plan=plan))
    return [number, *_planned_from(steps, next(one for one in steps if one.number == number))]


def _planned_from(steps: Iterable[PlanStep], step: PlanStep) -> list[int]:
    return [one.number for one in steps if one.first_in < step.first_in]


def _from_outside(moves: Iterable[PlanStepMove]) -> set[int]:
    """Return the keys of those tool calls that brought untrusted text."""
    calls = [move.tool_call_id for move in moves if move.tool_call_id]
    return {pk for pk, outside in select(ToolCall, "pk", calls, ("pk", "outside")) if outside}


def load_states(steps: Sequence[PlanStep]) -> None:
    """Load the states of all these steps in one query."""
    of_step = group_by_column(fetch(PlanStepState, "step", [step.pk for step in steps], "number"), "step_id")
    for step in steps:
        freeze_row(step, states=of_step[step.pk])


def _move_for_prompt(move: PlanStepMove, outside: bool) -> agent.MadeMove:
    return agent.MadeMove(move.act, move.thought, move.tool, move.arguments, move.text, move.result, outside)


def ending_of(plan: Plan) -> summary.Ending:
    steps = sorted((one for one in plan.steps.all() if one.status != StepStatus.SUPERSEDED), key=lambda one: one.number)
    load_states(steps)
    calls = ToolCall.objects.filter(run=plan.pk).in_bulk()
    for move in (move for step in steps for move in step.moves.all() if move.tool_call_id):
        move.tool_call = calls[move.tool_call_id]
    did = [
        summary.CompletedStep(one.number, one.owner, one.action, one.status, one.reply, _calls(one), note_of(one))
        for one in steps
    ]
    return summary.Ending(did, figures_of(plan))


def _calls(step: PlanStep) -> list[str]:
    made = [move.tool_call for move in step.moves.all() if move.tool_call]
    return [f"{call.tool} ({call.effect}, {call.status}): {json.dumps(_first_line(call))}" for call in made]


def _first_line(call: ToolCall) -> str:
    return next(iter((call.output or call.error).splitlines()), "")[:300]


def arguments_by_tool(step: PlanStep) -> Mapping[str, type]:
    known = available_tools("plan")
    return {name: known[name].arguments for name in step.tools if name in known}
