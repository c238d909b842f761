"""The rows of an inquiry as its rules and its prompts look at them."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, TypeVar
from uuid import UUID

from engine.llm.fitting import Fitted, fitted
from engine.llm.pricing import format_dollars
from engine.llm.tokens import prompt_tokens, room_of
from engine.models import Gate
from engine.plurals import counted

from ..prompts import critics, finalizer, planner
from ..prompts.common import Messages
from ..prompts.critics import WorkToReview
from ..prompts.finalizer import ApprovedAnswer
from ..prompts.moves import ExpertWork, ProposedClaim, ProposedQuote, ResearchMoveMade, ResearchResult, ResearchWork
from ..prompts.planner import EarlierResearchPlan, ResearchBrief
from ..quotes import FoldedText, numbers, unknown_names, unsupported
from ..rules.dispatch import instruction, possible_words
from ..rules.events import CRITIC_OF, WORK_OF, ErrorCategory, InquiryStage
from ..rules.limits import MAX_REPEATED_CALLS, MAX_SUBMISSIONS, MOVES_OF_A_STEP
from ..rules.state import InquiryStateError, cited
from .assignments import Assignment, AssignmentKind, InquiryMove
from .inquiries import Inquiry
from .rule_state import load_inquiry
from .source_capture import has_no_text
from .sources import ClaimQuote, InquiryClaim, InquirySource, SourceKind, are_from_one_site

T = TypeVar("T")
FOLD_CACHE = 64  # sources that stay in memory
SHORTENED = 400  # characters of an older result, where there is no room
CHARACTERS_OF_A_TOKEN = 4
COURSE_LINE = 300  # characters of what came of an order, in a trace


# ---- places -----------------------------------------------------------------------------------------------


def plan_number(inquiry: Inquiry) -> int:
    """How many plans were let pass: a step of another plan is another step."""
    reviews = (one for one in inquiry.assignments_in_order if one.station == InquiryStage.CRITIC_PLANNER)
    return sum(one.kind == AssignmentKind.REVIEW and one.decision == "approve" for one in reviews)


def assignment_number(inquiry: Inquiry, station: InquiryStage) -> str:
    """Of the work at this station, or that its critic reviews."""
    worker, plan = WORK_OF.get(station, station), plan_number(inquiry)
    if worker is InquiryStage.RESEARCHER:
        return f"research.{plan}.{inquiry.state.index}"
    return f"expert.{plan}" if worker is InquiryStage.EXPERT else {"planner": "plan"}.get(worker, worker)


def orders_at(inquiry: Inquiry, place: str, *kinds: str, station: str = "") -> list[Assignment]:
    found = (one for one in inquiry.assignments_in_order if one.place == place and one.kind in kinds)
    return [one for one in found if not station or one.station == station]


def attempt_number(inquiry: Inquiry, place: str, station: str) -> int:
    """Of the try that goes on: what was handed in, or came to nothing, was one."""
    return 1 + len(
        orders_at(inquiry, place, AssignmentKind.WORK, AssignmentKind.ERROR, AssignmentKind.REVIEW, station=station)
    )


def key_of(inquiry: Inquiry, station: InquiryStage) -> str:
    """The step of a call of this station, who makes one call for each try; who makes moves adds theirs."""
    place = assignment_number(inquiry, station)
    name = f"critic.{place}" if station in WORK_OF else place
    return name if station is InquiryStage.FINALIZER else f"{name}.{attempt_number(inquiry, place, station)}"


def moves_at(inquiry: Inquiry, place: str) -> list[InquiryMove]:
    return sorted((one for one in inquiry.moves.all() if one.place == place), key=lambda one: one.number)


def move_key(inquiry: Inquiry, station: InquiryStage) -> str:
    """Of the next move. One that came to nothing after all its attempts is asked for under another key."""
    place = assignment_number(inquiry, station)
    errors = len(orders_at(inquiry, place, AssignmentKind.ERROR, station=station))
    number = len(moves_at(inquiry, place)) + 1
    return f"{place}.{number}" + (f"-{errors}" if errors else "")


# ---- limits -----------------------------------------------------------------------------------------------


def exhausted(inquiry: Inquiry, station: InquiryStage, worked: float) -> str:
    """Why more tries will not help, in a sentence; empty where they may."""
    if inquiry.used_up:
        return f"It has cost {format_dollars(inquiry.run.spend)}, which is its limit."
    if worked >= inquiry.run_limits.minutes * 60:
        return f"It has worked for {counted(inquiry.run_limits.minutes, 'minute')}, which is its limit."
    place = assignment_number(inquiry, station)
    if station in (InquiryStage.RESEARCHER, InquiryStage.EXPERT) and tokens_left(inquiry, place) <= 0:
        about = (
            f"{_ABOUT[station]} {inquiry.state.index + 1}" if station is InquiryStage.RESEARCHER else _ABOUT[station]
        )
        return f"{about} has taken {inquiry.run_limits.tokens:,} tokens, which is the limit of a step."
    return ""


def tokens_left(inquiry: Inquiry, place: str) -> int:
    calls = inquiry.run.calls.filter(step__startswith=f"{place}.")
    used = sum(
        (one.input_tokens or 0) + (one.output_tokens or 0) for one in calls.only("input_tokens", "output_tokens")
    )
    return inquiry.run_limits.tokens - used


def moves_left(inquiry: Inquiry, place: str, station: InquiryStage) -> int:
    if station is InquiryStage.RESEARCHER and inquiry.state.stopping:
        return 1
    made, now = moves_at(inquiry, place), attempt_number(inquiry, place, station)
    left = inquiry.run_limits.moves - sum(one.attempt == now for one in made)
    return max(min(left, MOVES_OF_A_STEP - len(made)), 1)


def must_submit(inquiry: Inquiry, place: str, station: InquiryStage) -> bool:
    """At its last move, and after the same call for the third time, it has no tools."""
    made = [one for one in moves_at(inquiry, place) if one.attempt == attempt_number(inquiry, place, station)]
    calls = [one.requested_call for one in made if one.tool]
    return moves_left(inquiry, place, station) <= 1 or any(calls.count(one) >= MAX_REPEATED_CALLS for one in calls)


# ---- sources ----------------------------------------------------------------------------------------------


@lru_cache(maxsize=FOLD_CACHE)
def _folded(inquiry: UUID, number: int) -> FoldedText:
    """What was read never changes, so that it is read and folded once."""
    return FoldedText(InquirySource.objects.select_related("document").get(inquiry=inquiry, number=number).text)


def forget_folded() -> None:
    """What this process remembers of texts, since some were erased."""
    _folded.cache_clear()


class FoldedSources(Mapping[int, FoldedText]):
    """In which quotes are sought, by number: each read where one is sought in it."""

    def __init__(self, inquiry: UUID) -> None:
        self._inquiry = inquiry
        self._numbers = set(InquirySource.objects.filter(inquiry=inquiry).values_list("number", flat=True))

    def __getitem__(self, number: int) -> FoldedText:
        if number not in self._numbers:
            raise KeyError(number)
        return _folded(self._inquiry, number)

    def __iter__(self) -> Iterator[int]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)


# ---- what roles are given ---------------------------------------------------------------------------------


def planner_brief(inquiry: Inquiry, tools: Sequence[str]) -> ResearchBrief:
    works = orders_at(inquiry, "plan", AssignmentKind.WORK)
    former = [
        EarlierResearchPlan(one.submitted_work.get("research", []), one.submitted_work.get("expert", []))
        for one in works
    ]
    words = [
        {"by": one.by_name, "text": one.feedback}
        for one in inquiry.assignments_in_order
        if one.kind == AssignmentKind.REPLAN
    ]
    return ResearchBrief(
        question=inquiry.question,
        sources=_looked_in(inquiry),
        tools=tools,
        former_plans=former,
        feedback=[*feedback_on(inquiry, "plan"), *words],
        hints=hints(inquiry),
        today=today(inquiry),
        earlier=_earlier(inquiry.follows),
    )


def _looked_in(inquiry: Inquiry) -> list[dict[str, str]]:
    return [{"title": one.title, "kind": one.kind} for one in inquiry.sources.all()]


def _earlier(followed: Inquiry | None) -> dict[str, Any] | None:
    if followed is None:
        return None
    claims = [one.text for one in claims_of(load_inquiry(followed.pk))]
    return {"question": followed.question, "answer": followed.answer, "claims": claims}


def research_of(inquiry: Inquiry) -> ResearchWork:
    state, place = inquiry.state, assignment_number(inquiry, InquiryStage.RESEARCHER)
    return ResearchWork(
        question=inquiry.question,
        today=today(inquiry),
        plan=state.research_steps,
        step={"number": state.index + 1, "text": state.research_steps[state.index]},
        found_so_far=results(inquiry)[: state.index],
        sources=_sources(inquiry, attached=True),
        moves=made(inquiry, place),
        sources_found=_sources(inquiry, attached=False),
        feedback=feedback_on(inquiry, place),
        hints=hints(inquiry),
        left=_left(inquiry, place, InquiryStage.RESEARCHER),
    )


def expertise_of(inquiry: Inquiry) -> ExpertWork:
    place = assignment_number(inquiry, InquiryStage.EXPERT)
    return ExpertWork(
        question=inquiry.question,
        today=today(inquiry),
        expert_steps=inquiry.state.expert_steps,
        results=results(inquiry),
        left_out=inquiry.state.left_out,
        sources=_sources(inquiry, attached=True),
        moves=made(inquiry, place),
        sources_found=_sources(inquiry, attached=False),
        feedback=feedback_on(inquiry, place),
        hints=hints(inquiry),
        left=_left(inquiry, place, InquiryStage.EXPERT),
    )


def rejected_before(pk: UUID, key: str) -> bool:
    """Whether who was asked there had no time: then the post's model reviews."""
    gate = Gate.objects.newest(pk, key)
    return gate is not None and gate.state == Gate.State.EXPIRED and gate.used is not None


