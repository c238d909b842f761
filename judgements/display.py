"""What the live page shows, worked out from the rows: every word, sign and number, before any HTML."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Literal

from engine.llm.providers import is_rehearsal, sameness
from engine.models import ModelCall, Run
from runs import words
from runs.usage import cost, tokens, used

from . import rules
from .models import Agent, Judgement
from .rules import Decision

State = Literal["idle", "judging", "retrying", "pending", "approve", "reject", "failed", "stopped", "wait", "none"]


@dataclass(frozen=True)
class Cell:
    """One agent in one round: a lamp, a row of the panel, a cell of the transcript."""

    agent: str
    number: int
    round: int
    weight: str
    state: State
    word: str
    reason: str = ""
    seconds: str = ""
    fallback: str = ""  # the model that stood in for the agent's own
    details: str = ""
    mark: str = ""  # what is remarkable about this decision
    since: datetime | None = None
    until: datetime | None = None

    @property
    def running(self) -> bool:
        return self.state == "judging"

    @property
    def decided(self) -> bool:
        return self.state in ("approve", "reject")

    @property
    def shown(self) -> bool:
        return self.state not in ("wait", "none")


@dataclass(frozen=True)
class Tally:
    score: str
    yes: int
    no: int
    text: str
    formula: str
    certain: bool


@dataclass(frozen=True)
class Seat:
    """One agent's block: number 1 to 3, place top, left or right."""

    number: int
    place: str
    name: str
    model: str
    fallback: str
    rehearsal: bool
    criteria: str
    state: State
    word: str
    small: str
    cells: tuple[Cell, ...]
    tally: Tally
    marks: tuple[str, ...]
    until: datetime | None = None

    @property
    def newest_first(self) -> list[Cell]:
        return [cell for cell in reversed(self.cells) if cell.shown]


@dataclass(frozen=True)
class Round:
    number: int
    weight: str
    current: bool
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Display:
    id: str
    title: str
    content: str
    redacted: str
    overridden: str
    council: str
    asked_by: str
    created: datetime
    started: datetime | None
    ended: datetime | None
    rehearsal: str
    sameness: str
    used: str
    state: State
    word: str
    lead: str
    rest: str
    rule_lead: str
    rule_rest: str
    decided: tuple[str, ...]
    kept: str
    announcement: str
    seats: tuple[Seat, ...]
    rounds: tuple[Round, ...]

    @property
    def over(self) -> bool:
        return self.ended is not None

    @property
    def final(self) -> bool:
        """Nothing can change any more: no verdict is taken back, and only what failed and has its texts is retried."""
        return self.state in ("approve", "reject", "stopped") or bool(self.redacted)

    @property
    def took(self) -> str:
        return words.took(self.started, self.ended)

    @property
    def rounds_newest_first(self) -> list[Round]:
        return list(reversed(self.rounds))


ERASED = "Erased."
CARRIED = "Carried by earlier rounds"
CORNERS = ("top", "left", "right")
PLATE: dict[str, tuple[State, str]] = {
    "idle": ("idle", "Idle"),
    "judging": ("judging", "Judging"),
    "approved": ("approve", "Approved"),
    "rejected": ("reject", "Rejected"),
    "error": ("failed", "Error"),
    "cancelled": ("stopped", "Cancelled"),
}
WORDS: dict[State, str] = {
    "approve": "Approve",
    "reject": "Reject",
    "judging": "Judging",
    "failed": "Failed",
    "wait": "Not started",
    "none": "Not run",
}


def display_of(judgement: Judgement, calls: list[ModelCall], texts: Mapping[str, str]) -> Display:
    """The display of a judgement read with `whole()`.

    `calls` are its model calls, oldest first; `texts` the growing answers by step, as far as they are known. What
    failed before the run was tried again says nothing about how it stands now.
    """
    latest = {call.step: call for call in calls if call.series == judgement.run.retries}
    seats = tuple(_seat(judgement, number, agent, latest, texts) for number, agent in _numbered(judgement))
    state, word = PLATE[judgement.status]
    lead, rest = _sentence(judgement, seats)
    rule_lead, rule_rest = _rule(judgement, seats)
    run = judgement.run
    return Display(
        id=str(run.pk),
        title=judgement.run.shown_title,
        content=judgement.content,
        redacted=words.redacted(run),
        overridden=words.overridden(run),
        council=judgement.council_version.name if judgement.council_version else "",
        asked_by=words.asked_by(run),
        created=run.created,
        started=run.started,
        ended=run.ended,
        rehearsal=judgement.rehearsal_sentence,
        sameness=sameness(agent.model for agent in judgement.agents.all()),
        used=used(calls),
        state=state,
        word=word,
        lead=lead,
        rest=rest,
        rule_lead=rule_lead,
        rule_rest=rule_rest,
        decided=_decided(judgement, seats),
        kept=_kept(_decisions(seats)),
        announcement=_announcement(judgement, seats, lead, rest),
        seats=seats,
        rounds=tuple(_round(judgement, number, seats) for number in rules.ROUNDS),
    )


