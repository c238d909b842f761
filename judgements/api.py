"""The judgement as software sees it. One shape for every door."""

from datetime import datetime
from typing import Any

from engine.llm.prices import decimal
from engine.models import Usage

from . import rules
from .models import Agent, Judgement, RoundDecision


def judgement_object(judgement: Judgement, address: str, usage: Usage | None = None) -> dict[str, Any]:
    """The judgement object of the API, of a judgement read with `whole()`; `address` as in https://host.

    A redacted one has empty texts and says when they were erased.
    `usage`: what its calls used, where that is known already.
    """
    run, council = judgement.run, judgement.council_version
    return {
        "id": str(judgement.pk),
        "kind": run.procedure,
        "url": f"{address}/judgements/{judgement.pk}/",
        "title": judgement.run.title,
        "content": judgement.content,
        "council": council.name if council else None,
        "council_version": council.number if council else None,
        "status": judgement.status,
        "verdict": run.outcome,
        "outcome": run.outcome,
        "round": judgement.current_round,
        "revision": run.revision,
        "rehearsal": judgement.rehearsal,
        "agents": [_agent(agent) for agent in judgement.agents.all()],
        "error": run.error,
        "usage": _usage(usage or run.calls.all().usage()),
        "redacted": time_of(judgement.run.redacted),
        "created": time_of(run.created),
        "started": time_of(run.started),
        "ended": time_of(run.ended),
        "record_hash": judgement.record_hash,
        "override": _override(judgement),
    }


def _override(judgement: Judgement) -> dict[str, Any] | None:
    """What a person decided instead, last; it stands beside the verdict."""
    last = judgement.override
    if last is None:
        return None
    return {"verdict": last.outcome, "by": last.by, "reason": last.text, "at": time_of(last.made)}


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "calls": usage.calls,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "estimated": usage.estimated,
        "dollars": decimal(usage.cost),
    }


def _agent(agent: Agent) -> dict[str, Any]:
    return {
        "seat": agent.seat,
        "name": agent.name,
        "model": agent.model,
        "criteria": agent.criteria,
        "fallback": agent.fallback or None,
        "score": rules.tenths(rules.score(agent.history)),
        "verdict": agent.verdict,
        "decisions": [_decision(decision) for decision in agent.decisions.all()],
    }


def _decision(decision: RoundDecision) -> dict[str, Any]:
    seconds = decision.call.seconds
    return {
        "round": decision.round,
        "decision": decision.decision,
        "reason": decision.reason,
        "seconds": round(seconds, 2) if seconds is not None else None,
        "attempts": decision.call.attempt,
        "model": decision.call.model,
        "answered_by": decision.call.answered_by,
    }


def time_of(moment: datetime | None) -> str | None:
    return moment.isoformat().replace("+00:00", "Z") if moment else None
