"""Display objects for the pages of a plan: all texts and numbers, without HTML."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from django.urls import reverse

from engine.models import Gate, Run
from runs.approvals.pending import digest_mark
from runs.formatting import format_usage, user_label
from runs.history.review_reasons import failure_sentence
from runs.procedure.fragments import PageFragment, fragment_of, single_fragment
from runs.procedure.markers import OutcomeNote, outcome_note
from runs.procedure.spec import STATUS_LABELS, RunSnapshot
from runs.procedure.wait_reason import WaitReason
from runs.run_actions import retry_refusal

from .models import Plan, PlanMessage, PlanStep
from .models.queries import figures_of, is_pending_at, note_of, step_situation, why_not
from .models.writes import MANAGER
from .prompts.planner import PERSON
from .rules import scheduling
from .rules.actions import PlanAction
from .rules.approval_policy import ApprovalKind
from .rules.enums import PlanOutcome, StepEffect, StepStatus
from .rules.scheduling import MOVES

SLOTS = scheduling.STEPS_IN_ALL
STATES: Mapping[str, tuple[str, str, str]] = {  # of a step: CSS state, label, icon
    StepStatus.PLANNED: ("wait", "Planned", "idle"),
    StepStatus.AWAITING: ("asks", "Waits for approval", "pause"),
    StepStatus.APPROVED: ("wait", "Approved", "check"),
    StepStatus.REJECTED: ("none", "Left out", "dash"),
    StepStatus.WORKING: ("judging", "Working", "dots"),
    StepStatus.COMPLETED: ("approve", "Completed", "check"),
    StepStatus.FAILED: ("failed", "Failed", "bang"),
    StepStatus.SUPERSEDED: ("none", "Replaced", "dash"),
}
STOPPED = ("failed", "Stopped", "bang")
NOT_BEGUN = ("none", "Not begun", "dash")  # the plan ended before
CLAIMED = ("reject", "Claimed", "cross")  # completed, but no tool call shows it
WAIT_LABELS: Mapping[str, str] = {  # of a working step, by the kind of its pending gate
    ApprovalKind.TOOL: "Waits for approval",
    ApprovalKind.QUESTION: "Asks something",
    ApprovalKind.SEAT: "For a person",
    ApprovalKind.FAILURE: "Failed: what now?",
    ApprovalKind.UNCERTAIN: "Uncertain: did it happen?",
}
STATE_ICONS = {StepEffect.READS: "search", StepEffect.WRITES: "writes", StepEffect.REACHES_OUT: "out"}
EFFECTS = {StepEffect.READS: "reads", StepEffect.WRITES: "writes", StepEffect.REACHES_OUT: "reaches out"}
COUNT_TEXT = {  # by icon: singular and plural
    STATE_ICONS[StepEffect.READS]: ("only reads", "only read"),
    STATE_ICONS[StepEffect.WRITES]: ("changes something here", "change something here"),
    STATE_ICONS[StepEffect.REACHES_OUT]: ("is external", "are external"),
    "person": ("is for a person", "are for a person"),
}
OUTCOMES = {
    PlanOutcome.DONE: ("approve", "Done"),
    PlanOutcome.CLAIMED: ("reject", "Claimed"),
    PlanOutcome.REJECTED: ("reject", "Rejected"),
    PlanOutcome.FAILED: ("failed", "Failed"),
}


@dataclass(frozen=True)
class ToolCallView:
    tool: str
    sign: str
    does: str
    status: str
    arguments: str
    text: str


@dataclass(frozen=True)
class GateView:
    """A pending gate: `text` is exactly what is decided about; `state` changes whenever the gate's panel changes."""

    number: int
    kind: str
    title: str
    text: str
    digest: str
    who: str
    state: str


@dataclass(frozen=True)
class StepView:
    number: int
    place: int  # position in the row of steps; `number` may have gaps after a revision
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
    note: str  # says that no tool call shows the reply
    error: str
    live: str
    coming: frozenset[str]  # keys of the model calls whose partial answer is `live`
    calls: tuple[ToolCallView, ...]
    asked: tuple[GateView, ...]
    small: str
    address: str  # of the form that changes the step; empty once it has started

    @property
    def settled(self) -> bool:
        return self.state in ("approve", "reject", "none") and not self.asked


@dataclass(frozen=True)
class CommentView:
    number: int
    source: str
    by: str
    to: int
    content: str
    made: datetime


