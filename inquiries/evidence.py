"""An inquiry's record: what its rows tell, what it is found by, and what of it cannot be: its orders are folded again,
and each quote is sought again where it is said to stand.

Why so: docs/decisions.md, Inquiries.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db.models import F, Prefetch

from engine.evidence.chain import Draft, stamp
from engine.evidence.entries import ENDED, SUBMITTED, TOOL
from engine.evidence.told import Said
from engine.llm.providers import is_rehearsal
from engine.models.documents import label_of
from engine.search import label

from .models import Claim, Inquiry, Move, Order, OrderKind, Post, PostKind, Source
from .prompts.finalizer import answer_with
from .quotes import Folded, find, find_cells, found_before
from .rules.course import NOT_ANSWERED, Impossible, State, after, begin
from .rules.facts import Station

ORDER, MOVE, RESULT, CLAIM, SOURCE = (f"inquiry.{name}" for name in ("order", "move", "result", "claim", "source"))


def tell(told: dict[UUID, Said], *, new: bool = False) -> None:
    """Add what the rows of these inquiries say to the drafts of their runs."""
    attached = Prefetch("sources", Source.objects.listed())
    of = Inquiry.objects.filter(pk__in=list(told)).select_related("roster_version")
    for inquiry in of.prefetch_related("posts", attached):
        _tell_submission(told[inquiry.pk][SUBMITTED][0], inquiry)
        for ended in told[inquiry.pk][ENDED]:
            ended.texts |= {name: getattr(inquiry, name) for name in ("answer", "trace", "why")}
    if new:
        return
    _tell_moves(told)
    _tell_work(told)


def _tell_work(told: dict[UUID, Said]) -> None:
    of = list(told)
    for order in Order.objects.filter(inquiry__in=of).select_related("gate").order_by("number"):
        told[order.inquiry_id][ORDER].append(_order(order))
    for source in Source.objects.filter(inquiry__in=of, document=None).select_related("tool_call").order_by("pk"):
        told[source.inquiry_id][SOURCE].append(_source(source))
    claims = Claim.objects.filter(inquiry__in=of).select_related("order").prefetch_related("quotes__source")
    for claim in claims.order_by("number"):
        told[claim.inquiry_id][CLAIM].append(_claim(claim))


def _tell_moves(told: dict[UUID, Said]) -> None:
    of = list(told)
    answered = Move.objects.filter(inquiry__in=of).annotate(answered_at=F("call__step"))
    moves = list(answered.select_related("tool_call").order_by("pk"))
    for move in moves:
        told[move.inquiry_id][MOVE].append(_move(move))
    for move in sorted((one for one in moves if one.settled and one.tool), key=lambda one: (one.settled, one.pk)):
        told[move.inquiry_id][RESULT].append(_result(move))


def _tell_submission(draft: Draft, inquiry: Inquiry) -> None:
    attached = [one for one in inquiry.sources.all() if one.document_id]
    draft.facts |= {
        "limits": inquiry.limits,
        "retry_limit": inquiry.retry_limit,
        "posts": {post.name: _post(post) for post in inquiry.posts.all()},
        "prompt_version": inquiry.prompt_version,
        "sources": [{"number": one.number, "kind": one.kind} for one in attached],
    }
    draft.facts |= {"web": True, "hosts": inquiry.hosts} if inquiry.web else {}
    draft.facts |= {"collections": inquiry.collections} if inquiry.collections else {}
    draft.facts |= {"follows": str(inquiry.follows_id)} if inquiry.follows_id else {}
    if version := inquiry.roster_version:
        draft.facts["roster"] = {"id": version.roster_id, "name": version.name, "version": version.number}
    draft.texts["question"] = inquiry.question
    draft.texts |= {f"title of source {one.number}": one.title for one in attached}


def _post(post: Post) -> dict[str, Any]:
    asked = {"kind": post.kind, "council": post.council, "hours": post.hours} if post.kind != PostKind.MODEL else {}
    asked |= {"council_id": post.council_id} if post.council_id else {}
    return {"model": post.model, "fallback": post.fallback, **asked}


def _order(one: Order) -> Draft:
    names = ("number", "kind", "station", "place", "step_id", "counts", "category", "error_code")
    facts = {name: getattr(one, name) for name in names} | {"review": one.decision, "by": one.by_name}
    facts |= {"gate": {"step": one.gate.step, "number": one.gate.number}} if one.gate else {}
    texts = {name: getattr(one, name) for name in ("instruction", "reply", "feedback", "error")}
    return Draft(ORDER, stamp(one.made) or "", facts, texts, row=one.pk)


def _move(one: Any) -> Draft:
    facts: dict[str, Any] = {"key": one.key, "attempt": one.attempt, "tool": one.tool}
    if one.answered_at.partition("-")[0] != one.key:  # one answer brought several
        facts["answered_at"] = one.answered_at
    texts = {name: getattr(one, name) for name in ("thought", "arguments", "done", "refused")}
    return Draft(MOVE, stamp(one.made) or "", facts, texts, row=one.pk)


def _result(one: Move) -> Draft:
    facts = {"key": one.key, "call": one.tool_call.number if one.tool_call else None}
    return Draft(RESULT, stamp(one.settled) or "", facts, {"result": one.result}, row=one.pk)


def _source(one: Source) -> Draft:
    facts: dict[str, Any] = {name: getattr(one, name) for name in ("number", "kind", "type", "extractor", "flags")}
    call = one.tool_call
    facts |= {"length": one.length, "call": {"step": call.step, "number": call.number} if call else None}
    texts = {name: getattr(one, name) for name in ("title", "asked", "address", "bytes_digest", "text_digest")}
    return Draft(SOURCE, stamp(one.made) or "", facts, texts | {"text": one.read}, row=one.pk)


def _claim(one: Claim) -> Draft:
    quotes = list(one.quotes.all())
    places = [{"source": quote.source.number, "parts": quote.parts} for quote in quotes]
    facts = {"number": one.number, "order": one.order.number, "reasoned_from": one.reasoned_from, "bare": one.bare}
    texts = {"text": one.text} | {f"quote {number}": quote.text for number, quote in enumerate(quotes, 1)}
    return Draft(CLAIM, stamp(one.made) or "", facts | {"quotes": places}, texts, row=one.pk)


def labels(said: Said) -> Iterator[str]:
    """Those that its rows make beside what any run is found by, from what is told of it."""
    [submitted, *_] = said[SUBMITTED]
    yield label("rehearsal", any(is_rehearsal(post["model"]) for post in submitted.facts["posts"].values()))
    if roster := submitted.facts.get("roster"):
        yield label("roster", roster["id"])


# ---- what cannot be ---------------------------------------------------------------------------------------


def doubt(entries: Sequence[dict[str, Any]]) -> str:
    """Its course has to be one that the rules know, its outcome the one they come to, and each quote has to stand where
    it is said to."""
    submitted = next((one for one in entries if one["kind"] == SUBMITTED), None)
    if submitted is None:
        return ""
    return _course(submitted, entries) or _quotes(submitted["texts"], entries)


def _course(submitted: Mapping[str, Any], entries: Sequence[dict[str, Any]]) -> str:
    state, orders = begin(submitted["texts"].get("question", ""), submitted["facts"]["retry_limit"]), list[Order]()
    for number, one in enumerate((entry for entry in entries if entry["kind"] == ORDER), 1):
        try:
            orders.append(_order_of(one))
            state = after(state, fact) if (fact := orders[-1].fact) else state
        except (Impossible, ValueError, TypeError, KeyError):
            return f"Order {number} cannot be what came next."
        if one["facts"]["number"] != number:
            return f"Order {number} is missing."
    outcomes = [one["facts"].get("outcome") for one in entries if one["kind"] == ENDED]
    if (outcome := next((one for one in reversed(outcomes) if one), None)) and not _is_its(outcome, state):
        return f"It came out as {outcome}, which its orders do not come to."
    return _said(submitted["facts"]["prompt_version"], entries, orders)


WORDED_BY_A_MODEL = ("1", "2")  # versions of prompts in which the finalizer's text became the answer


def _said(version: str, entries: Sequence[dict[str, Any]], orders: Sequence[Order]) -> str:
    """Answer and trace are what the last order brought; the answer is the one that was approved."""
    ended = [one["texts"] for one in entries if one["kind"] == ENDED and one["facts"].get("outcome")]
    said = [ended[-1].get(name, "") for name in ("answer", "trace")] if ended else []
    if not orders or not all(said):
        return ""
    due = [orders[-1].handed_in.get(name, "") for name in ("answer", "trace")]
    works = [one for one in orders if one.kind == OrderKind.WORK and one.station == Station.EXPERT]
    if due[0] != NOT_ANSWERED and version not in WORDED_BY_A_MODEL:
        claims = [one["facts"] for one in entries if one["kind"] == CLAIM]
        numbers = [one["number"] for one in claims if one["order"] == works[-1].number]
        due[0] = answer_with(works[-1].handed_in.get("text", ""), numbers)
    return "" if said == due else "Its answer or its trace is not the one that was approved."


def _order_of(entry: Mapping[str, Any]) -> Order:
    """The row, as far as it is told of."""
    facts, texts = dict(entry["facts"]), entry.get("texts", {})
    facts |= {"by_name": facts.pop("by"), "decision": facts.pop("review")}
    facts.pop("gate", None)
    names = ("instruction", "reply", "feedback", "error")
    return Order(**facts, **{name: texts.get(name, "") for name in names})


def _is_its(outcome: str, state: State) -> bool:
    return state.over and not state.error and state.outcome == outcome


def _quotes(asked: Mapping[str, str], entries: Sequence[dict[str, Any]]) -> str:
    """As far as the texts are there. What a tool brought stands in what is told of the tool."""
    folded, read = dict[int, Folded](), dict[int, str]()
    brought = {(one["facts"]["step"], one["facts"]["number"]): one for one in entries if one["kind"] == TOOL}
    for entry in (one for one in entries if one["kind"] == SOURCE):
        call, text = entry["facts"]["call"], entry.get("texts", {}).get("text", "")
        said = brought.get((call["step"], call["number"]), {}).get("texts", {}).get("output", "") if call else ""
        read[entry["facts"]["number"]] = text
        if said and text not in said:
            return f"Source {entry['facts']['number']} is not what its tool brought."
    for entry in (one for one in entries if one["kind"] == CLAIM):
        for number, quote in enumerate(entry["facts"]["quotes"], 1):
            words, source = entry.get("texts", {}).get(f"quote {number}"), quote["source"]
            text = asked.get(f"text of {label_of(source)}") or read.get(source)
            if not words or not text:
                continue
            if source not in folded:
                folded[source] = Folded(text)
            if not _stands(words, folded[source], quote["parts"]):
                return f"A quote of claim {entry['facts']['number']} does not stand where it is said to."
    return ""


def _stands(words: str, source: Folded, parts: Sequence[Sequence[int]]) -> bool:
    """As all of it, as a calculation is quoted; by the rule of today, that of older records, or that of cells."""
    if words == source.original:
        return parts == [[0, len(words)]]
    places = (*(rule(words, source) for rule in (found_before, find)), find_cells(words, source.original))
    return any(place and [[one.start, one.end] for one in place.parts] == parts for place in places)
