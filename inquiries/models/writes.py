"""What the engine and people write of an inquiry: each is a part of one transaction that holds the run's row."""

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
from ..prompts.moves import ProposedClaim, ResearchResult, SubmitWork
from ..prompts.moves import ResearchMove as Moved
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
    attempt_number,
    calculated,
    carried,
    carries,
    claims_of,
    forget_folded,
    moves_at,
    moves_left,
    order_for,
    orders_at,
    results,
)
from .rule_state import load_inquiry
from .source_capture import capture_source
from .sources import ClaimQuote, InquiryClaim, InquirySource, SourceKind, SourcePassage, are_from_one_site

WORKED_OUT = (SourceKind.TABLE, SourceKind.CALCULATION)
NEWEST = 5  # sources in which a quote is sought that does not stand where it is said to
SAME_WORK = (
    "The work that {critic} had rejected was submitted again without a change: more retries will not help. "
    "It had said: {said}"
)
ASKED_ALREADY = "This was asked already: what came of it stands at move {number}. Go on from there."


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _due(pk: UUID, station: InquiryStage) -> Inquiry | None:
    """The inquiry, if it still waits for exactly this: else a person has turned it meanwhile, and what was answered
    stays as a call and no more."""
    inquiry = load_inquiry(pk)
    order = next_assignment(inquiry.state)
    return inquiry if not isinstance(order, NoAssignment) and order.station is station else None


def _order(inquiry: Inquiry, kind: str, **values: Any) -> Assignment:
    """The next one. Impossible where it cannot happen now."""
    columns = {**order_for(inquiry), **values}
    number = (Assignment.objects.filter(inquiry=inquiry).aggregate(Max("number"))["number__max"] or 0) + 1
    order = Assignment(inquiry=inquiry, number=number, kind=kind, **columns)
    if fact := order.event:
        state_after(inquiry.state, fact)
    order.save(force_insert=True)
    return order


# ---- what models answered ---------------------------------------------------------------------------------


def save_plan(pk: UUID, call: ModelCall, plan: ResearchPlan) -> None:
    if not (inquiry := _due(pk, InquiryStage.PLANNER)):
        return
    steps = plan.steps
    reply = _json({"thought": plan.thought, "research": steps.research, "expert": steps.expert})
    counts = {"research": len(steps.research), "expert": len(steps.expert)}
    _hand_in(inquiry, "plan", reply, counts, call)
    SearchText.objects.add(pk, index_words("\n".join([*steps.research, *steps.expert])))


def _hand_in(inquiry: Inquiry, place: str, reply: str, counts: Mapping[str, Any], call: ModelCall) -> Assignment | None:
    """None where it is the same work that was sent back: then the inquiry has come to its end."""
    reviews = orders_at(inquiry, place, AssignmentKind.WORK, AssignmentKind.REVIEW)
    if len(reviews) > 1 and reviews[-1].decision == "reject" and _same(reviews[-2].reply, reply):
        said = {"critic": inquiry.state.last_critic, "said": cited(reviews[-1].feedback)}
        _order(inquiry, AssignmentKind.EXHAUSTED, feedback=SAME_WORK.format(**said))
        return None
    return _order(inquiry, AssignmentKind.WORK, reply=reply, counts=counts, call=call)


def _same(before: str, now: str) -> bool:
    texts = [json.loads(one) for one in (before, now) if one]
    return len({fold_text(_json({**one, "thought": ""})).casefold() for one in texts}) == 1 and len(texts) == 2


def save_review(pk: UUID, critic: InquiryStage, call: ModelCall, said: WorkReviewed) -> None:
    if inquiry := _due(pk, critic):
        decision = "approve" if said.approve else "reject"
        _order(inquiry, AssignmentKind.REVIEW, decision=decision, feedback=said.feedback, call=call)