def newly_decided(before: Display, display: Display) -> str:
    """How the last of those agents decides that have decided in between; empty where none has."""
    cells = zip(_cells(before), _cells(display), strict=True)
    new = [cell.state for was, cell in cells if cell != was and cell.decided]
    return new[-1] if new else ""


def _cells(display: Display) -> list[Cell]:
    return [cell for number in display.rounds for cell in number.cells]


def _numbered(judgement: Judgement) -> list[tuple[int, Agent]]:
    return list(enumerate(judgement.agents.all(), start=1))


# ---- one agent --------------------------------------------------------------------------------------------


def _seat(
    judgement: Judgement,
    number: int,
    agent: Agent,
    latest: Mapping[str, ModelCall],
    texts: Mapping[str, str],
) -> Seat:
    cells = tuple(_cell(judgement, number, agent, n, latest, texts) for n in rules.ROUNDS)
    asked = agent.step(judgement.current_round) in latest
    state, word, small = _seat_state(judgement, agent, cells, asked)
    return Seat(
        number=number,
        place=CORNERS[number - 1],
        name=agent.name,
        model=agent.model,
        fallback=agent.fallback,
        rehearsal=is_rehearsal(agent.model),
        criteria=agent.criteria,
        state=state,
        word=word,
        small=small,
        cells=cells,
        tally=_tally(judgement, agent),
        marks=_marks(agent),
        until=cells[judgement.current_round - 1].until if state == "retrying" else None,
    )


def _seat_state(judgement: Judgement, agent: Agent, cells: tuple[Cell, ...], asked: bool) -> tuple[State, str, str]:
    """Yellow while it waits for the next round, green or red by its score once it has decided three times."""
    if verdict := agent.verdict:
        approves = verdict == rules.Verdict.APPROVED
        return ("approve", "Approves", "") if approves else ("reject", "Rejects", "")
    current = cells[judgement.current_round - 1]
    if current.state == "failed":
        return "failed", "Failed", f"in round {current.round}"
    if judgement.run.over:
        return "stopped", "Stopped", _stopped(judgement, agent, current, asked)
    if judgement.run.status == Run.Status.QUEUED:  # also when it was given back half done
        return "idle", "Idle", ""
    if current.decided:
        return "pending", "Pending", f"for round {current.round + 1}"
    if current.state == "retrying":
        return "retrying", current.word, ""
    return "judging", "Judging", f"round {current.round}"


def _stopped(judgement: Judgement, agent: Agent, current: Cell, asked: bool) -> str:
    done = len(agent.history)
    if asked and not current.decided:
        return f"in round {current.round}"
    if done:
        return f"after round {done}"
    return "in round 1" if judgement.run.started else "before round 1"


def _cell(
    judgement: Judgement,
    seat_number: int,
    agent: Agent,
    number: int,
    latest: Mapping[str, ModelCall],
    texts: Mapping[str, str],
) -> Cell:
    step = agent.step(number)
    call = latest.get(step)
    decision = next((d for d in agent.decided if d.round == number), None)
    cell = partial(Cell, agent.name, seat_number, number, rules.tenths(rules.WEIGHTS[number]))
    if decision:
        state: State = "approve" if decision.decision == Decision.APPROVE else "reject"
        fallback = decision.call.model if decision.call.model != agent.model else ""
        return cell(
            state,
            WORDS[state],
            reason=ERASED if judgement.run.redacted else decision.reason,
            seconds=_seconds(decision.call),
            fallback=fallback,
            details=_details(decision.call, fallback),
            mark=_mark(agent, number),
        )
    if call and call.status == ModelCall.Status.FAILED:
        return _cell_of_failure(judgement, call, cell)
    if judgement.run.over:
        return cell("none", WORDS["none"])
    if number == judgement.current_round and judgement.run.status == Run.Status.RUNNING:
        since = call.started if call and call.status == ModelCall.Status.OPEN else None
        return cell("judging", WORDS["judging"], texts.get(step, ""), since=since)
    return cell("wait", WORDS["wait"])


