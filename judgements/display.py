"""View model of the live page: every word, sign and number is computed here, before any HTML."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from django.urls import reverse

from engine.llm.providers import independence_warning, is_rehearsal
from engine.models import ModelCall
from runs import formatting
from runs.attempts import retries_of
from runs.formatting import format_usage
from runs.procedure.fragments import PageFragment, fragment_of
from runs.procedure.markers import OutcomeNote, outcome_note

from . import rules
from .agent_view import agent_view
from .models import Judgement, JudgementAgent
from .rules import SEATS
from .sentences import (
    announcement,
    decisions_in,
    flag_sentences,
    kept_decisions_sentence,
    retry_sentence,
    rule_sentence,
    status_sentence,
    verdict_sentences,
)
from .view_model import STATUS_TEXT, AgentState, AgentView, RoundCell, RoundView, TitleBadge


def title_badges(judgement: Judgement, seats: tuple[AgentView, ...]) -> tuple[TitleBadge, ...]:
    """Return the badges beside the title, most important first: the page folds those that do not fit."""
    return (*_rehearsed(judgement), *_redacted(judgement), *_fallbacks(seats), *_of_one_kind(seats))


def _rehearsed(judgement: Judgement) -> Iterator[TitleBadge]:
    if sentence := judgement.rehearsal_sentence:
        number = sum(is_rehearsal(agent.model) for agent in judgement.agents.all())
        yield TitleBadge("rehearsal" if number == len(SEATS) else f"{number} of 3 rehearsed", sentence, dashed=True)


def _redacted(judgement: Judgement) -> Iterator[TitleBadge]:
    if sentence := formatting.redacted(judgement.run):
        yield TitleBadge("redacted", sentence, "dash", "redacted")


def _fallbacks(seats: tuple[AgentView, ...]) -> Iterator[TitleBadge]:
    stood_in = [
        f"{cell.fallback} for {cell.agent} in round {cell.round}" for cell in _badge_cells(seats) if cell.fallback
    ]
    if stood_in:
        yield TitleBadge("fallback used", f"Another model answered: {', '.join(stood_in)}.", "retry")


def _of_one_kind(seats: tuple[AgentView, ...]) -> Iterator[TitleBadge]:
    models = [seat.model for seat in seats]
    if sentence := independence_warning(models):
        yield TitleBadge("one model" if len(set(models)) == 1 else "one vendor", sentence, "warn")


def _badge_cells(seats: tuple[AgentView, ...]) -> Iterator[RoundCell]:
    return (cell for seat in seats for cell in seat.cells)


@dataclass(frozen=True)
class JudgementDisplay:
    id: str
    title: str
    content: str
    redacted: str
    stamp: OutcomeNote | None
    chips: tuple[TitleBadge, ...]
    council: str
    asked_by: str
    created: datetime
    started: datetime | None
    ended: datetime | None
    rehearsal: str
    used: str
    state: AgentState
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
    seats: tuple[AgentView, ...]
    rounds: tuple[RoundView, ...]

    @property
    def is_ended(self) -> bool:
        return self.ended is not None

    @property
    def is_final(self) -> bool:
        """Return whether nothing can change any more. A verdict is final. A failed run can be retried unless its
        texts are erased or a person has decided it."""
        decided = self.stamp is not None and self.stamp.by_a_person
        return self.state in ("approve", "reject", "stopped") or bool(self.redacted) or (self.is_ended and decided)

    @property
    def record(self) -> str:
        return reverse("record", args=[self.id])

    @property
    def reason(self) -> str:
        """Link to the reason of an override in the record."""
        return f"{self.record}#reviews"

    @property
    def asks_no_model(self) -> bool:
        """Return whether no model is asked at all."""
        return all(seat.rehearsal for seat in self.seats)

    @property
    def duration(self) -> str:
        return formatting.format_duration(self.started, self.ended)

    @property
    def running_round(self) -> int:
        """Return the number of the running round, or 0."""
        return next((one.number for one in self.rounds if one.current and any(c.running for c in one.cells)), 0)

    @property
    def rounds_newest_first(self) -> list[RoundView]:
        return list(reversed(self.rounds))


def display_of(judgement: Judgement, calls: list[ModelCall], texts: Mapping[str, str]) -> JudgementDisplay:
    """Build the display of a judgement that was read with `with_agents()`.

    `calls`: its model calls, oldest first. `texts`: the partial answers by step, as far as known. Failures before a
    retry of the run do not affect the current status.
    """
    own = [call for call in calls if call.series == judgement.run.retries]
    latest, retries = {call.step: call for call in own}, retries_of(own)
    seats = tuple(
        agent_view(judgement, number, agent, latest, texts, retries) for number, agent in _numbered(judgement)
    )
    state, word = STATUS_TEXT[judgement.status]
    lead, rest = status_sentence(judgement, seats)
    rule_lead, rule_rest = rule_sentence(judgement, seats)
    run = judgement.run
    return JudgementDisplay(
        id=str(run.pk),
        title=judgement.run.shown_title,
        content=judgement.content,
        redacted=formatting.redacted(run),
        stamp=outcome_note(run, word, judgement.rehearsal_sentence, lambda outcome: STATUS_TEXT[outcome][0]),
        chips=title_badges(judgement, seats),
        council=judgement.council_version.name if judgement.council_version else "",
        asked_by=formatting.requester_label(run),
        created=run.created,
        started=run.started,
        ended=run.ended,
        rehearsal=judgement.rehearsal_sentence,
        used=format_usage(calls),
        state=state,
        word=word,
        lead=lead,
        rest=rest,
        rule_lead=rule_lead,
        rule_rest=rule_rest,
        decided=verdict_sentences(judgement, seats),
        remarkable=flag_sentences(judgement),
        kept=kept_decisions_sentence(decisions_in(seats)),
        retry=retry_sentence(judgement, seats),
        announcement=announcement(judgement, seats, lead, rest),
        seats=seats,
        rounds=tuple(_round(judgement, number, seats) for number in rules.ROUNDS),
    )


def new_decisions(before: JudgementDisplay, display: JudgementDisplay) -> str:
    """Return how the last agent that decided between the two displays decided; empty if none did."""
    cells = zip(_cells(before), _cells(display), strict=True)
    new = [cell.state for was, cell in cells if cell != was and cell.decided]
    return new[-1] if new else ""


def _cells(display: JudgementDisplay) -> list[RoundCell]:
    return [cell for number in display.rounds for cell in number.cells]


def _numbered(judgement: Judgement) -> list[tuple[int, JudgementAgent]]:
    return list(enumerate(judgement.agents.all(), start=1))


def _round(judgement: Judgement, number: int, seats: tuple[AgentView, ...]) -> RoundView:
    return RoundView(
        number=number,
        weight=rules.to_tenths(rules.WEIGHTS[number]),
        current=judgement.status == "judging" and number == judgement.current_round,
        cells=tuple(seat.cells[number - 1] for seat in seats),
    )


JUDGEMENT_FRAGMENTS = ("plate", "stamp", "chips", "verdict_sub", "verdict_meta", "matrix", "decided", "tr_empty")
LIVE_ONLY = ("actions", "kept", "replay", "announcer")
AGENT_FRAGMENTS = ("agent_state", "agent_tally", "agent_dstate", "agent_sum")
TEXT_FRAGMENTS = ("agent_reason", "agent_rounds")

fragment = partial(fragment_of, "judgements")


def fragments(display: JudgementDisplay) -> Iterator[PageFragment]:
    """Yield every fragment. The socket is last: once nothing can change, the page closes it, and no other fragment
    could arrive."""
    shown = {"display": display}
    yield from (fragment(name, shown) for name in JUDGEMENT_FRAGMENTS)
    yield from (fragment(name, shown, replayed=False) for name in LIVE_ONLY)
    for seat in display.seats:
        growing = _growing(seat.cells)
        for name in (*AGENT_FRAGMENTS, *TEXT_FRAGMENTS):
            steps = growing if name in TEXT_FRAGMENTS else frozenset()
            yield fragment(name, {"seat": seat}, (seat.number,), steps)
    for cell in (cell for number in display.rounds for cell in number.cells):
        yield fragment("cell", {"cell": cell}, (cell.round, cell.number), _growing([cell]))
    if display.is_final:
        yield fragment("socket", shown, replayed=False)


def _growing(cells: "Iterator[RoundCell] | tuple[RoundCell, ...] | list[RoundCell]") -> frozenset[str]:
    """Return the steps of the run whose reasons are being written now."""
    return frozenset(f"{rules.SEATS[cell.number - 1]}{cell.round}" for cell in cells if cell.running)
