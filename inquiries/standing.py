"""Columns of inquiries that are no evidence, or tell of it by a number alone, held against what is.

The passages of sources are not looked at: they find a text and are no part of it; nor when a document became a source,
or a hand-in was settled: what was attached and when a move was made is told.
"""

import re
from collections.abc import Iterator, Sequence
from uuid import UUID

from django.db.models import F, Q

from engine.models import ModelCall

from .models import Claim, Inquiry, Move, Order, OrderKind, Post, PostKind, Quote, Source
from .rules.limits import TOGETHER

Wrong = Iterator[tuple[UUID, str]]


def misstanding(runs: Sequence[UUID]) -> Wrong:
    yield from _of_other_calls(runs)
    yield from _unheard(runs)
    yield from _of_other_inquiries(runs)
    idle = Post.objects.filter(inquiry__in=runs, kind=PostKind.MODEL).exclude(council="", council_id=None, hours=None)
    yield from ((one.inquiry_id, f"A model holds the post {one.name}, and it names who else does.") for one in idle)


def _of_other_calls(runs: Sequence[UUID]) -> Wrong:
    """Work, reviews and moves that are no answers of the calls that they stand at."""
    for order in Order.objects.filter(inquiry__in=runs).select_related("call"):
        if not (_is_answer(order) if order.call else order.gate_id or order.kind not in ASKED):
            yield order.inquiry_id, f"Its {order} comes of no such call."
    for move in Move.objects.filter(inquiry__in=runs).select_related("call", "tool_call"):
        if not _is_made(move):
            yield move.inquiry_id, f"Its {move} comes of no such call."
        if (not move.settled and (move.result or not move.tool)) or (move.result and not move.tool):
            yield move.inquiry_id, f"Its {move} came to something else than it says."


FINALIZER, ANSWERED = "finalizer", ModelCall.Status.ANSWERED
ASKED = (OrderKind.WORK, OrderKind.REVIEW)
ANSWERS = (*ASKED, OrderKind.FINAL)  # the last words may be stated, or written by code where no model has any


def _unheard(runs: Sequence[UUID]) -> Wrong:
    """Last words of a model that nothing stands at."""
    said = ModelCall.objects.filter(run__in=runs, step=FINALIZER, status=ANSWERED)
    heard = Order.objects.filter(inquiry__in=runs, call__isnull=False).values("call")
    for pk in said.exclude(pk__in=heard).values_list("run", flat=True):
        yield pk, "A model has worded its answer, and no order stands at that."


def _is_answer(order: Order) -> bool:
    """Whether its call was made for it: at its place, or about that."""
    call, place = order.call, order.place
    if call is None or call.run_id != order.inquiry_id or call.status != ANSWERED or order.kind not in ANSWERS:
        return False
    return call.step == place or call.step.startswith((f"{place}.", f"critic.{place}."))


def _is_made(move: Move) -> bool:
    """Whether it was answered under its key, or one for another try at it, or that of a move which it was made at once
    with; its tool was used under its own."""
    call, used = move.call, move.tool_call
    at = re.fullmatch(rf"{re.escape(move.place)}\.(\d+)(-\d+)?", call.step)
    first = int(at[1]) if at else 0
    answered = call.status == ANSWERED and first and first <= move.number < first + TOGETHER
    if not answered or call.run_id != move.inquiry_id:
        return False
    return used is None or (used.run_id, used.step) == (move.inquiry_id, move.key)


OF_READING = ("asked", "address", "type", "extractor", "bytes_digest", "text_digest", "read")


def _of_other_inquiries(runs: Sequence[UUID]) -> Wrong:
    strange = Quote.objects.filter(claim__inquiry__in=runs).exclude(source__inquiry=F("claim__inquiry"))
    for pk in strange.values_list("claim__inquiry", flat=True).distinct():
        yield pk, "It quotes a source of another inquiry."
    claims = Claim.objects.filter(inquiry__in=runs).exclude(order__inquiry=F("inquiry"))
    for pk in claims.values_list("inquiry", flat=True).distinct():
        yield pk, "It claims what another inquiry found."
    told = Source.objects.filter(inquiry__in=runs, kind="document").exclude(**dict.fromkeys(OF_READING, ""))
    told |= Source.objects.filter(inquiry__in=runs, kind="document").exclude(tool_call=None, flags=[], length=0)
    for source in told:
        yield source.inquiry_id, f"Its source {source.number} is a document, and says how it was read elsewhere."
    strangely = Source.objects.filter(inquiry__in=runs, tool_call__isnull=False).exclude(tool_call__run=F("inquiry"))
    for source in strangely:
        yield source.inquiry_id, f"Its source {source.number} was brought to another."
    for pk in Inquiry.objects.filter(pk__in=runs, web=False).exclude(hosts=[]).values_list("pk", flat=True):
        yield pk, "It looks nowhere outside, and names sites."
    mine = Q(document__run=F("inquiry"), document__number=F("number"))
    for source in Source.objects.filter(inquiry__in=runs, kind="document").exclude(mine):
        yield source.inquiry_id, f"Its source {source.number} is no document of it."