def _seconds(call: ModelCall) -> str:
    return f"{call.seconds:.1f} s" if call.seconds is not None else ""


def _details(call: ModelCall, fallback: str) -> str:
    """How the decision came about: time, tokens, cost, and who stood in."""
    parts = [_seconds(call)]
    if call.input_tokens is not None and not is_rehearsal(call.model):
        parts += [tokens(call.input_tokens + (call.output_tokens or 0), call.estimated), cost(call.cost)]
    if fallback:
        parts.append(f"answered by the fallback {fallback}")
    return " · ".join(part for part in parts if part)


def _cell_of_failure(judgement: Judgement, call: ModelCall, cell: Callable[..., Cell]) -> Cell:
    if judgement.run.over or call.retry_at is None:
        again = call.attempt - 1
        after = f" {again} {'retry' if again == 1 else 'retries'} did not help." if again else ""
        return cell("failed", WORDS["failed"], f"{ERASED if judgement.run.redacted else call.error}{after}")
    return cell(
        "retrying",
        f"Retry {call.attempt} of 3",
        f"{call.error} It is asked again; after the third retry the judgement fails.",
        until=call.retry_at,
    )


def _mark(agent: Agent, number: int) -> str:
    if rules.carried(agent.history) and number == rules.ROUNDS[-1]:
        return f"Changed its mind in round {number}. {CARRIED}"
    return f"Changed its mind in round {number}" if number in rules.changed_in(agent.history) else ""


def _marks(agent: Agent) -> tuple[str, ...]:
    """The same of all rounds together."""
    changed = " and ".join(str(number) for number in rules.changed_in(agent.history))
    rounds = "rounds" if " " in changed else "round"
    return (
        *([f"Changed its mind in {rounds} {changed}"] if changed else []),
        *([CARRIED] if rules.carried(agent.history) else []),
    )


def _tally(judgement: Judgement, agent: Agent) -> Tally:
    history = agent.history
    score, against, still_open = rules.score(history), rules.against(history), rules.still_open(history)
    certain = rules.certain(history) and not judgement.run.over
    return Tally(
        score=_hundredths(score),
        yes=score * 10,
        no=against * 10,
        text=(
            f"Score {_hundredths(score)}{' so far' if still_open else ''}. "
            f"{_hundredths(against)} against, {_hundredths(still_open)} open. "
            f"0.50 approves{': certain already' if certain else ''}."
        ),
        formula=f"{_formula(history)}{': certain already' if certain else ''}",
        certain=certain,
    )


def _formula(history: rules.History) -> str:
    """The arithmetic as one would write it down."""
    if not history:
        return "No round has been decided."
    terms = " + ".join(
        f"{int(history[n] == Decision.APPROVE)} × {rules.tenths(rules.WEIGHTS[n])}" for n in sorted(history)
    )
    still_open = rules.still_open(history)
    rest = f"{rules.tenths(still_open)} still open, " if still_open else ""
    return f"{terms} = {rules.tenths(rules.score(history))}, {rest}{rules.tenths(rules.THRESHOLD)} approves"


def _hundredths(tenths: int) -> str:
    return f"{rules.tenths(tenths)}0"


# ---- the judgement ----------------------------------------------------------------------------------------


def _round(judgement: Judgement, number: int, seats: tuple[Seat, ...]) -> Round:
    return Round(
        number=number,
        weight=rules.tenths(rules.WEIGHTS[number]),
        current=judgement.status == "judging" and number == judgement.current_round,
        cells=tuple(seat.cells[number - 1] for seat in seats),
    )


def _decisions(seats: tuple[Seat, ...]) -> int:
    return sum(cell.decided for seat in seats for cell in seat.cells)


def _approving(seats: tuple[Seat, ...]) -> int:
    return sum(seat.state == "approve" for seat in seats)


def _agree(count: int) -> str:
    return f"{count} of 3 agents {'approves' if count == 1 else 'approve'}"


