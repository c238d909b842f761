"""Record of a judgement: three agents, each with its rounds and their attempts."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from engine.models import ModelCall
from runs.formatting import format_token_split
from runs.procedure.spec import RunSnapshot
from runs.record.document import RecordAttempt, attempt_of, format_interval

from . import rules
from .display import JudgementDisplay
from .models import Judgement
from .view_model import AgentView, RoundCell


@dataclass(frozen=True)
class RecordedRound:
    cell: RoundCell
    facts: str
    attempts: tuple[RecordAttempt, ...]

    @property
    def plain(self) -> bool:
        """Return whether one attempt gave the decision, so that only its prompt and answer are shown."""
        return len(self.attempts) == 1 and self.cell.decided


@dataclass(frozen=True)
class RecordedAgent:
    seat: AgentView
    rounds: tuple[RecordedRound, ...]


def judgement_record(seen: RunSnapshot[Judgement], display: JudgementDisplay) -> dict[str, Any]:
    by_step = defaultdict(list)
    for call in seen.calls:
        by_step[call.step].append(call)
    agents = tuple(
        RecordedAgent(seat, tuple(_rounds(seat, [by_step[agent.step(number)] for number in rules.ROUNDS])))
        for seat, agent in zip(display.seats, seen.row.agents.all(), strict=True)
    )
    return {"summary": _summary(seen.row, display), "agents": agents}


def provenance(judgement: Judgement) -> Iterator[tuple[str, str]]:
    yield "Council", str(judgement.council_version or "none, the agents were written for this judgement")
    weights = ", ".join(rules.to_tenths(weight) for weight in rules.WEIGHTS.values())
    yield "Procedure", f"Three rounds, weights {weights}"
    yield "Prompts", f"version {judgement.prompt_version}"


def _summary(judgement: Judgement, display: JudgementDisplay) -> str:
    said = " ".join(part for part in (display.lead, display.rest) if part)
    if not display.is_ended:
        return f"Still under way: this record is not complete and there is no verdict. {said}"
    when = format_interval(judgement.run.started, judgement.run.ended)
    if judgement.run.outcome:
        return f"{display.lead.removesuffix('.')}; {rules.QUORUM} are needed. Judged {when}."
    return f"{said} It ran {when}." if when else said


def _rounds(seat: AgentView, calls_by_round: list[list[ModelCall]]) -> Iterable[RecordedRound]:
    for cell, calls in zip(seat.cells, calls_by_round, strict=True):
        if calls or cell.shown:
            yield RecordedRound(cell, _round_facts(cell, calls), tuple(map(attempt_of, calls)))


def _round_facts(cell: RoundCell, calls: list[ModelCall]) -> str:
    attempts = f"{len(calls)} attempt{'' if len(calls) == 1 else 's'}" if calls else ""  # guests see no attempts
    return ", ".join(part for part in (cell.seconds, attempts, *format_token_split(calls)) if part)
