"""Reads the rows of an inquiry into what its rules and prompts take.

A place names a work, as `plan`, `research.1.0` (step 0 of the first plan), `expert.1` or `finalizer`.
"""

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
FOLD_CACHE = 64  # folded sources in memory
SHORTENED = 400  # characters of an older result if the prompt has no room
CHARACTERS_OF_A_TOKEN = 4
COURSE_LINE = 300  # characters of quoted words in a line of a trace


# ---- places -----------------------------------------------------------------------------------------------


def plan_number(inquiry: Inquiry) -> int:
    """Return the number of approved plans. It is part of the places of steps, since each plan has its own steps."""
    reviews = (one for one in inquiry.assignments_in_order if one.station == InquiryStage.CRITIC_PLANNER)
    return sum(one.kind == AssignmentKind.REVIEW and one.decision == "approve" for one in reviews)


def assignment_number(inquiry: Inquiry, station: InquiryStage) -> str:
    """Return the place of a role's work; for a critic, of the work that it reviews."""
    worker, plan = WORK_OF.get(station, station), plan_number(inquiry)
    if worker is InquiryStage.RESEARCHER:
        return f"research.{plan}.{inquiry.state.index}"
    return f"expert.{plan}" if worker is InquiryStage.EXPERT else {"planner": "plan"}.get(worker, worker)


def assignments_at(inquiry: Inquiry, place: str, *kinds: str, station: str = "") -> list[Assignment]:
    found = (one for one in inquiry.assignments_in_order if one.place == place and one.kind in kinds)
    return [one for one in found if not station or one.station == station]


def attempt_number(inquiry: Inquiry, place: str, station: str) -> int:
    """Return the number of the current try. Each submission, review or error ended one."""
    return 1 + len(
        assignments_at(
            inquiry, place, AssignmentKind.WORK, AssignmentKind.ERROR, AssignmentKind.REVIEW, station=station
        )
    )


def key_of(inquiry: Inquiry, station: InquiryStage) -> str:
    """Return the key of a model call of a role that makes one call per try (planner, critics, finalizer)."""
    place = assignment_number(inquiry, station)
    name = f"critic.{place}" if station in WORK_OF else place
    return name if station is InquiryStage.FINALIZER else f"{name}.{attempt_number(inquiry, place, station)}"


def moves_at(inquiry: Inquiry, place: str) -> list[InquiryMove]:
    return sorted((one for one in inquiry.moves.all() if one.place == place), key=lambda one: one.number)


def move_key(inquiry: Inquiry, station: InquiryStage) -> str:
    """Return the key of the next move's model call. After an error it differs, so that the failed call is not
    reused."""
    place = assignment_number(inquiry, station)
    errors = len(assignments_at(inquiry, place, AssignmentKind.ERROR, station=station))
    number = len(moves_at(inquiry, place)) + 1
    return f"{place}.{number}" + (f"-{errors}" if errors else "")


# ---- limits -----------------------------------------------------------------------------------------------


def reached_limit(inquiry: Inquiry, station: InquiryStage, worked: float) -> str:
    """Return which limit is reached, in a sentence; empty if none is. `worked`: seconds."""
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
    """Tell whether the role must submit: in its last move, or after the same call MAX_REPEATED_CALLS times."""
    made = [one for one in moves_at(inquiry, place) if one.attempt == attempt_number(inquiry, place, station)]
    calls = [one.requested_call for one in made if one.tool]
    return moves_left(inquiry, place, station) <= 1 or any(calls.count(one) >= MAX_REPEATED_CALLS for one in calls)


# ---- sources ----------------------------------------------------------------------------------------------


@lru_cache(maxsize=FOLD_CACHE)
def _folded(inquiry: UUID, number: int) -> FoldedText:
    """Return the folded text of a source; cached, since sources never change."""
    return FoldedText(InquirySource.objects.select_related("document").get(inquiry=inquiry, number=number).text)


def clear_fold_cache() -> None:
    """Forget cached texts of this process, since texts were erased."""
    _folded.cache_clear()


class FoldedSources(Mapping[int, FoldedText]):
    """Folded sources by number; each is loaded when it is used."""

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


# ---- prompts ----------------------------------------------------------------------------------------------


def planner_brief(inquiry: Inquiry, tools: Sequence[str]) -> ResearchBrief:
    works = assignments_at(inquiry, "plan", AssignmentKind.WORK)
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
        sources=_source_list(inquiry),
        tools=tools,
        former_plans=former,
        feedback=[*feedback_on(inquiry, "plan"), *words],
        hints=hints(inquiry),
        today=today(inquiry),
        earlier=_earlier(inquiry.follows),
    )


