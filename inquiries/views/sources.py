"""The page of a source. It shows plain text, never HTML of others."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from runs.procedure.spec import specs
from runs.views.row_lookup import row_for

from ..models import InquiryClaim


@require_GET
def source(request: HttpRequest, pk: UUID, number: int) -> HttpResponse:
    face = specs()["inquiry"]
    row = row_for(request, face, pk)
    found = next((one for one in row.sources.all() if one.number == number), None)
    if found is None:
        raise Http404
    spans = sorted(_quoted(row.claims.all(), found.pk))
    context = {"source": found, "pieces": list(pieces(found.text, spans)), "row": row, "title": row.run.shown_title}
    return render(request, "inquiries/source.html", {**face.page(pk), **context})


def _quoted(claims: Sequence[InquiryClaim], source: int) -> set[tuple[int, int]]:
    quotes = (quote for claim in claims for quote in claim.quotes.all() if quote.source_id == source)
    return {(start, end) for quote in quotes for start, end in quote.parts}


def pieces(text: str, spans: Sequence[tuple[int, int]]) -> Iterator[tuple[str, bool, int]]:
    """Yield pieces of the text, whether each is quoted, and its start; every start of a quote begins a piece."""
    cuts = sorted({0, len(text), *(at for span in spans for at in span if at <= len(text))})
    ends = 0  # the furthest end of the quotes that have started
    for start, end in pairwise(cuts):
        ends = max([ends, *(last for first, last in spans if first == start)])
        yield text[start:end], start < ends, start