def work_to_review(inquiry: Inquiry, critic: InquiryStage, tools: Sequence[str] = ()) -> WorkToReview:
    """`tools`: that those who research have."""
    state, place = inquiry.state, assignment_number(inquiry, critic)
    order = orders_at(inquiry, place, AssignmentKind.WORK)[-1]
    step: Any = {
        InquiryStage.CRITIC_RESEARCHER: lambda: state.research_steps[state.index],
        InquiryStage.CRITIC_EXPERT: lambda: list(state.expert_steps),
    }.get(critic, lambda: None)()
    work = {name: value for name, value in order.submitted_work.items() if name != NOT_NEEDED}
    beside: dict[str, Any] = {}
    if critic is InquiryStage.CRITIC_PLANNER:
        beside = {"sources": _looked_in(inquiry), "tools": tools}
    elif critic is InquiryStage.CRITIC_EXPERT:
        beside = {"in_no_claim": in_no_claim(inquiry, order), "not_used": not_used(inquiry, order)}
        beside |= {"left_out": state.left_out}
    feedback = feedback_on(inquiry, place)
    return WorkToReview(inquiry.question, step, work, checked_claims(inquiry, order), feedback=feedback, **beside)


NOT_NEEDED = "not_needed"  # in what an expert hands in: results that it does not need, and why


