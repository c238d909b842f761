"""Writes of inquiries, by the worker and by people. Each needs a transaction that holds the lock on the run's row."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Max
from django.utils import timezone

from engine.models import Gate, ModelCall, Run, ToolCall
from engine.text.search_terms import index_words, label_term
from runs.models import SearchText

from ..prompts.finalizer import WordedFinal
from ..prompts.moves import ProposedClaim, ResearchMove, ResearchResult, SubmitWork
from ..prompts.planner import ResearchPlan
from ..quotes import (
    FoldedText,
    QuotePlace,
    TextSpan,
    find_cells,
    find_quote,
    fold_text,
    nearest,
    omitted_words,
    quote_problem,
    unsupported,
)
from ..rules.dispatch import FinishAssignment, NoAssignment, next_assignment
from ..rules.events import ErrorCategory, InquiryStage, WorkReviewed
from ..rules.limits import MAX_REPEATED_CALLS, MAX_SUBMISSIONS
from ..rules.state import InquiryStateError, cited, state_after
from .assignments import Assignment, AssignmentKind, InquiryMove
from .available_tools import PAGE, pages_left
from .inquiries import Inquiry
from .queries import (
    NO_JUDGEMENT,
    NOT_NEEDED,
    NOT_TAKEN,
    FoldedSources,
    assignment_number,
    assignments_at,
    attempt_number,
    calculated,
    carried,
    carries,
    claims_of,
    clear_fold_cache,
    moves_at,
    moves_left,
    next_assignment_columns,
    results,
)
from .rule_state import load_inquiry
from .source_capture import capture_source
from .sources import ClaimQuote, InquiryClaim, InquirySource, SourceKind, SourcePassage, are_from_one_site

CALCULATED_KINDS = (SourceKind.TABLE, SourceKind.CALCULATION)
NEWEST = 5  # sources that are searched for a quote that is not in the named one
SAME_WORK = (
    "The work that {critic} had rejected was submitted again without a change: more retries will not help. "
    "It had said: {said}"
)
ASKED_ALREADY = "This was asked already: what came of it stands at move {number}. Go on from there."


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _inquiry_waiting_for(pk: UUID, station: InquiryStage) -> Inquiry | None:
    """Return the inquiry if it still waits for this role. If a person intervened meanwhile, return None: then only the
    model call stays."""
    inquiry = load_inquiry(pk)
    order = next_assignment(inquiry.state)
    return inquiry if not isinstance(order, NoAssignment) and order.station is station else None


def _save_assignment(inquiry: Inquiry, kind: str, **values: Any) -> Assignment:
    """Save the next assignment. Raises InquiryStateError if its event is not possible now."""
    columns = {**next_assignment_columns(inquiry), **values}
    number = (Assignment.objects.filter(inquiry=inquiry).aggregate(Max("number"))["number__max"] or 0) + 1
    order = Assignment(inquiry=inquiry, number=number, kind=kind, **columns)
    if fact := order.event:
        state_after(inquiry.state, fact)
    order.save(force_insert=True)
    return order


# ---- answers of models ------------------------------------------------------------------------------------


def save_plan(pk: UUID, call: ModelCall, plan: ResearchPlan) -> None:
    if not (inquiry := _inquiry_waiting_for(pk, InquiryStage.PLANNER)):
        return
    steps = plan.steps
    reply = _json({"thought": plan.thought, "research": steps.research, "expert": steps.expert})
    counts = {"research": len(steps.research), "expert": len(steps.expert)}
    _submit_work(inquiry, "plan", reply, counts, call)
    SearchText.objects.add(pk, index_words("\n".join([*steps.research, *steps.expert])))


def _submit_work(
    inquiry: Inquiry, place: str, reply: str, counts: Mapping[str, Any], call: ModelCall
) -> Assignment | None:
    """Save submitted work. If it is the same as the rejected one, save the end of the inquiry and return None."""
    reviews = assignments_at(inquiry, place, AssignmentKind.WORK, AssignmentKind.REVIEW)
    if len(reviews) > 1 and reviews[-1].decision == "reject" and _same(reviews[-2].reply, reply):
        rejection = {"critic": inquiry.state.last_critic, "said": cited(reviews[-1].feedback)}
        _save_assignment(inquiry, AssignmentKind.EXHAUSTED, feedback=SAME_WORK.format(**rejection))
        return None
    return _save_assignment(inquiry, AssignmentKind.WORK, reply=reply, counts=counts, call=call)


def _same(before: str, now: str) -> bool:
    texts = [json.loads(one) for one in (before, now) if one]
    return len({fold_text(_json({**one, "thought": ""})).casefold() for one in texts}) == 1 and len(texts) == 2


def save_review(pk: UUID, critic: InquiryStage, call: ModelCall, review: WorkReviewed) -> None:
    if inquiry := _inquiry_waiting_for(pk, critic):
        decision = "approve" if review.approve else "reject"
        _save_assignment(inquiry, AssignmentKind.REVIEW, decision=decision, feedback=review.feedback, call=call)


def save_decision(pk: UUID, critic: InquiryStage, gate: int) -> None:
    """Save the decision at a review's gate. Nothing is saved if its time expired: then a model reviews."""
    decided = Gate.objects.with_decisions().get(pk=gate)
    if not (inquiry := _inquiry_waiting_for(pk, critic)):
        return
    decided.consume()
    texts = "\n".join(one.text for one in decided.decisions.all() if one.text and one.decides)
    by = decided.last_decision.by if decided.last_decision else ""
    if decided.state == Gate.State.FAILED:
        error = f"{NO_JUDGEMENT} {texts}".strip()
        _save_assignment(
            inquiry,
            AssignmentKind.ERROR,
            category=ErrorCategory.TOOL,
            error_code="unusable_answer",
            error=error,
            gate=decided,
        )
    elif decided.state != Gate.State.EXPIRED:
        decision = "approve" if decided.approved else "reject"
        _save_assignment(
            inquiry, AssignmentKind.REVIEW, decision=decision, feedback=texts, by_name=by[:150], gate=decided
        )


