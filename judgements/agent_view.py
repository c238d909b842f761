"""One agent as the live page shows it: state, decisions by round, score, and remarks."""

from collections.abc import Callable, Mapping
from functools import partial

from engine.llm.providers import is_rehearsal
from engine.models import ModelCall, Run
from runs.attempts import WAITED_FOR, Retry
from runs.formatting import format_known_cost, format_tokens

from . import rules
from .models import Judgement, JudgementAgent
from .rules import AgentDecision
from .view_model import STATE_TEXT, AgentState, AgentView, RoundCell, VoteTally

ERASED_TEXT = "Erased."
CARRIED = "Carried by earlier rounds"
TRUNCATED_TEXT = "Cut off when it was cancelled"
TRIANGLE_CORNERS = ("top", "left", "right")


def agent_view(
    judgement: Judgement,
    number: int,
    agent: JudgementAgent,
    latest: Mapping[str, ModelCall],
    texts: Mapping[str, str],
    retries: Mapping[str, Retry],
) -> AgentView:
    cells = tuple(_cell(judgement, number, agent, n, latest, texts, retries) for n in rules.ROUNDS)
    asked = agent.step(judgement.current_round) in latest
    state, word, small = _seat_state(judgement, agent, cells, asked)
    return AgentView(
        number=number,
        place=TRIANGLE_CORNERS[number - 1],
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


def _seat_state(
    judgement: Judgement, agent: JudgementAgent, cells: tuple[RoundCell, ...], asked: bool
) -> tuple[AgentState, str, str]:
    """Return state, word and small print: yellow while it waits for the next round, green or red by its score after
    three decisions."""
    if verdict := agent.verdict:
        remark = _remark(judgement, agent)
        approves = verdict == rules.Verdict.APPROVED
        return ("approve", "Approves", remark) if approves else ("reject", "Rejects", remark)
    current = cells[judgement.current_round - 1]
    if current.state == "failed":
        return "failed", "Failed", f"in round {current.round}"
    if judgement.run.is_ended:
        return "stopped", "Stopped", _stopped(judgement, agent, current, asked)
    if judgement.run.status == Run.Status.QUEUED:  # also if it was requeued half done
        return "idle", "Idle", ""
    if current.decided:
        return "pending", "Pending", f"for round {current.round + 1}"
    if current.state == "wait":
        return "pending", "Pending", f"for round {current.round}"
    if current.state == "retrying":
        return "retrying", current.word, ""
    return "judging", "Judging", f"round {current.round}"


def _remark(judgement: Judgement, agent: JudgementAgent) -> str:
    """Return the most important remark about a verdict that is not visible at a glance."""
    if rules.is_carried(agent.history):
        return "carried by rounds 1 and 2"
    if rules.agent_gave_way(judgement.histories, agent.seat):
        return "swayed by the others"
    changed = rules.rounds_with_change(agent.history)
    return f"changed its mind in round {' and '.join(map(str, changed))}" if changed else ""


def _stopped(judgement: Judgement, agent: JudgementAgent, current: RoundCell, asked: bool) -> str:
    done = len(agent.history)
    if asked and not current.decided:
        return f"in round {current.round}"
    if done:
        return f"after round {done}"
    return "in round 1" if judgement.run.started else "before round 1"


def _cell(
    judgement: Judgement,
    seat_number: int,
    agent: JudgementAgent,
    number: int,
    latest: Mapping[str, ModelCall],
    texts: Mapping[str, str],
    retries: Mapping[str, Retry],
) -> RoundCell:
    step = agent.step(number)
    call = latest.get(step)
    decision = next((d for d in agent.decided if d.round == number), None)
    cell = partial(RoundCell, agent.name, seat_number, number, rules.to_tenths(rules.WEIGHTS[number]))
    if decision:
        state: AgentState = "approve" if decision.decision == AgentDecision.APPROVE else "reject"
        outweighed = ", outweighed" if number == rules.ROUNDS[-1] and rules.is_carried(agent.history) else ""
        fallback = decision.call.model if decision.call.model != agent.model else ""
        repeats = _repeats(judgement, agent, number)
        return cell(
            state,
            f"{STATE_TEXT[state]}{outweighed}",
            reason=ERASED_TEXT if judgement.run.redacted else decision.reason,
            seconds=_seconds(decision.call),
            fallback=fallback,
            details=_details(decision.call, fallback),
            mark=". ".join(filter(None, [_mark(agent, number), repeats])),
            repeats=repeats,
        )
    if call and (call.status == ModelCall.Status.FAILED or call.waits):
        return _cell_of_failure(judgement, call, cell, retries.get(step))
    if judgement.run.is_ended:
        cut = texts.get(step)
        return (
            cell("stopped", STATE_TEXT["stopped"], cut, mark=TRUNCATED_TEXT)
            if cut
            else cell("none", STATE_TEXT["none"])
        )
    if number == judgement.current_round and judgement.run.status == Run.Status.RUNNING and _begun(number, latest):
        since = call.started if call and call.status == ModelCall.Status.OPEN else None
        return cell("judging", STATE_TEXT["judging"], texts.get(step, ""), since=since)
    return cell("wait", STATE_TEXT["wait"])


def _begun(number: int, latest: Mapping[str, ModelCall]) -> bool:
    """Return whether any agent has been asked in this round. Before that, the agents wait for it."""
    return number == rules.ROUNDS[0] or any(f"{seat}{number}" in latest for seat in rules.SEATS)


def _seconds(call: ModelCall) -> str:
    return f"{call.seconds_in_all:.1f} s" if call.seconds_in_all is not None else ""


def _details(call: ModelCall, fallback: str) -> str:
    """Return how the decision was made: seconds, tokens, cost and the fallback model."""
    parts = [_seconds(call)]
    if call.input_tokens is not None and not is_rehearsal(call.model):
        parts += [
            format_tokens(call.input_tokens + (call.output_tokens or 0), call.estimated),
            *format_known_cost(call.cost),
        ]
    if fallback:
        parts.append(f"answered by the fallback {fallback}")
    return " · ".join(part for part in parts if part)


def _cell_of_failure(
    judgement: Judgement, call: ModelCall, cell: Callable[..., RoundCell], retry: Retry | None
) -> RoundCell:
    if judgement.run.is_ended or call.retry_at is None:
        again = call.attempt - 1
        after = f" {again} {'retry' if again == 1 else 'retries'} did not help." if again else ""
        return cell("failed", STATE_TEXT["failed"], f"{ERASED_TEXT if judgement.run.redacted else call.error}{after}")
    if call.waits:
        return cell("retrying", "Waits", f"{call.error} {WAITED_FOR}", until=call.retry_at)
    said = f"{call.error} It is asked again; after the last retry the judgement fails."
    return cell("retrying", retry.heading if retry else "Is asked again", said, until=call.retry_at)


def _mark(agent: JudgementAgent, number: int) -> str:
    if rules.is_carried(agent.history) and number == rules.ROUNDS[-1]:
        return f"Changed its mind in round {number}. {CARRIED}"
    return f"Changed its mind in round {number}" if number in rules.rounds_with_change(agent.history) else ""


def _repeats(judgement: Judgement, agent: JudgementAgent, number: int) -> str:
    """Return the remark that a reason repeats an earlier one word for word. It counts all the same, but the reader
    should know."""
    first = judgement.repeated.get((number, agent.seat))
    if not first:
        return ""
    names = {one.seat: one.name for one in judgement.agents.all()}
    whose = "its own reason" if first[1] == agent.seat else f"the reason of {names[first[1]]}"
    return f"Repeats {whose} of round {first[0]}, word for word"


def _marks(agent: JudgementAgent) -> tuple[str, ...]:
    """Return the remarks about all rounds together."""
    changed = " and ".join(str(number) for number in rules.rounds_with_change(agent.history))
    rounds = "rounds" if " " in changed else "round"
    return (
        *([f"Changed its mind in {rounds} {changed}"] if changed else []),
        *([CARRIED] if rules.is_carried(agent.history) else []),
    )


def _tally(judgement: Judgement, agent: JudgementAgent) -> VoteTally:
    history = agent.history
    score, against, still_open = rules.score(history), rules.rejections(history), rules.still_open(history)
    certain = rules.is_certain(history) and not judgement.run.is_ended
    return VoteTally(
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
    """Return the score as a written formula."""
    if not history:
        return "No round has been decided."
    terms = " + ".join(
        f"{int(history[n] == AgentDecision.APPROVE)} × {rules.to_tenths(rules.WEIGHTS[n])}" for n in sorted(history)
    )
    still_open = rules.still_open(history)
    rest = f"{rules.to_tenths(still_open)} still open, " if still_open else ""
    return f"{terms} = {rules.to_tenths(rules.score(history))}, {rest}{rules.to_tenths(rules.THRESHOLD)} approves"


def _hundredths(tenths: int) -> str:
    return f"{rules.to_tenths(tenths)}0"