def not_used(inquiry: Inquiry, order: Assignment) -> list[dict[str, Any]]:
    """Results that an answer rests on nowhere, and claims of others, each as it was let pass, with the reason that the
    expert gave."""
    named = {one["step"]: one["why"] for one in order.submitted_work.get(NOT_NEEDED, ())}
    used = _used(inquiry, order)
    found = []
    for one in results(inquiry):
        rest = [claim.text for claim in one.claims if claim.number not in used]
        if rest or not one.claims:
            said = {"step": one.step, "result": one.result, "why": named.get(one.step, "")}
            found.append(said | {"claims": rest})
    return found


def _used(inquiry: Inquiry, order: Assignment) -> set[int]:
    """Numbers of claims that the claims of this work are reasoned from, or whose quotes they quote, too."""
    own = [one for one in inquiry.claims.all() if one.order_id == order.pk]
    quoted = [(q.source_id, *_span(q)) for one in own for q in one.quotes.all()]
    also = (
        one.number
        for one in inquiry.claims.all()
        for q in one.quotes.all()
        if any(source == q.source_id and start < _span(q)[1] and _span(q)[0] < end for source, start, end in quoted)
    )
    return {number for one in own for number in one.reasoned_from} | set(also)


def _span(quote: ClaimQuote) -> tuple[int, int]:
    return quote.parts[0][0], quote.parts[-1][1]