def save_decision(pk: UUID, critic: InquiryStage, gate: int) -> None:
    """What was decided at the gate of a review. One whose time is over says nothing: then a model is asked."""
    decided = Gate.objects.with_decisions().get(pk=gate)
    if not (inquiry := _due(pk, critic)):
        return
    decided.consume()
    said = "\n".join(one.text for one in decided.decisions.all() if one.text and one.decides)
    by = decided.last_decision.by if decided.last_decision else ""
    if decided.state == Gate.State.FAILED:
        error = f"{NO_JUDGEMENT} {said}".strip()
        _order(
            inquiry,
            AssignmentKind.ERROR,
            category=ErrorCategory.TOOL,
            error_code="unusable_answer",
            error=error,
            gate=decided,
        )
    elif decided.state != Gate.State.EXPIRED:
        decision = "approve" if decided.approved else "reject"
        _order(inquiry, AssignmentKind.REVIEW, decision=decision, feedback=said, by_name=by[:150], gate=decided)


def save_final_answer(pk: UUID, said: WordedFinal, call: ModelCall | None = None) -> None:
    inquiry = load_inquiry(pk)
    if isinstance(next_assignment(inquiry.state), FinishAssignment):
        own = {name: text for name in ("wording", "told") if (text := getattr(said, name))}
        reply = {"answer": said.final.answer, "trace": said.final.trace, **own}
        _order(inquiry, AssignmentKind.FINAL, reply=_json(reply), call=call)


def save_move(pk: UUID, station: InquiryStage, call: ModelCall, said: Moved) -> None:
    if not (inquiry := _due(pk, station)):
        return
    place = assignment_number(inquiry, station)
    before = moves_at(inquiry, place)
    made = partial(
        InquiryMove, inquiry=inquiry, place=place, attempt=attempt_number(inquiry, place, station), call=call
    )
    if said.done:
        move = made(number=len(before) + 1, thought=said.thought)
        _keep_hand_in(inquiry, station, move, said.done, FoldedSources(pk))
        return
    first = len(before) + 1
    for number, (tool, arguments) in enumerate(_within_limits(inquiry, station, said), first):
        thought = said.thought if number == first else ""
        move = made(number=number, thought=thought, tool=tool, arguments=_json(arguments))
        _keep_use(move, before)
        before.append(move)


def _within_limits(inquiry: Inquiry, station: InquiryStage, said: Moved) -> Iterator[tuple[str, Any]]:
    """Of what shall be used at once: one move is left to hand in, and no page is read beyond the last one."""
    room, pages = max(moves_left(inquiry, assignment_number(inquiry, station), station) - 1, 1), pages_left(inquiry)
    for tool, arguments in [(said.tool, said.arguments), *said.also][:room]:
        pages -= tool == PAGE
        if pages >= 0 or tool != PAGE:
            yield tool, arguments


def _keep_use(move: InquiryMove, before: Sequence[InquiryMove]) -> None:
    same = [one for one in before if one.attempt == move.attempt and one.requested_call == move.requested_call]
    if same and len(same) < MAX_REPEATED_CALLS:
        move.result, move.settled = ASKED_ALREADY.format(number=same[0].number), timezone.now()
    move.save(force_insert=True)


def save_result(move: int, call: ToolCall) -> None:
    """What came of a tool, and the source that it brought. One that was wrong from the start is in no table."""
    waits = InquiryMove.objects.filter(pk=move, settled=None)
    for inquiry in waits.values_list("inquiry", flat=True):
        values: dict[str, Any] = {"result": capture_source(inquiry, call), "settled": timezone.now()}
        waits.update(**values | ({"tool_call": call} if call.pk else {}))


# ---- work that is handed in -------------------------------------------------------------------------------