def save_final_answer(pk: UUID, final: WordedFinal, call: ModelCall | None = None) -> None:
    inquiry = load_inquiry(pk)
    if isinstance(next_assignment(inquiry.state), FinishAssignment):
        own = {name: text for name in ("wording", "told") if (text := getattr(final, name))}
        reply = {"answer": final.final.answer, "trace": final.final.trace, **own}
        _save_assignment(inquiry, AssignmentKind.FINAL, reply=_json(reply), call=call)


def save_move(pk: UUID, station: InquiryStage, call: ModelCall, answer: ResearchMove) -> None:
    if not (inquiry := _inquiry_waiting_for(pk, station)):
        return
    place = assignment_number(inquiry, station)
    before = moves_at(inquiry, place)
    made = partial(
        InquiryMove, inquiry=inquiry, place=place, attempt=attempt_number(inquiry, place, station), call=call
    )
    if answer.done:
        move = made(number=len(before) + 1, thought=answer.thought)
        _save_submission(inquiry, station, move, answer.done, FoldedSources(pk))
        return
    first = len(before) + 1
    for number, (tool, arguments) in enumerate(_within_limits(inquiry, station, answer), first):
        thought = answer.thought if number == first else ""
        move = made(number=number, thought=thought, tool=tool, arguments=_json(arguments))
        _save_tool_use(move, before)
        before.append(move)


def _within_limits(inquiry: Inquiry, station: InquiryStage, answer: ResearchMove) -> Iterator[tuple[str, Any]]:
    """Yield the uses of tools that are within the limits: one move must be left to submit, and pages are limited."""
    room, pages = max(moves_left(inquiry, assignment_number(inquiry, station), station) - 1, 1), pages_left(inquiry)
    for tool, arguments in [(answer.tool, answer.arguments), *answer.also][:room]:
        pages -= tool == PAGE
        if pages >= 0 or tool != PAGE:
            yield tool, arguments


def _save_tool_use(move: InquiryMove, before: Sequence[InquiryMove]) -> None:
    same = [one for one in before if one.attempt == move.attempt and one.requested_call == move.requested_call]
    if same and len(same) < MAX_REPEATED_CALLS:
        move.result, move.settled = ASKED_ALREADY.format(number=same[0].number), timezone.now()
    move.save(force_insert=True)


