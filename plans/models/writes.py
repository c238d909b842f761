"""What a plan's engine and its people write: each is a part of one transaction that holds the run's row."""

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
from toolbox.agent_step import AgentAct
from toolbox.agent_step import AgentStep as Moved

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
from ..rules.scheduling import BEFORE_WORK, is_asked
from .plans import Plan, PlanRevision
from .presets import TeamAgentRow
from .queries import failure_of, line_of, load_plan, pending_gate, questions_of, state_of, state_of_step, subject_of
from .steps import PlanMessage, PlanStep, PlanStepMove, PlanStepState

PLANNER, MANAGER, HUMAN = "Planner", "GroupChatManager", "Human"


class PlanLimitReached(Exception):
    """It cannot be planned anew any more. The text is a sentence for people."""


class PlanOutdated(Exception):
    """It was due by an earlier look, and is not any more."""


# ---- gates ------------------------------------------------------------------------------------------------


def refuse_outdated(plan: UUID, kind: ApprovalKind, number: int | None, asked: tuple[str, str, str]) -> None:
    """Whether exactly this is to be asked, by the rows as they are in this transaction. Outdated."""
    found = Plan.objects.planned().get(pk=plan)
    step = found.step(number) if number is not None else None
    if not pending_gate(found, kind, step) or questions_of(found, kind, step) != asked:
        raise PlanOutdated


# ---- revisions --------------------------------------------------------------------------------------------


