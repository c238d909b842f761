"""Where a person who reviews work can look it up: the places that its claims quote, and all else that was read."""

from collections.abc import Iterator
from dataclasses import dataclass

from engine.models import Gate

from .models import Assignment, AssignmentKind, ClaimQuote, Inquiry, InquiryClaim, InquirySource
from .models.queries import orders_at

QUOTE_SHOWN = 160  # characters; all of it stands in the text above


@dataclass(frozen=True)
class QuotedPlace:
    """`start`: of the quote, by which the page of the source names its mark; `line`: of the text as it was read."""

    source: InquirySource
    line: int
    start: int
    words: str


@dataclass(frozen=True)
class ClaimPlaces:
    number: int
    places: tuple[QuotedPlace, ...]


@dataclass(frozen=True)
class GateSources:
    """`others`: sources that this work does not quote."""

    claims: tuple[ClaimPlaces, ...] = ()
    others: tuple[InquirySource, ...] = ()


def sources_at(gate: Gate) -> GateSources:
    """Of the work that this gate asks about, also once that was sent back and done again."""
    inquiry = Inquiry.objects.with_assignments().get(pk=gate.run_id)
    work = _work_at(inquiry, gate)
    claims = [one for one in inquiry.claims.all() if work and one.order_id == work.pk]
    found = tuple(ClaimPlaces(one.number, tuple(_places(inquiry, one))) for one in claims)
    quoted = {place.source.pk for one in found for place in one.places}
    return GateSources(found, tuple(one for one in inquiry.sources.all() if one.pk not in quoted))


def _work_at(inquiry: Inquiry, gate: Gate) -> Assignment | None:
    place = gate.step.removeprefix("critic.").rpartition(".")[0]
    reviewed = next(
        (one.number for one in inquiry.assignments_in_order if one.gate_id == gate.pk),
        len(inquiry.assignments_in_order) + 1,
    )
    return max(
        (one for one in orders_at(inquiry, place, AssignmentKind.WORK) if one.number < reviewed),
        default=None,
        key=lambda one: one.number,
    )


def _places(inquiry: Inquiry, claim: InquiryClaim) -> Iterator[QuotedPlace]:
    """Its own quotes, and those of the claims that it is reasoned from, each once."""
    beneath = [one for one in inquiry.claims.all() if one.number in claim.reasoned_from]
    quotes = (quote for one in (claim, *beneath) for quote in one.quotes.all())
    yield from {(quote.source_id, quote.parts[0][0]): _place(quote) for quote in quotes}.values()


def _place(quote: ClaimQuote) -> QuotedPlace:
    start, words = quote.parts[0][0], " ".join(quote.text.split())
    line = quote.source.text.count("\n", 0, start) + 1
    shown = words if len(words) <= QUOTE_SHOWN else f"{words[: QUOTE_SHOWN - 1].rstrip()}…"
    return QuotedPlace(quote.source, line, start, shown)