def save_result(move: int, call: ToolCall) -> None:
    """Save the result of a tool call and the source that it brought. A call that was invalid has no row, so `call.pk`
    is None."""
    waits = InquiryMove.objects.filter(pk=move, settled=None)
    for inquiry in waits.values_list("inquiry", flat=True):
        values: dict[str, Any] = {"result": capture_source(inquiry, call), "settled": timezone.now()}
        waits.update(**values | ({"tool_call": call} if call.pk else {}))


# ---- submitted work ---------------------------------------------------------------------------------------


def _save_submission(
    inquiry: Inquiry, station: InquiryStage, move: InquiryMove, done: SubmitWork, folded: Mapping[int, FoldedText]
) -> None:
    """Check submitted work and save it. Work with wrong quotes is refused before a critic sees it, and stays a move;
    after MAX_SUBMISSIONS refusals the try fails."""
    done, tables = _with_calculations(inquiry, done), _tables(inquiry)
    claims = [{"text": one.text, "quotes": [vars(q) for q in one.quotes], **_reasons(one)} for one in done.claims]
    work = {"found": done.found, "text": done.text, "reasoning": done.reasoning, "claims": claims}
    not_needed = [{"step": step, "why": why} for step, why in done.not_needed.items()]
    reply = _json(work | ({NOT_NEEDED: not_needed} if not_needed else {}))
    places = {(q.source, q.quote): _place(q.source, q.quote, folded, tables) for one in done.claims for q in one.quotes}
    move.done, move.settled = reply, timezone.now()
    move.refused = "\n".join(
        [
            *_quote_problems(places, folded),
            *_result_problems(inquiry, station, done, places),
            *_one_site_problems(inquiry, done),
        ]
    )
    move.save(force_insert=True)
    if move.refused:
        refused = [one for one in moves_at(inquiry, move.place) if one.attempt == move.attempt and one.refused]
        if len(refused) + 1 >= MAX_SUBMISSIONS:
            _save_assignment(
                inquiry,
                AssignmentKind.ERROR,
                category=ErrorCategory.VALIDATION,
                error_code="unusable_answer",
                error=NOT_TAKEN,
            )
        return
    if order := _submit_work(inquiry, move.place, reply, {"found": done.found}, move.call):
        _save_claims(inquiry, order, done.claims, places)


def _reasons(one: ProposedClaim) -> dict[str, Any]:
    return {"reasoned_from": list(one.reasoned_from)} if one.reasoned_from else {}


def _with_calculations(inquiry: Inquiry, done: SubmitWork) -> SubmitWork:
    """Fill quotes of calculations: a claim names these by number, and quotes them whole."""
    kept = InquirySource.objects.filter(inquiry=inquiry, kind=SourceKind.CALCULATION).values_list("number", "read")
    whole = dict(kept) if any(not q.quote for one in done.claims for q in one.quotes) else {}
    claims = [
        replace(one, quotes=[q if q.quote else replace(q, quote=whole.get(q.source, "")) for q in one.quotes])
        for one in done.claims
    ]
    return replace(done, claims=claims)


def _tables(inquiry: Inquiry) -> dict[int, SourceKind | str]:
    """Return sources of which cells or whole calculations may be quoted, with their kinds."""
    found = (one for one in inquiry.sources.all() if one.is_csv or one.kind in CALCULATED_KINDS)
    return {one.number: one.kind for one in found}


def _place(source: int, quote: str, folded: Mapping[int, FoldedText], tables: Mapping[int, str]) -> QuotePlace | None:
    if source not in folded:
        return None
    if tables.get(source) == SourceKind.CALCULATION and quote == folded[source].original:
        return QuotePlace((TextSpan(0, len(quote)),))
    return find_quote(quote, folded[source]) or (
        find_cells(quote, folded[source].original) if source in tables else None
    )


def _quote_problems(places: Mapping[tuple[int, str], QuotePlace | None], folded: Mapping[int, FoldedText]) -> list[str]:
    """Return a sentence for each quote that was not found."""
    return [_why_astray(source, quote, folded) for (source, quote), place in places.items() if place is None]