def _keep_hand_in(
    inquiry: Inquiry, station: InquiryStage, move: InquiryMove, done: SubmitWork, folded: Mapping[int, FoldedText]
) -> None:
    """Its quotes are looked for before anybody is asked about it. What is refused stays as a move."""
    done, tables = _with_calculations(inquiry, done), _tables(inquiry)
    claims = [{"text": one.text, "quotes": [vars(q) for q in one.quotes], **_reasons(one)} for one in done.claims]
    work = {"found": done.found, "text": done.text, "reasoning": done.reasoning, "claims": claims}
    not_needed = [{"step": step, "why": why} for step, why in done.not_needed.items()]
    reply = _json(work | ({NOT_NEEDED: not_needed} if not_needed else {}))
    places = {(q.source, q.quote): _place(q.source, q.quote, folded, tables) for one in done.claims for q in one.quotes}
    move.done, move.settled = reply, timezone.now()
    move.refused = "\n".join(
        [*_astray(places, folded), *_unreasoned(inquiry, station, done, places), *_alone(inquiry, done)]
    )
    move.save(force_insert=True)
    if move.refused:
        refused = [one for one in moves_at(inquiry, move.place) if one.attempt == move.attempt and one.refused]
        if len(refused) + 1 >= MAX_SUBMISSIONS:
            _order(
                inquiry,
                AssignmentKind.ERROR,
                category=ErrorCategory.VALIDATION,
                error_code="unusable_answer",
                error=NOT_TAKEN,
            )
        return
    if order := _hand_in(inquiry, move.place, reply, {"found": done.found}, move.call):
        _keep_claims(inquiry, order, done.claims, places)


def _reasons(one: ProposedClaim) -> dict[str, Any]:
    return {"reasoned_from": list(one.reasoned_from)} if one.reasoned_from else {}


def _with_calculations(inquiry: Inquiry, done: SubmitWork) -> SubmitWork:
    """A claim that rests on a calculation quotes all of it, which is how it is named."""
    kept = InquirySource.objects.filter(inquiry=inquiry, kind=SourceKind.CALCULATION).values_list("number", "read")
    whole = dict(kept) if any(not q.quote for one in done.claims for q in one.quotes) else {}
    claims = [
        replace(one, quotes=[q if q.quote else replace(q, quote=whole.get(q.source, "")) for q in one.quotes])
        for one in done.claims
    ]
    return replace(done, claims=claims)


def _tables(inquiry: Inquiry) -> dict[int, SourceKind | str]:
    """Sources of which not only sentences are quoted: what tables have shown, and calculations."""
    found = (one for one in inquiry.sources.all() if one.is_csv or one.kind in WORKED_OUT)
    return {one.number: one.kind for one in found}


def _place(source: int, quote: str, folded: Mapping[int, FoldedText], tables: Mapping[int, str]) -> QuotePlace | None:
    if source not in folded:
        return None
    if tables.get(source) == SourceKind.CALCULATION and quote == folded[source].original:
        return QuotePlace((TextSpan(0, len(quote)),))
    return find_quote(quote, folded[source]) or (
        find_cells(quote, folded[source].original) if source in tables else None
    )


def _astray(places: Mapping[tuple[int, str], QuotePlace | None], folded: Mapping[int, FoldedText]) -> list[str]:
    """What is wrong with quotes that stand nowhere, each in a sentence."""
    said = []
    for (source, quote), place in places.items():
        if place is None:
            said.append(_why_astray(source, quote, folded))
    return said


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
    """A few that were read last: among them is what a tool has just shown."""
    for number in sorted(set(folded) - {source}, reverse=True)[:NEWEST]:
        yield number, folded[number]


def _unreasoned(
    inquiry: Inquiry, station: InquiryStage, done: SubmitWork, places: Mapping[tuple[int, str], QuotePlace | None]
) -> list[str]:
    """An answer is reasoned from claims that were let pass, and leaves no result out unsaid."""
    if station is not InquiryStage.EXPERT or not done.found:
        return []
    found = results(inquiry)
    passed = {claim.number: one.step for one in found for claim in one.claims}
    used = {number for one in done.claims for number in one.reasoned_from}
    said = [f"There is no claim {number} among the results." for number in sorted(used - set(passed))]
    named = {passed[number] for number in used & set(passed)} | {step for step, why in done.not_needed.items() if why}
    quoted = [(source, place) for (source, _), place in places.items() if place]
    left = [one for one in found if one.step not in named and not _quotes_too(inquiry, one, quoted)]
    return said + [f"The result of step {one.step} is neither used nor named as not needed." for one in left]