def in_no_claim(inquiry: Inquiry, order: Assignment) -> list[str]:
    """Numbers and names of an answer that stand neither in the question nor in its claims, in what these rest on, or in
    what its expert has calculated."""
    own = [one for one in inquiry.claims.all() if one.order_id == order.pk]
    named = {number for one in own for number in (one.number, *one.reasoned_from)}
    beneath = [one for one in inquiry.claims.all() if one.number in named]
    kinds = {one.pk: one.kind for one in inquiry.sources.all()}
    quotes = (carries(quote.text, kinds.get(quote.source_id, "")) for one in beneath for quote in one.quotes.all())
    support = [inquiry.question, *(one.text for one in beneath), *quotes]
    support += calculated(inquiry, order.place, support)
    text = order.submitted_work.get("text", "")
    return [*unsupported(text, support), *unknown_names(text, support)]


def approved(inquiry: Inquiry) -> ApprovedAnswer:
    state = inquiry.state
    claims = [{"number": one.number, "text": one.text} for one in claims_of(inquiry)]
    course = list(history_of(inquiry.assignments_in_order))
    return ApprovedAnswer(inquiry.question, state.expert_answer, state.expert_reasoning, claims, course)


class Present(dict[int, T]):
    """Rows that have to be there."""

    def __missing__(self, pk: int) -> T:
        raise InquiryStateError("A source that is quoted is missing.")


def checked_claims(inquiry: Inquiry, order: Assignment) -> list[dict[str, Any]]:
    """What code found of each claim: its quotes stand where they are said to, or it would not be here."""
    titles = Present({one.pk: str(one) for one in inquiry.sources.all()})
    return [
        {
            "claim": one.number,
            "flags": flags_of(inquiry, one),
            "quotes_found_in": [titles[quote.source_id] for quote in one.quotes.all()],
            "has_numbers_without_quote": one.bare,
            "rests_on": [_rests(inquiry, number, titles) for number in one.reasoned_from],
            **({"calculated": steps} if (steps := steps_of(inquiry, one)) else {}),
        }
        for one in inquiry.claims.all()
        if one.order_id == order.pk
    ]


def steps_of(inquiry: Inquiry, claim: InquiryClaim) -> list[str]:
    """The calculations that a claim rests on, after those whose results they take, each as it was worked out."""
    known, taken = inquiry.calculations, set[int]()
    quoted = {quote.source_id for quote in claim.quotes.all()} if known else set()
    due = [one.number for one in inquiry.sources.all() if one.pk in quoted and one.number in known]
    while due:
        number = due.pop()
        taken.add(number)
        given = set(numbers(known[number].rpartition(" = ")[0])) - USUAL
        before = (other for other in known if other < number and other not in taken)
        due += [other for other in before if given & set(numbers(known[other].rpartition(" = ")[2]))]
    return [known[number] for number in sorted(taken)]


def _from_nowhere(
    inquiry: Inquiry, claim: InquiryClaim, beneath: Sequence[InquiryClaim], steps: Sequence[str]
) -> list[str]:
    """Numbers that were calculated with, and stand in nothing that the claim rests on: they may have been made up. What
    a step comes to is known to those after it alone, for 7001 * 1 comes to what was put in."""
    sums = {one.pk for one in inquiry.sources.all() if one.kind == SourceKind.CALCULATION}
    quotes = [q.text for one in beneath for q in one.quotes.all() if q.source_id not in sums]
    others = [one.text for one in beneath if one.pk != claim.pk and not one.bare]
    known, came, found = [inquiry.question, *quotes, *others], list[str](), list[str]()
    for step in steps:
        given, _, result = step.rpartition(" = ")
        made_up = _made_up(given, known)
        found += unsupported(given if made_up else "", [*known, *came])
        (came if made_up else known).append(result)
    return list(dict.fromkeys(found))


