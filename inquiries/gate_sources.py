"""Sources for a person who reviews work: the quoted places, and other sources."""

from collections.abc import Iterator
from dataclasses import dataclass

from engine.models import Gate

from .models import Assignment, AssignmentKind, ClaimQuote, Inquiry, InquiryClaim, InquirySource
from .models.queries import assignments_at

QUOTE_SHOWN = 160  # characters; the gate's text has the whole quote


@dataclass(frozen=True)
class QuotedPlace:
    """`start`: character of the quote, which is also its anchor on the source's page; `line`: in the source's text."""

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
    """`claims`: quoted places by claim; `others`: sources that the work does not quote."""

    claims: tuple[ClaimPlaces, ...] = ()
    others: tuple[InquirySource, ...] = ()


def sources_at(gate: Gate) -> GateSources:
    """Return the sources of the work that this gate is about, even if it was rejected and submitted again since."""
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
        (one for one in assignments_at(inquiry, place, AssignmentKind.WORK) if one.number < reviewed),
        default=None,
        key=lambda one: one.number,
    )


def _places(inquiry: Inquiry, claim: InquiryClaim) -> Iterator[QuotedPlace]:
    """Yield the quotes of a claim and of the claims that it is reasoned from, without duplicates."""
    beneath = [one for one in inquiry.claims.all() if one.number in claim.reasoned_from]
    quotes = (quote for one in (claim, *beneath) for quote in one.quotes.all())
    yield from {(quote.source_id, quote.parts[0][0]): _place(quote) for quote in quotes}.values()


def _place(quote: ClaimQuote) -> QuotedPlace:
    start, words = quote.parts[0][0], " ".join(quote.text.split())
    line = quote.source.text.count("\n", 0, start) + 1
    shown = words if len(words) <= QUOTE_SHOWN else f"{words[: QUOTE_SHOWN - 1].rstrip()}…"
    return QuotedPlace(quote.source, line, start, shown)