def _quotes_too(inquiry: Inquiry, result: ResearchResult, quoted: Sequence[tuple[int, QuotePlace]]) -> bool:
    """Whether the answer itself quotes what this result quotes: the same words, not the same source alone."""
    numbers = {claim.number for claim in result.claims}
    rows = (q for one in inquiry.claims.all() if one.number in numbers for q in one.quotes.all())
    spans = [(q.source.number, q.parts[0][0], q.parts[-1][1]) for q in rows]
    return any(
        source == number and place.start < end and start < place.end
        for source, place in quoted
        for number, start, end in spans
    )


def _alone(inquiry: Inquiry, done: SubmitWork) -> Iterator[str]:
    """Where claims have to rest on two sites: those that rest on one."""
    if inquiry.run_limits.sites < 2:
        return
    sources = {one.number: one for one in inquiry.sources.all()}
    beneath = {one.number: [q.source_id for q in one.quotes.all()] for one in inquiry.claims.all()}
    for one in done.claims:
        known = {pk for number in one.reasoned_from for pk in beneath.get(number, ())}
        quoted = [sources[q.source] for q in one.quotes if q.source in sources]
        if are_from_one_site([*quoted, *(source for source in sources.values() if source.pk in known)]):
            yield f"“{one.text[:120]}” rests on one site alone. Quote another site, too, or drop the claim."


def _keep_claims(
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
    if inquiry := _due(pk, station):
        _order(inquiry, AssignmentKind.ERROR, category=category, error_code=code, error=sentence)


def save_exhausted(pk: UUID, station: InquiryStage, why: str) -> None:
    if inquiry := _due(pk, station):
        _order(inquiry, AssignmentKind.EXHAUSTED, feedback=why)


def save_retry(pk: UUID, by: str) -> None:
    inquiry = load_inquiry(pk)
    number = len(inquiry.assignments_in_order) + 1
    Assignment.objects.create(inquiry=inquiry, number=number, kind=AssignmentKind.RETRY, by_name=by)


def save_hint(pk: UUID, kind: AssignmentKind, by: str, words: str = "") -> None:
    """A person's word: it counts from the next look on. Impossible."""
    inquiry = load_inquiry(pk)
    if inquiry.state.over or isinstance(next_assignment(inquiry.state), FinishAssignment):
        raise InquiryStateError("Its answer is being worded, or it is over.")
    begun = bool(moves_at(inquiry, order_for(inquiry)["place"]))
    counts = {"begun": begun} if kind == AssignmentKind.STOP else {}
    _order(inquiry, kind, by_name=by, feedback=words, counts=counts)
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
    """All texts; numbers, decisions, names and times stay."""
    Inquiry.objects.filter(pk=pk).update(question="", answer="", trace="", why="")
    Assignment.objects.filter(inquiry=pk).update(instruction="", reply="", feedback="", error="")
    InquiryMove.objects.filter(inquiry=pk).update(thought="", arguments="", done="", refused="", result="")
    blank = dict.fromkeys(("title", "asked", "address", "bytes_digest", "text_digest", "read"), "")
    InquirySource.objects.filter(inquiry=pk).update(**blank)
    InquiryClaim.objects.filter(inquiry=pk).update(text="")
    ClaimQuote.objects.filter(claim__inquiry=pk).update(text="")
    SourcePassage.objects.filter(source__inquiry=pk).delete()
    forget_folded()
    _forget_words()


MERGE = "INSERT INTO inquiries_words(inquiries_words, rank) VALUES ('merge', %s)"
PAGES, MOST_MERGES = 200, 200


def _forget_words() -> None:
    """Merge SQLite's index: words that were taken away stand in its older pieces until then."""
    if connection.vendor != "sqlite":
        return
    changed: Callable[[], int] = lambda: connection.connection.total_changes  # noqa: E731
    with connection.cursor() as cursor:
        for pages in (-PAGES, *[PAGES] * MOST_MERGES):
            before = changed()
            cursor.execute(MERGE, [pages])
            if changed() - before <= 1:
                return
