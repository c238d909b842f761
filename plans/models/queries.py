"""The rows of a plan as its rules and its prompts look at them."""

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
EARLIER = 10  # plans of the same matter that the planner sees
EARLIER_LENGTH = 4_000
FIXED_STATES = (StepStatus.COMPLETED, StepStatus.WORKING)
PLAN_SEAT = PromptOwner(PERSON, "A person, who does what no tool can do, and says when it is done.")


def load_plan(pk: UUID) -> Plan:
    """With all that rules look at: they make no queries. What is told to models is read when it is told. It is looked
    at after every part, so by statements that are made once."""
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
    _with_used(steps)
    freeze_row(plan, steps=steps, revisions=fetch(PlanRevision, "plan", [pk], "number"))
    state_of_plan(plan)  # it remembers what they ask for
    return plan


def _with_used(steps: Iterable[PlanStep]) -> None:
    """What the calls of those steps did that are completed and were to do more than read."""
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
    return claim_note(state_of_step(step))


def figures_of(plan: Plan) -> str:
    """What its tools really did, of all its steps, to hold its summary against; moves with their calls were read."""
    calls = [move.tool_call for step in plan.steps.all() for move in step.moves.all() if move.tool_call]
    done = [(call.tool, StepEffect(call.effect)) for call in calls if call.done]
    return figures(map(state_of_step, plan.steps_now), done)


def state_of_plan(plan: Plan) -> PlanSituation:
    revisions = sorted(plan.revisions.all(), key=lambda one: one.number)
    return PlanSituation(
        revisions=tuple(map(_revision, revisions)),
        steps=tuple(map(state_of_step, plan.steps_now)),
        policy=plan.effective_policy,
        ended=plan.stopped,
        more=len(plan.steps.all()) < scheduling.STEPS_IN_ALL,
        used_up=plan.spent,
    )


def _revision(row: PlanRevision) -> scheduling.RevisionSituation:
    return scheduling.RevisionSituation(
        row.number, RevisionStatus(row.standing), RevisionCause(row.cause), bool(row.by_name)
    )


def state_of_step(row: PlanStep) -> scheduling.StepSituation:
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
    """By one look at the rows as they are now."""
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


def state_in(plan: Plan) -> PlanState:
    """The same of a plan whose steps and revisions were read."""
    revisions = list(plan.revisions.all())
    never = [
        one
        for one in revisions
        if not one.planned and one.standing in (RevisionStatus.ORDERED, RevisionStatus.REPLACED)
    ]
    orders = max((one.number for one in revisions), default=0)
    return PlanState(plan.run.is_ended, plan.stopped, len(plan.steps.all()), len(revisions) - len(never), orders)


def why_not(action: PlanAction, plan: Plan, step: PlanStep | None = None) -> str:
    """Why this is refused, of a plan that was read with its states and messages; empty where it is not."""
    if step is None:
        return actions.why_not(action, state_in(plan))
    said = action is PlanAction.SAY
    times = sum(one.is_remark_to(step) for one in plan.messages.all()) if said else step.times_changed
    return actions.why_not(action, state_in(plan), state_of_step(step), times)


def possible(plan: Plan, step: PlanStep | None = None) -> list[str]:
    """What can be done to it now, or to one of its steps, in the words of the API."""
    offered = PlanAction if step else (PlanAction.SAY,)
    return [action.value for action in offered if not why_not(action, plan, step)]


def refused_at(gate: Gate) -> set[tuple[str, str]]:
    """Decisions with their words that would be refused at a gate that waits."""
    if gate.kind not in set(ApprovalKind) or not gate.pending:
        return set()
    kind = ApprovalKind(gate.kind)
    number = number_of(gate)
    step = state_of_step(PlanStep.objects.get(plan=gate.run_id, number=number)) if number else None
    return set(actions.refused_at(kind, state_of(gate.run_id), step))


def number_of(gate: Gate) -> int | None:
    """Of the step that it is about; None for one about the plan."""
    found = GATE_OF_STEP.match(gate.step)
    return int(found[1]) if found else None


# ---- what is decided about --------------------------------------------------------------------------------


