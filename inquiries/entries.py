"""Entries of an inquiry in the audit log, search terms, and checks: assignments are folded again, and each quote is
looked up again in its source.

Why so: inquiries/DESIGN.md, Inquiries.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db.models import F, Prefetch, Q

from engine.audit.entries_from_rows import RunEntries
from engine.ledger.entries import ENDED, SUBMITTED, TOOL
from engine.ledger.hashing import EntryDraft, format_timestamp
from engine.llm.providers import is_rehearsal
from engine.models import ModelCall
from engine.models.documents import document_label
from engine.text.search_terms import label_term

from .models import (
    Assignment,
    AssignmentKind,
    ClaimQuote,
    Inquiry,
    InquiryClaim,
    InquiryMove,
    InquiryRole,
    InquirySource,
    RoleKind,
)
from .prompts.finalizer import answer_with
from .quotes import FoldedText, find_cells, find_quote, reused_quote
from .rules.events import InquiryStage
from .rules.limits import MAX_PARALLEL
from .rules.state import NOT_ANSWERED, InquiryState, InquiryStateError, initial_state, state_after

ORDER, MOVE, RESULT, CLAIM, SOURCE = (f"inquiry.{name}" for name in ("order", "move", "result", "claim", "source"))


def build_entries(told: dict[UUID, RunEntries], *, new: bool = False) -> None:
    """Add the entries of these inquiries to the drafts of their runs; `new`: they were just submitted."""
    attached = Prefetch("sources", InquirySource.objects.listed())
    of = Inquiry.objects.filter(pk__in=list(told)).select_related("roster_version")
    for inquiry in of.prefetch_related("posts", attached):
        _add_submission_facts(told[inquiry.pk][SUBMITTED][0], inquiry)
        for ended in told[inquiry.pk][ENDED]:
            ended.texts |= {name: getattr(inquiry, name) for name in ("answer", "trace", "why")}
    if new:
        return
    _add_move_entries(told)
    _add_work_entries(told)


def _add_work_entries(told: dict[UUID, RunEntries]) -> None:
    of = list(told)
    for order in Assignment.objects.filter(inquiry__in=of).select_related("gate").order_by("number"):
        told[order.inquiry_id][ORDER].append(_order(order))
    for source in (
        InquirySource.objects.filter(inquiry__in=of, document=None).select_related("tool_call").order_by("pk")
    ):
        told[source.inquiry_id][SOURCE].append(_source(source))
    claims = InquiryClaim.objects.filter(inquiry__in=of).select_related("order").prefetch_related("quotes__source")
    for claim in claims.order_by("number"):
        told[claim.inquiry_id][CLAIM].append(_claim(claim))


def _add_move_entries(told: dict[UUID, RunEntries]) -> None:
    of = list(told)
    answered = InquiryMove.objects.filter(inquiry__in=of).annotate(answered_at=F("call__step"))
    moves = list(answered.select_related("tool_call").order_by("pk"))
    for move in moves:
        told[move.inquiry_id][MOVE].append(_move(move))
    for move in sorted((one for one in moves if one.settled and one.tool), key=lambda one: (one.settled, one.pk)):
        told[move.inquiry_id][RESULT].append(_result(move))


def _add_submission_facts(draft: EntryDraft, inquiry: Inquiry) -> None:
    attached = [one for one in inquiry.sources.all() if one.document_id]
    draft.facts |= {
        "limits": inquiry.limits,
        "retry_limit": inquiry.retry_limit,
        "posts": {post.name: _role(post) for post in inquiry.posts.all()},
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


def _role(post: InquiryRole) -> dict[str, Any]:
    asked = {"kind": post.kind, "council": post.council, "hours": post.hours} if post.kind != RoleKind.MODEL else {}
    asked |= {"council_id": post.council_id} if post.council_id else {}
    return {"model": post.model, "fallback": post.fallback, **asked}


def _order(one: Assignment) -> EntryDraft:
    names = ("number", "kind", "station", "place", "step_id", "counts", "category", "error_code")
    facts = {name: getattr(one, name) for name in names} | {"review": one.decision, "by": one.by_name}
    facts |= {"gate": {"step": one.gate.step, "number": one.gate.number}} if one.gate else {}
    texts = {name: getattr(one, name) for name in ("instruction", "reply", "feedback", "error")}
    return EntryDraft(ORDER, format_timestamp(one.made) or "", facts, texts, row=one.pk)


def _move(one: Any) -> EntryDraft:
    facts: dict[str, Any] = {"key": one.key, "attempt": one.attempt, "tool": one.tool}
    if one.answered_at.partition("-")[0] != one.key:  # one answer of a model may have several moves
        facts["answered_at"] = one.answered_at
    texts = {name: getattr(one, name) for name in ("thought", "arguments", "done", "refused")}
    return EntryDraft(MOVE, format_timestamp(one.made) or "", facts, texts, row=one.pk)


def _result(one: InquiryMove) -> EntryDraft:
    facts = {"key": one.key, "call": one.tool_call.number if one.tool_call else None}
    return EntryDraft(RESULT, format_timestamp(one.settled) or "", facts, {"result": one.result}, row=one.pk)


def _source(one: InquirySource) -> EntryDraft:
    facts: dict[str, Any] = {name: getattr(one, name) for name in ("number", "kind", "type", "extractor", "flags")}
    call = one.tool_call
    facts |= {"length": one.length, "call": {"step": call.step, "number": call.number} if call else None}
    texts = {name: getattr(one, name) for name in ("title", "asked", "address", "bytes_digest", "text_digest")}
    return EntryDraft(SOURCE, format_timestamp(one.made) or "", facts, texts | {"text": one.read}, row=one.pk)


def _claim(one: InquiryClaim) -> EntryDraft:
    quotes = list(one.quotes.all())
    places = [{"source": quote.source.number, "parts": quote.parts} for quote in quotes]
    facts = {"number": one.number, "order": one.order.number, "reasoned_from": one.reasoned_from, "bare": one.bare}
    texts = {"text": one.text} | {f"quote {number}": quote.text for number, quote in enumerate(quotes, 1)}
    return EntryDraft(CLAIM, format_timestamp(one.made) or "", facts | {"quotes": places}, texts, row=one.pk)


def labels(said: RunEntries) -> Iterator[str]:
    """Yield search terms from the entries, in addition to those that every run has."""
    [submitted, *_] = said[SUBMITTED]
    yield label_term("rehearsal", any(is_rehearsal(post["model"]) for post in submitted.facts["posts"].values()))
    if roster := submitted.facts.get("roster"):
        yield label_term("roster", roster["id"])


# ---- checks -----------------------------------------------------------------------------------------------


def validate_entries(entries: Sequence[dict[str, Any]]) -> str:
    """Return what is wrong, or an empty text: the events must be possible by the rules, the outcome must follow from
    them, and each quote must be in its source at the recorded place."""
    submitted = next((one for one in entries if one["kind"] == SUBMITTED), None)
    if submitted is None:
        return ""
    return _events_problem(submitted, entries) or _quotes_problem(submitted["texts"], entries)


def _events_problem(submitted: Mapping[str, Any], entries: Sequence[dict[str, Any]]) -> str:
    state, orders = (
        initial_state(submitted["texts"].get("question", ""), submitted["facts"]["retry_limit"]),
        list[Assignment](),
    )
    for number, one in enumerate((entry for entry in entries if entry["kind"] == ORDER), 1):
        try:
            orders.append(_order_of(one))
            state = state_after(state, fact) if (fact := orders[-1].event) else state
        except (InquiryStateError, ValueError, TypeError, KeyError):
            return f"Order {number} cannot be what came next."
        if one["facts"]["number"] != number:
            return f"Order {number} is missing."
    outcomes = [one["facts"].get("outcome") for one in entries if one["kind"] == ENDED]
    if (outcome := next((one for one in reversed(outcomes) if one), None)) and not _is_outcome_of(outcome, state):
        return f"It came out as {outcome}, which its orders do not come to."
    return _final_texts_problem(submitted["facts"]["prompt_version"], entries, orders)


WORDED_BY_A_MODEL = ("1", "2")  # versions of prompts in which the finalizer's text became the answer


def _final_texts_problem(version: str, entries: Sequence[dict[str, Any]], orders: Sequence[Assignment]) -> str:
    """Check that answer and trace are those of the last assignment, and that the answer is the approved one."""
    ended = [one["texts"] for one in entries if one["kind"] == ENDED and one["facts"].get("outcome")]
    recorded = [ended[-1].get(name, "") for name in ("answer", "trace")] if ended else []
    if not orders or not all(recorded):
        return ""
    expected = [orders[-1].submitted_work.get(name, "") for name in ("answer", "trace")]
    works = [one for one in orders if one.kind == AssignmentKind.WORK and one.station == InquiryStage.EXPERT]
    if expected[0] != NOT_ANSWERED and version not in WORDED_BY_A_MODEL:
        claims = [one["facts"] for one in entries if one["kind"] == CLAIM]
        numbers = [one["number"] for one in claims if one["order"] == works[-1].number]
        expected[0] = answer_with(works[-1].submitted_work.get("text", ""), numbers)
    return "" if recorded == expected else "Its answer or its trace is not the one that was approved."


def _order_of(entry: Mapping[str, Any]) -> Assignment:
    """Return the assignment's row as far as the entry has it."""
    facts, texts = dict(entry["facts"]), entry.get("texts", {})
    facts |= {"by_name": facts.pop("by"), "decision": facts.pop("review")}
    facts.pop("gate", None)
    names = ("instruction", "reply", "feedback", "error")
    return Assignment(**facts, **{name: texts.get(name, "") for name in names})