def _source_list(inquiry: Inquiry) -> list[dict[str, str]]:
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
        moves=moves_for_prompt(inquiry, place),
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
        moves=moves_for_prompt(inquiry, place),
        sources_found=_sources(inquiry, attached=False),
        feedback=feedback_on(inquiry, place),
        hints=hints(inquiry),
        left=_left(inquiry, place, InquiryStage.EXPERT),
    )


def rejected_before(pk: UUID, key: str) -> bool:
    """Tell whether the person's time at this gate has expired: then the role's model reviews."""
    gate = Gate.objects.newest(pk, key)
    return gate is not None and gate.state == Gate.State.EXPIRED and gate.used is not None


def work_to_review(inquiry: Inquiry, critic: InquiryStage, tools: Sequence[str] = ()) -> WorkToReview:
    """Return a critic's input. `tools`: names of the researcher's tools, for a review of the plan."""
    state, place = inquiry.state, assignment_number(inquiry, critic)
    order = assignments_at(inquiry, place, AssignmentKind.WORK)[-1]
    step: Any = {
        InquiryStage.CRITIC_RESEARCHER: lambda: state.research_steps[state.index],
        InquiryStage.CRITIC_EXPERT: lambda: list(state.expert_steps),
    }.get(critic, lambda: None)()
    work = {name: value for name, value in order.submitted_work.items() if name != NOT_NEEDED}
    beside: dict[str, Any] = {}
    if critic is InquiryStage.CRITIC_PLANNER:
        beside = {"sources": _source_list(inquiry), "tools": tools}
    elif critic is InquiryStage.CRITIC_EXPERT:
        beside = {"in_no_claim": in_no_claim(inquiry, order), "not_used": not_used(inquiry, order)}
        beside |= {"left_out": state.left_out}
    feedback = feedback_on(inquiry, place)
    return WorkToReview(inquiry.question, step, work, checked_claims(inquiry, order), feedback=feedback, **beside)


NOT_NEEDED = "not_needed"  # key of an expert's work: results that it does not need, with reasons


def not_used(inquiry: Inquiry, order: Assignment) -> list[dict[str, Any]]:
    """Return approved results that the answer does not use, whole or with the unused claims, and the expert's
    reasons."""
    named = {one["step"]: one["why"] for one in order.submitted_work.get(NOT_NEEDED, ())}
    used = _used(inquiry, order)
    found = []
    for one in results(inquiry):
        rest = [claim.text for claim in one.claims if claim.number not in used]
        if rest or not one.claims:
            unused = {"step": one.step, "result": one.result, "why": named.get(one.step, "")}
            found.append(unused | {"claims": rest})
    return found


def _used(inquiry: Inquiry, order: Assignment) -> set[int]:
    """Return the numbers of claims that this work uses: it is reasoned from them, or quotes overlap."""
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
    """Return numbers and names of an answer without support: they are neither in the question nor in the claims, in
    what these rest on, or in the expert's calculations."""
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


class RequiredRows(dict[int, T]):
    """Rows by key; a missing one raises InquiryStateError."""

    def __missing__(self, pk: int) -> T:
        raise InquiryStateError("A source that is quoted is missing.")


def checked_claims(inquiry: Inquiry, order: Assignment) -> list[dict[str, Any]]:
    """Return for each claim what code found out, for critics. Quotes were checked before the claim was saved."""
    titles = RequiredRows({one.pk: str(one) for one in inquiry.sources.all()})
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
    """Return the calculations that a claim rests on, in order, with earlier ones whose results they use."""
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


def _unsupported_inputs(
    inquiry: Inquiry, claim: InquiryClaim, beneath: Sequence[InquiryClaim], steps: Sequence[str]
) -> list[str]:
    """Return inputs of calculations that are in nothing that the claim rests on: they may be made up.

    The result of a step with made-up inputs supports later steps only, not other claims: 7001 * 1 only repeats its
    input.
    """
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
    """Tell whether a calculation's inputs are made up. At most MOST_USUAL usual numbers need no support, and only next
    to a supported one: from usual numbers alone any number can be made, as 7 * 1000 + 1."""
    loose = unsupported(given, known)
    alone = bool(loose) and len(loose) == len(set(numbers(given)))
    return alone or len(loose) > MOST_USUAL or any(one not in USUAL for one in loose)


# numbers that need no source: small ones, and conversions of units
USUAL = {*map(str, range(13)), "24", "30", "52", "60", "100", "360", "365", "366", "1000", "3600", "1000000"}
ONE_SITE_TEXT = "Rests on one site alone"


def flags_of(inquiry: Inquiry, claim: InquiryClaim) -> list[str]:
    """Return reasons to check a claim: flags that all its sources have, sources of one site only, and calculations with
    made-up inputs."""
    beneath = [one for one in inquiry.claims.all() if one.number in (claim.number, *claim.reasoned_from)]
    steps = [step for one in beneath for step in steps_of(inquiry, one)]
    made_up = _unsupported_inputs(inquiry, claim, beneath, steps) if steps else []
    return [*_of_sources(inquiry, beneath), *([f"{CALCULATED_WITH}{', '.join(made_up)}"] if made_up else [])]


