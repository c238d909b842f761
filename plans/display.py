"""What the pages of a plan show: every word and number, before any HTML."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.urls import reverse

from engine.models import Gate, Run
from runs.deciding import mark_of
from runs.face import STANDINGS, Snapshot
from runs.reasons import failure_of
from runs.stamps import Stamp, stamp_of
from runs.steering import why_not_retried
from runs.usage import used
from runs.waits import Wait
from runs.words import shown_name

from .models import Message, Plan, Step
from .models.keeping import MANAGER
from .models.reading import figures_of, note_of, stands_at, step_facts, why_not
from .prompts.planner import PERSON
from .rules import course
from .rules.actions import PlanAction
from .rules.course import MOVES
from .rules.demands import Kind
from .rules.words import Effect, Outcome, Status

SLOTS = course.STEPS_IN_ALL
STATES: Mapping[str, tuple[str, str, str]] = {  # of a step: look, word, sign
    Status.PLANNED: ("wait", "Planned", "idle"),
    Status.AWAITING: ("asks", "Waits for approval", "pause"),
    Status.APPROVED: ("wait", "Approved", "check"),
    Status.REJECTED: ("none", "Left out", "dash"),
    Status.WORKING: ("judging", "Working", "dots"),
    Status.COMPLETED: ("approve", "Completed", "check"),
    Status.FAILED: ("failed", "Failed", "bang"),
    Status.SUPERSEDED: ("none", "Replaced", "dash"),
}
STOPPED = ("failed", "Stopped", "bang")
NOT_BEGUN = ("none", "Not begun", "dash")  # of a plan that is over
CLAIMED = ("reject", "Claimed", "cross")  # completed, and no tool call shows it
WITHIN: Mapping[str, str] = {  # what a step waits for by what is asked within it
    Kind.TOOL: "Waits for approval",
    Kind.QUESTION: "Asks something",
    Kind.SEAT: "For a person",
    Kind.FAILURE: "Failed: what now?",
    Kind.UNCERTAIN: "Uncertain: did it happen?",
}
SIGNS = {Effect.READS: "search", Effect.WRITES: "writes", Effect.REACHES_OUT: "out"}
EFFECTS = {Effect.READS: "reads", Effect.WRITES: "writes", Effect.REACHES_OUT: "reaches out"}
COUNTED = {  # by its sign, what one step does, and what several do
    SIGNS[Effect.READS]: ("only reads", "only read"),
    SIGNS[Effect.WRITES]: ("changes something here", "change something here"),
    SIGNS[Effect.REACHES_OUT]: ("is external", "are external"),
    "person": ("is for a person", "are for a person"),
}
OUTCOMES = {
    Outcome.DONE: ("approve", "Done"),
    Outcome.CLAIMED: ("reject", "Claimed"),
    Outcome.REJECTED: ("reject", "Rejected"),
    Outcome.FAILED: ("failed", "Failed"),
}


@dataclass(frozen=True)
class Call:
    tool: str
    sign: str
    does: str
    status: str
    arguments: str
    text: str


@dataclass(frozen=True)
class Asked:
    """What waits for somebody: `text` is exactly what is decided about; `state`: another one as soon as something
    else is to be seen or said there."""

    number: int
    kind: str
    title: str
    text: str
    digest: str
    who: str
    state: str


@dataclass(frozen=True)
class StepShown:
    number: int
    place: int  # on the track: a revision leaves numbers out
    state: str
    word: str
    sign: str
    owner: str
    action: str
    changed: bool
    effect: str
    does: str
    tools: tuple[str, ...]
    after: str
    reply: str
    note: str  # that no tool call shows the reply
    error: str
    live: str
    coming: frozenset[str]  # steps of the run whose text that is
    calls: tuple[Call, ...]
    asked: tuple[Asked, ...]
    small: str
    address: str  # at which it is changed; empty once it has begun

    @property
    def settled(self) -> bool:
        return self.state in ("approve", "reject", "none") and not self.asked


@dataclass(frozen=True)
class Said:
    number: int
    source: str
    by: str
    to: int
    content: str
    made: datetime


@dataclass(frozen=True)
class Part:
    sign: str
    number: int
    words: str


@dataclass(frozen=True)
class Bar:
    """What approving all of a plan means: how many steps do what. `letters`: whether anything leaves the house."""

    number: int
    parts: tuple[Part, ...]
    letters: bool


@dataclass(frozen=True)
class Display:
    id: str
    title: str
    task: str
    team: str
    matter: str
    state: str
    word: str
    small: str
    first: "StepShown | None"  # the first step that asks; none where the plan does
    wait: Wait | None
    stamp: Stamp | None
    steps: tuple[StepShown, ...]
    asked: tuple[Asked, ...]
    bar: Bar | None
    used: str
    trouble: str  # why the run failed
    thread: tuple[Said, ...]
    hearers: tuple[tuple[int, str], ...]  # steps whose agents still hear something, with the words for them
    planner_hears: bool
    progress: str
    thought: str
    planning: str
    coming: frozenset[str]  # steps of the run in which a plan is made now
    summary: str
    figures: str  # what tools really did, to hold the summary against
    claims: bool
    rehearsal: bool
    over: bool
    final: bool
    announcement: str
    created: datetime
    asked_by: str
    redacted: datetime | None

    @property
    def worked(self) -> bool:
        """Whether another can begin from it."""
        return self.final and self.state == "approve" and not self.redacted

    @property
    def lamps(self) -> list[tuple[str, int]]:
        """State and place of each step, for the row of small hexagons."""
        return [(step.state, step.place) for step in self.steps]

    @property
    def places(self) -> Sequence[int]:
        """Of steps that are not there yet: a revision inserts nothing."""
        return range(len(self.steps) + 1, SLOTS + 1)


REHEARSED = "No model was asked. Its acts are real."


def _state_of(outcome: str) -> str:
    return OUTCOMES[Outcome(outcome)][0]


def display_of(seen: Snapshot[Plan]) -> Display:
    plan, run = seen.row, seen.run
    steps = tuple(_steps(seen))
    plans = {step: text for step, text in seen.texts.items() if step.startswith("plan-")}
    state, word = _plate(run, plan, seen.gates)
    own = [gate for gate in seen.gates if gate.pending and not gate.step.startswith("step-")]
    final = run.over and bool(why_not_retried(run))
    return Display(
        id=str(run.pk),
        title=run.shown_title,
        task=plan.task,
        team=f"{plan.team_version.name}, version {plan.team_version.number}",
        matter=plan.matter.name if plan.matter and not run.redacted else "",
        state=state,
        word=word,
        small=_small(seen.gates),
        first=next((step for step in steps if step.asked), None) if not own else None,
        wait=None if own or any(step.asked for step in steps) else seen.wait,  # what is asked stands on the track
        stamp=stamp_of(run, word, "Rehearsal" if plan.rehearsal else "", _state_of, REHEARSED),
        steps=steps,
        asked=tuple(map(_asked, own)),
        bar=_bar(steps) if any(gate.kind == Kind.PLAN for gate in own) else None,
        used=used(seen.calls),
        trouble=failure_of(run) if run.status == Run.Status.FAILED else "",
        thread=tuple(_said(one) for one in sorted(plan.messages.all(), key=lambda one: one.number)),
        **heard_by(plan),
        progress=_progress(plan),
        thought=plan.current.thought if plan.revisions.all() else "",
        planning=next(iter(plans.values()), ""),
        coming=frozenset(plans),
        summary=plan.summary,
        figures=figures_of(plan) if plan.summary else "",
        claims=any(step.note for step in steps),
        rehearsal=plan.rehearsal,
        over=run.over,
        final=final,
        announcement=_announcement(word, steps),
        created=run.created,
        asked_by=shown_name(run.asked_by),
        redacted=run.redacted,
    )


def _hearers(plan: Plan) -> tuple[tuple[int, str], ...]:
    open_ones = [step for step in plan.steps_now if not why_not(PlanAction.SAY, plan, step)]
    return tuple((step.number, f"{step.owner}, step {step.number}") for step in open_ones)


def heard_by(plan: Plan) -> dict[str, Any]:
    """Who still hears what is said, as the form shows them."""
    return {"hearers": _hearers(plan), "planner_hears": not why_not(PlanAction.SAY, plan)}


def _plate(run: Run, plan: Plan, gates: Sequence[Gate]) -> tuple[str, str]:
    if run.outcome:
        return OUTCOMES[Outcome(run.outcome)]
    if run.status == Run.Status.RUNNING:
        return "judging", "Working" if plan.steps.all() else "Planning"
    return STANDINGS[run.status]


def _bar(steps: Sequence[StepShown]) -> Bar:
    """Of those that are still to be done."""
    to_do = [step for step in steps if step.address]
    signs = ["person" if step.owner == PERSON else step.effect for step in to_do]
    counts = {sign: signs.count(sign) for sign in COUNTED}
    parts = [Part(sign, count, COUNTED[sign][count > 1]) for sign, count in counts.items() if count]
    return Bar(len(to_do), tuple(parts), letters=bool(counts[SIGNS[Effect.REACHES_OUT]]))


def _progress(plan: Plan) -> str:
    counts = course.counts(map(step_facts, plan.steps_now))
    if not counts.total:
        return ""
    said = [f"{counts.completed} of {counts.total} steps completed"]
    claimed = sum(map(bool, map(note_of, plan.steps_now)))
    said += [f"{claimed} of these claimed only"] if claimed else []
    skipped = sum(step.skipped and step.status == Status.FAILED for step in plan.steps_now)
    left_out, failed = counts.rejected + skipped, counts.failed - skipped
    said += [f"{left_out} left out"] if left_out else []
    said += [f"{failed} failed"] if failed else []
    said += [_revised(plan)] if plan.revision > 1 else []
    return ", ".join(said)


def _revised(plan: Plan) -> str:
    """With the numbers that are not on the track any more, and are given to no other step."""
    gone = [str(step.number) for step in plan.steps.all() if step.last_in is not None]
    replaced = f" in place of step{'s' if len(gone) > 1 else ''} {', '.join(gone)}" if gone else ""
    return f"revision {plan.revision}{replaced}"


def _small(gates: Sequence[Gate]) -> str:
    pending = [gate for gate in gates if gate.pending]
    if not pending:
        return ""
    return f"{len(pending)} {'decision' if len(pending) == 1 else 'decisions'} to make"


def _steps(seen: Snapshot[Plan]) -> Iterator[StepShown]:
    for place, step in enumerate(seen.row.steps_now, 1):
        inside = [gate for gate in seen.gates if gate.pending and stands_at(gate, step)]
        yield _step(seen, place, step, inside)


def _live(seen: Snapshot[Plan], step: Step) -> dict[str, str]:
    """What its agent is just answering, or the planner that names tools for it."""
    begins = f"{step.gate_step}-", f"tools-{step.number}-"
    return {key: text for key, text in seen.texts.items() if key.startswith(begins)}


def _look_of(run: Run, step: Step, note: str) -> tuple[str, str, str]:
    if note:
        return CLAIMED
    if run.over and step.status == Status.WORKING:
        return STOPPED
    if not run.over or step.status not in course.BEFORE_WORK:
        return STATES[step.status]
    if run.status != Run.Status.FAILED:
        return NOT_BEGUN
    return STATES[Status.PLANNED if step.status == Status.AWAITING else step.status]  # it may be tried again


def _step(seen: Snapshot[Plan], place: int, step: Step, asked: Sequence[Gate]) -> StepShown:
    note, live = note_of(step), _live(seen, step)
    state, word, sign = _look_of(seen.run, step, note)
    if asked and step.status != Status.AWAITING:
        state, word, sign = "asks", WITHIN.get(asked[0].kind, WITHIN[Kind.TOOL]), "pause"
    return StepShown(
        number=step.number,
        place=place,
        state=state,
        word="Left out" if step.skipped else word,
        sign=sign,
        owner=step.owner,
        action=step.action,
        changed=step.action != step.first_action,
        effect=SIGNS[Effect(step.effect)],
        does=EFFECTS[Effect(step.effect)],
        tools=tuple(step.tools),
        after=_after(step),
        reply=step.reply,
        note=note,
        error=step.error if step.status == Status.FAILED else "",
        live=next(iter(live.values()), ""),
        coming=frozenset(live),
        calls=tuple(_call(move.tool_call) for move in step.moves.all() if move.tool_call),
        asked=tuple(map(_asked, asked)),
        small="" if seen.run.over else _beside(step, asked),
        address=_address(seen.row, step),
    )


def _beside(step: Step, asked: Sequence[Gate]) -> str:
    """Beside the word for its state."""
    if step.tools_due:
        return "the planner names its tools"
    if step.status == Status.WORKING and step.agent and not asked:
        return f"move {len(step.moves_now) + 1} of at most {MOVES}"
    if waits := next((gate for gate in asked if gate.pending), None):
        return f"asks {shown_name(waits.asked)}" if waits.asks_persons and waits.asked else _of_council(waits)
    return ""


def _of_council(gate: Gate) -> str:
    return f"asks the council {gate.policy['council']}" if not gate.asks_persons else ""


def _address(plan: Plan, step: Step) -> str:
    may = not why_not(PlanAction.CHANGE, plan, step)
    return reverse("plan-step", args=[step.plan_id, step.number]) if may else ""


def _after(step: Step) -> str:
    if step.needs is None:
        return ""
    return f"after {', '.join(map(str, step.needs))}" if step.needs else "needs nothing before it"


def _call(call: Any) -> Call:
    arguments = json.loads(call.arguments) if call.arguments else {}
    shown = "\n".join(f"{name}: {value}" for name, value in arguments.items())
    text = call.output if call.done else call.error
    return Call(call.tool, SIGNS[Effect(call.effect)], EFFECTS[Effect(call.effect)], call.status, shown, text)


def _asked(gate: Gate) -> Asked:
    return Asked(gate.pk, gate.kind, gate.title, gate.text, gate.digest, gate.asked, mark_of(gate))


def speaker_of(one: Message) -> str:
    """Who says what the rules say has a name of the source, which people need not know."""
    return "MAGI" if one.source == MANAGER else one.source


def _said(one: Message) -> Said:
    return Said(
        one.number, speaker_of(one), shown_name(one.by_name) if one.by_name else "", one.to_step, one.content, one.made
    )


def _announcement(word: str, steps: Sequence[StepShown]) -> str:
    for step in steps:
        if step.asked:
            return f"Step {step.number} waits: {step.action}"
    working = next((step for step in steps if step.state == "judging"), None)
    return f"Step {working.number}: {working.owner} works." if working else f"{word}."
