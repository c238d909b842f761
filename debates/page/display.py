"""View model of the debate's pages: every word, sign and number is computed here, before any HTML."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Literal

from django.urls import reverse

from engine.llm.pricing import format_dollars
from engine.llm.providers import is_rehearsal
from engine.models import Document, Run
from runs import formatting
from runs.formatting import format_usage
from runs.procedure.fragments import PageFragment, fragment_of, single_fragment
from runs.procedure.markers import OutcomeNote, outcome_note
from runs.procedure.spec import RunSnapshot

from ..models import Debate, PanelVersion
from ..rules import state as rules
from ..rules.outcome import NO_DECISION
from .chart import ChartChange, ChartCurves, MemberRail, changes_of, curves_of, rails_of
from .context import DebatePageContext, page_context
from .member_view import member_history, member_view
from .outcome_view import DebateOutcomeView, outcome_view
from .sentences import announcement, count_noun, join_names, sentence_of_rule, status_sentence
from .table_svg import SpeechLines, clock_marks, speech_lines
from .transcript import (
    FirstVerdictView,
    TranscriptSlot,
    first_verdict_view,
    partial_message,
    slot_count,
    transcript_slots,
)
from .view_model import ClockView, MemberView, PartialMessage, PositionView

DebateStage = Literal["first", "open", "closing", "over"]

STATUS_TEXT = {
    Run.Status.QUEUED: ("idle", "Idle"),
    Run.Status.RUNNING: ("judging", "Debating"),
    Run.Status.WAITING: ("pending", "Waiting"),
    Run.Status.FAILED: ("failed", "Error"),
    Run.Status.CANCELLED: ("stopped", "Cancelled"),
}


@dataclass(frozen=True)
class ClosingView:
    """The last word of a member while it arrives."""

    seat: int
    growing: PartialMessage | None


@dataclass(frozen=True)
class DebateDisplay:
    id: str
    title: str
    question: str
    documents: tuple[Document, ...]
    panel: PanelVersion | None
    redacted: str
    stamp: OutcomeNote | None
    asked_by: str
    created: datetime
    started: datetime | None
    ended: datetime | None
    rehearsal: str
    used: str
    unasked: bool
    stage: DebateStage
    state: str
    word: str
    lead: str
    rest: str
    kept: str
    retry: str
    announcement: str
    stand: PositionView
    seats: tuple[MemberView, ...]
    wires: SpeechLines
    clock: ClockView
    rails: tuple[MemberRail, ...]
    curves: ChartCurves
    changes: tuple[ChartChange, ...]
    ending: DebateOutcomeView | None
    counts: str
    alone: tuple[FirstVerdictView, ...]
    slots: tuple[TranscriptSlot, ...]
    closings: tuple[ClosingView, ...]
    most_slots: int
    more: bool  # more messages can be granted
    asked: str  # seats of the persons who may speak now, each with its turn

    @property
    def is_ended(self) -> bool:
        return self.ended is not None

    @property
    def is_final(self) -> bool:
        """Return whether nothing can change any more. A failed run can be retried unless its texts are erased or a
        person has decided it."""
        decided = self.stamp is not None and self.stamp.by_a_person
        return self.is_ended and (self.state != "failed" or bool(self.redacted) or decided)

    @property
    def record(self) -> str:
        return reverse("debate-record", args=[self.id])

    @property
    def reason(self) -> str:
        """Link to the reason of an override in the record."""
        return f"{self.record}#reviews"

    @property
    def duration(self) -> str:
        return formatting.format_duration(self.started, self.ended)

    @property
    def number(self) -> int:
        """Number of members."""
        return len(self.seats)

    @property
    def places(self) -> Sequence[int]:
        """Numbers of the empty slots that the page reserves for later messages."""
        return range(len(self.slots) + 1, self.most_slots + 1) if not self.is_final else ()


def display_of(seen: RunSnapshot[Debate]) -> DebateDisplay:
    """Build the display of a debate that was read with `with_members()`."""
    scene = page_context(seen)
    debate, run, course = scene.debate, scene.run, scene.course
    state, word = status_text(scene)
    lead, rest = status_sentence(scene)
    rehearsal = sentence_of_rehearsal(debate)
    return DebateDisplay(
        id=str(run.pk),
        title=run.shown_title,
        question=debate.question,
        documents=() if run.redacted else tuple(run.documents.all()),
        panel=debate.panel_version,
        redacted=formatting.redacted(run),
        stamp=outcome_note(run, word, rehearsal, lambda outcome: plate_of_outcome(scene, outcome)[0]),
        asked_by=formatting.requester_label(run),
        created=run.created,
        started=run.started,
        ended=run.ended,
        rehearsal=rehearsal,
        used=_used(seen),
        unasked=all(is_rehearsal(member.model) for member in debate.seated),
        stage=_stage(scene),
        state=state,
        word=word,
        lead=lead,
        rest=rest,
        kept=_kept(scene),
        retry=_retry(scene),
        announcement=announcement(scene, word, lead, rest),
        stand=PositionView(member_history(scene), *sentence_of_rule(scene, debate.result(course))),
        seats=tuple(member_view(scene, member) for member in scene.seated),
        wires=speech_lines(scene),
        clock=clock_marks(scene),
        rails=rails_of(scene),
        curves=curves_of(scene),
        changes=changes_of(scene),
        ending=outcome_view(scene),
        counts=_counts(scene),
        alone=tuple(first_verdict_view(scene, member) for member in scene.seated),
        slots=transcript_slots(scene),
        closings=_closings(scene),
        most_slots=slot_count(scene),
        more=course.most < rules.MOST and not course.because,
        asked=" ".join(f"{turn.seat}:{turn.number}" for turn in scene.asked),
    )


def status_text(scene: DebatePageContext) -> tuple[str, str]:
    if scene.run.outcome:
        return plate_of_outcome(scene, scene.run.outcome)
    if scene.run.status == Run.Status.RUNNING and scene.closing:
        return "judging", "Closing"
    return STATUS_TEXT.get(Run.Status(scene.run.status), ("idle", "Idle"))


def plate_of_outcome(scene: DebatePageContext, outcome: str) -> tuple[str, str]:
    if outcome == NO_DECISION or outcome not in scene.looks:
        return "none", "No decision"
    return scene.looks[outcome].state, outcome


def sentence_of_rehearsal(debate: Debate) -> str:
    """Return the sentence that names the members that ask no model; empty if all members ask one."""
    names = [member.name for member in debate.seated if is_rehearsal(member.model)]
    if len(names) == len(debate.seated):
        return "Rehearsal: no model was asked."
    return f"Rehearsal: no model was asked for {join_names(names)}." if names else ""


def _stage(scene: DebatePageContext) -> DebateStage:
    if scene.over:
        return "over"
    if scene.course.because:
        return "closing"
    return "open" if scene.course.messages else "first"


def _used(seen: RunSnapshot[Debate]) -> str:
    spent = format_usage(list(seen.calls))
    return f"{spent} of {format_dollars(seen.run.spend)}" if spent and seen.run.spend is not None else spent


def _kept(scene: DebatePageContext) -> str:
    """Return the sentence of the question before a cancellation."""
    number = scene.course.clock
    if not number:
        return "Nothing has been said so far. There will be no outcome."
    so_far = "The message so far is" if number == 1 else f"The {number} messages so far are"
    return f"{so_far} kept. There will be no outcome."


def _retry(scene: DebatePageContext) -> str:
    """Return what a retry would do; empty if the debate cannot be retried."""
    if scene.run.status != Run.Status.FAILED or scene.run.redacted:
        return ""
    if scene.run.override:
        return "A person has decided it, so it is not retried."
    return "Retry gives silent members another chance, and goes on where it stopped."


def _counts(scene: DebatePageContext) -> str:
    changes = len(scene.course.changes)
    said = count_noun(scene.course.clock, "message")
    return f"{said}, {count_noun(changes, 'change')}" if changes else said


def _closings(scene: DebatePageContext) -> tuple[ClosingView, ...]:
    turns = {turn.seat: turn for turn in scene.closing_turns}
    return tuple(
        ClosingView(member.seat, partial_message(scene, turns[member.seat]) if member.seat in turns else None)
        for member in scene.seated
    )


STATUS = {
    "plate": ("state", "word", "stamp"),
    "stamp": ("stamp", "reason", "created"),
    "verdict_sub": ("lead", "rest"),
    "verdict_meta": ("id", "is_ended", "duration", "started", "used", "unasked"),
}
NOT_REPLAYED = {
    "actions": ("id", "stage", "more", "is_ended", "is_final", "redacted", "record", "retry"),
    "kept": ("kept",),
    "announcer": ("announcement",),
}


fragment = partial(fragment_of, "debates")


def fragments(display: DebateDisplay) -> Iterator[PageFragment]:
    """Yield every fragment. The socket is last: once nothing can change, the page closes it, and no other fragment
    could arrive."""
    yield from (fragment(name, single_fragment(display, *fields)) for name, fields in STATUS.items())
    yield from (fragment(name, context) for name, context in _drawn(display))
    yield from (
        fragment(name, single_fragment(display, *fields), replayed=False) for name, fields in NOT_REPLAYED.items()
    )
    yield fragment("asked", {"asked": display.asked}, replayed=False)
    for seat in display.seats:
        yield fragment("seat", {"seat": seat}, (seat.number,), frozenset(filter(None, [seat.step])))
    for rail in display.rails:
        yield fragment("rail", {"rail": rail}, (rail.seat,))
    yield from _of_transcript(display)
    if display.is_final:
        yield fragment("socket", {"display": display}, replayed=False)


def _drawn(display: DebateDisplay) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield fragments with exactly the values that they show: each is drawn again when these change."""
    yield "stand", {"stand": display.stand}
    yield "clock", {"clock": display.clock}
    yield "wires", {"wires": display.wires}
    yield "curves", {"curves": display.curves}
    yield "changes", {"changes": display.changes, "over": display.is_ended}
    yield "counts", {"counts": display.counts}
    yield "ending", {"ending": display.ending}


def _of_transcript(display: DebateDisplay) -> Iterator[PageFragment]:
    for alone in display.alone:
        steps = frozenset([f"first-{alone.seat}"]) if alone.growing else frozenset()
        yield fragment("alone", {"alone": alone}, (alone.seat,), steps, settled=alone.look is not None)
    for closing in display.closings:
        steps = frozenset([closing.growing.step]) if closing.growing else frozenset()
        yield fragment("closing", {"closing": closing}, (closing.seat,), steps)
    for slot in display.slots:  # last, as their number grows: so all pages get everything in one order
        steps = frozenset([slot.growing.step]) if slot.growing else frozenset()
        yield fragment("msg", {"slot": slot}, (slot.number,), steps, settled=slot.settled)