def subject_of(plan: Plan, step: PlanStep, action: str = "") -> GateText:
    """By what is true now: where a tool is described otherwise since, this is another text."""
    version = plan.team_version
    return GateText(
        step.number,
        step.owner,
        f"{version.name}, version {version.number}",
        [line_of(name) for name in step.tools],
        step.needs,
        action or step.action,
    )


def line_of(name: str) -> GateToolLine:
    """One that is not there any more can be told from what it was."""
    tool = get_tool(name)
    return (
        GateToolLine(name, StepEffect(tool.effect), tool.definition)
        if tool
        else GateToolLine(name, StepEffect.REACHES_OUT, "")
    )


def text_of_plan(plan: Plan) -> str:
    asked = [step for step in plan.steps_now if step.status in scheduling.BEFORE_WORK]
    return gate_text.text_of_plan(plan.task, [subject_of(plan, step) for step in asked])


def text_of_failure(step: PlanStep) -> str:
    said = step.error or "Something that it needs is missing."
    return f"{step}:\n{gate_text.quoted(step.action)}\n\nWhat was said of it:\n{gate_text.quoted(said)}"


def text_of_budget(plan: Plan) -> str:
    more = format_dollars((plan.budget or 0) + (plan.run.spend or 0))
    return f"It has cost the {format_dollars(plan.budget)} that it may cost. To go on, it may cost {more} in all."


DONE_TEXT = "This was done already: its result stands above."
TOO_MANY_CALLS = "There are no calls left for this step: reply, or give up."


def questions_of(plan: Plan, kind: ApprovalKind, step: PlanStep | None) -> tuple[str, str, str]:
    """The place, title and text of what is asked."""
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
            return step.gate_step, title, subject_of(plan, step).text
        case ApprovalKind.SEAT:
            return step.key, title, step.action
        case ApprovalKind.FAILURE:
            return f"{step.key}-failed-{plan.current.number}", title, text_of_failure(step)
    return step.moves_now[-1].key, title, step.moves_now[-1].text


def is_pending_at(gate: Gate, step: PlanStep) -> bool:
    """Whether it asks about that step, or about what happens within it."""
    return gate.step == step.gate_step or gate.step.startswith(f"{step.gate_step}-")


def pending_gate(plan: Plan, kind: ApprovalKind, step: PlanStep | None) -> bool:
    """Whether that is still to be decided, as the plan stands now."""
    if plan.stopped:
        return False
    if kind is ApprovalKind.BUDGET:
        return plan.spent
    if step is None:
        due = kind is ApprovalKind.PLAN and any(one.tools_due for one in plan.steps_now)
        return not due and plan.current.standing == (
            RevisionStatus.PROPOSED if kind is ApprovalKind.PLAN else RevisionStatus.ASKED
        )
    now = state_of_step(step)
    if kind is ApprovalKind.STEP:
        return now.status is StepStatus.AWAITING and not now.tools_due
    if kind is ApprovalKind.FAILURE:
        return (now.status is StepStatus.FAILED and not now.skipped) or now.status in scheduling.BEFORE_WORK
    within = {ApprovalKind.SEAT: now.owner is scheduling.StepOwner.PERSON, ApprovalKind.QUESTION: now.asks}.get(
        kind, now.calls
    )
    return now.status is StepStatus.WORKING and within


# ---- what is told to models -------------------------------------------------------------------------------


def planner_brief(plan: Plan, revision: PlanRevision) -> PlannerBrief:
    now = plan.steps_now
    with_states(now)
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
        asked=_times_asked(plan),
        first=max((one.number for one in plan.steps.all()), default=0) + 1,
        most=min(scheduling.STEPS_OF_ONE, scheduling.STEPS_IN_ALL - len(plan.steps.all())),
    )


def _times_asked(plan: Plan) -> int:
    """By the planner: what is asked because it gave no plan is no question of its own."""
    asked = [one.call_id for one in plan.revisions.all() if one.questions and one.call_id]
    return ModelCall.objects.filter(pk__in=asked, status=ModelCall.Status.ANSWERED).count() if asked else 0


def tools_brief_of(plan: Plan, step: PlanStep) -> ToolsBrief:
    with_states([step])
    return ToolsBrief(plan.task, step.action, step.owner, owners_of(plan.agents), len(step.history))


