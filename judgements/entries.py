"""Audit log entries of judgements: content, agents, decisions, scores and receipts."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any
from uuid import UUID

from django.db.models import TextChoices

from engine.audit.entries_from_rows import RunEntries, row_key, rows_of
from engine.db import cached_sql
from engine.ledger.entries import ATTEMPT, ENDED, SUBMITTED
from engine.ledger.hashing import EntryDraft
from engine.llm.errors import UnusableAnswer
from engine.llm.providers import is_rehearsal
from engine.models import Run
from engine.text.search_terms import label_term

from . import prompts, rules
from .models import Judgement, JudgementAgent, Receipt, RoundDecision, flags_of
from .rules import AgentDecision

JUDGEMENT_COLUMNS = (
    *("pk", "content", "council_version__council", "council_version__name", "council_version__number"),
    *("earlier", "prompt_version"),
)
OUTCOME_NAME = "verdict"
AGENT_COLUMNS = ("judgement", "seat", "name", "model", "fallback", "criteria")
DECISION_COLUMNS = ("call", "agent__judgement", "agent__seat", "round", "decision", "reason")


def build_entries(told: dict[UUID, RunEntries], *, new: bool = False) -> None:
    """Add the rows of these judgements to the entry drafts of their runs. `new`: they were just submitted."""
    of = list(told)
    agents = _by_judgement(rows_of(JudgementAgent, "judgement", of, AGENT_COLUMNS, "seat"), "judgement")
    made = rows_of(RoundDecision, "agent__judgement", [] if new else of, DECISION_COLUMNS, "call")
    decisions = _by_judgement(made, "agent__judgement")
    for values in rows_of(Judgement, "pk", of, JUDGEMENT_COLUMNS):
        pk = row_key(values["pk"])
        said = told[pk]
        _tell_submission(said[SUBMITTED][0], values, agents[pk])
        _tell_decisions(said, decisions[pk])
        for ended in said[ENDED]:
            _tell_outcome(ended, agents[pk], decisions[pk])
    if not new:
        _tell_receipts(told)


def _tell_receipts(told: dict[UUID, RunEntries]) -> None:
    if not cached_sql.exists(Receipt, "judgement", list(told)):
        return
    receipts = list(Receipt.objects.filter(judgement__in=told).with_council().order_by("issue_entry"))
    for receipt in receipts:
        told[receipt.judgement_id]["receipt"].append(receipt.issue_draft())
    for receipt in sorted(filter(lambda one: one.consumed, receipts), key=lambda one: one.use_entry or 0):
        told[receipt.judgement_id]["consumed"].append(receipt.use_draft())


def _by_judgement(rows: Iterable[dict[str, Any]], column: str) -> dict[UUID, list[Any]]:
    found = defaultdict(list)
    for row in rows:
        found[row_key(row[column])].append(row)
    return found


def _tell_submission(draft: EntryDraft, values: dict[str, Any], agents: Sequence[dict[str, Any]]) -> None:
    council = {
        "id": values["council_version__council"],
        "name": values["council_version__name"],
        "version": values["council_version__number"],
    }
    draft.facts |= {
        "council": council if values["council_version__number"] else None,
        "earlier": str(row_key(values["earlier"])) if values["earlier"] else None,
        "prompt_version": values["prompt_version"],
        "agents": [{name: agent[name] for name in AGENT_COLUMNS[1:]} for agent in agents],
    }
    draft.texts["content"] = values["content"]


def _tell_decisions(said: RunEntries, decisions: Sequence[dict[str, Any]]) -> None:
    by_call = {decision["call"]: decision for decision in decisions}
    for draft in said[ATTEMPT]:
        made = by_call.pop(draft.row, None)
        draft.facts["decision"] = made and {
            "seat": made["agent__seat"],
            "round": made["round"],
            "decision": made["decision"],
        }
        draft.texts["reason"] = made["reason"] if made else ""
    for made in by_call.values():  # no attempt of this run gave it, so no other entry will contain it
        said["decision"].append(EntryDraft("decision", "", {"step": f"{made['agent__seat']}{made['round']}"}))


def _tell_outcome(draft: EntryDraft, agents: Sequence[dict[str, Any]], decisions: Sequence[dict[str, Any]]) -> None:
    scores = {
        agent["seat"]: sum(
            rules.WEIGHTS.get(made["round"], 0)
            for made in decisions
            if made["agent__seat"] == agent["seat"] and made["decision"] == rules.AgentDecision.APPROVE
        )
        for agent in agents
    }
    draft.facts |= {
        "scores": {seat: rules.to_tenths(score) for seat, score in scores.items()},
        "rehearsal": any(is_rehearsal(agent["model"]) for agent in agents),
    }


# ---- search labels ----------------------------------------------------------------------------------------


def labels(said: RunEntries) -> Iterator[str]:
    """Yield the search labels of a judgement, in addition to those of every run."""
    [submitted, *_] = said[SUBMITTED]
    models = {agent["seat"]: agent["model"] for agent in submitted.facts["agents"]}
    yield label_term("rehearsal", any(map(is_rehearsal, models.values())))
    if submitted.facts["council"]:
        yield label_term("council", submitted.facts["council"]["id"])
    if any(ended.facts[OUTCOME_NAME] for ended in said[ENDED]):
        yield from (label_term("flag", flag) for flag in _flags(said, models))


def _flags(said: RunEntries, models: Mapping[str, str]) -> Iterator[TextChoices]:
    made = [(draft.facts["decision"], draft.facts["model"]) for draft in said[ATTEMPT] if draft.facts["decision"]]
    histories: dict[str, dict[int, AgentDecision]] = {seat: {} for seat in models}
    for decision, _ in made:
        histories[decision["seat"]][decision["round"]] = AgentDecision(decision["decision"])
    return flags_of(histories, fallback=any(model != models[decision["seat"]] for decision, model in made))


# ---- validation -------------------------------------------------------------------------------------------


def validate_entries(entries: Sequence[dict[str, Any]]) -> str:
    """Return a sentence about the first contradiction to the rules of judgements; empty if there is none."""
    histories: dict[str, dict[int, AgentDecision]] = {seat: {} for seat in rules.SEATS}
    if doubt := next(filter(None, _doubt_prompts(entries)), ""):
        return doubt
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
        histories[made["seat"]][made["round"]] = AgentDecision(made["decision"])
    ends = [entry["facts"] for entry in entries if entry["kind"] == ENDED]
    return _doubt_end(ends[-1], histories) if ends else ""


def _doubt_prompts(entries: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Compare the prompts of the decisions with what was submitted, where neither is erased; yield contradictions."""
    asked = entries[0]
    content = asked["texts"].get("content")
    version = asked["facts"].get("prompt_version")
    if not content or version not in prompts.MARKS:
        return
    criteria = {agent["seat"]: agent["criteria"] for agent in asked["facts"]["agents"]}
    made = sorted(
        (one["round"], one["seat"], AgentDecision(one["decision"]), entry["texts"].get("reason", ""))
        for entry in entries
        if (one := entry["facts"].get("decision"))
    )
    unusable: dict[str, prompts.Unusable] = defaultdict(prompts.Unusable)  # the last answer of each step
    for entry in entries:
        one, prompt, step = entry["facts"].get("decision"), entry["texts"].get("prompt"), entry["facts"].get("step", "")
        if entry["facts"].get("error_code") == UnusableAnswer.code:
            unusable[step] = prompts.Unusable(entry["texts"].get("error", ""), entry["texts"].get("answer", ""))
        elif one and prompt:
            earlier = (prompts.EarlierDecision(*decided) for decided in made if decided[0] < one["round"])
            follows = criteria.get(one["seat"], "")
            case = prompts.PromptCase(one["seat"], follows, content, one["round"], tuple(earlier))
            yield _doubt_prompt(prompt, case, unusable[step], version)


