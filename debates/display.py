"""What the pages of a debate show, worked out from the rows: every word, sign and number, before any HTML."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from django.urls import reverse

from engine.llm.prices import dollars
from engine.llm.providers import is_rehearsal
from engine.models import Document, Run
from runs import words
from runs.face import Snapshot
from runs.stamps import Stamp, stamp_of
from runs.usage import used

from .chart import Curves, Moved, Rail, changes_of, curves_of, rails_of
from .drawing import Wires, clock_of, wires_of
from .ending import Ending, ending_of
from .models import Debate, PanelVersion
from .parts import Clock, Growing, Seat, Stand
from .rules import course as rules
from .rules.outcome import NO_DECISION
from .scene import Scene, scene_of
from .seats import rows_of, seat_of
from .sentences import announcement, counted, listed, sentence_of_rule, sentence_under_plate
from .transcript import Alone, Slot, alone_of, growing_of, most_slots, slots_of

Stage = Literal["first", "open", "closing", "over"]

PLATE = {
    Run.Status.QUEUED: ("idle", "Idle"),
    Run.Status.RUNNING: ("judging", "Debating"),
    Run.Status.WAITING: ("pending", "Waiting"),
    Run.Status.FAILED: ("failed", "Error"),
    Run.Status.CANCELLED: ("stopped", "Cancelled"),
}


@dataclass(frozen=True)
class Closing:
    """The last word of a member, while it grows."""

    seat: int
    growing: Growing | None


@dataclass(frozen=True)
class Display:
    id: str
    title: str
    question: str
    documents: tuple[Document, ...]
    panel: PanelVersion | None
    redacted: str
    stamp: Stamp | None
    asked_by: str
    created: datetime
    started: datetime | None
    ended: datetime | None
    rehearsal: str
    used: str
    unasked: bool
    stage: Stage
    state: str
    word: str
    lead: str
    rest: str
    kept: str
    retry: str
    announcement: str
    stand: Stand
    seats: tuple[Seat, ...]
    wires: Wires
    clock: Clock
    rails: tuple[Rail, ...]
    curves: Curves
    changes: tuple[Moved, ...]
    ending: Ending | None
    counts: str
    alone: tuple[Alone, ...]
    slots: tuple[Slot, ...]
    closings: tuple[Closing, ...]
    most_slots: int
    more: bool  # messages can be granted
    asked: str  # the seats of the persons who may speak now, each with its turn

    @property
    def over(self) -> bool:
        return self.ended is not None

    @property
    def final(self) -> bool:
        """Nothing can change any more: only what failed, has its texts and was decided by nobody is retried."""
        decided = self.stamp is not None and self.stamp.by_a_person
        return self.over and (self.state != "failed" or bool(self.redacted) or decided)

    @property
    def record(self) -> str:
        return reverse("debate-record", args=[self.id])

    @property
    def why(self) -> str:
        """Where the reason of an override stands."""
        return f"{self.record}#reviews"

    @property
    def took(self) -> str:
        return words.took(self.started, self.ended)

    @property
    def number(self) -> int:
        """Of members at the table."""
        return len(self.seats)

    @property
    def places(self) -> Sequence[int]:
        """The numbers of the slots that stand in the page with nothing in them, for what is still to come."""
        return range(len(self.slots) + 1, self.most_slots + 1) if not self.final else ()


def display_of(seen: Snapshot[Debate]) -> Display:
    """The display of a debate that was read with `whole()`."""
    scene = scene_of(seen)
    debate, run, course = scene.debate, scene.run, scene.course
    state, word = plate_of(scene)
    lead, rest = sentence_under_plate(scene)
    rehearsal = sentence_of_rehearsal(debate)
    return Display(
        id=str(run.pk),
        title=run.shown_title,
        question=debate.question,
        documents=() if run.redacted else tuple(run.documents.all()),
        panel=debate.panel_version,
        redacted=words.redacted(run),
        stamp=stamp_of(run, word, rehearsal, lambda outcome: plate_of_outcome(scene, outcome)[0]),
        asked_by=words.asked_by(run),
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
        stand=Stand(rows_of(scene), *sentence_of_rule(scene, debate.come_to(course))),
        seats=tuple(seat_of(scene, member) for member in scene.seated),
        wires=wires_of(scene),
        clock=clock_of(scene),
        rails=rails_of(scene),
        curves=curves_of(scene),
        changes=changes_of(scene),
        ending=ending_of(scene),
        counts=_counts(scene),
        alone=tuple(alone_of(scene, member) for member in scene.seated),
        slots=slots_of(scene),
        closings=_closings(scene),
        most_slots=most_slots(scene),
        more=course.most < rules.MOST and not course.because,
        asked=" ".join(f"{turn.seat}:{turn.number}" for turn in scene.asked),
    )


def plate_of(scene: Scene) -> tuple[str, str]:
    if scene.run.outcome:
        return plate_of_outcome(scene, scene.run.outcome)
    if scene.run.status == Run.Status.RUNNING and scene.closing:
        return "judging", "Closing"
    return PLATE.get(Run.Status(scene.run.status), ("idle", "Idle"))


def plate_of_outcome(scene: Scene, outcome: str) -> tuple[str, str]:
    if outcome == NO_DECISION or outcome not in scene.looks:
        return "none", "No decision"
    return scene.looks[outcome].state, outcome


def sentence_of_rehearsal(debate: Debate) -> str:
    """Who asked no model; empty where every member did."""
    names = [member.name for member in debate.seated if is_rehearsal(member.model)]
    if len(names) == len(debate.seated):
        return "Rehearsal: no model was asked."
    return f"Rehearsal: no model was asked for {listed(names)}." if names else ""


def _stage(scene: Scene) -> Stage:
    if scene.over:
        return "over"
    if scene.course.because:
        return "closing"
    return "open" if scene.course.messages else "first"


def _used(seen: Snapshot[Debate]) -> str:
    spent = used(list(seen.calls))
    return f"{spent} of {dollars(seen.run.spend)}" if spent and seen.run.spend is not None else spent


def _kept(scene: Scene) -> str:
    """What the question before a cancellation says."""
    number = scene.course.clock
    if not number:
        return "Nothing has been said so far. There will be no outcome."
    so_far = "The message so far is" if number == 1 else f"The {number} messages so far are"
    return f"{so_far} kept. There will be no outcome."


def _retry(scene: Scene) -> str:
    """What it would do; empty where nothing can be tried again."""
    if scene.run.status != Run.Status.FAILED or scene.run.redacted:
        return ""
    if scene.run.override:
        return "A person has decided it, so it is not retried."
    return "Retry gives silent members another chance, and goes on where it stopped."


def _counts(scene: Scene) -> str:
    changes = len(scene.course.changes)
    said = counted(scene.course.clock, "message")
    return f"{said}, {counted(changes, 'change')}" if changes else said


def _closings(scene: Scene) -> tuple[Closing, ...]:
    turns = {turn.seat: turn for turn in scene.closing_turns}
    return tuple(
        Closing(member.seat, growing_of(scene, turns[member.seat]) if member.seat in turns else None)
        for member in scene.seated
    )