def _is_outcome_of(outcome: str, state: InquiryState) -> bool:
    return state.over and not state.error and state.outcome == outcome


def _quotes_problem(asked: Mapping[str, str], entries: Sequence[dict[str, Any]]) -> str:
    """Check quotes, and texts of sources against outputs of tools, as far as texts are not erased."""
    folded, read = dict[int, FoldedText](), dict[int, str]()
    brought = {(one["facts"]["step"], one["facts"]["number"]): one for one in entries if one["kind"] == TOOL}
    for entry in (one for one in entries if one["kind"] == SOURCE):
        call, text = entry["facts"]["call"], entry.get("texts", {}).get("text", "")
        output = brought.get((call["step"], call["number"]), {}).get("texts", {}).get("output", "") if call else ""
        read[entry["facts"]["number"]] = text
        if output and text not in output:
            return f"Source {entry['facts']['number']} is not what its tool brought."
    for entry in (one for one in entries if one["kind"] == CLAIM):
        for number, quote in enumerate(entry["facts"]["quotes"], 1):
            words, source = entry.get("texts", {}).get(f"quote {number}"), quote["source"]
            text = asked.get(f"text of {document_label(source)}") or read.get(source)
            if not words or not text:
                continue
            if source not in folded:
                folded[source] = FoldedText(text)
            if not _is_quote_at(words, folded[source], quote["parts"]):
                return f"A quote of claim {entry['facts']['number']} does not stand where it is said to."
    return ""


