"""What the live page shows, worked out from the rows: every word, sign and number, before any HTML."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.urls import reverse

from engine.models import ModelCall
from runs import words
from runs.attempts import retries_of
from runs.stamps import Stamp, stamp_of
from runs.usage import used

from . import rules
from .chips import chips_of
from .models import Agent, Judgement
from .parts import PLATE, Cell, Chip, Round, Seat, State
from .seats import seat_of
from .sentences import (
    announcement,
    decisions_in,
    sentence_of_kept,
    sentence_of_retry,
    sentence_of_rule,
    sentence_under_plate,
    sentences_of_remarks,
    sentences_of_verdict,
)


@dataclass(frozen=True)
class Display:
    id: str
    title: str
    content: str
    redacted: str
    stamp: Stamp | None
    chips: tuple[Chip, ...]
    council: str
    asked_by: str
    created: datetime
    started: datetime | None
    ended: datetime | None
    rehearsal: str
    used: str
    state: State
    word: str
    lead: str
    rest: str
    rule_lead: str
    rule_rest: str
    decided: tuple[str, ...]
    remarkable: tuple[str, ...]
    kept: str
    retry: str
    announcement: str
    seats: tuple[Seat, ...]
    rounds: tuple[Round, ...]

    @property
    def over(self) -> bool:
        return self.ended is not None

    @property
    def final(self) -> bool:
        """Nothing can change any more: no verdict is taken back, and only what failed, has its texts and was decided by
        nobody is retried."""
        decided = self.stamp is not None and self.stamp.by_a_person
        return self.state in ("approve", "reject", "stopped") or bool(self.redacted) or (self.over and decided)

    @property
    def record(self) -> str:
        return reverse("record", args=[self.id])

    @property
    def why(self) -> str:
        """Where the reason of an override stands."""
        return f"{self.record}#reviews"

    @property
    def unasked(self) -> bool:
        """Whether no model at all was asked."""
        return all(seat.rehearsal for seat in self.seats)

    @property
    def took(self) -> str:
        return words.took(self.started, self.ended)

    @property
    def begun(self) -> int:
        """The round that goes on; 0 where none does."""
        return next((one.number for one in self.rounds if one.current and any(c.running for c in one.cells)), 0)

    @property
    def rounds_newest_first(self) -> list[Round]:
        return list(reversed(self.rounds))


def display_of(judgement: Judgement, calls: list[ModelCall], texts: Mapping[str, str]) -> Display:
    """The display of a judgement read with `whole()`.

    `calls` are its model calls, oldest first; `texts` the growing answers by step, as far as they are known. What
    failed before the run was tried again says nothing about how it stands now.
    """
    own = [call for call in calls if call.series == judgement.run.retries]
    latest, retries = {call.step: call for call in own}, retries_of(own)
    seats = tuple(seat_of(judgement, number, agent, latest, texts, retries) for number, agent in _numbered(judgement))
    state, word = PLATE[judgement.status]
    lead, rest = sentence_under_plate(judgement, seats)
    rule_lead, rule_rest = sentence_of_rule(judgement, seats)
    run = judgement.run
    return Display(
        id=str(run.pk),
        title=judgement.run.shown_title,
        content=judgement.content,
        redacted=words.redacted(run),
        stamp=stamp_of(run, word, judgement.rehearsal_sentence, lambda outcome: PLATE[outcome][0]),
        chips=chips_of(judgement, seats),
        council=judgement.council_version.name if judgement.council_version else "",
        asked_by=words.asked_by(run),
        created=run.created,
        started=run.started,
        ended=run.ended,
        rehearsal=judgement.rehearsal_sentence,
        used=used(calls),
        state=state,
        word=word,
        lead=lead,
        rest=rest,
        rule_lead=rule_lead,
        rule_rest=rule_rest,
        decided=sentences_of_verdict(judgement, seats),
        remarkable=sentences_of_remarks(judgement),
        kept=sentence_of_kept(decisions_in(seats)),
        retry=sentence_of_retry(judgement, seats),
        announcement=announcement(judgement, seats, lead, rest),
        seats=seats,
        rounds=tuple(_round(judgement, number, seats) for number in rules.ROUNDS),
    )


def newly_decided(before: Display, display: Display) -> str:
    """How the last of those agents decides that have decided in between; empty where none has."""
    cells = zip(_cells(before), _cells(display), strict=True)
    new = [cell.state for was, cell in cells if cell != was and cell.decided]
    return new[-1] if new else ""


def _cells(display: Display) -> list[Cell]:
    return [cell for number in display.rounds for cell in number.cells]


def _numbered(judgement: Judgement) -> list[tuple[int, Agent]]:
    return list(enumerate(judgement.agents.all(), start=1))


def _round(judgement: Judgement, number: int, seats: tuple[Seat, ...]) -> Round:
    return Round(
        number=number,
        weight=rules.tenths(rules.WEIGHTS[number]),
        current=judgement.status == "judging" and number == judgement.current_round,
        cells=tuple(seat.cells[number - 1] for seat in seats),
    )