def _made_up(given: str, known: Sequence[str]) -> bool:
    """Whether this was calculated with numbers that stand in nothing known. A few usual ones pass beside one that does:
    of usual ones alone any number is made, as 7 * 1000 + 1."""
    loose = unsupported(given, known)
    alone = bool(loose) and len(loose) == len(set(numbers(given)))
    return alone or len(loose) > MOST_USUAL or any(one not in USUAL for one in loose)


# numbers that need no source, and tell of no step that one was worked out in
USUAL = {*map(str, range(13)), "24", "30", "52", "60", "100", "360", "365", "366", "1000", "3600", "1000000"}
ONE_SITE_TEXT = "Rests on one site alone"


def flags_of(inquiry: Inquiry, claim: InquiryClaim) -> list[str]:
    """What is worth a look of a claim: flags that all of its sources have, that all of them are of one site, and that
    numbers from nowhere were calculated with."""
    beneath = [one for one in inquiry.claims.all() if one.number in (claim.number, *claim.reasoned_from)]
    steps = [step for one in beneath for step in steps_of(inquiry, one)]
    made_up = _from_nowhere(inquiry, claim, beneath, steps) if steps else []
    return [*_of_sources(inquiry, beneath), *([f"{CALCULATED_WITH}{', '.join(made_up)}"] if made_up else [])]


CALCULATED_WITH = "Calculated with numbers that are in no quote: "
MOST_USUAL = 2  # usual numbers of a calculation that may stand nowhere else


def _of_sources(inquiry: Inquiry, beneath: Sequence[InquiryClaim]) -> list[str]:
    quoted = {quote.source_id for one in beneath for quote in one.quotes.all()}
    sources = [one for one in inquiry.sources.all() if one.pk in quoted]
    if not sources:
        return []
    alike = [flag for flag in sources[0].flags if all(flag in one.flags for one in sources)]
    return [*alike, *([ONE_SITE_TEXT] if are_from_one_site(sources) else [])]


def _rests(inquiry: Inquiry, number: int, titles: Mapping[int, str]) -> dict[str, Any]:
    claim = next(one for one in inquiry.claims.all() if one.number == number)
    quotes = [{"source": titles[one.source_id], "quote": one.text} for one in claim.quotes.all()]
    return {"claim": number, "text": claim.text, "quotes": quotes}


def carries(quote: str, kind: str) -> str:
    """What a claim may take from a quote: of a calculation its result, for anything can be put in."""
    return quote.rpartition(" = ")[2] if kind == SourceKind.CALCULATION else quote


def carried(claim: InquiryClaim) -> list[str]:
    """What another claim may take from this one: its text, if all its numbers stand in something, and its quotes."""
    quotes = [carries(one.text, one.source.kind) for one in claim.quotes.all()]
    return quotes if claim.bare else [claim.text, *quotes]


def calculated(inquiry: Inquiry, place: str, support: Sequence[str]) -> list[str]:
    """What was calculated at this place from numbers that stand in what supports it, or that were calculated so. A
    number that was only repeated, or put in, is no result."""
    found: list[str] = []
    for one in moves_at(inquiry, place):
        if one.tool.startswith("figures.") and one.tool_call and one.tool_call.done and not has_no_text(one.tool_call):
            given, _, result = one.result.rpartition(" = ")
            found += [] if _made_up(_without_marker(given), [*support, *found]) else [result]
    return found


def _without_marker(result: str) -> str:
    """A calculation as it was worked out, without the line that says which source it is."""
    return result.rpartition(":\n")[2]


def results(inquiry: Inquiry) -> list[ResearchResult]:
    """Of the research steps of this plan, as far as there are any."""
    plan, steps = plan_number(inquiry), inquiry.state.research_steps
    found = []
    for index, text in enumerate(inquiry.state.research_results):
        order = orders_at(inquiry, f"research.{plan}.{index}", AssignmentKind.WORK)[-1]
        found.append(ResearchResult(index + 1, steps[index], text, _claims(inquiry, order)))
    return found


