"""The notes that stand with the title of a judgement."""

from collections.abc import Iterator

from engine.llm.providers import is_rehearsal, sameness
from runs import words

from .models import Judgement
from .parts import Cell, Chip, Seat
from .rules import SEATS


def chips_of(judgement: Judgement, seats: tuple[Seat, ...]) -> tuple[Chip, ...]:
    """What weighs most comes first: where there is no room the rest is folded."""
    return (*_rehearsed(judgement), *_redacted(judgement), *_fallbacks(seats), *_of_one_kind(seats))


def _rehearsed(judgement: Judgement) -> Iterator[Chip]:
    if sentence := judgement.rehearsal_sentence:
        number = sum(is_rehearsal(agent.model) for agent in judgement.agents.all())
        yield Chip("rehearsal" if number == len(SEATS) else f"{number} of 3 rehearsed", sentence, dashed=True)


def _redacted(judgement: Judgement) -> Iterator[Chip]:
    if sentence := words.redacted(judgement.run):
        yield Chip("redacted", sentence, "dash", "redacted")


def _fallbacks(seats: tuple[Seat, ...]) -> Iterator[Chip]:
    stood_in = [f"{cell.fallback} for {cell.agent} in round {cell.round}" for cell in _cells(seats) if cell.fallback]
    if stood_in:
        yield Chip("fallback used", f"Another model answered: {', '.join(stood_in)}.", "retry")


def _of_one_kind(seats: tuple[Seat, ...]) -> Iterator[Chip]:
    models = [seat.model for seat in seats]
    if sentence := sameness(models):
        yield Chip("one model" if len(set(models)) == 1 else "one vendor", sentence, "warn")


def _cells(seats: tuple[Seat, ...]) -> Iterator[Cell]:
    return (cell for seat in seats for cell in seat.cells)