CALCULATED_WITH = "Calculated with numbers that are in no quote: "
MOST_USUAL = 2  # usual numbers in a calculation that need no source


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
    """Return the part of a quote that supports a claim: of a calculation only the result, since inputs are free."""
    return quote.rpartition(" = ")[2] if kind == SourceKind.CALCULATION else quote


def carried(claim: InquiryClaim) -> list[str]:
    """Return texts of a claim that support another one: its quotes, and its own text unless it has unsupported
    numbers."""
    quotes = [carries(one.text, one.source.kind) for one in claim.quotes.all()]
    return quotes if claim.bare else [claim.text, *quotes]


def calculated(inquiry: Inquiry, place: str, support: Sequence[str]) -> list[str]:
    """Return results of calculations at this place whose inputs are supported, or are such results themselves. A
    calculation that only repeats a number has no result."""
    found: list[str] = []
    for one in moves_at(inquiry, place):
        if one.tool.startswith("figures.") and one.tool_call and one.tool_call.done and not has_no_text(one.tool_call):
            given, _, result = one.result.rpartition(" = ")
            found += [] if _made_up(_without_marker(given), [*support, *found]) else [result]
    return found


def _without_marker(result: str) -> str:
    """Return a calculation without the first line, which names its source."""
    return result.rpartition(":\n")[2]


def results(inquiry: Inquiry) -> list[ResearchResult]:
    """Return the results of the current plan's research steps so far."""
    plan, steps = plan_number(inquiry), inquiry.state.research_steps
    found = []
    for index, text in enumerate(inquiry.state.research_results):
        order = assignments_at(inquiry, f"research.{plan}.{index}", AssignmentKind.WORK)[-1]
        found.append(ResearchResult(index + 1, steps[index], text, _claims(inquiry, order)))
    return found


def _claims(inquiry: Inquiry, order: Assignment) -> list[ProposedClaim]:
    sources = RequiredRows({one.pk: one.number for one in inquiry.sources.all()})
    return [
        ProposedClaim(one.text, [ProposedQuote(sources[q.source_id], q.text) for q in one.quotes.all()], [], one.number)
        for one in inquiry.claims.all()
        if one.order_id == order.pk
    ]


def claims_of(inquiry: Inquiry) -> list[InquiryClaim]:
    """Return the claims of the answer that was submitted last."""
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
    """Yield a line for each assignment and its result; the trace of an answer consists of these. Words of models and
    people are in quotation marks, cut after `most` characters."""
    for one in orders:
        if line := _result_line(one, most):
            head, words = line
            yield f"{head} {cited(words, most)}" if words.strip() else head


def error_text(one: Assignment, most: int = 0) -> str:
    """Return an error in our words, then its message in quotation marks: it may repeat words of the model or its
    server."""
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


def _result_line(one: Assignment, most: int) -> tuple[str, str] | None:
    about = f"{_ABOUT.get(one.station, one.station)}{'' if one.step_id is None else f' {one.step_id + 1}'}"
    match one.kind:
        case AssignmentKind.REVIEW:
            passed = "approved" if one.decision == "approve" else "rejected"
            return f"{about}: {passed}{f' by {one.by_name}' if one.by_name else ''}.", one.feedback
        case AssignmentKind.ERROR:
            return f"{about}: {error_text(one, most)}", ""
        case AssignmentKind.WORK if one.station != InquiryStage.PLANNER:
            return f"{about}:", one.submitted_work.get("text", "")
        case AssignmentKind.WORK:
            steps = [one.counts.get(name, 0) for name in ("research", "expert")]
            return f"{about}: {steps[0]} of research, {steps[1]} of the expert.", ""
        case AssignmentKind.STOP | AssignmentKind.REPLAN | AssignmentKind.HINT | AssignmentKind.RETRY:
            return f"{one.by_name or 'The command line'} {_DONE[one.kind]}.", one.feedback
    return None


def feedback_on(inquiry: Inquiry, place: str) -> list[dict[str, str]]:
    """Return the critic's words at each rejection of this work, oldest first."""
    reviews = assignments_at(inquiry, place, AssignmentKind.REVIEW)
    rejected = [one for one in reviews if one.decision == "reject"]
    return [{"try": str(number), "text": one.feedback} for number, one in enumerate(rejected, 1)]


def possible_words_to(inquiry: Inquiry) -> tuple[str, ...]:
    """Return the interventions that are possible now: hint, stop, replan."""
    return possible_words(inquiry.state, len(hints(inquiry)))


