"""What the rows of judgements add to the record of their runs: content, agents, decisions, verdict, reviews."""

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from engine.chain import Draft
from engine.evidence import ATTEMPT, ENDED, REDACTED, SUBMITTED, Said, key, plain, stamp
from engine.models import Run
from engine.providers import is_rehearsal

from . import prompts, rules
from .append_only import GUARDS as GUARDS  # the engine looks whether they are up
from .models import Agent, Judgement, Receipt, Review, RoundDecision
from .rules import Decision

JUDGEMENT = (
    *("pk", "title", "content", "council_version__council", "council_version__name", "council_version__number"),
    *("earlier", "prompt_version", "verdict", "redacted"),
)
AGENT = ("judgement", "seat", "name", "model", "fallback", "criteria")
DECISION = ("call", "agent__judgement", "agent__seat", "round", "decision", "reason")


def tell(told: dict[UUID, Said]) -> None:
    """Add what the rows of these judgements say to the drafts of their runs."""
    of = list(told)
    agents = _by_judgement(plain(Agent.objects.filter(judgement__in=of).order_by("seat"), *AGENT), "judgement")
    made = RoundDecision.objects.filter(agent__judgement__in=of).order_by("call")
    decisions = _by_judgement(plain(made, *DECISION), "agent__judgement")
    for values in plain(Judgement.objects.filter(pk__in=of), *JUDGEMENT):
        pk = key(values["pk"])
        said = told[pk]
        _tell_submission(said[SUBMITTED][0], values, agents[pk])
        _tell_decisions(said, decisions[pk])
        if values["redacted"]:
            said[REDACTED].append(Draft(REDACTED, stamp(values["redacted"]) or ""))
        for ended in said[ENDED]:
            _tell_outcome(ended, values, agents[pk], decisions[pk])
    for review in Review.objects.filter(judgement__in=told).order_by("pk"):
        told[review.judgement_id][review.kind].append(review.draft())
    receipts = list(Receipt.objects.filter(judgement__in=of).order_by("issue_entry"))
    for receipt in receipts:
        told[receipt.judgement_id]["receipt"].append(receipt.issue_draft())
    for receipt in sorted(filter(lambda one: one.consumed, receipts), key=lambda one: one.use_entry or 0):
        told[receipt.judgement_id]["consumed"].append(receipt.use_draft())


def _by_judgement(rows: Iterable[dict[str, Any]], column: str) -> dict[UUID, list[Any]]:
    found = defaultdict(list)
    for row in rows:
        found[key(row[column])].append(row)
    return found


def _tell_submission(draft: Draft, values: dict[str, Any], agents: Sequence[dict[str, Any]]) -> None:
    council = {
        "id": values["council_version__council"],
        "name": values["council_version__name"],
        "version": values["council_version__number"],
    }
    draft.facts |= {
        "council": council if values["council_version__number"] else None,
        "earlier": str(key(values["earlier"])) if values["earlier"] else None,
        "prompt_version": values["prompt_version"],
        "agents": [{name: agent[name] for name in AGENT[1:]} for agent in agents],
    }
    draft.texts |= {"title": values["title"], "content": values["content"]}


def _tell_decisions(said: Said, decisions: Sequence[dict[str, Any]]) -> None:
    by_call = {decision["call"]: decision for decision in decisions}
    for draft in said[ATTEMPT]:
        made = by_call.pop(draft.row, None)
        draft.facts["decision"] = made and {
            "seat": made["agent__seat"],
            "round": made["round"],
            "decision": made["decision"],
        }
        draft.texts["reason"] = made["reason"] if made else ""
    for made in by_call.values():  # no attempt of this run gave it, so that no entry will tell of it
        said["decision"].append(Draft("decision", "", {"step": f"{made['agent__seat']}{made['round']}"}))


def _tell_outcome(
    draft: Draft, values: dict[str, Any], agents: Sequence[dict[str, Any]], decisions: Sequence[dict[str, Any]]
) -> None:
    scores = {
        agent["seat"]: sum(
            rules.WEIGHTS.get(made["round"], 0)
            for made in decisions
            if made["agent__seat"] == agent["seat"] and made["decision"] == rules.Decision.APPROVE
        )
        for agent in agents
    }
    draft.facts |= {
        "verdict": values["verdict"],
        "scores": {seat: rules.tenths(score) for seat, score in scores.items()},
        "rehearsal": any(is_rehearsal(agent["model"]) for agent in agents),
    }


# ---- what cannot be ---------------------------------------------------------------------------------------


def doubt(entries: Sequence[dict[str, Any]]) -> str:
    """What the entries of one judgement say that cannot be by its rule, in a sentence; empty where nothing does."""
    histories: dict[str, dict[int, Decision]] = {seat: {} for seat in rules.SEATS}
    for entry in entries:
        made = entry["facts"].get("decision")
        if not made:
            continue
        place = f"{made['seat']}{made['round']}"
        if entry["facts"].get("step") != place or made["seat"] not in histories:
            return f"The decision of {place} was not asked for there."
        if made["round"] in histories[made["seat"]]:
            return f"{place} has two decisions."
        if (answer := entry["texts"].get("answer")) and not _says(answer, made["decision"], entry["texts"]["reason"]):
            return f"The model of {place} answered otherwise than its decision and reason say."
        histories[made["seat"]][made["round"]] = Decision(made["decision"])
    ends = [entry["facts"] for entry in entries if entry["kind"] == ENDED]
    return _doubt_end(ends[-1], histories) if ends else ""


def _says(answer: str, decision: str, reason: str) -> bool:
    try:
        if json.loads(answer) == {"reason": reason, "decision": decision}:
            return True
        read = prompts.read_answer(answer)  # which also trims and cuts, and takes longer
    except (ValueError, RecursionError):
        return False
    return read.decision == decision and read.reason == reason


def _doubt_end(end: dict[str, Any], histories: dict[str, dict[int, Decision]]) -> str:
    if end["scores"] != {seat: rules.tenths(rules.score(history)) for seat, history in histories.items()}:
        return "The scores are not those of its decisions."
    expected = None
    if end["status"] == Run.Status.FINISHED:
        try:
            expected = rules.verdict(histories)
        except ValueError as error:
            return f"It has a verdict and {error}."
    return "" if end["verdict"] == expected else f"The verdict is {end['verdict']}, by the rule it is {expected}."
