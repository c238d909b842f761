"""A plan, performed: what comes next follows from the rows alone, so it goes on where it was left.

Why so: docs/decisions.md, Plans.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from typing import Any

from engine.context import RunContext
from engine.llm.failures import CallFailed, ContentFiltered, UnusableAnswer
from engine.llm.forms import AnswerForm, tokens_for
from engine.llm.prompting import growing, no_preview, run_boundary
from engine.models import ModelCall
from engine.procedure import Change
from engine.waiting import Waits
from runs import submissions
from toolbox import moves

from . import deciding
from .models import Plan, Step, TeamChanged, keeping, reading
from .prompts import agent, closing, planner
from .rules import course as rules
from .rules.actions import choices_of
from .rules.course import Part
from .rules.demands import Kind, demand_of
from .rules.words import Effect

GAVE_UP = "It has no moves left, or was refused too often."
UNUSABLE = (UnusableAnswer, ContentFiltered)  # the endpoint answers, so a retry of the run would meet the same


def submit(**asked: Any) -> Plan:
    """Queue a plan and wake the engine. Takes what `Plan.objects.submit` and `submissions.submit` take."""
    return submissions.submit(Plan.objects, refusals=(TeamChanged,), waits_as="plan", **asked)


class Branches:
    """Which steps go on in a branch of this claim, None for the plan itself, at which parts others wait, and the places
    that they work in: three, one of them for a step that changes something. Whoever waits has none."""

    def __init__(self, parts: list[Part]) -> None:
        self._going = {rules.about(part) for part in parts}
        self._waiting: list[Part] = []
        self._places = asyncio.Semaphore(rules.AT_ONCE)
        self._writer = asyncio.Semaphore(1)

    @asynccontextmanager
    async def place(self, plan: Plan, part: Part) -> AsyncIterator[bool]:
        """Whether it was free at once: else others have worked meanwhile."""
        number = rules.about(part)
        writes = number is not None and plan.step(number).effect != Effect.READS
        free = not self._places.locked() and not (writes and self._writer.locked())
        async with self._places:
            if not writes:
                yield free
                return
            async with self._writer:
                yield free

    @contextmanager
    def of(self, part: Part) -> Iterator[None]:
        try:
            yield
        except Waits:
            self._going.discard(rules.about(part))
            self._waiting.append(part)
            raise

    def after(self, part: Part, plan: Plan) -> list[Part]:
        """How the branch of this part goes on, which has it by now."""
        others = self._going - {rules.about(part)}
        parts = rules.next_in(reading.facts_of(plan), part, others, self._waiting)
        self._going = others | {rules.about(one) for one in parts}
        return parts


async def carry_out(run: RunContext) -> Change:
    while True:
        plan = await _look(run)
        parts = rules.next_parts(reading.facts_of(plan))
        if isinstance(parts[0], rules.Close):
            if not plan.summary:
                await _sum_up(run, plan, parts[0])
                continue
            return partial(keeping.conclude, run.pk, parts[0].outcome)
        branches = Branches(parts)
        await run.together(*(_follow(run, plan, part, branches) for part in parts))


async def _look(run: RunContext) -> Plan:
    return await run.look(partial(reading.looked_at, run.pk))


async def _follow(run: RunContext, plan: Plan, part: Part, branches: Branches) -> None:
    """As far as it goes: a wait ends this branch alone. What else became possible goes on beside it."""
    while True:
        async with branches.place(plan, part) as free:
            plan = plan if free else await _look(run)
            if free or part in rules.next_parts(reading.facts_of(plan)):
                with branches.of(part):
                    await _do(run, plan, part)
        plan = await _look(run)
        parts = branches.after(part, plan)
        if len(parts) != 1:
            await run.together(*(_follow(run, plan, one, branches) for one in parts))
            return
        part = parts[0]


async def _do(run: RunContext, plan: Plan, part: Part) -> None:
    """Every part is one commit."""
    match part:
        case rules.Revise(number):
            await _revise(run, plan, number)
        case rules.NameTools(number):
            await _name_tools(run, plan, plan.step(number))
        case rules.Gated(kind, number, demand):
            await _ask_people(run, plan, kind, number, demand)
        case rules.Think(number):
            await _think(run, plan, plan.step(number))
        case rules.Use(number):
            await _use(run, plan, plan.step(number))
        case _:
            await run.write(_written(plan, part), "step")


def _written(plan: Plan, part: Part) -> Callable[[], None]:
    """The parts that ask nobody."""
    match part:
        case rules.Order(number):
            return partial(keeping.order_after_failure, plan.pk, number)
        case rules.Passed(number):
            return partial(keeping.accept, plan.pk) if number is None else partial(keeping.pass_step, plan.pk, number)
        case rules.Begin(number):
            return partial(keeping.begin, plan.pk, number)
        case rules.GiveUp(number):
            return partial(keeping.give_up, plan.pk, number, GAVE_UP)
    raise AssertionError(f"no such part: {part}")


# ---- models -----------------------------------------------------------------------------------------------


async def _revise(run: RunContext, plan: Plan, number: int) -> None:
    brief = await run.read(partial(reading.brief_of, plan, plan.current))
    told = [step.number for step in reading.failed_in(plan)]

    def keep(call: ModelCall, said: planner.Planned) -> None:
        keeping.keep_plan(run.pk, number, call, said, told)

    read = partial(planner.read_plan, brief=brief)
    form = AnswerForm(
        "plan",
        planner.SCHEMA,
        read,
        partial(growing, fields=("thought",)),
        planner.complaint,
        exact_schema=planner.exact_schema(brief),
        said=planner.own_texts,
        max_tokens=tokens_for(brief.most * rules.ACTION_LENGTH),
    )
    fitted = reading.brief_in_room(brief, plan.planner, run_boundary(run.pk))
    try:
        await run.ask(f"plan-{number}", plan.planner, fitted.messages, form, keep, left_out=fitted.left_out)
    except UNUSABLE as failure:
        if not plan.steps.all():
            raise  # nothing was done yet that would be lost
        await run.write(partial(keeping.ask_how_to_plan, run.pk, number, str(failure)), "decided")


async def _name_tools(run: RunContext, plan: Plan, step: Step) -> None:
    brief = await run.read(partial(reading.tools_brief_of, plan, step))

    def keep(call: ModelCall, said: planner.NamedTools) -> None:
        keeping.keep_tools(step.pk, brief.number, said)

    read = partial(planner.read_tools, brief=brief)
    form = AnswerForm(
        "plan-tools",
        planner.TOOLS_SCHEMA,
        read,
        partial(growing, fields=("thought",)),
        planner.complaint,
        exact_schema=planner.exact_tools_schema(brief),
        said=lambda named: (named.thought,),
        max_tokens=tokens_for(planner.LONGEST_NAMED),
    )
    messages = planner.name_tools(brief, run_boundary(run.pk))
    try:
        await run.ask(f"tools-{step.number}-{brief.number}", plan.planner, messages, form, keep)
    except UNUSABLE as failure:
        await run.write(partial(keeping.give_to_person, run.pk, step.pk, brief.number, str(failure)), "decided")


async def _think(run: RunContext, plan: Plan, step: Step) -> None:
    work = await run.read(partial(reading.work_of, plan, step))
    key = f"{step.key}-{len(step.moves_now) + 1}"

    def keep(call: ModelCall, said: moves.Move) -> None:
        keeping.keep_move(step, call, said)

    tools, acts = await run.read(partial(reading.arguments_by_tool, step)), agent.acts_of(work)
    form = AnswerForm(
        "plan-move",
        moves.SCHEMA,
        partial(moves.read_move, tools=tools),
        partial(growing, fields=("thought", "text")),
        moves.complaint,
        exact_schema=moves.exact_schema({one.name: one.arguments for one in work.tools}, acts),
        said=agent.own_texts,
        instructions=partial(agent.instructions, work),
    )
    assert step.agent  # noqa: S101 - a person is not prompted
    model, fallback = plan.model_of(step.agent), step.agent.fallback
    fitted = reading.work_in_room(work, [model, fallback], run_boundary(run.pk))
    try:
        await run.ask(key, model, fitted.messages, form, keep, fallback, left_out=fitted.left_out)
    except UNUSABLE as failure:
        await run.write(partial(keeping.give_up, plan.pk, step.number, str(failure), step.series), "step")


async def _use(run: RunContext, plan: Plan, step: Step) -> None:
    move = step.moves_now[-1]
    tool = await run.read(partial(reading.line_of, move.tool))
    before = [one for one in step.moves_now[:-1] if (one.tool, one.arguments) == (move.tool, move.arguments)]
    calls = sum(one.act == moves.Act.CALL for one in step.moves_now)
    if calls > rules.CALLS or (before and tool.effect is not Effect.READS):
        said = reading.DONE_ALREADY if before else reading.TOO_MANY_CALLS
        await run.write(partial(keeping.refuse_call, move.pk, said), "result")
        return
    demand = demand_of(Kind.TOOL, tool.effect, plan.demands)
    choices = choices_of(Kind.TOOL, reading.state_in(plan), reading.step_facts(step))
    asked_in = ModelCall(pk=move.call_id)
    call = await run.use(move.key, move.tool, move.arguments, policy=demand, choices=choices, asked_in=asked_in)
    await run.write(partial(keeping.keep_result, run.pk, move.pk, call), "result")


async def _sum_up(run: RunContext, plan: Plan, part: rules.Close) -> None:
    """A summary that no model gives is made from the rows: a failing call is no failure of the plan."""
    ending = await run.read(partial(reading.ending_of, plan))
    by_rule = partial(keeping.keep_summary, run.pk, closing.by_rule(part.outcome, ending))
    if plan.used_up:
        await run.write(by_rule, "summary")
        return

    def keep(call: ModelCall, said: str) -> None:
        keeping.keep_summary(run.pk, said)

    form = AnswerForm(
        "plan-summary",
        closing.SCHEMA,
        closing.read_summary,
        no_preview,
        planner.complaint,
        said=lambda summary: (summary,),
        max_tokens=tokens_for(closing.SUMMARY_LENGTH),
    )
    fitted = reading.ending_in_room(plan.task, part.outcome, ending, plan.planner, run_boundary(run.pk))
    try:
        await run.ask("summary", plan.planner, fitted.messages, form, keep, left_out=fitted.left_out)
    except CallFailed:
        await run.write(by_rule, "summary")


# ---- people -----------------------------------------------------------------------------------------------


async def _ask_people(run: RunContext, plan: Plan, kind: Kind, number: int | None, demand: Any) -> None:
    """Waits until it is decided. What a person says has its meaning at once; the rest is taken here."""
    step = plan.step(number) if number is not None else None
    if step and kind is Kind.STEP and step.status == "planned":
        await run.write(partial(keeping.ask_about, run.pk, step.number), "asked")
    place, title, text = asked = await run.read(partial(reading.asked_of, plan, kind, step))
    about = {"kind": kind, "title": title, "text": text, "effect": step.effect if step and kind is Kind.STEP else ""}
    choices = choices_of(kind, reading.state_in(plan), reading.step_facts(step) if step else None)
    due = partial(keeping.refuse_outdated, run.pk, kind, number, asked)
    with suppress(keeping.Outdated):  # the rows have moved since the look: the next one says what is due
        gate = await run.gate(place, policy=demand, choices=choices, due=due, **about)
        await run.write(partial(deciding.take, run.pk, gate.pk), "decided")