@dataclass(frozen=True)
class PlanSection:
    sign: str
    number: int
    words: str


@dataclass(frozen=True)
class BudgetBar:
    """What approving the whole plan allows: the number of steps by effect. `letters`: whether a step acts
    externally."""

    number: int
    parts: tuple[PlanSection, ...]
    letters: bool


@dataclass(frozen=True)
class PlanDisplay:
    id: str
    title: str
    task: str
    team: str
    matter: str
    state: str
    word: str
    small: str
    first: "StepView | None"  # the first step with a pending gate; None if the plan itself has one
    wait: WaitReason | None
    stamp: OutcomeNote | None
    steps: tuple[StepView, ...]
    asked: tuple[GateView, ...]
    bar: BudgetBar | None
    used: str
    trouble: str  # why the run failed
    thread: tuple[CommentView, ...]
    hearers: tuple[tuple[int, str], ...]  # steps whose agents still read messages: number and label
    planner_hears: bool
    progress: str
    thought: str
    planning: str
    coming: frozenset[str]  # keys of the planner's model calls that are being answered
    summary: str
    figures: str  # what tools did, counted; to check the summary
    claims: bool
    rehearsal: bool
    is_ended: bool
    is_final: bool
    announcement: str
    created: datetime
    asked_by: str
    redacted: datetime | None

    @property
    def can_start_another(self) -> bool:
        """Whether a new plan may use this one as its example."""
        return self.is_final and self.state == "approve" and not self.redacted

    @property
    def lamps(self) -> list[tuple[str, int]]:
        """State and position of each step, for the row of small hexagons."""
        return [(step.state, step.place) for step in self.steps]

    @property
    def places(self) -> Sequence[int]:
        """Positions without a step yet. The page has an empty element for each, since updates replace elements and
        insert none."""
        return range(len(self.steps) + 1, SLOTS + 1)


REHEARSED = "No model was asked. Its acts are real."


def _state_of(outcome: str) -> str:
    return OUTCOMES[PlanOutcome(outcome)][0]


def display_of(seen: RunSnapshot[Plan]) -> PlanDisplay:
    plan, run = seen.row, seen.run
    steps = tuple(_step_views(seen))
    plans = {step: text for step, text in seen.texts.items() if step.startswith("plan-")}
    state, word = _status_and_label(run, plan, seen.gates)
    own = [gate for gate in seen.gates if gate.pending and not gate.step.startswith("step-")]
    final = run.is_ended and bool(retry_refusal(run))
    return PlanDisplay(
        id=str(run.pk),
        title=run.shown_title,
        task=plan.task,
        team=f"{plan.team_version.name}, version {plan.team_version.number}",
        matter=plan.matter.name if plan.matter and not run.redacted else "",
        state=state,
        word=word,
        small=_decision_count_text(seen.gates),
        first=next((step for step in steps if step.asked), None) if not own else None,
        wait=None if own or any(step.asked for step in steps) else seen.wait,  # gates are shown with the steps
        stamp=outcome_note(run, word, "Rehearsal" if plan.rehearsal else "", _state_of, REHEARSED),
        steps=steps,
        asked=tuple(map(_gate_view, own)),
        bar=_bar(steps) if any(gate.kind == ApprovalKind.PLAN for gate in own) else None,
        used=format_usage(seen.calls),
        trouble=failure_sentence(run) if run.status == Run.Status.FAILED else "",
        thread=tuple(_comment_view(one) for one in sorted(plan.messages.all(), key=lambda one: one.number)),
        **message_readers(plan),
        progress=_progress(plan),
        thought=plan.current.thought if plan.revisions.all() else "",
        planning=next(iter(plans.values()), ""),
        coming=frozenset(plans),
        summary=plan.summary,
        figures=figures_of(plan) if plan.summary else "",
        claims=any(step.note for step in steps),
        rehearsal=plan.rehearsal,
        is_ended=run.is_ended,
        is_final=final,
        announcement=_announcement(word, steps),
        created=run.created,
        asked_by=user_label(run.asked_by),
        redacted=run.redacted,
    )


def _hearers(plan: Plan) -> tuple[tuple[int, str], ...]:
    open_ones = [step for step in plan.steps_now if not why_not(PlanAction.SAY, plan, step)]
    return tuple((step.number, f"{step.owner}, step {step.number}") for step in open_ones)