def _doubt_prompt(prompt: str, due: prompts.PromptCase, last: prompts.Unusable, version: str) -> str:
    if prompts.is_prompt_for(prompt, due, version):
        return ""  # nearly all: parsing a prompt to find the difference takes three times as long
    place = f"{due.seat}{due.round}"
    try:
        case = prompts.read_case(json.loads(prompt))
        written = prompts.is_retry_prompt_for(prompt, case, last, version)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
        return f"What {place} was asked cannot be read."
    if case.content != due.content:
        return f"{place} was asked about another content than the one that was submitted."
    if (case.seat, case.round, case.criteria) != (due.seat, due.round, due.criteria):
        return f"{place} was asked by other criteria than those that were submitted."
    if case.earlier != due.earlier:
        return f"{place} was told of other decisions than those that were made before."
    return "" if written else f"{place} was asked more than what was submitted, or in other words."


def _says(answer: str, decision: str, reason: str) -> bool:
    with suppress(ValueError, RecursionError):  # there may be thoughts or words around it
        if json.loads(answer) == {"reason": reason, "decision": decision}:
            return True
    try:
        read = prompts.read_answer(answer)  # also trims and cuts, but is slower
    except (ValueError, RecursionError):
        return False
    return read.decision == decision and read.reason == reason


def _doubt_end(end: dict[str, Any], histories: dict[str, dict[int, AgentDecision]]) -> str:
    if end["scores"] != {seat: rules.to_tenths(rules.score(history)) for seat, history in histories.items()}:
        return "The scores are not those of its decisions."
    expected = None
    if end["status"] == Run.Status.FINISHED:
        try:
            expected = rules.verdict(histories)
        except ValueError as error:
            return f"It has a verdict and {error}."
    return "" if end[OUTCOME_NAME] == expected else f"The verdict is {end['verdict']}, by the rule it is {expected}."