def _why_astray(source: int, quote: str, folded: Mapping[int, FoldedText]) -> str:
    shown = f"“{quote[:120]}”"
    if source not in folded:
        return f"There is no source {source}, which {shown} is said to stand in."
    if not quote:
        return f"Source {source} is no calculation: quote what stands there."
    if stands := next((number for number, one in _others(source, folded) if find_quote(quote, one)), None):
        return f"{shown} does not stand in source {source}, and does in source {stands}: quote that."
    if wrong := quote_problem(quote):
        return f"{shown} cannot be looked for: {wrong}."
    if between := omitted_words(quote, folded[source]):
        return f"{shown} leaves out “{between[:120]}”, which may turn what it says: quote the words in between, too."
    near = nearest(quote, folded[source])
    instead = f" There stands: “{near}”" if near else ""
    return f"{shown} does not stand in source {source}.{instead} Quote what stands there, or drop the claim."


def _others(source: int, folded: Mapping[int, FoldedText]) -> Iterator[tuple[int, FoldedText]]:
    """Yield the newest other sources: a model often confuses the source that a tool has just shown."""
    for number in sorted(set(folded) - {source}, reverse=True)[:NEWEST]:
        yield number, folded[number]


def _result_problems(
    inquiry: Inquiry, station: InquiryStage, done: SubmitWork, places: Mapping[tuple[int, str], QuotePlace | None]
) -> list[str]:
    """Return what is wrong with an answer's use of results: unknown claims, and results that are neither used nor named
    as not needed."""
    if station is not InquiryStage.EXPERT or not done.found:
        return []
    found = results(inquiry)
    passed = {claim.number: one.step for one in found for claim in one.claims}
    used = {number for one in done.claims for number in one.reasoned_from}
    problems = [f"There is no claim {number} among the results." for number in sorted(used - set(passed))]
    named = {passed[number] for number in used & set(passed)} | {step for step, why in done.not_needed.items() if why}
    quoted = [(source, place) for (source, _), place in places.items() if place]
    left = [one for one in found if one.step not in named and not _quotes_too(inquiry, one, quoted)]
    return problems + [f"The result of step {one.step} is neither used nor named as not needed." for one in left]


def _quotes_too(inquiry: Inquiry, result: ResearchResult, quoted: Sequence[tuple[int, QuotePlace]]) -> bool:
    """Tell whether the answer quotes overlapping words of what this result quotes."""
    numbers = {claim.number for claim in result.claims}
    rows = (q for one in inquiry.claims.all() if one.number in numbers for q in one.quotes.all())
    spans = [(q.source.number, q.parts[0][0], q.parts[-1][1]) for q in rows]
    return any(
        source == number and place.start < end and start < place.end
        for source, place in quoted
        for number, start, end in spans
    )


def _one_site_problems(inquiry: Inquiry, done: SubmitWork) -> Iterator[str]:
    """Yield a sentence for each claim that rests on one site, if two are required."""
    if inquiry.run_limits.sites < 2:
        return
    sources = {one.number: one for one in inquiry.sources.all()}
    beneath = {one.number: [q.source_id for q in one.quotes.all()] for one in inquiry.claims.all()}
    for one in done.claims:
        known = {pk for number in one.reasoned_from for pk in beneath.get(number, ())}
        quoted = [sources[q.source] for q in one.quotes if q.source in sources]
        if are_from_one_site([*quoted, *(source for source in sources.values() if source.pk in known)]):
            yield f"“{one.text[:120]}” rests on one site alone. Quote another site, too, or drop the claim."


def _save_claims(
    inquiry: Inquiry, order: Assignment, claims: Sequence[ProposedClaim], places: Mapping[Any, Any]
) -> None:
    number = InquiryClaim.objects.filter(inquiry=inquiry).aggregate(Max("number"))["number__max"] or 0
    sources = {one.number: one for one in inquiry.sources.all()}
    known = {one.number: carried(one) for one in inquiry.claims.all()}
    for count, one in enumerate(claims, number + 1):
        said = [carries(q.quote, sources[q.source].kind) for q in one.quotes]
        support = [inquiry.question, *said, *(text for n in one.reasoned_from for text in known.get(n, ()))]
        bare = bool(unsupported(one.text, [*support, *calculated(inquiry, order.place, support)]))
        row = InquiryClaim.objects.create(
            inquiry=inquiry, order=order, number=count, text=one.text, reasoned_from=list(one.reasoned_from), bare=bare
        )
        for q in one.quotes:
            parts = [[part.start, part.end] for part in places[q.source, q.quote].parts]
            ClaimQuote.objects.create(claim=row, source=sources[q.source], text=q.quote, parts=parts)
    SearchText.objects.add(inquiry.pk, index_words("\n".join(one.text for one in claims)))


