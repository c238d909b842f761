"""Entries of a plan in the audit log: how rows become entries, search terms, and checks for contradictions.

An entry never changes, since it may be sealed before the next row is written. So a revision has one entry when it is
ordered and another when it is planned, and a move has one when it is made and another for its result.

Why so: plans/DESIGN.md, Plans.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db.models import Min

from engine.audit.entries_from_rows import RunEntries
from engine.ledger.entries import ENDED, SUBMITTED
from engine.ledger.hashing import EntryDraft, format_timestamp
from engine.llm.providers import is_rehearsal
from engine.models import Fork, Gate, Run
from engine.text.search_terms import label_term

from .models import Plan, PlanMessage, PlanRevision, PlanStep, PlanStepMove, PlanStepState, Project
from .models.queries import step_situation
from .rules.approval_policy import DecisionMeaning
from .rules.enums import PlanOutcome, RevisionStatus, StepEvent, StepStatus, TransitionNotAllowed, next_status
from .rules.scheduling import outcome_of

Inconsistency = Iterator[tuple[UUID, str]]
AT_ONCE = timedelta(minutes=1)  # rows of one transaction: a project and its first plan, a step's start and its entry


def runs_with_wrong_step_order(runs: Sequence[UUID]) -> Inconsistency:
    """Yield runs with a step that is not where its revisions put it, or that no revision dropped. Revisions from before
    the column `places` cannot be checked."""
    revisions: dict[UUID, dict[int, Any]] = defaultdict(dict)
    for one in PlanRevision.objects.filter(plan__in=runs).exclude(planned=None).order_by("number"):
        revisions[one.plan_id][one.number] = one.places
    known = {plan: places for plan, places in revisions.items() if None not in places.values()}
    for step in PlanStep.objects.filter(plan__in=list(known)).order_by("pk"):
        places = known[step.plan_id]
        if _positions(places.values()).get(step.number) != step.position:
            yield step.plan_id, f"Its {step} stands in another place than it was planned for."
        if step.last_in is not None and not _drops(places, step.last_in + 1, step.number):
            yield step.plan_id, f"Its {step} was dropped by another revision than it says."


def _positions(revisions: Iterable[Sequence[int]]) -> dict[int, int]:
    """Return the position of each step by its number, from the last revision that has the step."""
    found: dict[int, int] = {}
    for places in revisions:
        last = max(found.values(), default=0)
        found |= {number: position for position, number in enumerate(places, last + 1)}
    return found


def _drops(revisions: Mapping[int, Sequence[int]], by: int, step: int) -> bool:
    """Tell whether revision `by` planned steps and comes after all revisions that have the step."""
    with_it = max((number for number, places in revisions.items() if step in places), default=0)
    return by > with_it and bool(revisions.get(by))


def runs_in_wrong_project(runs: Sequence[UUID]) -> Inconsistency:
    plans = Plan.objects.filter(pk__in=runs).exclude(matter=None).select_related("run", "matter")
    firsts = Project.objects.filter(plans__in=plans).annotate(first=Min("plans__run__created"))
    began = dict(firsts.values_list("pk", "first"))
    for plan in plans:
        if plan.matter and (text := _project_mismatch(plan, plan.matter, began[plan.matter.pk] - plan.matter.created)):
            yield plan.pk, text


def _project_mismatch(plan: Plan, matter: Project, late: timedelta) -> str:
    if matter.owner_id != plan.run.owner_id:
        return "Its matter is said to be somebody else's."
    if not -AT_ONCE < late < AT_ONCE:
        return "Its matter was not made with the first plan of it."
    if (matter.erased is None) != bool(matter.name):
        return "Its matter has lost its name, and was not taken away, or has it still."
    if matter.erased and plan.run.created > matter.erased + AT_ONCE:
        return "It was begun in a matter that had been taken away."
    called = plan.matter_name if matter.erased is None and plan.run.redacted is None else None
    return "Its matter was called otherwise." if called is not None and called != matter.name else ""


REVISION, PLANNED, STATE, MOVE, RESULT, SAID = (
    f"plan.{name}" for name in ("revision", "planned", "step", "move", "result", "said")
)

BEFORE_CLAIMS = ("1", "2")  # prompt versions from before the outcome `claimed`
ACTS_WITH_RESULT = ("call", "ask")  # their result comes later than the move


def build_entries(told: dict[UUID, RunEntries], *, new: bool = False) -> None:
    """Add the entries of these plans to the drafts of their runs; `new`: they were just submitted."""
    for plan in Plan.objects.filter(pk__in=list(told)).select_related("team_version__team", "matter"):
        _add_submission_facts(told[plan.pk][SUBMITTED][0], plan)
        for ended in told[plan.pk][ENDED]:
            ended.texts["summary"] = plan.summary
    Fork.objects.tell(told)
    rows = PlanRevision.objects.filter(plan__in=list(told)).order_by("number")
    for one in rows:
        told[one.plan_id][REVISION].append(_revision(one))
    if new:
        return
    for one in sorted((one for one in rows if one.planned), key=lambda one: one.planned or one.made):
        told[one.plan_id][PLANNED].append(_planned(one))
    _add_step_entries(told)
    for message in PlanMessage.objects.filter(plan__in=list(told)).order_by("number"):
        facts = {"number": message.number, "source": message.source, "by": message.by_name, "to": message.to_step}
        draft = EntryDraft(
            SAID, format_timestamp(message.made) or "", facts, {"content": message.content}, row=message.pk
        )
        told[message.plan_id][SAID].append(draft)


def _add_submission_facts(draft: EntryDraft, plan: Plan) -> None:
    version = plan.team_version
    draft.facts |= {
        "team": {"id": version.team_id, "name": version.name, "version": version.number},
        "policy": plan.policy,
        "models": plan.asked_models,
        "prompt_version": plan.prompt_version,
        "matter": str(plan.matter_id) if plan.matter_id else None,
        "earlier": str(plan.earlier_id) if plan.earlier_id else None,
    }
    draft.texts["task"] = plan.task
    if plan.matter_name is not None:
        draft.texts["matter"] = plan.matter_name


def _revision(one: PlanRevision) -> EntryDraft:
    facts = {"number": one.number, "cause": one.cause, "step": one.cause_step, "by": one.by_name}
    return EntryDraft(REVISION, format_timestamp(one.made) or "", facts, {"notes": one.notes}, row=one.pk)


def _planned(one: PlanRevision) -> EntryDraft:
    texts = {"thought": one.thought, "questions": one.questions}
    facts = {"number": one.number} | ({"places": one.places} if one.places is not None else {})
    return EntryDraft(PLANNED, format_timestamp(one.planned) or "", facts, texts, row=one.pk)


def _add_step_entries(entries: dict[UUID, RunEntries]) -> None:
    of = list(entries)
    for state in PlanStepState.objects.filter(step__plan__in=of).select_related("step").order_by("pk"):
        entries[state.step.plan_id][STATE].append(_state(state))
    moves = list(PlanStepMove.objects.filter(step__plan__in=of).select_related("step", "tool_call").order_by("pk"))
    for move in moves:
        entries[move.step.plan_id][MOVE].append(_move(move))
    settled = [move for move in moves if move.settled and move.act in ACTS_WITH_RESULT]
    for move in sorted(settled, key=lambda one: (one.settled or one.made, one.pk)):
        entries[move.step.plan_id][RESULT].append(_result(move))


def _state(one: PlanStepState) -> EntryDraft:
    facts: dict[str, Any] = {
        **{"step": one.step.number, "number": one.number, "status": one.status, "event": one.event},
        **{"series": one.series, "by": one.by_name},
    }
    facts |= {"held": one.held} if one.held is not None else {}
    return EntryDraft(
        STATE, format_timestamp(one.made) or "", facts, {"why": one.why, "action": one.action}, row=one.pk
    )


def _move(one: PlanStepMove) -> EntryDraft:
    facts = {"key": one.key, "act": one.act, "tool": one.tool}
    texts = {name: getattr(one, name) for name in ("thought", "arguments", "text")}
    return EntryDraft(MOVE, format_timestamp(one.made) or "", facts, texts, row=one.pk)


def _result(one: PlanStepMove) -> EntryDraft:
    facts = {"key": one.key, "refused": one.refused, "call": one.tool_call.number if one.tool_call else None}
    return EntryDraft(RESULT, format_timestamp(one.settled) or "", facts, {"result": one.result}, row=one.pk)


def labels(said: RunEntries) -> Iterator[str]:
    """Yield search terms from the entries, in addition to those that every run has."""
    [submitted, *_] = said[SUBMITTED]
    yield label_term("rehearsal", any(map(is_rehearsal, submitted.facts["models"])))
    yield label_term("team", submitted.facts["team"]["id"])
    if matter := submitted.facts["matter"]:
        yield label_term("matter", UUID(matter).hex)


def validate_entries(entries: Sequence[dict[str, Any]]) -> str:
    """Return what is wrong: steps may change only as `rules.enums.TRANSITIONS` says. Empty if all is well."""
    now: dict[int, StepStatus] = {}
    for one in (entry["facts"] for entry in entries if entry["kind"] == STATE):
        number, status = one["step"], StepStatus(one["status"])
        try:
            if one["event"] and next_status(now[number], StepEvent(one["event"])) is not status:
                return f"Step {number} did not come to be {status} by its rules."
        except (KeyError, TransitionNotAllowed):
            return f"Step {number} did not come to be {status} by its rules."
        now[number] = status
    return ""


def inconsistent_runs(runs: Sequence[UUID]) -> Iterator[tuple[UUID, str]]:
    """Yield runs whose unsealed columns contradict their history. These columns are no evidence, but they decide what
    is due and what pages show."""
    steps = PlanStep.objects.filter(plan__in=runs).select_related("agent").prefetch_related("states").order_by("pk")
    for step in steps:
        if step.history and _expected_columns(step) != _actual_columns(step):
            yield step.plan_id, f"Its {step} stands otherwise than it came to."
    yield from _runs_with_foreign_calls(runs)
    yield from runs_with_wrong_step_order(runs)
    yield from runs_in_wrong_project(runs)
    for plan in Plan.objects.filter(pk__in=runs).select_related("run").prefetch_related("revisions", "run__gates"):
        choices = {one.choice for gate in _decided(plan) for one in gate.decisions.all()}
        if DecisionMeaning.END in choices and not plan.stopped:
            yield plan.pk, "Somebody has ended it, and it says that nobody has."
        if plan.stopped and plan.run.outcome in (PlanOutcome.DONE, PlanOutcome.FAILED):
            yield plan.pk, f"It says that somebody has ended it, and that it came out as {plan.run.outcome}."
        yield from (
            (plan.pk, f"Its {one} stands otherwise than it came to.") for one in _revisions_with_wrong_status(plan)
        )
    yield from _runs_with_wrong_outcome(runs)


def _runs_with_wrong_outcome(runs: Sequence[UUID]) -> Iterator[tuple[UUID, str]]:
    for plan in Plan.objects.planned().filter(pk__in=runs, stopped=False, run__status=Run.Status.FINISHED):
        due = {str(outcome_of(map(step_situation, plan.steps_now)))}
        if due == {PlanOutcome.CLAIMED} and plan.prompt_version in BEFORE_CLAIMS:
            due |= {PlanOutcome.DONE}
        if plan.run.outcome not in due:
            yield plan.pk, f"Its steps came to {' or '.join(sorted(due))}, and it says {plan.run.outcome}."


def _decided(plan: Plan) -> Iterable[Gate]:
    return Gate.objects.with_decisions().filter(run=plan.pk).exclude(state__in=(Gate.State.PENDING, Gate.State.VOID))


def _expected_columns(step: PlanStep) -> tuple[Any, ...]:
    states = step.history
    held: dict[str, Any] = next((one.held for one in reversed(states) if one.held is not None), {})
    events, last = {one.event for one in states}, states[-1]
    # a step that failed or was rejected is dropped by the next revision, if one comes
    either = last.status in (StepStatus.FAILED, StepStatus.REJECTED)
    dropped = _is_dropped(step) if either else last.status == StepStatus.SUPERSEDED
    return held, last.status, last.series, StepEvent.SKIP in events, StepEvent.BEGIN in events, dropped


def _actual_columns(step: PlanStep) -> tuple[Any, ...]:
    return step.recorded_facts, step.status, step.series, step.skipped, _is_begun(step), _is_dropped(step)


def _is_begun(step: PlanStep) -> bool | None:
    """Return whether the step has started, by its column; None if the column and the entry differ by more than
    AT_ONCE. In older rows the column is slightly earlier."""
    begun = [one.made for one in step.history if one.event == StepEvent.BEGIN]
    if step.began is None or not begun:
        return step.began is not None
    return True if timedelta() <= begun[0] - step.began < AT_ONCE else None


def _is_dropped(step: PlanStep) -> bool:
    return step.last_in is not None


def _runs_with_foreign_calls(runs: Sequence[UUID]) -> Iterator[tuple[UUID, str]]:
    """Yield revisions and moves whose model call or tool call belongs to something else."""
    for revision in PlanRevision.objects.filter(plan__in=runs).select_related("call"):
        call, wanted = revision.call, (revision.plan_id, revision.gate_step) if revision.planned else None
        if wanted != ((call.run_id, call.step) if call else None):
            yield revision.plan_id, f"Its {revision} was planned by no such call."
    for move in PlanStepMove.objects.filter(step__plan__in=runs).select_related("step", "call", "tool_call"):
        there = {(one.run_id, one.step) for one in (move.call, move.tool_call) if one}
        if there != {(move.step.plan_id, move.key)}:
            yield move.step.plan_id, f"Its {move} comes of no such call."
        if move.act not in ACTS_WITH_RESULT and (move.refused or move.result or not move.settled):
            yield move.step.plan_id, f"Its {move} came to something else than it says."


def _revisions_with_wrong_status(plan: Plan) -> Iterator[PlanRevision]:
    """Yield revisions whose status contradicts their gates."""
    gates = list(plan.run.gates.all())
    for one in plan.revisions.all():
        asked = [gate for gate in gates if gate.step == one.gate_step]
        approved = any(gate.approved and gate.used for gate in asked)
        if one.number != plan.current.number:
            possible = {RevisionStatus.REPLACED}
        elif one.planned is None:
            possible = {RevisionStatus.ORDERED}
        elif approved or not asked:
            possible = (
                {RevisionStatus.ACCEPTED}
                if approved
                else {RevisionStatus.ASKED, RevisionStatus.PROPOSED, RevisionStatus.ACCEPTED}
            )
        else:
            possible = {RevisionStatus.PROPOSED}
        if one.standing not in possible:
            yield one
