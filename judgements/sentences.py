"""Sentences of the live page: status, how the verdict was reached, and the newest event."""

from collections.abc import Iterator, Mapping

from runs import formatting

from . import rules
from .models import Judgement, JudgementAgent
from .view_model import STATUS_TEXT, AgentView


def decisions_in(seats: tuple[AgentView, ...]) -> int:
    return sum(cell.decided for seat in seats for cell in seat.cells)


def _approving(seats: tuple[AgentView, ...]) -> int:
    return sum(seat.state == "approve" for seat in seats)


def _agree(count: int) -> str:
    return f"{count} of 3 agents {'approves' if count == 1 else 'approve'}"


def status_sentence(judgement: Judgement, seats: tuple[AgentView, ...]) -> tuple[str, str]:
    """Return the status line in two parts: the emphasised beginning and the rest."""
    number = judgement.current_round
    if judgement.status == "idle":
        return "", "Queued. It starts when a worker is free."
    if judgement.status == "judging":
        so_far = f"{decisions_in(seats)} of 9 decisions are in."
        if rules.approval_certain(judgement.histories):
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
    return f"Failed in round {number}, without a verdict.", message


def retry_sentence(judgement: Judgement, seats: tuple[AgentView, ...]) -> str:
    """Return what a retry would do; empty if the judgement cannot be retried."""
    if judgement.status != "error" or judgement.run.redacted:
        return ""
    if judgement.override:
        return "A person has decided it, so it is not retried."
    done = decisions_in(seats)
    missing = len(rules.SEATS) * len(rules.ROUNDS) - done
    if not done:
        return "Retry asks all three agents again."
    return f"Retry asks only for the {missing} decisions that are missing, and keeps the {done} that are there."


def _sentence_of_cancelled(judgement: Judgement) -> tuple[str, str]:
    run = judgement.run
    when = f"in round {judgement.current_round}" if run.started else "before round 1"
    kept = f"There is no verdict{_answers_kept(judgement)}"
    if by := formatting.user_label(run.cancelled_by) or run.cancelled_by_name:
        return f"Cancelled {when}", f"by {by}. {kept}"
    return f"Cancelled {when}.", kept


def _answers_kept(judgement: Judgement) -> str:
    return "." if judgement.run.redacted else "; all answers so far are kept."


def kept_decisions_sentence(decisions: int) -> str:
    """Return the sentence of the question before a cancellation."""
    if not decisions:
        return "There is no decision so far. There will be no verdict."
    so_far = "The decision so far is" if decisions == 1 else f"The {decisions} decisions so far are"
    return f"{so_far} kept. There will be no verdict."


def _clock(judgement: Judgement) -> str:
    return f"{judgement.run.ended:%H:%M:%S} UTC" if judgement.run.ended else ""


def rule_sentence(judgement: Judgement, seats: tuple[AgentView, ...]) -> tuple[str, str]:
    """Return the sentence below the vote table, in the same two parts."""
    if judgement.run.outcome:
        count = _approving(seats)
        return f"{count} of 3", f"{'approves' if count == 1 else 'approve'}. Two were needed."
    if judgement.run.is_ended:
        return "No verdict.", f"The judgement stopped in round {judgement.current_round}."
    return "2 of 3", "agents must approve."


def verdict_sentences(judgement: Judgement, seats: tuple[AgentView, ...]) -> tuple[str, ...]:
    """Return the sentences on how the verdict was reached; empty while there is none."""
    if not judgement.run.outcome:
        return ()
    histories = judgement.histories
    approving = [seat.name for seat in seats if seat.state == "approve"]
    names = f" ({', '.join(approving)})" if approving else ""
    return (
        f"{_agree(len(approving))}{names}. Two are needed, so the judgement is {judgement.run.outcome}.",
        *_otherwise(histories, rules.verdict(histories)),
    )


def flag_sentences(judgement: Judgement) -> tuple[str, ...]:
    """Return the sentences on what a verdict does not show at a glance; empty if there is nothing."""
    if not judgement.run.outcome:
        return ()
    histories = judgement.histories
    named = {agent.seat: agent.name for agent in judgement.agents.all()}
    return (
        *(sentence for seat in rules.SEATS for sentence in _of_agent(named[seat], seat, histories)),
        *_otherwise(histories, rules.verdict(histories)),
    )


def _of_agent(name: str, seat: str, histories: Mapping[str, rules.History]) -> Iterator[str]:
    history = histories[seat]
    if rules.is_carried(history):
        yield f"{name} rejects in round 3 and still approves: rounds 1 and 2 gave it 0.50 of 1.00, which is enough."
    elif rules.agent_gave_way(histories, seat):
        first, then = ("rejected", "approved") if rules.score(history) >= rules.THRESHOLD else ("approved", "rejected")
        yield f"{name} {first} on its own, and changed its mind after both others had {then}."
    elif changed := rules.rounds_with_change(history):
        yield f"{name} changed its mind in round {' and '.join(map(str, changed))}."


def _otherwise(histories: Mapping[str, rules.History], verdict: rules.Verdict) -> Iterator[str]:
    """Yield what the first round or the last one alone would have decided, if that differs."""
    other = "rejected" if verdict == rules.Verdict.APPROVED else "approved"
    if rules.is_swayed(histories):
        yield f"Swayed: the first round alone would have {other} it."
    if rules.verdict_of_round(histories, rules.ROUNDS[-1]) != verdict:
        yield f"The last round alone would have {other} it."


def announcement(judgement: Judgement, seats: tuple[AgentView, ...], lead: str, rest: str) -> str:
    """Return the newest event in one sentence, for screen readers."""
    if judgement.run.is_ended:
        return f"{STATUS_TEXT[judgement.status][1]}. {lead} {rest}"
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
    certain = " Approval is certain already." if rules.approval_certain(judgement.histories) else ""
    return f"Round {number - 1} complete: {approve} approve, {3 - approve} reject. Round {number} started.{certain}"


def swayed_sentence(judgement: Judgement) -> str:
    """Return the sentence that names agents whose verdict differs from their first decision; empty if there are
    none."""
    turned = [agent for agent in judgement.agents.all() if agent.verdict and agent.verdict != _first_verdict(agent)]
    by_end = {end: [agent.name for agent in turned if agent.verdict == end] for end in rules.Verdict}
    return " ".join(_turned(names, end) for end, names in by_end.items() if names)


def _first_verdict(agent: JudgementAgent) -> rules.Verdict:
    approved = agent.history[rules.ROUNDS[0]] == rules.AgentDecision.APPROVE
    return rules.Verdict.APPROVED if approved else rules.Verdict.REJECTED


def _turned(names: list[str], end: rules.Verdict) -> str:
    began, ended = ("rejected", "approve") if end == rules.Verdict.APPROVED else ("approved", "reject")
    last = ended if len(names) > 1 else f"{ended}s"
    return f"{' and '.join(names)} {began} alone and {last} after reading the others."