def message_readers(plan: Plan) -> dict[str, Any]:
    """Return template variables of the message form: who still reads messages."""
    return {"hearers": _hearers(plan), "planner_hears": not why_not(PlanAction.SAY, plan)}


def _status_and_label(run: Run, plan: Plan, gates: Sequence[Gate]) -> tuple[str, str]:
    if run.outcome:
        return OUTCOMES[PlanOutcome(run.outcome)]
    if run.status == Run.Status.RUNNING:
        return "judging", "Working" if plan.steps.all() else "Planning"
    return STATUS_LABELS[run.status]


def _bar(steps: Sequence[StepView]) -> BudgetBar:
    """Count the effects of the steps that have not started."""
    to_do = [step for step in steps if step.address]
    signs = ["person" if step.owner == PERSON else step.effect for step in to_do]
    counts = {sign: signs.count(sign) for sign in COUNT_TEXT}
    parts = [PlanSection(sign, count, COUNT_TEXT[sign][count > 1]) for sign, count in counts.items() if count]
    return BudgetBar(len(to_do), tuple(parts), letters=bool(counts[STATE_ICONS[StepEffect.REACHES_OUT]]))


def _progress(plan: Plan) -> str:
    counts = scheduling.counts(map(step_situation, plan.steps_now))
    if not counts.total:
        return ""
    parts = [f"{counts.completed} of {counts.total} steps completed"]
    claimed = sum(map(bool, map(note_of, plan.steps_now)))
    parts += [f"{claimed} of these claimed only"] if claimed else []
    skipped = sum(step.skipped and step.status == StepStatus.FAILED for step in plan.steps_now)
    left_out, failed = counts.rejected + skipped, counts.failed - skipped
    parts += [f"{left_out} left out"] if left_out else []
    parts += [f"{failed} failed"] if failed else []
    parts += [_revision_text(plan)] if plan.revision > 1 else []
    return ", ".join(parts)


def _revision_text(plan: Plan) -> str:
    """Name the revision and the numbers of the steps that it replaced; numbers are never reused."""
    gone = [str(step.number) for step in plan.steps.all() if step.last_in is not None]
    replaced = f" in place of step{'s' if len(gone) > 1 else ''} {', '.join(gone)}" if gone else ""
    return f"revision {plan.revision}{replaced}"


def _decision_count_text(gates: Sequence[Gate]) -> str:
    pending = [gate for gate in gates if gate.pending]
    if not pending:
        return ""
    return f"{len(pending)} {'decision' if len(pending) == 1 else 'decisions'} to make"


def _step_views(seen: RunSnapshot[Plan]) -> Iterator[StepView]:
    for place, step in enumerate(seen.row.steps_now, 1):
        inside = [gate for gate in seen.gates if gate.pending and is_pending_at(gate, step)]
        yield _step_view(seen, place, step, inside)


def _live(seen: RunSnapshot[Plan], step: PlanStep) -> dict[str, str]:
    """Return the partial answers of the step's agent, or of the planner while it names the step's tools."""
    begins = f"{step.gate_step}-", f"tools-{step.number}-"
    return {key: text for key, text in seen.texts.items() if key.startswith(begins)}


def _style_of(run: Run, step: PlanStep, note: str) -> tuple[str, str, str]:
    if note:
        return CLAIMED
    if run.is_ended and step.status == StepStatus.WORKING:
        return STOPPED
    if not run.is_ended or step.status not in scheduling.BEFORE_WORK:
        return STATES[step.status]
    if run.status != Run.Status.FAILED:
        return NOT_BEGUN
    # a failed run may be retried, so its steps are not shown as over
    return STATES[StepStatus.PLANNED if step.status == StepStatus.AWAITING else step.status]


