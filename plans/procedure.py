"""Performs plans. The next actions follow from the rows alone, so a plan goes on after a crash where it was.

Why so: plans/DESIGN.md, Plans.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from typing import Any

from engine.llm.errors import CallFailed, ContentFiltered, UnusableAnswer
from engine.llm.prompt_blocks import growing, no_preview, run_boundary
from engine.llm.response_format import ResponseFormat, tokens_for
from engine.models import ModelCall
from engine.runtime.procedure import CommitChange
from engine.runtime.run_context import RunContext
from engine.runtime.suspension import Suspend
from runs import submissions
from toolbox import agent_step

from . import gate_decisions
from .models import Plan, PlanStep, TeamChanged, queries, writes
from .prompts import agent, planner, summary
from .rules import scheduling as rules
from .rules.actions import choices_of
from .rules.approval_policy import ApprovalKind, required_approval
from .rules.enums import StepEffect
from .rules.scheduling import NextAction

GAVE_UP_TEXT = "It has no moves left, or was refused too often."
UNUSABLE = (UnusableAnswer, ContentFiltered)  # the endpoint works, so a retry of the run would end the same way


def submit(**asked: Any) -> Plan:
    """Queue a plan and wake the workers. Takes the arguments of `Plan.objects.submit` and `submissions.submit_run`."""
    return submissions.submit_run(Plan.objects, refusals=(TeamChanged,), waits_as="plan", **asked)


class BranchRunner:
    """Runs the branches of a plan in this process: at most MAX_PARALLEL_STEPS at once, one of them with effects.

    `_going` has the subjects of running branches (the number of a step, None for the plan itself), `_waiting` the
    actions at which other branches were suspended. A suspended branch takes no slot.
    """

    def __init__(self, parts: list[NextAction]) -> None:
        self._going = {rules.subject_of_action(part) for part in parts}
        self._waiting: list[NextAction] = []
        self._slots = asyncio.Semaphore(rules.MAX_PARALLEL_STEPS)
        self._writer = asyncio.Semaphore(1)

    @asynccontextmanager
    async def slot(self, plan: Plan, part: NextAction) -> AsyncIterator[bool]:
        """Wait for a slot; yield whether it was free at once. If not, the rows may have changed meanwhile."""
        number = rules.subject_of_action(part)
        writes = number is not None and plan.step(number).effect != StepEffect.READS
        free = not self._slots.locked() and not (writes and self._writer.locked())
        async with self._slots:
            if not writes:
                yield free
                return
            async with self._writer:
                yield free

    @contextmanager
    def noting_suspension(self, part: NextAction) -> Iterator[None]:
        try:
            yield
        except Suspend:
            self._going.discard(rules.subject_of_action(part))
            self._waiting.append(part)
            raise

    def next_actions(self, part: NextAction, plan: Plan) -> list[NextAction]:
        """Return how the branch goes on after `part`, which is done."""
        others = self._going - {rules.subject_of_action(part)}
        parts = rules.branch_actions(queries.plan_situation(plan), part, others, self._waiting)
        self._going = others | {rules.subject_of_action(one) for one in parts}
        return parts


async def perform(run: RunContext) -> CommitChange:
    while True:
        plan = await _load(run)
        parts = rules.next_actions(queries.plan_situation(plan))
        if isinstance(parts[0], rules.CloseAction):
            if not plan.summary:
                await _sum_up(run, plan, parts[0])
                continue
            return partial(writes.conclude, run.pk, parts[0].outcome)
        branches = BranchRunner(parts)
        await run.gather(*(_follow(run, plan, part, branches) for part in parts))


async def _load(run: RunContext) -> Plan:
    return await run.read_snapshot(partial(queries.load_plan, run.pk))


async def _follow(run: RunContext, plan: Plan, part: NextAction, branches: BranchRunner) -> None:
    """Perform one branch until it ends or is suspended. Actions that become possible beside it get own branches."""
    while True:
        async with branches.slot(plan, part) as free:
            plan = plan if free else await _load(run)
            if free or part in rules.next_actions(queries.plan_situation(plan)):
                with branches.noting_suspension(part):
                    await _do(run, plan, part)
        plan = await _load(run)
        parts = branches.next_actions(part, plan)
        if len(parts) != 1:
            await run.gather(*(_follow(run, plan, one, branches) for one in parts))
            return
        part = parts[0]


async def _do(run: RunContext, plan: Plan, part: NextAction) -> None:
    match part:
        case rules.ReviseAction(number):
            await _revise(run, plan, number)
        case rules.NameTools(number):
            await _name_tools(run, plan, plan.step(number))
        case rules.GateAction(kind, number, demand):
            await _ask_people(run, plan, kind, number, demand)
        case rules.ThinkAction(number):
            await _think(run, plan, plan.step(number))
        case rules.UseToolAction(number):
            await _use(run, plan, plan.step(number))
        case _:
            await run.write(_write_of(plan, part), "step")


def _write_of(plan: Plan, part: NextAction) -> Callable[[], None]:
    """Return the write of an action that needs neither a model nor a person nor a tool."""
    match part:
        case rules.OrderAction(number):
            return partial(writes.request_revision_after_failure, plan.pk, number)
        case rules.PassAction(number):
            return (
                partial(writes.accept_revision, plan.pk)
                if number is None
                else partial(writes.approve_step, plan.pk, number)
            )
        case rules.BeginAction(number):
            return partial(writes.start_step, plan.pk, number)
        case rules.GiveUpAction(number):
            return partial(writes.fail_step, plan.pk, number, GAVE_UP_TEXT)
    raise AssertionError(f"no such action: {part}")


# ---- models -----------------------------------------------------------------------------------------------


async def _revise(run: RunContext, plan: Plan, number: int) -> None:
    brief = await run.read(partial(queries.planner_brief, plan, plan.current))
    known_failures = [step.number for step in queries.failed_in(plan)]

    def keep(call: ModelCall, answer: planner.ProposedPlan) -> None:
        writes.save_plan(run.pk, number, call, answer, known_failures)

    read = partial(planner.read_plan, brief=brief)
    form = ResponseFormat(
        "plan",
        planner.SCHEMA,
        read,
        partial(growing, fields=("thought",)),
        planner.retry_message,
        exact_schema=planner.exact_schema(brief),
        said=planner.own_texts,
        max_tokens=tokens_for(brief.most * rules.ACTION_LENGTH),
    )
    fitted = queries.fit_planner_brief(brief, plan.planner, run_boundary(run.pk))
    try:
        await run.request_model(f"plan-{number}", plan.planner, fitted.messages, form, keep, left_out=fitted.left_out)
    except UNUSABLE as failure:
        if not plan.steps.all():
            raise  # the run fails: no work is lost yet
        await run.write(partial(writes.ask_people_how_to_plan, run.pk, number, str(failure)), "decided")


async def _name_tools(run: RunContext, plan: Plan, step: PlanStep) -> None:
    brief = await run.read(partial(queries.tools_brief_of, plan, step))

    def keep(call: ModelCall, answer: planner.NamedTools) -> None:
        writes.save_named_tools(step.pk, brief.number, answer)

    read = partial(planner.read_tools, brief=brief)
    form = ResponseFormat(
        "plan-tools",
        planner.TOOLS_SCHEMA,
        read,
        partial(growing, fields=("thought",)),
        planner.retry_message,
        exact_schema=planner.exact_tools_schema(brief),
        said=lambda named: (named.thought,),
        max_tokens=tokens_for(planner.LONGEST_NAMED),
    )
    messages = planner.name_tools(brief, run_boundary(run.pk))
    try:
        await run.request_model(f"tools-{step.number}-{brief.number}", plan.planner, messages, form, keep)
    except UNUSABLE as failure:
        await run.write(partial(writes.assign_to_person, run.pk, step.pk, brief.number, str(failure)), "decided")


async def _think(run: RunContext, plan: Plan, step: PlanStep) -> None:
    work = await run.read(partial(queries.agent_work, plan, step))
    key = f"{step.key}-{len(step.moves_now) + 1}"

    def keep(call: ModelCall, answer: agent_step.AgentStep) -> None:
        writes.save_move(step, call, answer)

    tools, acts = await run.read(partial(queries.arguments_by_tool, step)), agent.acts_of(work)
    form = ResponseFormat(
        "plan-move",
        agent_step.SCHEMA,
        partial(agent_step.read_step, tools=tools),
        partial(growing, fields=("thought", "text")),
        agent_step.step_problem,
        exact_schema=agent_step.exact_schema({one.name: one.arguments for one in work.tools}, acts),
        said=agent.own_texts,
        instructions=partial(agent.instructions, work),
    )
    assert step.agent  # noqa: S101 - a person is not prompted
    model, fallback = plan.model_of(step.agent), step.agent.fallback
    fitted = queries.fit_agent_work(work, [model, fallback], run_boundary(run.pk))
    try:
        await run.request_model(key, model, fitted.messages, form, keep, fallback, left_out=fitted.left_out)
    except UNUSABLE as failure:
        await run.write(partial(writes.fail_step, plan.pk, step.number, str(failure), step.series), "step")


async def _use(run: RunContext, plan: Plan, step: PlanStep) -> None:
    move = step.moves_now[-1]
    tool = await run.read(partial(queries.tool_line, move.tool))
    before = [one for one in step.moves_now[:-1] if (one.tool, one.arguments) == (move.tool, move.arguments)]
    calls = sum(one.act == agent_step.AgentAct.CALL for one in step.moves_now)
    if calls > rules.CALLS or (before and tool.effect is not StepEffect.READS):
        refusal = queries.DONE_TEXT if before else queries.TOO_MANY_CALLS
        await run.write(partial(writes.refuse_call, move.pk, refusal), "result")
        return
    demand = required_approval(ApprovalKind.TOOL, tool.effect, plan.effective_policy)
    choices = choices_of(ApprovalKind.TOOL, queries.loaded_plan_state(plan), queries.step_situation(step))
    asked_in = ModelCall(pk=move.call_id)
    call = await run.execute_tool(
        move.key, move.tool, move.arguments, policy=demand, choices=choices, asked_in=asked_in
    )
    await run.write(partial(writes.save_result, run.pk, move.pk, call), "result")


async def _sum_up(run: RunContext, plan: Plan, part: rules.CloseAction) -> None:
    """Save the summary. If the model call fails, or the budget is spent, it is made from the rows: the plan does not
    fail for it."""
    ending = await run.read(partial(queries.ending_of, plan))
    by_rule = partial(writes.save_summary, run.pk, summary.rule_summary(part.outcome, ending))
    if plan.spent:
        await run.write(by_rule, "summary")
        return

    def keep(call: ModelCall, text: str) -> None:
        writes.save_summary(run.pk, text)

    form = ResponseFormat(
        "plan-summary",
        summary.SCHEMA,
        summary.read_summary,
        no_preview,
        planner.retry_message,
        said=lambda summary: (summary,),
        max_tokens=tokens_for(summary.SUMMARY_LENGTH),
    )
    fitted = queries.fit_ending(plan.task, part.outcome, ending, plan.planner, run_boundary(run.pk))
    try:
        await run.request_model("summary", plan.planner, fitted.messages, form, keep, left_out=fitted.left_out)
    except CallFailed:
        await run.write(by_rule, "summary")


# ---- people -----------------------------------------------------------------------------------------------


async def _ask_people(run: RunContext, plan: Plan, kind: ApprovalKind, number: int | None, demand: Any) -> None:
    """Wait for a decision. Decisions of people were applied when they were made; others are applied here."""
    step = plan.step(number) if number is not None else None
    if step and kind is ApprovalKind.STEP and step.status == "planned":
        await run.write(partial(writes.await_approval, run.pk, step.number), "asked")
    place, title, text = asked = await run.read(partial(queries.gate_fields, plan, kind, step))
    about = {
        "kind": kind,
        "title": title,
        "text": text,
        "effect": step.effect if step and kind is ApprovalKind.STEP else "",
    }
    choices = choices_of(kind, queries.loaded_plan_state(plan), queries.step_situation(step) if step else None)
    due = partial(writes.refuse_outdated, run.pk, kind, number, asked)
    with suppress(writes.PlanOutdated):  # the rows have changed since they were read: the loop reads them again
        gate = await run.gate(place, policy=demand, choices=choices, due=due, **about)
        await run.write(partial(gate_decisions.accept_plan, run.pk, gate.pk), "decided")
