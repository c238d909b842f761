"""API responses of judgements, in addition to those of every run."""

from typing import Any

from . import rules
from .models import Judgement, JudgementAgent, RoundDecision
from .prompts import Place

Repeated = dict[Place, Place]


def judgement_fields(row: Judgement) -> dict[str, Any]:
    council = row.council_version
    return {
        "content": row.content,
        "council": council.name if council else None,
        "council_version": council.number if council else None,
        "status": row.status,
        "verdict": row.run.outcome,
        "round": row.current_round,
        "rehearsal": row.rehearsal,
        "agents": [_agent(agent, row.repeated) for agent in row.agents.all()],
    }


def facts_of_list(row: Judgement) -> dict[str, Any]:
    council = row.council_version
    return {
        "council": council.name if council else None,
        "council_version": council.number if council else None,
        "status": row.status,
        "verdict": row.run.outcome,
        "rehearsal": row.rehearsal,
    }


def _agent(agent: JudgementAgent, repeated: Repeated) -> dict[str, Any]:
    return {
        "seat": agent.seat,
        "name": agent.name,
        "model": agent.model,
        "criteria": agent.criteria,
        "fallback": agent.fallback or None,
        "score": rules.to_tenths(rules.score(agent.history)),
        "verdict": agent.verdict,
        "decisions": [
            _decision(decision, repeated.get((decision.round, agent.seat))) for decision in agent.decisions.all()
        ],
    }


def _decision(decision: RoundDecision, repeats: Place | None) -> dict[str, Any]:
    seconds = decision.call.seconds_in_all
    return {
        "round": decision.round,
        "decision": decision.decision,
        "reason": decision.reason,
        "repeats": {"round": repeats[0], "seat": repeats[1]} if repeats else None,
        "seconds": round(seconds, 2) if seconds is not None else None,
        "attempts": decision.call.attempt,
        "model": decision.call.model,
        "answered_by": decision.call.answered_by,
    }
