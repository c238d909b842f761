"""Display objects for the pages of an inquiry: all texts and numbers, without HTML."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from engine.models import Run
from runs.formatting import format_seconds, format_usage, user_label
from runs.procedure.fragments import PageFragment, fragment_of, single_fragment
from runs.procedure.markers import OutcomeNote, outcome_note
from runs.procedure.spec import STATUS_LABELS, RunSnapshot
from runs.procedure.wait_reason import WaitReason
from runs.run_actions import retry_refusal

from .answer_view import (
    AnswerRemarks,
    ClaimView,
    WordedRemarks,
    accepted_claims,
    answer_claims,
    answer_remarks,
    claim_view,
    finalizer_remarks,
    rejected_claims,
)
from .models import Assignment, AssignmentKind, Inquiry
from .models.available_tools import PAGE
from .models.queries import (
    assignment_number,
    assignments_at,
    attempt_number,
    claims_of,
    error_text,
    moves_at,
    plan_number,
    possible_words_to,
)
from .rules.dispatch import NoAssignment, ReviewAssignment, next_assignment
from .rules.events import CRITIC_OF, InquiryStage
from .rules.limits import STEPS
from .rules.state import InquiryState
from .work_view import NAMES, AssignmentEvent, MoveView, assignment_events, failed_pages, move_views

OUTCOMES = {"answered": ("approve", "Answered"), "unanswered": ("reject", "Not answered")}
WORKING = {InquiryStage.PLANNER: "Planning", InquiryStage.RESEARCHER: "Researching", InquiryStage.EXPERT: "Answering"}
DONE = {
    InquiryStage.PLANNER: "Planned",
    InquiryStage.RESEARCHER: "Found",
    InquiryStage.EXPERT: "Answered",
    InquiryStage.FINALIZER: "Written",
}
SLOTS = 3 + STEPS  # stations at most
MIN_SHOWN_SECONDS = 60  # shorter waits for people are not shown
MAX_LISTED = 6  # research steps; from this number on, finished steps show their number only


@dataclass(frozen=True)
class StageView:
    """`state` and `word` are of the work, `gate` and `said` of its critic. `back`: number of rejections. `number`: if
    not 0, the step is finished and one of many, and shown by this number alone."""

    place: int
    name: str
    text: str
    state: str
    word: str
    small: str
    gate: str
    said: str
    back: int
    number: int = 0


@dataclass(frozen=True)
class SourceView:
    """`digest`: SHA-256 of the text; `file`: SHA-256 of an attached file's bytes."""

    number: int
    title: str
    kind: str
    length: int
    quoted: int
    digest: str
    address: str
    host: str
    flags: tuple[str, ...]
    file: str


@dataclass(frozen=True)
class InquiryDisplay:
    id: str
    title: str
    question: str
    state: str
    word: str
    small: str
    wait: WaitReason | None
    stamp: OutcomeNote | None
    stations: tuple[StageView, ...]
    retries: int
    errors: int
    retry_limit: int
    at_work: str
    task: str
    feedback: str
    moves: tuple[MoveView, ...]
    growing: str
    coming: frozenset[str]  # keys of the model calls whose partial answer is `growing`
    meter: str
    sources: tuple[SourceView, ...]
    unread: tuple[tuple[str, str], ...]
    events: tuple[AssignmentEvent, ...]
    answer: tuple[str, ...]
    worded: WordedRemarks
    beside: AnswerRemarks
    claims: tuple[ClaimView, ...]
    unapproved: tuple[ClaimView, ...]
    trace: str
    reason: str
    used: str
    rehearsal: bool
    is_ended: bool
    is_final: bool
    sayable: str  # possible interventions, separated by spaces
    is_followable: bool
    announcement: str
    created: datetime
    started: datetime | None
    worked: str
    waited: str
    asked_by: str
    looks_in: str
    asks_for: str

    @property
    def cells(self) -> list[bool]:
        return [number < self.retries for number in range(self.retry_limit)]

    @property
    def last_one(self) -> bool:
        """Whether the next rejection ends the inquiry."""
        return not self.is_ended and self.retries + 1 == self.retry_limit

    @property
    def read(self) -> str:
        quoted = sum(bool(one.quoted) for one in self.sources)
        return f"{len(self.sources)} read · {quoted} quoted"

    @property
    def quotes(self) -> int:
        """Number of quotes from sources; calculations were made here, so they do not count."""
        return sum(not passage.is_calculation for claim in self.claims for passage in claim.passages)

    @property
    def is_calculated(self) -> bool:
        return any(claim.steps for claim in self.claims)

    @property
    def slots(self) -> Sequence[int]:
        """Positions without a station yet. The page has an empty element for each, since updates replace elements and
        insert none."""
        return range(len(self.stations) + 1, SLOTS + 1)