def hints(inquiry: Inquiry) -> list[dict[str, str]]:
    return [
        {"by": one.by_name, "text": one.feedback}
        for one in inquiry.assignments_in_order
        if one.kind == AssignmentKind.HINT
    ]


def today(inquiry: Inquiry) -> str:
    """Return the date of submission: prompts stay the same if the run goes on later."""
    return f"{inquiry.run.created:%Y-%m-%d}"


def moves_for_prompt(inquiry: Inquiry, place: str) -> list[ResearchMoveMade]:
    """Return the moves of all tries at this place. If tokens run short, the oldest results are cut first."""
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


# ---- fitting prompts into a model's context ---------------------------------------------------------------

# left out in this order: sources that are not listed can still be found by search
WORK = ("sources", "sources_found", "moves", "feedback", "found_so_far", "results")
KEPT = {"sources": 20, "sources_found": 20, "moves": 2, "feedback": 1}


def fit_agent_work(
    asked: Callable[[Any, str], Messages], work: ResearchWork | ExpertWork, models: Iterable[str]
) -> Fitted:
    """Fit the prompt of researcher or expert into the models' context. `asked` makes the prompt from the work and the
    names of what is left out; hints of people stay."""
    parts = {name: getattr(work, name) for name in WORK if hasattr(work, name)} | {"sources": work.sources[::-1]}

    def of(shown: Mapping[str, Any], said: str) -> Messages:
        return asked(replace(work, **{**shown, "sources": shown["sources"][::-1]}), said)

    return fitted(of, parts, models, KEPT)


def fit_planner_brief(brief: ResearchBrief, models: Iterable[str], mark: str | None = None) -> Fitted:
    """Fit the planner's prompt into the models' context; words of people stay."""
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


def fit_review(critic: InquiryStage, of: WorkToReview, models: Iterable[str], mark: str | None = None) -> Fitted:
    """Fit a critic's prompt into the models' context; question, step and the text of the work stay whole.

    Left out first are names of sources, older words of the critic, what claims rest on, and quotes, which code has
    checked. If that is not enough, claims, the reasoning and unused results are cut to their beginnings.
    """
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
            if few is QUOTES_LEFT_OUT:  # without quotes, each source is named once
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
    """Return the items as they are shown: `gone` in place of the first non-empty ones, which were left out."""
    missing, rest = sum(map(bool, items)) - len(shown), iter(shown)
    found = []
    for one in items:
        missing -= bool(one)
        found.append(one if not one else gone if missing >= 0 else next(rest))
    return found


def fit_finalizer(of: ApprovedAnswer, models: Iterable[str], mark: str | None = None) -> Fitted:
    """Fit the finalizer's prompt into the models' context. All claims are in it, long ones cut: its answer is checked
    against all of them."""
    parts = {"course": of.course, "reasoning": [of.reasoning], "claims": of.claims}

    def asked(shown: Mapping[str, Any], said: str) -> Messages:
        return finalizer.finalizer_messages(
            replace(of, **{**shown, "reasoning": "".join(shown["reasoning"])}), mark, said
        )

    return fitted(asked, parts, models, {"reasoning": 1, "claims": len(of.claims)})


OMITTED_TEXT = "[Left out: the provider of the model refused this material.]"


def _refused(inquiry: Inquiry, place: str) -> set[int]:
    """Return moves whose results a provider's filter may have refused: before each such error, the newest move that was
    still shown."""
    left_out = set[int]()
    for error in assignments_at(inquiry, place, AssignmentKind.ERROR):
        if error.category == ErrorCategory.FILTERED:
            brought = [one.pk for one in moves_at(inquiry, place) if one.result and one.made < error.made]
            left_out |= set([pk for pk in brought if pk not in left_out][-1:])
    return left_out


def _sources(inquiry: Inquiry, *, attached: bool) -> Sequence[dict[str, Any]]:
    """Return the sources that were attached, or those that tools found."""
    return [_source(one) for one in inquiry.sources.all() if (one.document_id is not None) == attached]


def _source(one: InquirySource) -> dict[str, Any]:
    shown = {"number": one.number, "title": one.title, "kind": one.kind}
    return shown | ({"host": one.host} if one.host else {}) | ({"flags": one.flags} if one.flags else {})


def _left(inquiry: Inquiry, place: str, station: InquiryStage) -> dict[str, int]:
    return {"moves": moves_left(inquiry, place, station), "tokens": tokens_left(inquiry, place)}


def next_assignment_columns(inquiry: Inquiry) -> dict[str, Any]:
    """Return the columns of the next assignment."""
    message = instruction(inquiry.state)
    station = InquiryStage(message.receiver)
    place = assignment_number(inquiry, station)
    return {"station": station, "place": place, "step_id": message.step_id, "instruction": message.content}


assert set(CRITIC_OF) == set(WORK_OF.values())  # noqa: S101 - each critic reviews one role