def request_revision(plan: UUID, cause: RevisionCause, notes: str = "", by: str = "", step: int | None = None) -> None:
    """Make a new revision due instead of the last one, which does not count if it was never planned.

    Raises PlanLimitReached.
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
    """As `order`, unless somebody was faster: a revision that is due already finds what has failed."""
    now = PlanRevision.objects.filter(plan=plan).latest("number")
    if now.standing in (RevisionStatus.PROPOSED, RevisionStatus.ACCEPTED):
        with suppress(PlanLimitReached):  # then a person is asked at the next look
            request_revision(
                plan, RevisionCause.FAILURE, failure_of(PlanStep.objects.get(plan=plan, number=number)), step=number
            )


def supersede_revision(revision: PlanRevision, standing: RevisionStatus, **values: Any) -> None:
    PlanRevision.objects.filter(pk=revision.pk).update(standing=standing, **values)


def save_plan(plan: UUID, number: int, call: ModelCall, said: ProposedPlan, told: Collection[int]) -> None:
    """What the planner answered, unless something else was wanted meanwhile: then it stays as a call and no more.
    `told`: the steps of which it knew that they had failed."""
    revision = PlanRevision.objects.get(plan=plan, number=number)
    if revision.standing != RevisionStatus.ORDERED:
        return
    standing = RevisionStatus.ASKED if said.questions else RevisionStatus.PROPOSED
    planned = {"thought": said.thought, "questions": "\n".join(said.questions), "call": call, "planned": timezone.now()}
    planned |= {"places": []} if said.questions else {}
    supersede_revision(revision, standing, **planned)
    if said.questions:
        save_message(plan, PLANNER, "\n".join(said.questions))
        return
    places = _keep_steps(Plan.objects.planned().get(pk=plan), number, said.steps, told)
    PlanRevision.objects.filter(pk=revision.pk).update(places=places)
    save_message(plan, PLANNER, said.thought or f"Revision {Plan.objects.get(pk=plan).revision}.")


def ask_how_to_plan(plan: UUID, number: int, why: str) -> None:
    """The planner gave nothing that can be used: people say how the rest is planned, or that it ends."""
    revision = PlanRevision.objects.get(plan=plan, number=number)
    if revision.standing != RevisionStatus.ORDERED:
        return
    call = ModelCall.objects.filter(run=plan, step=revision.gate_step).latest("pk")
    question = f"{why} How should the rest be planned?"
    about = {"questions": question, "call": call, "planned": timezone.now(), "places": []}
    supersede_revision(revision, RevisionStatus.ASKED, **about)
    save_message(plan, MANAGER, question)


def _keep_steps(plan: Plan, revision: int, planned: Iterable[ProposedStep], told: Collection[int]) -> list[int]:
    """Steps that are planned again as they were, and nobody began, stay and keep their gates, as far as `place_of` has
    a place for them. All of them by their numbers, in their order."""
    highest = max((step.number for step in plan.steps.all()), default=0)
    last = max((step.position for step in plan.steps.all()), default=0)
    order = [_place(step, highest) for step in plan.steps_now if _goes_on(step, told)]
    said, fixed = list(planned), len(order)
    new, kept = _placed(plan, revision, said, order, highest)
    places = [place.number for place in order[fixed:]]
    for position, number in enumerate(places, last + 1):
        if number in kept:
            PlanStep.objects.filter(pk=kept[number].pk).update(position=position)
            continue
        step, action = new[number]
        step.position = position
        cached_sql.insert(step)
        _state(step, StepStatus.PLANNED, first=True, action=action, held=step.recorded_facts)
    _drop(revision, [step for step in plan.steps_now if step.number not in kept], told)
    SearchText.objects.add(plan.pk, index_words("\n".join(one.action for one in said)))
    return places


def _placed(
    plan: Plan, revision: int, planned: Sequence[ProposedStep], order: list[StepPlace], highest: int
) -> tuple[dict[int, tuple[PlanStep, str]], dict[int, PlanStep]]:
    """Steps that are new, with their actions, and those that stay, each by its number; in `order` they get their
    places. `highest`: of the numbers that there were."""
    old = [step for step in plan.steps_now if step.status in BEFORE_WORK and not step.tools_due]
    waiting = {(subject_of(plan, step).matching_key, _as_key(step.needs)): step for step in reversed(old)}
    new: dict[int, tuple[PlanStep, str]] = {}
    kept: dict[int, PlanStep] = {}
    numbers: dict[int, int] = {}  # of steps as the planner has numbered them
    for called, wanted in enumerate(planned, highest + 1):
        needs = None if wanted.needs is None else [numbers.get(need, need) for need in wanted.needs]
        step = _new(plan, revision, highest + 1 + len(new), wanted, needs)
        same = waiting.pop((subject_of(plan, step, wanted.action).matching_key, _as_key(needs)), None)
        at = place_of(_place(same, highest), order, _before(plan, same)) if same else None
        if same is not None and at is not None:
            kept[same.number] = step = same
        else:
            new[step.number] = step, wanted.action
        order.insert(len(order) if at is None else at, _place(step, highest))
        numbers[called] = step.number
    return new, kept


def _place(step: PlanStep, highest: int) -> StepPlace:
    return StepPlace(step.number, _as_key(step.needs), is_new=step.number > highest)


def _before(plan: Plan, step: PlanStep) -> set[int]:
    """The numbers of all steps that came before it, but for those that were left out."""
    left_out = (StepStatus.REJECTED, StepStatus.SUPERSEDED)
    before = [one for one in plan.steps_now if one.position < step.position and one.status not in left_out]
    return {one.number for one in before if not one.skipped}


def _goes_on(step: PlanStep, told: Collection[int]) -> bool:
    """Whether a revision leaves it as it is: what is done or under way, and what failed while it was planned, for
    nobody has seen to that yet."""
    unseen = step.status == StepStatus.FAILED and not step.skipped and step.number not in told
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
    return strongest([line_of(name).effect for name in names])


def _drop(revision: int, steps: Iterable[PlanStep], told: Collection[int]) -> None:
    """What this revision does not take over: what waits is not asked any more."""
    for step in steps:
        if _goes_on(step, told):
            continue
        if step.status in BEFORE_WORK:
            set_step_state(step, StepEvent.DROP)
        PlanStep.objects.filter(pk=step.pk).update(last_in=revision - 1)


def accept_revision(plan: UUID) -> None:
    """The newest one: an earlier one is never proposed any more. With it stands of which steps nobody has to be asked:
    passed one by one they would take as many looks and commits."""
    if not PlanRevision.objects.filter(plan=plan, standing=RevisionStatus.PROPOSED).update(
        standing=RevisionStatus.ACCEPTED
    ):
        return
    found = load_plan(plan)
    for step in found.steps_now:
        if not is_asked(state_of_step(step), found.effective_policy):
            _pass(step)


# ---- steps ------------------------------------------------------------------------------------------------


def set_step_state(
    step: PlanStep, event: StepEvent, by: str = "", why: str = "", author: Any = None, **values: Any
) -> None:
    """Let this happen to a step, on record. NotPossible. What is asked about it, where it is settled, is void.

    `by`: whose word it was; `author`: the user who gave it another text.
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
    """All that is asked about it: its own gate, and those within it."""
    if cached_sql.exists(Gate, "run", [step.plan_id], state=Gate.State.PENDING):
        its = Q(step=step.gate_step) | Q(step__startswith=f"{step.gate_step}-")
        Gate.objects.filter(its, run=step.plan_id).void()


