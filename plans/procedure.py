"""A plan, performed: what comes next follows from the rows alone, so it goes on where it was left.

Why so: docs/decisions.md, Plans.
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
UNUSABLE = (UnusableAnswer, ContentFiltered)  # the endpoint answers, so a retry of the run would meet the same


def submit(**asked: Any) -> Plan:
    """Queue a plan and wake the engine. Takes what `Plan.objects.submit` and `submissions.submit` take."""
    return submissions.submit_run(Plan.objects, refusals=(TeamChanged,), waits_as="plan", **asked)


class BranchRunner:
    """Which steps go on in a branch of this claim, None for the plan itself, at which parts others wait, and the places
    that they work in: three, one of them for a step that changes something. Whoever waits has none."""

    def __init__(self, parts: list[NextAction]) -> None:
        self._going = {rules.subject_of_action(part) for part in parts}
        self._waiting: list[NextAction] = []
        self._places = asyncio.Semaphore(rules.MAX_PARALLEL_STEPS)
        self._writer = asyncio.Semaphore(1)

    @asynccontextmanager
    async def place(self, plan: Plan, part: NextAction) -> AsyncIterator[bool]:
        """Whether it was free at once: else others have worked meanwhile."""
        number = rules.subject_of_action(part)
        writes = number is not None and plan.step(number).effect != StepEffect.READS
        free = not self._places.locked() and not (writes and self._writer.locked())
        async with self._places:
            if not writes:
                yield free
                return
            async with self._writer:
                yield free

    @contextmanager
    def of(self, part: NextAction) -> Iterator[None]:
        try:
            yield
        except Suspend:
            self._going.discard(rules.subject_of_action(part))
            self._waiting.append(part)
            raise

    def after(self, part: NextAction, plan: Plan) -> list[NextAction]:
        """How the branch of this part goes on, which has it by now."""
        others = self._going - {rules.subject_of_action(part)}
        parts = rules.next_action(queries.state_of_plan(plan), part, others, self._waiting)
        self._going = others | {rules.subject_of_action(one) for one in parts}
        return parts


async def perform(run: RunContext) -> CommitChange:
    while True:
        plan = await _look(run)
        parts = rules.next_actions(queries.state_of_plan(plan))
        if isinstance(parts[0], rules.CloseAction):
            if not plan.summary:
                await _sum_up(run, plan, parts[0])
                continue
            return partial(writes.conclude, run.pk, parts[0].outcome)
        branches = BranchRunner(parts)
        await run.gather(*(_follow(run, plan, part, branches) for part in parts))


async def _look(run: RunContext) -> Plan:
    return await run.read_snapshot(partial(queries.load_plan, run.pk))


async def _follow(run: RunContext, plan: Plan, part: NextAction, branches: BranchRunner) -> None:
    """As far as it goes: a wait ends this branch alone. What else became possible goes on beside it."""
    while True:
        async with branches.place(plan, part) as free:
            plan = plan if free else await _look(run)
            if free or part in rules.next_actions(queries.state_of_plan(plan)):
                with branches.of(part):
                    await _do(run, plan, part)
        plan = await _look(run)
        parts = branches.after(part, plan)
        if len(parts) != 1:
            await run.gather(*(_follow(run, plan, one, branches) for one in parts))
            return
        part = parts[0]


async def _do(run: RunContext, plan: Plan, part: NextAction) -> None:
    """Every part is one commit."""
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
            await run.write(_written(plan, part), "step")


def _written(plan: Plan, part: NextAction) -> Callable[[], None]:
    """The parts that ask nobody."""
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
    raise AssertionError(f"no such part: {part}")


# ---- models -----------------------------------------------------------------------------------------------


async def _revise(run: RunContext, plan: Plan, number: int) -> None:
    brief = await run.read(partial(queries.planner_brief, plan, plan.current))
    told = [step.number for step in queries.failed_in(plan)]

    def keep(call: ModelCall, said: planner.ProposedPlan) -> None:
        writes.save_plan(run.pk, number, call, said, told)

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
    fitted = queries.brief_in_room(brief, plan.planner, run_boundary(run.pk))
    try:
        await run.request_model(f"plan-{number}", plan.planner, fitted.messages, form, keep, left_out=fitted.left_out)
    except UNUSABLE as failure:
        if not plan.steps.all():
            raise  # nothing was done yet that would be lost
        await run.write(partial(writes.ask_how_to_plan, run.pk, number, str(failure)), "decided")


async def _name_tools(run: RunContext, plan: Plan, step: PlanStep) -> None:
    brief = await run.read(partial(queries.tools_brief_of, plan, step))

    def keep(call: ModelCall, said: planner.NamedTools) -> None:
        writes.keep_tools(step.pk, brief.number, said)

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
        await run.write(partial(writes.give_to_person, run.pk, step.pk, brief.number, str(failure)), "decided")


async def _think(run: RunContext, plan: Plan, step: PlanStep) -> None:
    work = await run.read(partial(queries.agent_work, plan, step))
    key = f"{step.key}-{len(step.moves_now) + 1}"

    def keep(call: ModelCall, said: agent_step.AgentStep) -> None:
        writes.save_move(step, call, said)

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
    fitted = queries.work_in_room(work, [model, fallback], run_boundary(run.pk))
    try:
        await run.request_model(key, model, fitted.messages, form, keep, fallback, left_out=fitted.left_out)
    except UNUSABLE as failure:
        await run.write(partial(writes.fail_step, plan.pk, step.number, str(failure), step.series), "step")


async def _use(run: RunContext, plan: Plan, step: PlanStep) -> None:
    move = step.moves_now[-1]
    tool = await run.read(partial(queries.line_of, move.tool))
    before = [one for one in step.moves_now[:-1] if (one.tool, one.arguments) == (move.tool, move.arguments)]
    calls = sum(one.act == agent_step.AgentAct.CALL for one in step.moves_now)
    if calls > rules.CALLS or (before and tool.effect is not StepEffect.READS):
        said = queries.DONE_TEXT if before else queries.TOO_MANY_CALLS
        await run.write(partial(writes.refuse_call, move.pk, said), "result")
        return
    demand = required_approval(ApprovalKind.TOOL, tool.effect, plan.effective_policy)
    choices = choices_of(ApprovalKind.TOOL, queries.state_in(plan), queries.state_of_step(step))
    asked_in = ModelCall(pk=move.call_id)
    call = await run.execute_tool(
        move.key, move.tool, move.arguments, policy=demand, choices=choices, asked_in=asked_in
    )
    await run.write(partial(writes.save_result, run.pk, move.pk, call), "result")


async def _sum_up(run: RunContext, plan: Plan, part: rules.CloseAction) -> None:
    """A summary that no model gives is made from the rows: a failing call is no failure of the plan."""
    ending = await run.read(partial(queries.ending_of, plan))
    by_rule = partial(writes.save_summary, run.pk, summary.rule_summary(part.outcome, ending))
    if plan.spent:
        await run.write(by_rule, "summary")
        return

    def keep(call: ModelCall, said: str) -> None:
        writes.save_summary(run.pk, said)

    form = ResponseFormat(
        "plan-summary",
        summary.SCHEMA,
        summary.read_summary,
        no_preview,
        planner.retry_message,
        said=lambda summary: (summary,),
        max_tokens=tokens_for(summary.SUMMARY_LENGTH),
    )
    fitted = queries.ending_in_room(plan.task, part.outcome, ending, plan.planner, run_boundary(run.pk))
    try:
        await run.request_model("summary", plan.planner, fitted.messages, form, keep, left_out=fitted.left_out)
    except CallFailed:
        await run.write(by_rule, "summary")


# ---- people -----------------------------------------------------------------------------------------------


async def _ask_people(run: RunContext, plan: Plan, kind: ApprovalKind, number: int | None, demand: Any) -> None:
    """Waits until it is decided. What a person says has its meaning at once; the rest is taken here."""
    step = plan.step(number) if number is not None else None
    if step and kind is ApprovalKind.STEP and step.status == "planned":
        await run.write(partial(writes.ask_question, run.pk, step.number), "asked")
    place, title, text = asked = await run.read(partial(queries.questions_of, plan, kind, step))
    about = {
        "kind": kind,
        "title": title,
        "text": text,
        "effect": step.effect if step and kind is ApprovalKind.STEP else "",
    }
    choices = choices_of(kind, queries.state_in(plan), queries.state_of_step(step) if step else None)
    due = partial(writes.refuse_outdated, run.pk, kind, number, asked)
    with suppress(writes.PlanOutdated):  # the rows have moved since the look: the next one says what is due
        gate = await run.gate(place, policy=demand, choices=choices, due=due, **about)
        await run.write(partial(gate_decisions.accept_plan, run.pk, gate.pk), "decided")