def notes_of(plan: Plan, revision: PlanRevision) -> str:
    """Why it is planned anew: also by what caused earlier ones that nobody has planned, and all that has failed."""
    backwards = sorted(plan.revisions.all(), key=lambda one: -one.number)
    causes = [revision, *takewhile(lambda one: one.planned is None, backwards[1:])]
    failed = [step for step in failed_in(plan) if step.number not in {one.cause_step for one in causes}]
    return "\n\n".join(filter(None, [*(one.notes for one in reversed(causes)), *map(failure_of, failed)]))


def failed_in(plan: Plan) -> list[PlanStep]:
    """What was not left out by anybody."""
    return [step for step in plan.steps_now if step.status == StepStatus.FAILED and not step.skipped]


def failure_of(step: PlanStep) -> str:
    return f"{step.action}\n{step} failed: {step.error or 'something that it needs is missing.'}"


def owners_of(agents: Iterable[TeamAgentRow]) -> list[PromptOwner]:
    return [*(PromptOwner(one.name, one.description, [*map(_shown, one.tools_now)]) for one in agents), PLAN_SEAT]


def _shown(name: str) -> PromptTool:
    tool = get_tool(name)
    return PromptTool(name, line_of(name).effect, tool.description if tool else "It is not there at present.")


def answers_of(plan: Plan) -> list[tuple[str, str]]:
    asked = [one for one in plan.revisions.all() if one.questions and one.standing != RevisionStatus.ASKED]
    gates = [(one.questions, Gate.objects.newest(plan.pk, one.question_step)) for one in asked]
    return [(questions, _answer(gate)) for questions, gate in gates]


def _answer(gate: Gate | None) -> str:
    return str((gate and (gate.answer or gate.words)) or "No answer.")


def _earlier(plan: Plan) -> list[EarlierPlan]:
    before = Plan.objects.planned().filter(run__in=Run.objects.filter(plan.project_plans, redacted=None))
    found = before.order_by("-run__created")[:EARLIER]
    each = EARLIER_LENGTH // EARLIER
    return [EarlierPlan(one.task[:each], one.run.outcome or "", one.summary[:each], figures_of(one)) for one in found]


def _example(plan: Plan) -> ExamplePlan | None:
    """The plan that it begins from, with the steps that were done; none once its texts are erased."""
    found = Plan.objects.planned().filter(pk=plan.earlier_id, run__redacted=None).first() if plan.earlier_id else None
    if found is None or Fork.objects.filter(run=plan.pk).exists():  # what was done there is not to be done again
        return None
    done = [step for step in found.steps_now if step.status == StepStatus.COMPLETED]
    return ExamplePlan(found.task[:EARLIER_LENGTH], [ExamplePlanStep(one.owner, one.action, one.tools) for one in done])


def step_labels(keys: Collection[tuple[UUID, str]]) -> dict[tuple[UUID, str], tuple[str, str]]:
    """By runs and keys of moves: the step as everything calls it, and where it stands on its page."""
    rows = PlanStep.objects.filter(plan__in={plan for plan, _ in keys}, last_in=None)
    there = set(rows.values_list("plan", "number"))
    numbers = {(plan, key): int(match[1]) for plan, key in keys if (match := OF_STEP.match(key))}
    found = {where: number for where, number in numbers.items() if (where[0], number) in there}
    return {where: (f"Step {number}", f"step-{number}") for where, number in found.items()}


def with_texts_beside(pk: UUID) -> list[Plan]:
    """The later plans of its matter, and those that began from it: their planner was told of it."""
    plan = Plan.objects.select_related("run").get(pk=pk)
    told = Q(earlier=pk)
    if plan.matter_id:
        told |= Q(matter=plan.matter_id, run__created__gt=plan.run.created)
    later = Plan.objects.filter(told, run__redacted=None)
    return list(later.select_related("run").order_by("run__created"))


def has_untrusted_input(plan: Plan) -> bool:
    """Whether text of strangers was read in it, or in what its planner was told of."""
    own = any(move.tool_call and move.tool_call.outside for step in plan.steps.all() for move in step.moves.all())
    return own or ((plan.matter_id or plan.earlier_id) is not None and has_read_untrusted_input(plan.run))