# ---- errors, limits, people -------------------------------------------------------------------------------


def save_failure(pk: UUID, station: InquiryStage, category: ErrorCategory, code: str, sentence: str) -> None:
    if inquiry := _inquiry_waiting_for(pk, station):
        _save_assignment(inquiry, AssignmentKind.ERROR, category=category, error_code=code, error=sentence)


def save_exhausted(pk: UUID, station: InquiryStage, why: str) -> None:
    if inquiry := _inquiry_waiting_for(pk, station):
        _save_assignment(inquiry, AssignmentKind.EXHAUSTED, feedback=why)


def save_retry(pk: UUID, by: str) -> None:
    inquiry = load_inquiry(pk)
    number = len(inquiry.assignments_in_order) + 1
    Assignment.objects.create(inquiry=inquiry, number=number, kind=AssignmentKind.RETRY, by_name=by)


def save_hint(pk: UUID, kind: AssignmentKind, by: str, words: str = "") -> None:
    """Save a person's intervention; the worker sees it when it next reads the rows. Raises InquiryStateError if it is
    not possible now."""
    inquiry = load_inquiry(pk)
    if inquiry.state.over or isinstance(next_assignment(inquiry.state), FinishAssignment):
        raise InquiryStateError("Its answer is being worded, or it is over.")
    begun = bool(moves_at(inquiry, next_assignment_columns(inquiry)["place"]))
    counts = {"begun": begun} if kind == AssignmentKind.STOP else {}
    _save_assignment(inquiry, kind, by_name=by, feedback=words, counts=counts)
    if kind == AssignmentKind.REPLAN:
        Gate.objects.filter(run=pk).pending().void()
    SearchText.objects.add(pk, index_words(words))


# ---- the end ----------------------------------------------------------------------------------------------


def conclude(pk: UUID) -> None:
    inquiry = load_inquiry(pk)
    state = inquiry.state
    Inquiry.objects.filter(pk=pk).update(answer=state.final_answer, trace=state.final_reasoning_trace, why=state.why)
    Run.objects.filter(pk=pk).update(outcome=state.outcome)
    claims = [one.text for one in claims_of(inquiry)]
    SearchText.objects.add(
        pk, [label_term("outcome", state.outcome), *index_words("\n".join([state.final_answer, *claims]))]
    )


def erase(pk: UUID) -> None:
    """Erase all texts; numbers, decisions, names and times stay."""
    Inquiry.objects.filter(pk=pk).update(question="", answer="", trace="", why="")
    Assignment.objects.filter(inquiry=pk).update(instruction="", reply="", feedback="", error="")
    InquiryMove.objects.filter(inquiry=pk).update(thought="", arguments="", done="", refused="", result="")
    blank = dict.fromkeys(("title", "asked", "address", "bytes_digest", "text_digest", "read"), "")
    InquirySource.objects.filter(inquiry=pk).update(**blank)
    InquiryClaim.objects.filter(inquiry=pk).update(text="")
    ClaimQuote.objects.filter(claim__inquiry=pk).update(text="")
    SourcePassage.objects.filter(source__inquiry=pk).delete()
    clear_fold_cache()
    _merge_word_index()


MERGE = "INSERT INTO inquiries_words(inquiries_words, rank) VALUES ('merge', %s)"
PAGES, MOST_MERGES = 200, 200


def _merge_word_index() -> None:
    """Merge the segments of SQLite's full-text index: deleted words stay in older segments until then."""
    if connection.vendor != "sqlite":
        return
    changed: Callable[[], int] = lambda: connection.connection.total_changes  # noqa: E731
    with connection.cursor() as cursor:
        for pages in (-PAGES, *[PAGES] * MOST_MERGES):
            before = changed()
            cursor.execute(MERGE, [pages])
            if changed() - before <= 1:
                return