def _claims(inquiry: Inquiry, order: Assignment) -> list[ProposedClaim]:
    sources = Present({one.pk: one.number for one in inquiry.sources.all()})
    return [
        ProposedClaim(one.text, [ProposedQuote(sources[q.source_id], q.text) for q in one.quotes.all()], [], one.number)
        for one in inquiry.claims.all()
        if one.order_id == order.pk
    ]


def claims_of(inquiry: Inquiry) -> list[InquiryClaim]:
    """Those of the answer that was let pass, or handed in last."""
    works = [
        one
        for one in inquiry.assignments_in_order
        if one.kind == AssignmentKind.WORK and one.station == InquiryStage.EXPERT
    ]
    return [one for one in inquiry.claims.all() if works and one.order_id == works[-1].pk]


_ABOUT: dict[str, str] = {
    InquiryStage.PLANNER: "Plan",
    InquiryStage.RESEARCHER: "Research",
    InquiryStage.EXPERT: "Answer",
    InquiryStage.CRITIC_PLANNER: "Review of the plan",
    InquiryStage.CRITIC_RESEARCHER: "Review of research",
    InquiryStage.CRITIC_EXPERT: "Review of the answer",
}


NOT_TAKEN = (
    f"Its work was refused {MAX_SUBMISSIONS} times: for quotes that stand nowhere, or claims that rest on too little."
)
NO_JUDGEMENT = "The council could not judge."
FAILED_AS: dict[str, str] = {
    ErrorCategory.NETWORK: "No answer came.",
    ErrorCategory.VALIDATION: "No answer could be used.",
    ErrorCategory.FILTERED: "A provider's filter refused it.",
}
OTHERS_SAID = "The message can repeat words of the model or its server:"


def history_of(orders: Iterable[Assignment], most: int = COURSE_LINE) -> Iterator[str]:
    """A line for each order and what came of it: the trace of an answer is made of these. What a model or a person has
    said stands between quotation marks. `most`: characters of that."""
    for one in orders:
        if said := _came(one, most):
            head, words = said
            yield f"{head} {cited(words, most)}" if words.strip() else head


def error_told(one: Assignment, most: int = 0) -> str:
    """An error in words of ours, before its message, which can repeat what a model or its server has said."""
    if one.error == NOT_TAKEN or one.category == ErrorCategory.STATE:
        return one.error
    judged = one.error.startswith(NO_JUDGEMENT)
    own = NO_JUDGEMENT if judged else FAILED_AS.get(one.category, "It failed.")
    words = one.error.removeprefix(NO_JUDGEMENT).strip()
    return f"{own} {OTHERS_SAID} {cited(words, most)}" if words else own


_DONE: dict[str, str] = {
    AssignmentKind.STOP: "stopped it",
    AssignmentKind.REPLAN: "asked for another plan",
    AssignmentKind.HINT: "gave a hint",
    AssignmentKind.RETRY: "had it tried again",
}


def _came(one: Assignment, most: int) -> tuple[str, str] | None:
    about = f"{_ABOUT.get(one.station, one.station)}{'' if one.step_id is None else f' {one.step_id + 1}'}"
    match one.kind:
        case AssignmentKind.REVIEW:
            passed = "approved" if one.decision == "approve" else "rejected"
            return f"{about}: {passed}{f' by {one.by_name}' if one.by_name else ''}.", one.feedback
        case AssignmentKind.ERROR:
            return f"{about}: {error_told(one, most)}", ""
        case AssignmentKind.WORK if one.station != InquiryStage.PLANNER:
            return f"{about}:", one.submitted_work.get("text", "")
        case AssignmentKind.WORK:
            steps = [one.counts.get(name, 0) for name in ("research", "expert")]
            return f"{about}: {steps[0]} of research, {steps[1]} of the expert.", ""
        case AssignmentKind.STOP | AssignmentKind.REPLAN | AssignmentKind.HINT | AssignmentKind.RETRY:
            return f"{one.by_name or 'The command line'} {_DONE[one.kind]}.", one.feedback
    return None