def _is_quote_at(words: str, source: FoldedText, parts: Sequence[Sequence[int]]) -> bool:
    """Tell whether a quote is at these places: the whole source (as calculations are quoted), or by today's rule, the
    rule of older records, or the rule of table cells."""
    if words == source.original:
        return parts == [[0, len(words)]]
    places = (*(rule(words, source) for rule in (reused_quote, find_quote)), find_cells(words, source.original))
    return any(place and [[one.start, one.end] for one in place.parts] == parts for place in places)


Inconsistency = Iterator[tuple[UUID, str]]


def inconsistent_runs(runs: Sequence[UUID]) -> Inconsistency:
    yield from _runs_with_foreign_calls(runs)
    yield from _runs_with_unused_final_answer(runs)
    yield from _runs_with_foreign_rows(runs)
    idle = InquiryRole.objects.filter(inquiry__in=runs, kind=RoleKind.MODEL).exclude(
        council="", council_id=None, hours=None
    )
    yield from ((one.inquiry_id, f"A model holds the post {one.name}, and it names who else does.") for one in idle)


def _runs_with_foreign_calls(runs: Sequence[UUID]) -> Inconsistency:
    """Yield runs with assignments or moves that do not belong to their model calls and tool calls."""
    for order in Assignment.objects.filter(inquiry__in=runs).select_related("call"):
        if not (_is_answer(order) if order.call else order.gate_id or order.kind not in ASKED):
            yield order.inquiry_id, f"Its {order} comes of no such call."
    for move in InquiryMove.objects.filter(inquiry__in=runs).select_related("call", "tool_call"):
        if not _is_move_of_its_calls(move):
            yield move.inquiry_id, f"Its {move} comes of no such call."
        if (not move.settled and (move.result or not move.tool)) or (move.result and not move.tool):
            yield move.inquiry_id, f"Its {move} came to something else than it says."