def approve_step(plan: UUID, number: int) -> None:
    """Nobody has to be asked about it."""
    _pass(PlanStep.objects.get(plan=plan, number=number))


def _pass(step: PlanStep) -> None:
    if step.status in (StepStatus.PLANNED, StepStatus.AWAITING) and not step.tools_due:
        set_step_state(step, StepEvent.PASSED if step.status == StepStatus.PLANNED else StepEvent.APPROVE)


def ask_question(plan: UUID, number: int) -> None:
    """Unless it was changed since the look, and nobody has to be asked about it as it is now."""
    found = load_plan(plan)
    step = found.step(number)
    if (
        step.status == StepStatus.PLANNED
        and not step.tools_due
        and is_asked(state_of_step(step), found.effective_policy)
    ):
        set_step_state(step, StepEvent.ASKED)


def start_step(plan: UUID, number: int) -> None:
    """What was approved is begun, if it still is what it was, and its approval still stands; else it is asked about
    anew. Where its policy wants a gate, that is used up here."""
    found = load_plan(plan)
    step = found.step(number)
    if step.status != StepStatus.APPROVED or found.current.standing != RevisionStatus.ACCEPTED or found.stopped:
        return
    asked = is_asked(state_of_step(step), found.effective_policy)
    gate = Gate.objects.newest(plan, step.gate_step) if asked else None
    if asked and not (gate and gate.approved and gate.permits(subject_of(found, step).text, "", None)):
        set_step_state(step, StepEvent.CHANGED, why="It is not what was approved any more.")
        return
    if gate:
        gate.consume()
    set_step_state(step, StepEvent.BEGIN)


def edit(step: PlanStep, by: Any, **values: Any) -> None:
    """Another action, owner, tools or needs: nothing that was decided about the step holds any more, and who is asked
    about the whole plan is asked about another one."""
    values = {"action": step.action, "tools": step.tools, **values}
    set_step_state(step, StepEvent.CHANGED, by=record_name(by), author=by, **values, effect=effect_of(values["tools"]))
    proposed = PlanRevision.objects.filter(plan=step.plan_id, standing=RevisionStatus.PROPOSED)
    Gate.objects.filter(run=step.plan_id, step__in=[one.gate_step for one in proposed]).void()


def keep_tools(pk: UUID, number: int, said: NamedTools) -> bool:
    """Who does a step whose action was changed, and with which tools, unless it was changed again meanwhile.
    `number`: how many states it had then."""
    step = PlanStep.objects.select_related("agent", "plan__team_version").get(pk=pk)
    if not step.tools_due or step.status not in BEFORE_WORK or len(step.history) != number:
        return False
    held: dict[str, Any] = {"agent": _agent_named(step.plan, said.owner), "tools": list(said.tools), "tools_due": False}
    set_step_state(step, StepEvent.CHANGED, why=said.thought, action=step.action, **held, effect=effect_of(said.tools))
    return True


def give_to_person(plan: UUID, pk: UUID, number: int, why: str) -> None:
    """As `keep_tools`, where the planner gave no answer that can be used."""
    if keep_tools(pk, number, NamedTools(why, PERSON, ())):
        save_message(plan, MANAGER, f"{why} {PlanStep.objects.get(pk=pk)} is for a person now.")


