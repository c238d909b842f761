"""A plan's record: what its rows tell, what it is found by, and what of it cannot be.

What is told once never changes, for it may be sealed before the next row is written: so a revision tells that it became
due, and what the planner made of it is an entry of its own; so does a move, and what came of it.

Why so: docs/decisions.md, Plans.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from engine.evidence.chain import Draft, stamp
from engine.evidence.entries import ENDED, SUBMITTED
from engine.evidence.told import Said
from engine.llm.providers import is_rehearsal
from engine.models import Fork, Gate, Run
from engine.search import label

from . import standing
from .models import Message, Move, Plan, Revision, Step, StepState
from .models.reading import step_facts
from .rules.course import outcome_of
from .rules.demands import Meaning
from .rules.words import Event, NotPossible, Outcome, Standing, Status, after
from .standing import AT_ONCE

REVISION, PLANNED, STATE, MOVE, RESULT, SAID = (
    f"plan.{name}" for name in ("revision", "planned", "step", "move", "result", "said")
)

BEFORE_CLAIMS = ("1", "2")  # prompt versions of plans that knew no such outcome
USES = ("call", "ask")  # moves that come to something later


def tell(told: dict[UUID, Said], *, new: bool = False) -> None:
    """Add what the rows of these plans say to the drafts of their runs."""
    for plan in Plan.objects.filter(pk__in=list(told)).select_related("team_version__team", "matter"):
        _tell_submission(told[plan.pk][SUBMITTED][0], plan)
        for ended in told[plan.pk][ENDED]:
            ended.texts["summary"] = plan.summary
    Fork.objects.tell(told)
    rows = Revision.objects.filter(plan__in=list(told)).order_by("number")
    for one in rows:
        told[one.plan_id][REVISION].append(_revision(one))
    if new:
        return
    for one in sorted((one for one in rows if one.planned), key=lambda one: one.planned or one.made):
        told[one.plan_id][PLANNED].append(_planned(one))
    _tell_steps(told)
    for said in Message.objects.filter(plan__in=list(told)).order_by("number"):
        facts = {"number": said.number, "source": said.source, "by": said.by_name, "to": said.to_step}
        draft = Draft(SAID, stamp(said.made) or "", facts, {"content": said.content}, row=said.pk)
        told[said.plan_id][SAID].append(draft)


def _tell_submission(draft: Draft, plan: Plan) -> None:
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


def _revision(one: Revision) -> Draft:
    facts = {"number": one.number, "cause": one.cause, "step": one.cause_step, "by": one.by_name}
    return Draft(REVISION, stamp(one.made) or "", facts, {"notes": one.notes}, row=one.pk)


def _planned(one: Revision) -> Draft:
    texts = {"thought": one.thought, "questions": one.questions}
    facts = {"number": one.number} | ({"places": one.places} if one.places is not None else {})
    return Draft(PLANNED, stamp(one.planned) or "", facts, texts, row=one.pk)


def _tell_steps(told: dict[UUID, Said]) -> None:
    of = list(told)
    for state in StepState.objects.filter(step__plan__in=of).select_related("step").order_by("pk"):
        told[state.step.plan_id][STATE].append(_state(state))
    moves = list(Move.objects.filter(step__plan__in=of).select_related("step", "tool_call").order_by("pk"))
    for move in moves:
        told[move.step.plan_id][MOVE].append(_move(move))
    settled = [move for move in moves if move.settled and move.act in USES]
    for move in sorted(settled, key=lambda one: (one.settled or one.made, one.pk)):
        told[move.step.plan_id][RESULT].append(_result(move))


def _state(one: StepState) -> Draft:
    facts: dict[str, Any] = {
        **{"step": one.step.number, "number": one.number, "status": one.status, "event": one.event},
        **{"series": one.series, "by": one.by_name},
    }
    facts |= {"held": one.held} if one.held is not None else {}
    return Draft(STATE, stamp(one.made) or "", facts, {"why": one.why, "action": one.action}, row=one.pk)


def _move(one: Move) -> Draft:
    facts = {"key": one.key, "act": one.act, "tool": one.tool}
    texts = {name: getattr(one, name) for name in ("thought", "arguments", "text")}
    return Draft(MOVE, stamp(one.made) or "", facts, texts, row=one.pk)


def _result(one: Move) -> Draft:
    facts = {"key": one.key, "refused": one.refused, "call": one.tool_call.number if one.tool_call else None}
    return Draft(RESULT, stamp(one.settled) or "", facts, {"result": one.result}, row=one.pk)


def labels(said: Said) -> Iterator[str]:
    """Those that its rows make beside what any run is found by, from what is told of it."""
    [submitted, *_] = said[SUBMITTED]
    yield label("rehearsal", any(map(is_rehearsal, submitted.facts["models"])))
    yield label("team", submitted.facts["team"]["id"])
    if matter := submitted.facts["matter"]:
        yield label("matter", UUID(matter).hex)


def doubt(entries: Sequence[dict[str, Any]]) -> str:
    """Steps change by the table alone."""
    now: dict[int, Status] = {}
    for one in (entry["facts"] for entry in entries if entry["kind"] == STATE):
        number, status = one["step"], Status(one["status"])
        try:
            if one["event"] and after(now[number], Event(one["event"])) is not status:
                return f"Step {number} did not come to be {status} by its rules."
        except (KeyError, NotPossible):
            return f"Step {number} did not come to be {status} by its rules."
        now[number] = status
    return ""


def misstanding(runs: Sequence[UUID]) -> Iterator[tuple[UUID, str]]:
    """Whose columns that are no evidence, but decide what is due and what is shown, say otherwise than how it came
    about."""
    steps = Step.objects.filter(plan__in=runs).select_related("agent").prefetch_related("states").order_by("pk")
    for step in steps:
        if step.history and _of_history(step) != _of_columns(step):
            yield step.plan_id, f"Its {step} stands otherwise than it came to."
    yield from _misplaced(runs)
    yield from standing.out_of_order(runs)
    yield from standing.of_other_matters(runs)
    for plan in Plan.objects.filter(pk__in=runs).select_related("run").prefetch_related("revisions", "run__gates"):
        said = {one.choice for gate in _decided(plan) for one in gate.decisions.all()}
        if Meaning.END in said and not plan.stopped:
            yield plan.pk, "Somebody has ended it, and it says that nobody has."
        if plan.stopped and plan.run.outcome in (Outcome.DONE, Outcome.FAILED):
            yield plan.pk, f"It says that somebody has ended it, and that it came out as {plan.run.outcome}."
        yield from ((plan.pk, f"Its {one} stands otherwise than it came to.") for one in _misaccepted(plan))
    yield from _of_other_outcome(runs)


def _of_other_outcome(runs: Sequence[UUID]) -> Iterator[tuple[UUID, str]]:
    for plan in Plan.objects.planned().filter(pk__in=runs, stopped=False, run__status=Run.Status.FINISHED):
        due = {str(outcome_of(map(step_facts, plan.steps_now)))}
        if due == {Outcome.CLAIMED} and plan.prompt_version in BEFORE_CLAIMS:
            due |= {Outcome.DONE}
        if plan.run.outcome not in due:
            yield plan.pk, f"Its steps came to {' or '.join(sorted(due))}, and it says {plan.run.outcome}."


def _decided(plan: Plan) -> Iterable[Gate]:
    return Gate.objects.whole().filter(run=plan.pk).exclude(state__in=(Gate.State.PENDING, Gate.State.VOID))


def _of_history(step: Step) -> tuple[Any, ...]:
    states = step.history
    held: dict[str, Any] = next((one.held for one in reversed(states) if one.held is not None), {})
    events, last = {one.event for one in states}, states[-1]
    either = last.status in (Status.FAILED, Status.REJECTED)  # a later revision may leave it out or not have come
    dropped = _is_dropped(step) if either else last.status == Status.SUPERSEDED
    return held, last.status, last.series, Event.SKIP in events, Event.BEGIN in events, dropped


def _of_columns(step: Step) -> tuple[Any, ...]:
    return step.held, step.status, step.series, step.skipped, _is_begun(step), _is_dropped(step)


def _is_begun(step: Step) -> bool | None:
    """None where it says another moment than what is told of it; of older ones the column is a little earlier."""
    begun = [one.made for one in step.history if one.event == Event.BEGIN]
    if step.began is None or not begun:
        return step.began is not None
    return True if timedelta() <= begun[0] - step.began < AT_ONCE else None


def _is_dropped(step: Step) -> bool:
    return step.last_in is not None


def _misplaced(runs: Sequence[UUID]) -> Iterator[tuple[UUID, str]]:
    """Answers and calls that are no answers and calls of what they stand at."""
    for revision in Revision.objects.filter(plan__in=runs).select_related("call"):
        call, wanted = revision.call, (revision.plan_id, revision.gate_step) if revision.planned else None
        if wanted != ((call.run_id, call.step) if call else None):
            yield revision.plan_id, f"Its {revision} was planned by no such call."
    for move in Move.objects.filter(step__plan__in=runs).select_related("step", "call", "tool_call"):
        there = {(one.run_id, one.step) for one in (move.call, move.tool_call) if one}
        if there != {(move.step.plan_id, move.key)}:
            yield move.step.plan_id, f"Its {move} comes of no such call."
        if move.act not in USES and (move.refused or move.result or not move.settled):
            yield move.step.plan_id, f"Its {move} came to something else than it says."


def _misaccepted(plan: Plan) -> Iterator[Revision]:
    """Those that stand otherwise than what is told of them, and of their gates, makes them."""
    gates = list(plan.run.gates.all())
    for one in plan.revisions.all():
        asked = [gate for gate in gates if gate.step == one.gate_step]
        approved = any(gate.approved and gate.used for gate in asked)
        if one.number != plan.current.number:
            possible = {Standing.REPLACED}
        elif one.planned is None:
            possible = {Standing.ORDERED}
        elif approved or not asked:
            possible = {Standing.ACCEPTED} if approved else {Standing.ASKED, Standing.PROPOSED, Standing.ACCEPTED}
        else:
            possible = {Standing.PROPOSED}
        if one.standing not in possible:
            yield one