def display_of(seen: RunSnapshot[Inquiry]) -> InquiryDisplay:
    inquiry, run = seen.row, seen.run
    state = inquiry.state
    plate, word = _status_and_label(run, state)
    station = state.next_step if not run.is_ended and not state.over else None
    place = assignment_number(inquiry, station) if station else ""
    answered = run.outcome == "answered"
    shown_claims = claims_of(inquiry) if answered else accepted_claims(inquiry) if run.is_ended else []
    unapproved = rejected_claims(inquiry) if run.is_ended and not answered else []
    answer = tuple(answer_claims(inquiry, shown_claims)) if run.is_ended else ()
    finalizer = finalizer_remarks(inquiry) if answered else WordedRemarks()
    moves = move_views(inquiry, moves_at(inquiry, place)) if station else ()
    own = (f"{place}.", f"critic.{place}.")
    comes = {step: text for step, text in seen.texts.items() if place and step.startswith(own)}
    return InquiryDisplay(
        id=str(run.pk),
        title=run.shown_title,
        question=inquiry.question,
        state=plate,
        word=word,
        small=_small_text(run, state, finalizer),
        wait=seen.wait,
        stamp=outcome_note(run, word, "Rehearsal" if inquiry.rehearsal else "", lambda outcome: OUTCOMES[outcome][0]),
        stations=tuple(_stations(inquiry, run)),
        retries=state.retry_count,
        errors=state.errors,
        retry_limit=inquiry.retry_limit,
        at_work=_at_work(state) if station else "",
        task=_task(state) if station else "",
        feedback=_feedback(inquiry, place) if station else "",
        moves=moves,
        growing=next(iter(comes.values()), ""),
        coming=frozenset(comes),
        meter=_meter(seen, station, place) if station else "",
        sources=tuple(_sources(inquiry)),
        unread=tuple(failed_pages(inquiry, PAGE)),
        events=tuple(assignment_events(inquiry)),
        answer=answer,
        worded=finalizer,
        beside=answer_remarks(inquiry) if answered else AnswerRemarks(),
        unapproved=tuple(claim_view(inquiry, one) for one in unapproved),
        claims=tuple(claim_view(inquiry, one, answer[0] if answer else "") for one in shown_claims),
        trace=inquiry.trace if answered else "",
        reason=inquiry.why or (_failure(inquiry) if run.status == Run.Status.FAILED else ""),
        used=format_usage(seen.calls),
        rehearsal=inquiry.rehearsal,
        is_ended=run.is_ended,
        sayable="" if run.is_ended else " ".join(possible_words_to(inquiry)),
        is_followable=run.is_ended and not run.redacted,
        is_final=run.is_ended and bool(retry_refusal(run)),
        announcement=_announcement(state, word, moves, run.is_ended),
        created=run.created,
        started=run.started,
        worked=format_seconds(timedelta(seconds=run.worked)) if run.is_ended else "",
        waited=_waited(run),
        asked_by=user_label(run.asked_by),
        looks_in=_searched_places(inquiry),
        asks_for=_claim_requirements(inquiry),
    )


def _failure(inquiry: Inquiry) -> str:
    last = next((one for one in reversed(inquiry.assignments_in_order) if one.kind == AssignmentKind.ERROR), None)
    return error_text(last) if last and inquiry.state.error else ""


def _waited(run: Run) -> str:
    """Return the time that was spent waiting for people and councils; empty below MIN_SHOWN_SECONDS."""
    if not (run.is_ended and run.started and run.ended):
        return ""
    seconds = (run.ended - run.started).total_seconds() - run.worked
    return format_seconds(timedelta(seconds=seconds)) if seconds >= MIN_SHOWN_SECONDS else ""


def _searched_places(inquiry: Inquiry) -> str:
    documents = sum(one.document_id is not None for one in inquiry.sources.all())
    places = [f"{documents} document{'s' * (documents != 1)}"] if documents else []
    return ", ".join([*places, *inquiry.collections, *(["the web"] if inquiry.web else [])]) or "nothing"


def _claim_requirements(inquiry: Inquiry) -> str:
    """Return the requirements for claims in addition to quotes."""
    sites = f"on {', '.join(inquiry.hosts)} alone" if inquiry.hosts else ""
    return ", ".join(filter(None, [sites, "two sites for a claim" if inquiry.run_limits.sites > 1 else ""]))


# ---- status -----------------------------------------------------------------------------------------------


def _status_and_label(run: Run, state: InquiryState) -> tuple[str, str]:
    if run.outcome:
        return OUTCOMES[run.outcome]
    if run.status != Run.Status.RUNNING:
        return STATUS_LABELS[run.status]
    order = next_assignment(state)
    return "judging", "Reviewing" if isinstance(order, ReviewAssignment) else WORKING.get(state.next_step, "Answering")