def _agent_named(plan: Plan, owner: str) -> TeamAgentRow | None:
    """None for a person."""
    return next((one for one in plan.agents if one.name == owner and owner != PERSON), None)


def fail_step(plan: UUID, number: int, why: str, series: int | None = None) -> None:
    """`series`: the one that came to nothing, where another one may have begun since."""
    step = PlanStep.objects.get(plan=plan, number=number)
    if step.status == StepStatus.WORKING and series in (None, step.series):
        set_step_state(step, StepEvent.GIVE_UP, why=why)
        save_message(plan, MANAGER, f"{step}: {why}")


# ---- moves ------------------------------------------------------------------------------------------------


def save_move(seen: PlanStep, call: ModelCall, said: Moved) -> None:
    """What the agent of a step that was seen working answered, unless the step was settled otherwise meanwhile."""
    [step] = cached_sql.fetch(PlanStep, "pk", [seen.pk])
    if step.status != StepStatus.WORKING or step.series != seen.series:
        return
    step.agent = seen.agent  # once it has begun it is the same
    made = {"act": said.act, "thought": said.thought, "text": said.text, "call": call}
    if said.act is AgentAct.CALL:
        made |= {"tool": said.tool, "arguments": json.dumps(said.arguments, ensure_ascii=False, sort_keys=True)}
    settled = None if said.act in (AgentAct.CALL, AgentAct.ASK) else timezone.now()
    number = len(seen.moves_now) + 1
    cached_sql.insert(PlanStepMove(step=step, series=step.series, number=number, settled=settled, **made))
    if said.act is AgentAct.REPLY:
        set_step_state(step, StepEvent.REPLY, why=said.text)
    elif said.act is AgentAct.GIVE_UP:
        set_step_state(step, StepEvent.GIVE_UP, why=said.text)
    if said.act is not AgentAct.CALL:
        save_message(step.plan_id, step.owner, said.text)


def save_result(plan: UUID, move: int, call: ToolCall) -> None:
    """What came of a call. One that was wrong from the start is in no table."""
    tool = get_tool(call.tool)
    refused = call.status == ToolCall.Status.FAILED
    result = tool.describe_result(call) if tool else call.error
    values = {"result": result, "refused": refused, "settled": timezone.now()}
    values |= {"tool_call": call} if call.pk else {}
    PlanStepMove.objects.filter(pk=move, settled=None).update(**values)


def refuse_call(move: int, why: str) -> None:
    """A call that is not made."""
    PlanStepMove.objects.filter(pk=move, settled=None).update(result=why, refused=True, settled=timezone.now())


def save_answer(step: PlanStep, answer: str) -> None:
    PlanStepMove.objects.filter(step=step, series=step.series, settled=None).update(
        result=answer, settled=timezone.now()
    )


# ---- what is said, and the end ----------------------------------------------------------------------------


def save_message(plan: UUID, source: str, content: str, by: str = "", to: int = 0) -> None:
    numbers = [number for (number,) in cached_sql.select(PlanMessage, "plan", [plan], ["number"])]
    about = {"source": source, "content": content, "by_name": by, "to_step": to}
    cached_sql.insert(PlanMessage(plan_id=plan, number=max(numbers, default=0) + 1, **about))
    SearchText.objects.add(plan, index_words(content))


def stop(plan: UUID, by: str = "") -> None:
    """Somebody ends it: it comes to its end at the next look. What has not begun is left out: it waits for nobody."""
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
    """All texts; statuses, tools, numbers, names and times stay."""
    Plan.objects.filter(pk=plan).update(task="", summary="")
    Plan.objects.filter(pk=plan, matter_name__isnull=False).update(matter_name="")
    PlanRevision.objects.filter(plan=plan).update(notes="", thought="", questions="")
    PlanStepState.objects.filter(step__plan=plan).update(why="", action="")
    PlanStepMove.objects.filter(step__plan=plan).update(thought="", arguments="", text="", result="")
    PlanMessage.objects.filter(plan=plan).update(content="")