def agent_work(plan: Plan, step: PlanStep) -> agent.StepWork:
    assert step.agent  # noqa: S101 - a person is not prompted
    needed, made = _needed(plan, step), step.moves_now
    with_states([*needed, step])
    outside = _from_outside(made)
    return agent.StepWork(
        agent=step.agent.name,
        description=step.agent.description,
        system=step.agent.system,
        goal=plan.task,
        action=step.action,
        tools=usable_of(step.tools),
        results=[agent.StepResult(one.action, one.reply, note_of(one)) for one in needed],
        remarks=[said.content for said in fetch(PlanMessage, "plan", [plan.pk], "number") if said.is_remark_to(step)],
        moves=[_made(move, move.tool_call_id in outside) for move in made],
        left=MOVES - len(made),
    )


def brief_in_room(brief: PlannerBrief, model: str, mark: str | None = None) -> Fitted:
    """What the planner is told, without what earlier plans and steps have brought; what people have said stays."""
    others = {"earlier": brief.earlier[::-1], "examples": [brief.example] if brief.example else []}
    parts = others | {"fixed": brief.fixed, "left": brief.left}

    def asked(shown: Any, said: str) -> Messages:
        others = {"earlier": shown.pop("earlier")[::-1], "example": next(iter(shown.pop("examples")), None)}
        return planner.planner_messages(replace(brief, **shown, **others), mark, said)

    return fitted(lambda shown, said: asked({**shown}, said), parts, [model])


def work_in_room(work: agent.StepWork, models: Iterable[str], mark: str | None = None) -> Fitted:
    """What the agent of a step is told, without what came of earlier steps and moves; remarks of people stay."""
    parts = {name: getattr(work, name) for name in ("results", "moves")}
    kept = {"results": 1, "moves": 2}
    return fitted(lambda shown, said: agent.step_messages(replace(work, **shown), mark, said), parts, models, kept)


def ending_in_room(task: str, outcome: str, ending: summary.Ending, model: str, mark: str | None = None) -> Fitted:
    def asked(shown: Any, said: str) -> Messages:
        return summary.summary_messages(task, outcome, replace(ending, steps=shown["steps"]), mark, said)

    return fitted(asked, {"steps": ending.steps}, [model])


def usable_of(names: Iterable[str]) -> list[agent.OfferedTool]:
    """Those of them that are there now."""
    known = available_tools("plan")
    usable = (known[name] for name in names if name in known)
    return [agent.OfferedTool(tool.name, tool.description, tool.schema, not tool.server) for tool in usable]


def _needed(plan: Plan, step: PlanStep) -> Sequence[PlanStep]:
    before = [one for one in plan.steps_now if one.position < step.position and one.status == StepStatus.COMPLETED]
    return before if step.needs is None else [one for one in before if one.number in step.needs]


def needed_by(plan: UUID, number: int) -> list[int]:
    """The number of this step, and of all whose results come to it, by whatever way."""
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
    """The number of this step, and of those that its planner was told of: what was done, what was left and why others
    failed are words in its action."""
    steps = list(PlanStep.objects.filter(plan=plan))
    return [number, *_planned_from(steps, next(one for one in steps if one.number == number))]


def _planned_from(steps: Iterable[PlanStep], step: PlanStep) -> list[int]:
    return [one.number for one in steps if one.first_in < step.first_in]


def _from_outside(moves: Iterable[PlanStepMove]) -> set[int]:
    """The calls of these that brought text of strangers, by their keys."""
    calls = [move.tool_call_id for move in moves if move.tool_call_id]
    return {pk for pk, outside in select(ToolCall, "pk", calls, ("pk", "outside")) if outside}


def with_states(steps: Sequence[PlanStep]) -> None:
    """What each of these has come through is read at once."""
    of_step = group_by_column(fetch(PlanStepState, "step", [step.pk for step in steps], "number"), "step_id")
    for step in steps:
        freeze_row(step, states=of_step[step.pk])


def _made(move: PlanStepMove, outside: bool) -> agent.MadeMove:
    return agent.MadeMove(move.act, move.thought, move.tool, move.arguments, move.text, move.result, outside)


def ending_of(plan: Plan) -> summary.Ending:
    steps = sorted((one for one in plan.steps.all() if one.status != StepStatus.SUPERSEDED), key=lambda one: one.number)
    with_states(steps)
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