FINALIZER, ANSWERED = "finalizer", ModelCall.Status.ANSWERED
ASKED = (AssignmentKind.WORK, AssignmentKind.REVIEW)
ANSWERS = (*ASKED, AssignmentKind.FINAL)  # without a call, code wrote the final answer


def _runs_with_unused_final_answer(runs: Sequence[UUID]) -> Inconsistency:
    """Yield runs with an answer of the finalizer's model that no assignment refers to."""
    answers = ModelCall.objects.filter(run__in=runs, step=FINALIZER, status=ANSWERED)
    used = Assignment.objects.filter(inquiry__in=runs, call__isnull=False).values("call")
    for pk in answers.exclude(pk__in=used).values_list("run", flat=True):
        yield pk, "A model has worded its answer, and no order stands at that."


def _is_answer(order: Assignment) -> bool:
    """Tell whether the assignment's call was made for it: its key has the assignment's place."""
    call, place = order.call, order.place
    if call is None or call.run_id != order.inquiry_id or call.status != ANSWERED or order.kind not in ANSWERS:
        return False
    return call.step == place or call.step.startswith((f"{place}.", f"critic.{place}."))


def _is_move_of_its_calls(move: InquiryMove) -> bool:
    """Tell whether a move belongs to its calls.

    The model call's key is that of the move, of a retry of it, or of an earlier move in the same answer (at most
    MAX_PARALLEL). The tool call's key is that of the move.
    """
    call, used = move.call, move.tool_call
    at = re.fullmatch(rf"{re.escape(move.place)}\.(\d+)(-\d+)?", call.step)
    first = int(at[1]) if at else 0
    answered = call.status == ANSWERED and first and first <= move.number < first + MAX_PARALLEL
    if not answered or call.run_id != move.inquiry_id:
        return False
    return used is None or (used.run_id, used.step) == (move.inquiry_id, move.key)


SOURCE_COLUMNS = ("asked", "address", "type", "extractor", "bytes_digest", "text_digest", "read")


def _runs_with_foreign_rows(runs: Sequence[UUID]) -> Inconsistency:
    foreign_quotes = ClaimQuote.objects.filter(claim__inquiry__in=runs).exclude(source__inquiry=F("claim__inquiry"))
    for pk in foreign_quotes.values_list("claim__inquiry", flat=True).distinct():
        yield pk, "It quotes a source of another inquiry."
    claims = InquiryClaim.objects.filter(inquiry__in=runs).exclude(order__inquiry=F("inquiry"))
    for pk in claims.values_list("inquiry", flat=True).distinct():
        yield pk, "It claims what another inquiry found."
    documents = InquirySource.objects.filter(inquiry__in=runs, kind="document").exclude(
        **dict.fromkeys(SOURCE_COLUMNS, "")
    )
    documents |= InquirySource.objects.filter(inquiry__in=runs, kind="document").exclude(
        tool_call=None, flags=[], length=0
    )
    for source in documents:
        yield source.inquiry_id, f"Its source {source.number} is a document, and says how it was read elsewhere."
    foreign_sources = InquirySource.objects.filter(inquiry__in=runs, tool_call__isnull=False).exclude(
        tool_call__run=F("inquiry")
    )
    for source in foreign_sources:
        yield source.inquiry_id, f"Its source {source.number} was brought to another."
    for pk in Inquiry.objects.filter(pk__in=runs, web=False).exclude(hosts=[]).values_list("pk", flat=True):
        yield pk, "It looks nowhere outside, and names sites."
    mine = Q(document__run=F("inquiry"), document__number=F("number"))
    for source in InquirySource.objects.filter(inquiry__in=runs, kind="document").exclude(mine):
        yield source.inquiry_id, f"Its source {source.number} is no document of it."