def _small_text(run: Run, state: InquiryState, finalizer: WordedRemarks) -> str:
    if run.outcome == "answered":
        return "Every critic approved." if not finalizer.approved else "Critics approved another wording."
    if run.outcome:
        return "What was found is below."
    return "" if run.is_ended else _at_work(state)


def _at_work(state: InquiryState) -> str:
    order = next_assignment(state)
    if isinstance(order, NoAssignment):
        return ""
    station = {critic: worker for worker, critic in CRITIC_OF.items()}.get(order.station, order.station)
    number = f" {state.index + 1} of {len(state.research_steps)}" if station is InquiryStage.RESEARCHER else ""
    return f"{NAMES[station]}{number}{', under review' if isinstance(order, ReviewAssignment) else ''}"


def _task(state: InquiryState) -> str:
    if state.next_step in (InquiryStage.RESEARCHER, InquiryStage.CRITIC_RESEARCHER):
        return state.research_steps[state.index]
    return "\n".join(state.expert_steps) if state.next_step in (InquiryStage.EXPERT, InquiryStage.CRITIC_EXPERT) else ""


def _meter(seen: RunSnapshot[Inquiry], station: InquiryStage, place: str) -> str:
    """Return how much of its limits the current step has used."""
    inquiry, bounds = seen.row, seen.row.run_limits
    parts = [inquiry.role(station).model]
    if station in (InquiryStage.RESEARCHER, InquiryStage.EXPERT):
        now = attempt_number(inquiry, place, station)
        number = sum(one.attempt == now for one in moves_at(inquiry, place))
        calls = (call for call in seen.calls if call.step.startswith(f"{place}."))
        used = sum((call.input_tokens or 0) + (call.output_tokens or 0) for call in calls)
        parts += [f"try {now}"] if now > 1 else []
        parts += [f"move {number} of {bounds.moves}", f"{used:,} of {bounds.tokens:,} tokens"]
    return " · ".join(parts)


def _feedback(inquiry: Inquiry, place: str) -> str:
    reviews = assignments_at(inquiry, place, AssignmentKind.REVIEW)
    return reviews[-1].feedback if reviews and reviews[-1].decision == "reject" else ""


def _announcement(state: InquiryState, word: str, moves: Sequence[MoveView], over: bool) -> str:
    if over:
        return f"{word}."
    last = f", move {moves[-1].number}: {moves[-1].thought}" if moves else ""
    return f"{_at_work(state)}{last}"


# ---- stations ---------------------------------------------------------------------------------------------


def _stations(inquiry: Inquiry, run: Run) -> Iterator[StageView]:
    state, plan = inquiry.state, plan_number(inquiry)
    texts = [""] if not state.research_steps and not state.expert_steps else list(state.research_steps)
    yield _station(inquiry, run, 1, InquiryStage.PLANNER, "plan", _plan_text(state))
    for index, text in enumerate(texts):
        yield _station(inquiry, run, index + 2, InquiryStage.RESEARCHER, f"research.{plan or 1}.{index}", text, index)
    expert = " ".join(state.expert_steps)
    yield _station(inquiry, run, len(texts) + 2, InquiryStage.EXPERT, f"expert.{plan or 1}", expert)
    yield _station(inquiry, run, len(texts) + 3, InquiryStage.FINALIZER, "finalizer", "Answer and trace")


def _plan_text(state: InquiryState) -> str:
    if not state.expert_steps:
        return "Which steps lead to an answer"
    return f"{len(state.research_steps)} of research, {len(state.expert_steps)} of the expert"


def _station(
    inquiry: Inquiry, run: Run, place: int, station: InquiryStage, at: str, text: str, index: int | None = None
) -> StageView:
    reviews = assignments_at(inquiry, at, AssignmentKind.REVIEW)
    back = sum(one.decision == "reject" for one in reviews)
    work = assignments_at(inquiry, at, AssignmentKind.WORK, AssignmentKind.FINAL)
    state, word = _station_status(inquiry, run, station, at, bool(work))
    gate, review = _critic_status(inquiry, run, station, at, reviews)
    name = f"{NAMES[station]} {index + 1}" if index is not None else NAMES[station]
    count, number = _count_text(inquiry, at, work), _short_number(inquiry, state, index)
    return StageView(place, name, text, state, word, count, gate, review, back, number)


def _short_number(inquiry: Inquiry, state: str, index: int | None) -> int:
    many = len(inquiry.state.research_steps) >= MAX_LISTED
    behind = many and index is not None and state == "approve" and index < inquiry.state.index
    return index + 1 if behind and index is not None else 0


