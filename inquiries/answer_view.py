"""Display objects of an answer: claims, each with the passages that support it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any

from engine.models import Run
from runs.formatting import user_label

from .models import Assignment, AssignmentKind, ClaimQuote, Inquiry, InquiryClaim
from .models.queries import claims_of, flags_of, in_no_claim, not_used, steps_of
from .models.sources import SourceKind
from .prompts.finalizer import MARKER, inserted
from .quotes import fold_text
from .rules.events import InquiryStage
from .rules.state import NOT_ANSWERED

_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[^a-z\s])")
NOTE = re.compile(r"\s*claim\s+(\d{1,5})\s*[:.]", re.IGNORECASE)
CONTEXT_CHARACTERS = 300  # shown before and after a quote


@dataclass(frozen=True)
class PassageView:
    """A quote in its context. `pieces`: texts from its start to its end, and whether each is quoted."""

    source: int
    title: str
    before: str
    pieces: tuple[tuple[str, bool], ...]
    behind: str
    start: int
    end: int
    length: int
    digest: str
    is_calculation: bool = False
    address: str = ""  # of a web page
    made: datetime | None = None


@dataclass(frozen=True)
class ClaimView:
    """`text` is empty if the answer above says the same; `notes`: text and author of people's notes on the claim."""

    number: int
    text: str
    passages: tuple[PassageView, ...]
    bare: bool
    flags: tuple[str, ...]
    notes: tuple[tuple[str, str], ...] = ()
    steps: tuple[str, ...] = ()  # of calculations, in their order


@dataclass(frozen=True)
class WordedRemarks:
    """The finalizer's own words, which no critic has read.

    `pieces`: its wording, and whether each piece is its own. `told`: how it says the answer was reached. `approved`:
    the approved answer if it differs from the shown one, as in older records, whose answer the finalizer worded.
    """

    pieces: tuple[tuple[str, bool], ...] = ()
    told: str = ""
    approved: str = ""


@dataclass(frozen=True)
class AnswerRemarks:
    """Numbers and names of an answer that are in no claim, results that it does not use, and research steps that were
    left out."""

    in_no_claim: tuple[str, ...] = ()
    not_used: tuple[Mapping[str, Any], ...] = ()
    left_out: tuple[str, ...] = ()


def answer_remarks(inquiry: Inquiry) -> AnswerRemarks:
    works = [
        one
        for one in inquiry.assignments_in_order
        if one.kind == AssignmentKind.WORK and one.station == InquiryStage.EXPERT
    ]
    if not works or not works[-1].submitted_work:
        return AnswerRemarks()
    return AnswerRemarks(
        tuple(in_no_claim(inquiry, works[-1])), tuple(not_used(inquiry, works[-1])), inquiry.state.left_out
    )


def finalizer_remarks(inquiry: Inquiry) -> WordedRemarks:
    """Return the finalizer's words of an answered inquiry."""
    final = next(
        (one.submitted_work for one in reversed(inquiry.assignments_in_order) if one.kind == AssignmentKind.FINAL), {}
    )
    approved = inquiry.state.expert_answer
    claims = {one.number: one.text for one in claims_of(inquiry)}
    pieces = tuple(inserted(final.get("wording", ""), approved, claims))
    differs = approved and _plain(_without_places(inquiry.answer)) != _plain(approved)
    return WordedRemarks(pieces, final.get("told", ""), approved if differs else "")


def answer_claims(inquiry: Inquiry, claims: Sequence[InquiryClaim] = ()) -> Iterator[str]:
    """Yield the answer's paragraphs, with the first sentence by itself. Markers of claims, and sentences that claims
    repeat, are left out: the page shows claims below."""
    if inquiry.run.status == Run.Status.CANCELLED:
        return
    text = _without_places(inquiry.answer or NOT_ANSWERED)
    claim_texts = {_plain(one.text) for one in claims}
    paragraphs = [" ".join(part.split()) for part in text.split("\n\n") if part.strip()]
    first, *rest = [_SENTENCE.split(part) for part in paragraphs]
    yield first[0]
    for sentences in (first[1:], *rest):
        if left := [one for one in sentences if _plain(one) not in claim_texts]:
            yield " ".join(left)


def _without_places(answer: str) -> str:
    return re.sub(r"\s+([.,;:!?])", r"\1", MARKER.sub("", answer))


def _plain(text: str) -> str:
    return fold_text(" ".join(text.split())).casefold().strip(" .")


def accepted_claims(inquiry: Inquiry) -> list[InquiryClaim]:
    """Return claims of work that a critic approved at some time."""
    passed = [
        one.place
        for one in inquiry.assignments_in_order
        if one.kind == AssignmentKind.REVIEW and one.decision == "approve"
    ]
    works: Mapping[str, Assignment] = {
        one.place: one for one in inquiry.assignments_in_order if one.kind == AssignmentKind.WORK
    }
    kept = {works[place].pk for place in passed if place in works}
    return [one for one in inquiry.claims.all() if one.order_id in kept]


def rejected_claims(inquiry: Inquiry) -> list[InquiryClaim]:
    """Return claims of work whose last review was no approval."""
    works: Mapping[str, Assignment] = {
        one.place: one for one in inquiry.assignments_in_order if one.kind == AssignmentKind.WORK
    }
    last = {one.place: one.decision for one in inquiry.assignments_in_order if one.kind == AssignmentKind.REVIEW}
    kept = {order.pk for place, order in works.items() if last.get(place) != "approve"}
    return [one for one in inquiry.claims.all() if one.order_id in kept]


def claim_view(inquiry: Inquiry, one: InquiryClaim, above: str = "") -> ClaimView:
    """Return a claim with its quotes and those of the claims that it is reasoned from. `above`: the answer's first
    sentence."""
    others = [other for other in inquiry.claims.all() if other.number in one.reasoned_from]
    quotes = [quote for claim in (one, *others) for quote in claim.quotes.all()]
    text = "" if above and _plain(above) == _plain(one.text) else one.text
    return ClaimView(
        one.number,
        text,
        tuple(_passage(quote, quote.source.text) for quote in quotes),
        one.bare,
        tuple(flags_of(inquiry, one)),
        tuple(_notes(inquiry, one.number)),
        tuple(step for claim in (one, *others) for step in steps_of(inquiry, claim)),
    )


def _notes(inquiry: Inquiry, number: int) -> Iterator[tuple[str, str]]:
    """Yield text and author of notes that begin with "claim" and this number."""
    for review in inquiry.run.reviews.all():
        if (of := NOTE.match(review.text)) and of[1] == str(number):
            yield review.text[of.end() :].strip(), user_label(review.by)


def _passage(quote: ClaimQuote, text: str) -> PassageView:
    start, end = quote.parts[0][0], quote.parts[-1][1]
    pieces: list[tuple[str, bool]] = []
    at = start
    for begun, ended in quote.parts:
        pieces += [(text[at:begun], False)] if begun > at else []
        pieces.append((text[begun:ended], True))
        at = ended
    return PassageView(
        source=quote.source.number,
        title=quote.source.title,
        before=text[max(start - CONTEXT_CHARACTERS, 0) : start],
        pieces=tuple(pieces),
        behind=text[end : end + CONTEXT_CHARACTERS],
        start=start,
        end=end,
        length=len(text),
        is_calculation=quote.source.kind == SourceKind.CALCULATION,
        digest=quote.source.text_digest or sha256(text.encode()).hexdigest(),
        address=quote.source.address,
        made=quote.source.made,
    )