def _step_view(seen: RunSnapshot[Plan], place: int, step: PlanStep, asked: Sequence[Gate]) -> StepView:
    note, live = note_of(step), _live(seen, step)
    state, word, sign = _style_of(seen.run, step, note)
    if asked and step.status != StepStatus.AWAITING:
        state, word, sign = "asks", WAIT_LABELS.get(asked[0].kind, WAIT_LABELS[ApprovalKind.TOOL]), "pause"
    return StepView(
        number=step.number,
        place=place,
        state=state,
        word="Left out" if step.skipped else word,
        sign=sign,
        owner=step.owner,
        action=step.action,
        changed=step.action != step.first_action,
        effect=STATE_ICONS[StepEffect(step.effect)],
        does=EFFECTS[StepEffect(step.effect)],
        tools=tuple(step.tools),
        after=_after(step),
        reply=step.reply,
        note=note,
        error=step.error if step.status == StepStatus.FAILED else "",
        live=next(iter(live.values()), ""),
        coming=frozenset(live),
        calls=tuple(_tool_call_view(move.tool_call) for move in step.moves.all() if move.tool_call),
        asked=tuple(map(_gate_view, asked)),
        small="" if seen.run.is_ended else _small_text(step, asked),
        address=_address(seen.row, step),
    )


def _small_text(step: PlanStep, asked: Sequence[Gate]) -> str:
    """Return the small text that is shown next to the status."""
    if step.tools_due:
        return "the planner names its tools"
    if step.status == StepStatus.WORKING and step.agent and not asked:
        return f"move {len(step.moves_now) + 1} of at most {MOVES}"
    if waits := next((gate for gate in asked if gate.pending), None):
        return f"asks {user_label(waits.asked)}" if waits.needs_people and waits.asked else _council_text(waits)
    return ""


def _council_text(gate: Gate) -> str:
    return f"asks the council {gate.policy['council']}" if not gate.needs_people else ""


def _address(plan: Plan, step: PlanStep) -> str:
    may = not why_not(PlanAction.CHANGE, plan, step)
    return reverse("plan-step", args=[step.plan_id, step.number]) if may else ""


def _after(step: PlanStep) -> str:
    if step.needs is None:
        return ""
    return f"after {', '.join(map(str, step.needs))}" if step.needs else "needs nothing before it"


def _tool_call_view(call: Any) -> ToolCallView:
    arguments = json.loads(call.arguments) if call.arguments else {}
    shown = "\n".join(f"{name}: {value}" for name, value in arguments.items())
    text = call.output if call.done else call.error
    return ToolCallView(
        call.tool, STATE_ICONS[StepEffect(call.effect)], EFFECTS[StepEffect(call.effect)], call.status, shown, text
    )


def _gate_view(gate: Gate) -> GateView:
    return GateView(gate.pk, gate.kind, gate.title, gate.text, gate.digest, gate.asked, digest_mark(gate))


def speaker_of(one: PlanMessage) -> str:
    """Return the shown name of a message's source; messages of the rules are shown as MAGI's."""
    return "MAGI" if one.source == MANAGER else one.source


def _comment_view(one: PlanMessage) -> CommentView:
    return CommentView(
        one.number, speaker_of(one), user_label(one.by_name) if one.by_name else "", one.to_step, one.content, one.made
    )


def _announcement(word: str, steps: Sequence[StepView]) -> str:
    for step in steps:
        if step.asked:
            return f"Step {step.number} waits: {step.action}"
    working = next((step for step in steps if step.state == "judging"), None)
    return f"Step {working.number}: {working.owner} works." if working else f"{word}."


fragment = partial(fragment_of, "plans")


def fragments(display: PlanDisplay) -> Iterator[PageFragment]:
    """Yield every fragment. The socket is last: once nothing can change it is removed, and no update comes after."""
    yield fragment("plate", single_fragment(display, "state", "word", "stamp"))
    yield fragment("stamp", {"display": display})
    yield fragment("wait", {"display": display})
    shown = single_fragment(display, "trouble", "small", "first", "progress", "used", "thought", "planning", "lamps")
    yield fragment("sub", shown, steps=display.coming)
    yield fragment("asked", single_fragment(display, "asked", "bar"))
    yield fragment("ending", single_fragment(display, "summary", "figures", "claims"))
    yield fragment("thread", single_fragment(display, "thread"))
    yield fragment("hearers", single_fragment(display, "hearers", "planner_hears"), replayed=False)
    for step in display.steps:
        yield fragment("step", {"step": step}, (step.place,), step.coming)
    for place in display.places:
        yield fragment("step", {"step": None, "place": place}, (place,))
    yield fragment(
        "actions", single_fragment(display, "id", "is_ended", "is_final", "can_start_another"), replayed=False
    )
    yield fragment("announcer", single_fragment(display, "announcement"), replayed=False)
    if display.is_final:
        yield fragment("socket", {"display": display}, replayed=False)
