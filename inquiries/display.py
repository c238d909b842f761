"""What the pages of an inquiry show: every word and number, before any HTML."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from engine.models import Run
from runs.face import STANDINGS, Snapshot
from runs.stamps import Stamp, stamp_of
from runs.steering import why_not_retried
from runs.usage import used
from runs.waits import Wait
from runs.words import lasting, shown_name

from .events_shown import NAMES, Event, events_of
from .models import Inquiry, Order, OrderKind
from .models.at_hand import PAGE
from .models.reading import (
    attempt,
    claims_of,
    error_told,
    moves_at,
    orders_at,
    place_of,
    plan_number,
    possible_words_to,
)
from .moves_shown import MoveShown, astray_pages, shown
from .passages import (
    Beside,
    ClaimShown,
    Worded,
    answer_of,
    beside_answer,
    claim_shown,
    passed_claims,
    sent_back_claims,
    worded,
)
from .rules.course import State
from .rules.facts import CRITIC_OF, Station
from .rules.limits import STEPS
from .rules.orders import Over, Review, following

OUTCOMES = {"answered": ("approve", "Answered"), "unanswered": ("reject", "Not answered")}
WORKING = {Station.PLANNER: "Planning", Station.RESEARCHER: "Researching", Station.EXPERT: "Answering"}
DONE = {
    Station.PLANNER: "Planned",
    Station.RESEARCHER: "Found",
    Station.EXPERT: "Answered",
    Station.FINALIZER: "Written",
}
SLOTS = 3 + STEPS  # stations at most
NOTICED = 60  # seconds
MANY = 6  # steps of research: from so many on, those that are behind shrink


@dataclass(frozen=True)
class StationShown:
    """`state` and `word` of the work, `gate` and `said` of its critic; `back`: how often it was sent back; `number`: of
    a step that is one of many and behind, which shrinks to that."""

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
class SourceShown:
    """`digest`: of the text of what was read; `file`: of the bytes of what was attached."""

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
class Display:
    id: str
    title: str
    question: str
    state: str
    word: str
    small: str
    wait: Wait | None
    stamp: Stamp | None
    stations: tuple[StationShown, ...]
    retries: int
    errors: int
    retry_limit: int
    at_work: str
    task: str
    feedback: str
    moves: tuple[MoveShown, ...]
    growing: str
    coming: frozenset[str]  # steps of the run whose text that is
    meter: str
    sources: tuple[SourceShown, ...]
    unread: tuple[tuple[str, str], ...]
    events: tuple[Event, ...]
    answer: tuple[str, ...]
    worded: Worded
    beside: Beside
    claims: tuple[ClaimShown, ...]
    unapproved: tuple[ClaimShown, ...]
    trace: str
    why: str
    used: str
    rehearsal: bool
    over: bool
    final: bool
    sayable: str  # what can be said to it now
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
        """Whether the next rejection ends it."""
        return not self.over and self.retries + 1 == self.retry_limit

    @property
    def read(self) -> str:
        quoted = sum(bool(one.quoted) for one in self.sources)
        return f"{len(self.sources)} read · {quoted} quoted"

    @property
    def quotes(self) -> int:
        """Of what was read: a calculation was worked out here."""
        return sum(not passage.is_calculation for claim in self.claims for passage in claim.passages)

    @property
    def is_calculated(self) -> bool:
        return any(claim.steps for claim in self.claims)

    @property
    def slots(self) -> Sequence[int]:
        """Of stations that are not there yet: a plan inserts nothing."""
        return range(len(self.stations) + 1, SLOTS + 1)


def display_of(seen: Snapshot[Inquiry]) -> Display:
    inquiry, run = seen.row, seen.run
    state = inquiry.state
    plate, word = _plate(run, state)
    station = state.next_step if not run.over and not state.over else None
    place = place_of(inquiry, station) if station else ""
    answered = run.outcome == "answered"
    shown_claims = claims_of(inquiry) if answered else passed_claims(inquiry) if run.over else []
    unapproved = sent_back_claims(inquiry) if run.over and not answered else []
    answer = tuple(answer_of(inquiry, shown_claims)) if run.over else ()
    finalizer = worded(inquiry) if answered else Worded()
    moves = shown(inquiry, moves_at(inquiry, place)) if station else ()
    own = (f"{place}.", f"critic.{place}.")
    comes = {step: text for step, text in seen.texts.items() if place and step.startswith(own)}
    return Display(
        id=str(run.pk),
        title=run.shown_title,
        question=inquiry.question,
        state=plate,
        word=word,
        small=_small(run, state, finalizer),
        wait=seen.wait,
        stamp=stamp_of(run, word, "Rehearsal" if inquiry.rehearsal else "", lambda outcome: OUTCOMES[outcome][0]),
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
        unread=tuple(astray_pages(inquiry, PAGE)),
        events=tuple(events_of(inquiry)),
        answer=answer,
        worded=finalizer,
        beside=beside_answer(inquiry) if answered else Beside(),
        unapproved=tuple(claim_shown(inquiry, one) for one in unapproved),
        claims=tuple(claim_shown(inquiry, one, answer[0] if answer else "") for one in shown_claims),
        trace=inquiry.trace if answered else "",
        why=inquiry.why or (_failure(inquiry) if run.status == Run.Status.FAILED else ""),
        used=used(seen.calls),
        rehearsal=inquiry.rehearsal,
        over=run.over,
        sayable="" if run.over else " ".join(possible_words_to(inquiry)),
        is_followable=run.over and not run.redacted,
        final=run.over and bool(why_not_retried(run)),
        announcement=_announcement(state, word, moves, run.over),
        created=run.created,
        started=run.started,
        worked=lasting(timedelta(seconds=run.worked)) if run.over else "",
        waited=_waited(run),
        asked_by=shown_name(run.asked_by),
        looks_in=_looks_in(inquiry),
        asks_for=_asks_for(inquiry),
    )


def _failure(inquiry: Inquiry) -> str:
    last = next((one for one in reversed(inquiry.ordered) if one.kind == OrderKind.ERROR), None)
    return error_told(last) if last and inquiry.state.error else ""


def _waited(run: Run) -> str:
    """For people and councils, where that was long enough to be noticed."""
    if not (run.over and run.started and run.ended):
        return ""
    seconds = (run.ended - run.started).total_seconds() - run.worked
    return lasting(timedelta(seconds=seconds)) if seconds >= NOTICED else ""


def _looks_in(inquiry: Inquiry) -> str:
    documents = sum(one.document_id is not None for one in inquiry.sources.all())
    said = [f"{documents} document{'s' * (documents != 1)}"] if documents else []
    return ", ".join([*said, *inquiry.collections, *(["the web"] if inquiry.web else [])]) or "nothing"


def _asks_for(inquiry: Inquiry) -> str:
    """Of claims, beside their quotes."""
    sites = f"on {', '.join(inquiry.hosts)} alone" if inquiry.hosts else ""
    return ", ".join(filter(None, [sites, "two sites for a claim" if inquiry.bounds.sites > 1 else ""]))


# ---- plate ------------------------------------------------------------------------------------------------


def _plate(run: Run, state: State) -> tuple[str, str]:
    if run.outcome:
        return OUTCOMES[run.outcome]
    if run.status != Run.Status.RUNNING:
        return STANDINGS[run.status]
    order = following(state)
    return "judging", "Reviewing" if isinstance(order, Review) else WORKING.get(state.next_step, "Answering")


def _small(run: Run, state: State, finalizer: Worded) -> str:
    if run.outcome == "answered":
        return "Every critic approved." if not finalizer.approved else "Critics approved another wording."
    if run.outcome:
        return "What was found is below."
    return "" if run.over else _at_work(state)


def _at_work(state: State) -> str:
    order = following(state)
    if isinstance(order, Over):
        return ""
    station = {critic: worker for worker, critic in CRITIC_OF.items()}.get(order.station, order.station)
    number = f" {state.index + 1} of {len(state.research_steps)}" if station is Station.RESEARCHER else ""
    return f"{NAMES[station]}{number}{', under review' if isinstance(order, Review) else ''}"


def _task(state: State) -> str:
    if state.next_step in (Station.RESEARCHER, Station.CRITIC_RESEARCHER):
        return state.research_steps[state.index]
    return "\n".join(state.expert_steps) if state.next_step in (Station.EXPERT, Station.CRITIC_EXPERT) else ""


def _meter(seen: Snapshot[Inquiry], station: Station, place: str) -> str:
    """How much of its limits the step that works has used."""
    inquiry, bounds = seen.row, seen.row.bounds
    said = [inquiry.post(station).model]
    if station in (Station.RESEARCHER, Station.EXPERT):
        now = attempt(inquiry, place, station)
        number = sum(one.attempt == now for one in moves_at(inquiry, place))
        calls = (call for call in seen.calls if call.step.startswith(f"{place}."))
        used = sum((call.input_tokens or 0) + (call.output_tokens or 0) for call in calls)
        said += [f"try {now}"] if now > 1 else []
        said += [f"move {number} of {bounds.moves}", f"{used:,} of {bounds.tokens:,} tokens"]
    return " · ".join(said)


def _feedback(inquiry: Inquiry, place: str) -> str:
    reviews = orders_at(inquiry, place, OrderKind.REVIEW)
    return reviews[-1].feedback if reviews and reviews[-1].decision == "reject" else ""


def _announcement(state: State, word: str, moves: Sequence[MoveShown], over: bool) -> str:
    if over:
        return f"{word}."
    last = f", move {moves[-1].number}: {moves[-1].thought}" if moves else ""
    return f"{_at_work(state)}{last}"


# ---- the track --------------------------------------------------------------------------------------------


def _stations(inquiry: Inquiry, run: Run) -> Iterator[StationShown]:
    state, plan = inquiry.state, plan_number(inquiry)
    texts = [""] if not state.research_steps and not state.expert_steps else list(state.research_steps)
    yield _station(inquiry, run, 1, Station.PLANNER, "plan", _planned(state))
    for index, text in enumerate(texts):
        yield _station(inquiry, run, index + 2, Station.RESEARCHER, f"research.{plan or 1}.{index}", text, index)
    expert = " ".join(state.expert_steps)
    yield _station(inquiry, run, len(texts) + 2, Station.EXPERT, f"expert.{plan or 1}", expert)
    yield _station(inquiry, run, len(texts) + 3, Station.FINALIZER, "finalizer", "Answer and trace")


def _planned(state: State) -> str:
    if not state.expert_steps:
        return "Which steps lead to an answer"
    return f"{len(state.research_steps)} of research, {len(state.expert_steps)} of the expert"


def _station(
    inquiry: Inquiry, run: Run, place: int, station: Station, at: str, text: str, index: int | None = None
) -> StationShown:
    reviews = orders_at(inquiry, at, OrderKind.REVIEW)
    back = sum(one.decision == "reject" for one in reviews)
    work = orders_at(inquiry, at, OrderKind.WORK, OrderKind.FINAL)
    state, word = _stands(inquiry, run, station, at, bool(work))
    gate, said = _gate(inquiry, run, station, at, reviews)
    name = f"{NAMES[station]} {index + 1}" if index is not None else NAMES[station]
    count, number = _count(inquiry, at, work), _shrinks_to(inquiry, state, index)
    return StationShown(place, name, text, state, word, count, gate, said, back, number)


def _shrinks_to(inquiry: Inquiry, state: str, index: int | None) -> int:
    many = len(inquiry.state.research_steps) >= MANY
    behind = many and index is not None and state == "approve" and index < inquiry.state.index
    return index + 1 if behind and index is not None else 0


def _is_at(inquiry: Inquiry, run: Run, station: Station, at: str) -> bool:
    going_on = not run.over and not inquiry.state.over
    return going_on and inquiry.state.next_step is station and place_of(inquiry, station) == at


def _stands(inquiry: Inquiry, run: Run, station: Station, at: str, worked: bool) -> tuple[str, str]:
    if _is_at(inquiry, run, station, at):
        return "judging", WORKING.get(station, "Writing")
    if _broke(inquiry, run, station, at):
        return "failed", "Error"
    if station is Station.FINALIZER and inquiry.state.stated:
        return "wait", "Not reached"
    if worked and station in CRITIC_OF and _last(inquiry, at) == "reject":
        return "reject", "Rejected"
    return ("approve", DONE[station]) if worked else ("wait", "Not reached" if run.over else "To come")


def _broke(inquiry: Inquiry, run: Run, station: Station, at: str) -> bool:
    """Whether an error there ended it."""
    failed = run.status == Run.Status.FAILED and inquiry.state.error_component == station
    return failed and place_of(inquiry, station) == at


def _last(inquiry: Inquiry, at: str) -> str:
    reviews = orders_at(inquiry, at, OrderKind.REVIEW)
    return reviews[-1].decision if reviews else ""


def _gate(inquiry: Inquiry, run: Run, station: Station, at: str, reviews: Sequence[Order]) -> tuple[str, str]:
    if station not in CRITIC_OF:
        return "", ""
    who = inquiry.post(CRITIC_OF[station]).who
    if _is_at(inquiry, run, CRITIC_OF[station], at):
        waits = run.status == Run.Status.WAITING
        return ("pending", f"{who} is asked") if waits else ("judging", f"{who} reviews")
    if _broke(inquiry, run, CRITIC_OF[station], at):
        return "failed", f"{who} could not review"
    if not reviews:
        return "wait", who
    who = reviews[-1].by_name or who
    passed = reviews[-1].decision == "approve"
    return ("approve", f"{who} approves") if passed else ("reject", f"{who} rejects")


def _count(inquiry: Inquiry, at: str, work: Sequence[Order]) -> str:
    moves = len(moves_at(inquiry, at))
    said = [f"{len(work)} tries"] if len(work) > 1 else []
    return " · ".join([*said, *([f"{moves} move{'s' * (moves != 1)}"] if moves else [])])


# ---- sources ----------------------------------------------------------------------------------------------


def _sources(inquiry: Inquiry) -> Iterator[SourceShown]:
    quotes = [quote.source_id for claim in inquiry.claims.all() for quote in claim.quotes.all()]
    for one in inquiry.sources.all():
        places = (one.text_digest, one.address, one.host, tuple(one.flags), one.document.digest if one.document else "")
        yield SourceShown(one.number, one.title, one.get_kind_display(), one.size, quotes.count(one.pk), *places)