def _sentence(judgement: Judgement, seats: tuple[Seat, ...]) -> tuple[str, str]:
    """The line under the plate: its strong beginning and the rest."""
    number = judgement.current_round
    if judgement.status == "idle":
        return "", "Queued. It starts when a worker is free."
    if judgement.status == "judging":
        so_far = f"{_decisions(seats)} of 9 decisions are in."
        if rules.approval_certain(_histories(judgement)):
            so_far = "Approval is certain: two agents have 0.5 already."
        retrying = sum(seat.state == "retrying" for seat in seats)
        more = ("", " One agent is asked again.", " Two agents are asked again.", " All are asked again.")[retrying]
        return f"Round {number} of 3.", f"{so_far}{more}"
    if judgement.status == "approved":
        return f"{_agree(_approving(seats))}.", f"Finished at {_clock(judgement)}."
    if judgement.status == "rejected":
        return f"{_agree(_approving(seats))}.", f"Two are needed. Finished at {_clock(judgement)}."
    if judgement.status == "cancelled":
        return _sentence_of_cancelled(judgement)
    message = (judgement.run.error or {}).get("message", "")
    return f"Failed in round {number}.", f"{message} There is no verdict{_answers_kept(judgement)}".strip()


def _sentence_of_cancelled(judgement: Judgement) -> tuple[str, str]:
    run = judgement.run
    when = f"in round {judgement.current_round}" if run.started else "before round 1"
    kept = f"There is no verdict{_answers_kept(judgement)}"
    if by := words.shown_name(run.cancelled_by) or run.cancelled_by_name:
        return f"Cancelled {when}", f"by {by}. {kept}"
    return f"Cancelled {when}.", kept


def _answers_kept(judgement: Judgement) -> str:
    return "." if judgement.run.redacted else "; all answers so far are kept."


def _kept(decisions: int) -> str:
    """What the question before a cancellation says."""
    if not decisions:
        return "There is no decision so far. There will be no verdict."
    so_far = "The decision so far is" if decisions == 1 else f"The {decisions} decisions so far are"
    return f"{so_far} kept. There will be no verdict."


def _clock(judgement: Judgement) -> str:
    return f"{judgement.run.ended:%H:%M:%S} UTC" if judgement.run.ended else ""


def _rule(judgement: Judgement, seats: tuple[Seat, ...]) -> tuple[str, str]:
    """The sentence under the vote table, in the same two parts."""
    if judgement.run.outcome:
        count = _approving(seats)
        return f"{count} of 3", f"{'approves' if count == 1 else 'approve'}. Two were needed."
    if judgement.run.over:
        return "No verdict.", f"The judgement stopped in round {judgement.current_round}."
    return "2 of 3", "agents must approve."


def _histories(judgement: Judgement) -> dict[str, rules.History]:
    return {agent.seat: agent.history for agent in judgement.agents.all()}


def _decided(judgement: Judgement, seats: tuple[Seat, ...]) -> tuple[str, ...]:
    """How the verdict came about, sentence by sentence; nothing while there is none."""
    if not judgement.run.outcome:
        return ()
    histories = _histories(judgement)
    approving = [seat.name for seat in seats if seat.state == "approve"]
    names = f" ({', '.join(approving)})" if approving else ""
    return (
        f"{_agree(len(approving))}{names}. Two are needed, so the judgement is {judgement.run.outcome}.",
        *_otherwise(histories, rules.verdict(histories)),
    )


def _otherwise(histories: Mapping[str, rules.History], verdict: rules.Verdict) -> Iterator[str]:
    """What the first round or the last one alone would have said, where that is something else."""
    other = "rejected" if verdict == rules.Verdict.APPROVED else "approved"
    if rules.swayed(histories):
        yield f"Swayed: the first round alone would have {other} it."
    if rules.verdict_of_round(histories, rules.ROUNDS[-1]) != verdict:
        yield f"The last round alone would have {other} it."


def _announcement(judgement: Judgement, seats: tuple[Seat, ...], lead: str, rest: str) -> str:
    """One sentence for people who hear the page: the newest thing that happened."""
    if judgement.run.over:
        return f"{PLATE[judgement.status][1]}. {lead} {rest}"
    if judgement.status == "idle":
        return ""
    for seat in seats:
        if seat.state == "retrying":
            return f"{seat.name} did not answer. {seat.word}."
    number = judgement.current_round
    decided = [seat.cells[number - 1] for seat in seats if seat.cells[number - 1].decided]
    if decided:
        said = ". ".join(f"{cell.agent}: {cell.word.lower()}" for cell in decided)
        return f"Round {number}. {said}."
    if number == 1:
        return "Round 1 started. Three agents are judging."
    before = [seat.cells[number - 2] for seat in seats]
    approve = sum(cell.state == "approve" for cell in before)
    certain = " Approval is certain already." if rules.approval_certain(_histories(judgement)) else ""
    return f"Round {number - 1} complete: {approve} approve, {3 - approve} reject. Round {number} started.{certain}"
