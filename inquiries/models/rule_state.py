"""Loads the rows of an inquiry that its rules need."""

from uuid import UUID

from engine.db.cached_sql import fetch, freeze_row, group_by_column
from engine.models import Document, Run, ToolCall

from .assignments import Assignment, InquiryMove
from .inquiries import Inquiry, InquiryRole
from .sources import ClaimQuote, InquiryClaim, InquirySource


def load_inquiry(pk: UUID) -> Inquiry:
    """Load an inquiry with all rows that the rules need, without texts of sources, which may be long.

    This runs before and after every call, so it uses prepared SQL (engine/db/cached_sql.py).
    """
    [inquiry], [inquiry.run] = fetch(Inquiry, "pk", [pk]), fetch(Run, "pk", [pk])
    orders, posts = fetch(Assignment, "inquiry", [pk], "number"), fetch(InquiryRole, "inquiry", [pk], "pk")
    freeze_row(inquiry, orders=orders, posts=posts, moves=_moves(pk), sources=_sources_of(pk), claims=_claims_of(pk))
    return inquiry


def _moves(pk: UUID) -> list[InquiryMove]:
    moves = fetch(InquiryMove, "inquiry", [pk], "pk")
    calls = {one.pk: one for one in fetch(ToolCall, "run", [pk], without=("output",))}
    for one in moves:
        one.tool_call = calls.get(one.tool_call_id or 0)
    return moves


def _sources_of(pk: UUID) -> list[InquirySource]:
    sources = fetch(InquirySource, "inquiry", [pk], "number", without=("read",))
    documents = {one.pk: one for one in fetch(Document, "run", [pk], without=("text",))}
    for one in sources:
        one.document = documents.get(one.document_id or 0)
    return sources


def _claims_of(pk: UUID) -> list[InquiryClaim]:
    claims, quotes = fetch(InquiryClaim, "inquiry", [pk], "number"), fetch(ClaimQuote, "claim__inquiry", [pk], "pk")
    of_claim = group_by_column(quotes, "claim_id")
    for one in claims:
        freeze_row(one, quotes=of_claim[one.pk])
    return claims