def _is_at(inquiry: Inquiry, run: Run, station: InquiryStage, at: str) -> bool:
    going_on = not run.is_ended and not inquiry.state.over
    return going_on and inquiry.state.next_step is station and assignment_number(inquiry, station) == at


def _station_status(inquiry: Inquiry, run: Run, station: InquiryStage, at: str, worked: bool) -> tuple[str, str]:
    if _is_at(inquiry, run, station, at):
        return "judging", WORKING.get(station, "Writing")
    if _failed_at(inquiry, run, station, at):
        return "failed", "Error"
    if station is InquiryStage.FINALIZER and inquiry.state.stated:
        return "wait", "Not reached"
    if worked and station in CRITIC_OF and _last_decision(inquiry, at) == "reject":
        return "reject", "Rejected"
    return ("approve", DONE[station]) if worked else ("wait", "Not reached" if run.is_ended else "To come")


def _failed_at(inquiry: Inquiry, run: Run, station: InquiryStage, at: str) -> bool:
    """Tell whether an error of this station made the run fail."""
    failed = run.status == Run.Status.FAILED and inquiry.state.error_component == station
    return failed and assignment_number(inquiry, station) == at


def _last_decision(inquiry: Inquiry, at: str) -> str:
    reviews = assignments_at(inquiry, at, AssignmentKind.REVIEW)
    return reviews[-1].decision if reviews else ""


def _critic_status(
    inquiry: Inquiry, run: Run, station: InquiryStage, at: str, reviews: Sequence[Assignment]
) -> tuple[str, str]:
    if station not in CRITIC_OF:
        return "", ""
    who = inquiry.role(CRITIC_OF[station]).holder
    if _is_at(inquiry, run, CRITIC_OF[station], at):
        waits = run.status == Run.Status.WAITING
        return ("pending", f"{who} is asked") if waits else ("judging", f"{who} reviews")
    if _failed_at(inquiry, run, CRITIC_OF[station], at):
        return "failed", f"{who} could not review"
    if not reviews:
        return "wait", who
    who = reviews[-1].by_name or who
    passed = reviews[-1].decision == "approve"
    return ("approve", f"{who} approves") if passed else ("reject", f"{who} rejects")


def _count_text(inquiry: Inquiry, at: str, work: Sequence[Assignment]) -> str:
    moves = len(moves_at(inquiry, at))
    parts = [f"{len(work)} tries"] if len(work) > 1 else []
    return " · ".join([*parts, *([f"{moves} move{'s' * (moves != 1)}"] if moves else [])])


# ---- sources ----------------------------------------------------------------------------------------------


def _sources(inquiry: Inquiry) -> Iterator[SourceView]:
    quotes = [quote.source_id for claim in inquiry.claims.all() for quote in claim.quotes.all()]
    for one in inquiry.sources.all():
        places = (one.text_digest, one.address, one.host, tuple(one.flags), one.document.digest if one.document else "")
        yield SourceView(one.number, one.title, one.get_kind_display(), one.size, quotes.count(one.pk), *places)


fragment = partial(fragment_of, "inquiries")


def fragments(display: InquiryDisplay) -> Iterator[PageFragment]:
    """Yield every fragment. The socket is last: once nothing can change it is removed, and no update comes after."""
    yield fragment("plate", single_fragment(display, "state", "word", "stamp"))
    yield fragment("stamp", {"display": display})
    yield fragment("wait", {"display": display})
    times = ("id", "is_ended", "started", "worked", "waited")
    counts = ("cells", "retries", "errors", "last_one", "retry_limit", "used")
    yield fragment("budget", single_fragment(display, "small", *counts, *times))
    answer_fields = ("answer", "worded", "beside", "claims", "unapproved", "quotes", "state", "reason")
    yield fragment("answer", single_fragment(display, "id", "is_ended", *answer_fields))
    for station in display.stations:
        yield fragment("station", {"station": station, "place": station.place}, (station.place,))
    for place in display.slots:
        yield fragment("station", {"station": None, "place": place}, (place,))
    moves = single_fragment(display, "at_work", "task", "feedback", "moves", "growing", "meter", "id")
    yield fragment("moves", moves, steps=display.coming)
    yield fragment("sources", single_fragment(display, "id", "sources", "unread", "read"))
    yield fragment("before", single_fragment(display, "id", "events", "trace", "worded", "is_ended"))
    yield fragment(
        "actions",
        single_fragment(display, "id", "is_ended", "is_final", "state", "sayable", "is_followable"),
        replayed=False,
    )
    yield fragment("announcer", single_fragment(display, "announcement"), replayed=False)
    if display.is_final:
        yield fragment("socket", {"display": display}, replayed=False)