def feedback_on(inquiry: Inquiry, place: str) -> list[dict[str, str]]:
    """What its critic said when it sent this work back, oldest first."""
    reviews = orders_at(inquiry, place, AssignmentKind.REVIEW)
    rejected = [one for one in reviews if one.decision == "reject"]
    return [{"try": str(number), "text": one.feedback} for number, one in enumerate(rejected, 1)]


def possible_words_to(inquiry: Inquiry) -> tuple[str, ...]:
    """Of one that is not over: what can be said to it now."""
    return possible_words(inquiry.state, len(hints(inquiry)))


def hints(inquiry: Inquiry) -> list[dict[str, str]]:
    return [
        {"by": one.by_name, "text": one.feedback}
        for one in inquiry.assignments_in_order
        if one.kind == AssignmentKind.HINT
    ]


def today(inquiry: Inquiry) -> str:
    """Of the day on which it was asked: a look back says the same."""
    return f"{inquiry.run.created:%Y-%m-%d}"


def made(inquiry: Inquiry, place: str) -> list[ResearchMoveMade]:
    """Moves of all tries. Where their results leave no room the oldest are cut first."""
    moves, refused = moves_at(inquiry, place), _refused(inquiry, place)
    room = max(tokens_left(inquiry, place) * CHARACTERS_OF_A_TOKEN // 2, SHORTENED)
    shown: list[ResearchMoveMade] = []
    for one in reversed(moves):
        result = OMITTED_TEXT if one.pk in refused else one.refused or one.result
        if len(result) > room:
            result = f"{result[:SHORTENED]}\n[The rest is left out: read it again.]"
        room = max(room - len(result), SHORTENED)
        shown.append(ResearchMoveMade(one.number, one.thought, one.tool, one.arguments or one.done, result))
    return shown[::-1]


# ---- what there is room for -------------------------------------------------------------------------------

# the least needed first: sources that are not named can still be found
WORK = ("sources", "sources_found", "moves", "feedback", "found_so_far", "results")
KEPT = {"sources": 20, "sources_found": 20, "moves": 2, "feedback": 1}


def work_in_room(
    asked: Callable[[Any, str], Messages], work: ResearchWork | ExpertWork, models: Iterable[str]
) -> Fitted:
    """What `asked` makes of this work and of what is left out of it; hints of people stay."""
    parts = {name: getattr(work, name) for name in WORK if hasattr(work, name)} | {"sources": work.sources[::-1]}

    def of(shown: Mapping[str, Any], said: str) -> Messages:
        return asked(replace(work, **{**shown, "sources": shown["sources"][::-1]}), said)

    return fitted(of, parts, models, KEPT)


def brief_in_room(brief: ResearchBrief, models: Iterable[str], mark: str | None = None) -> Fitted:
    """What people have said stays."""
    of_people = [one for one in brief.feedback if "by" in one]
    of_critics = brief.feedback[: len(brief.feedback) - len(of_people)]
    parts = {"sources": brief.sources[::-1], "former_plans": brief.former_plans, "feedback": of_critics}

    def asked(shown: Mapping[str, Any], said: str) -> Messages:
        sources, feedback = shown["sources"][::-1], [*shown["feedback"], *of_people]
        return planner.planner_messages(
            replace(brief, **{**shown, "sources": sources, "feedback": feedback}), mark, said
        )

    return fitted(asked, parts, models, KEPT)


QUOTES_LEFT_OUT = "[Left out. Each was found word by word.]"


def review_in_room(critic: InquiryStage, of: WorkToReview, models: Iterable[str], mark: str | None = None) -> Fitted:
    """Question, step, and what the work says stay whole. First go names of sources, older words of the critic, what
    claims rest on, and quotes, of which code has said that they are there; where that is not enough, all claims, the
    reasoning, and what an answer does not use are told by their beginnings."""
    claims = of.work.get("claims", ())
    said = {"claims": [one["text"] for one in claims], "not_used": of.not_used}
    said["reasoning"] = [of.work["reasoning"]] if of.work.get("reasoning") else []

    def asked(shown: Mapping[str, Any], left_out: str) -> Messages:
        now = {**said, **shown}
        quotes = _left_of([one["quotes"] for one in claims], now["quotes"], QUOTES_LEFT_OUT)
        told = zip(claims, now["claims"], quotes, strict=True)
        work = dict(of.work) | ({"reasoning": now["reasoning"][0]} if now["reasoning"] else {})
        work |= {"claims": [one | {"text": text, "quotes": few} for one, text, few in told]} if claims else {}
        grounds = _left_of([one["rests_on"] for one in of.checked], now["grounds"], [])
        checked = [one | {"rests_on": on} for one, on in zip(of.checked, grounds, strict=True)]
        for one, few in zip(checked, quotes, strict=False):
            if few is QUOTES_LEFT_OUT:  # each source once: there is no quote any more beside which it would stand
                one["quotes_found_in"] = list(dict.fromkeys(one["quotes_found_in"]))
        beside = {"sources": now["sources"][::-1], "feedback": now["feedback"], "not_used": now["not_used"]}
        return critics.critic_messages(critic, replace(of, work=work, checked=checked, **beside), mark, left_out)

    parts = {
        "sources": of.sources[::-1],
        "feedback": of.feedback,
        "grounds": [one["rests_on"] for one in of.checked if one["rests_on"]],
        "quotes": [one["quotes"] for one in claims if one["quotes"]],
    }
    found, room = fitted(asked, parts, models, KEPT), room_of(models)
    if room is None or prompt_tokens(found.messages) <= room:
        return found
    return fitted(asked, parts | said, models, KEPT | {name: len(items) for name, items in said.items()})


def _left_of(items: Sequence[Any], shown: Sequence[Any], gone: Any) -> list[Any]:
    """Each of these items as it is shown: the first of those that are not empty went, and `gone` stands for them."""
    missing, rest = sum(map(bool, items)) - len(shown), iter(shown)
    found = []
    for one in items:
        missing -= bool(one)
        found.append(one if not one else gone if missing >= 0 else next(rest))
    return found


def finish_in_room(of: ApprovedAnswer, models: Iterable[str], mark: str | None = None) -> Fitted:
    """All claims stand in it, though long ones in part: what is made of them is held against all of it."""
    parts = {"course": of.course, "reasoning": [of.reasoning], "claims": of.claims}

    def asked(shown: Mapping[str, Any], said: str) -> Messages:
        return finalizer.finalizer_messages(
            replace(of, **{**shown, "reasoning": "".join(shown["reasoning"])}), mark, said
        )

    return fitted(asked, parts, models, {"reasoning": 1, "claims": len(of.claims)})


OMITTED_TEXT = "[Left out: the provider of the model refused this material.]"


def _refused(inquiry: Inquiry, place: str) -> set[int]:
    """Moves whose results a provider's filter did not take: the newest before each such error that is still shown."""
    left_out = set[int]()
    for error in orders_at(inquiry, place, AssignmentKind.ERROR):
        if error.category == ErrorCategory.FILTERED:
            brought = [one.pk for one in moves_at(inquiry, place) if one.result and one.made < error.made]
            left_out |= set([pk for pk in brought if pk not in left_out][-1:])
    return left_out


def _sources(inquiry: Inquiry, *, attached: bool) -> Sequence[dict[str, Any]]:
    """Those that were attached, or those that were found since."""
    return [_source(one) for one in inquiry.sources.all() if (one.document_id is not None) == attached]


def _source(one: InquirySource) -> dict[str, Any]:
    shown = {"number": one.number, "title": one.title, "kind": one.kind}
    return shown | ({"host": one.host} if one.host else {}) | ({"flags": one.flags} if one.flags else {})


def _left(inquiry: Inquiry, place: str, station: InquiryStage) -> dict[str, int]:
    return {"moves": moves_left(inquiry, place, station), "tokens": tokens_left(inquiry, place)}


def order_for(inquiry: Inquiry) -> dict[str, Any]:
    """The columns of the order that goes out now."""
    told = instruction(inquiry.state)
    station = InquiryStage(told.receiver)
    place = assignment_number(inquiry, station)
    return {"station": station, "place": place, "step_id": told.step_id, "instruction": told.content}


assert set(CRITIC_OF) == set(WORK_OF.values())  # noqa: S101 - each critic has its work
