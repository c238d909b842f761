"""What the rows of judgements add to the record of their runs: content, agents, decisions, verdict, reviews."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from engine.evidence.chain import Draft, stamp
from engine.evidence.entries import ATTEMPT, ENDED, REDACTED, SUBMITTED
from engine.evidence.told import Said, key, plain
from engine.llm.failures import UnusableAnswer
from engine.llm.providers import is_rehearsal
from engine.models import NOBODY, Run
from engine.search import label, labels_of

from . import prompts, rules
from .models import Agent, Flag, Judgement, Receipt, Review, RoundDecision, SearchText, digest_of, remarkable
from .rules import Decision

JUDGEMENT = (
    *("pk", "title", "content", "council_version__council", "council_version__name", "council_version__number"),
    *("earlier", "prompt_version", "request", "verdict", "redacted"),
)
AGENT = ("judgement", "seat", "name", "model", "fallback", "criteria")
DECISION = ("call", "agent__judgement", "agent__seat", "round", "decision", "reason")
OF_NO_KIND = "review"  # a row with the name of another kind of entry must not pass for one of that kind


def tell(told: dict[UUID, Said], *, new: bool = False) -> None:
    """Add what the rows of these judgements say to the drafts of their runs."""
    of = list(told)
    agents = _by_judgement(plain(Agent.objects.filter(judgement__in=of).order_by("seat"), *AGENT), "judgement")
    made = RoundDecision.objects.filter(agent__judgement__in=[] if new else of).order_by("call")
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
    if not new:
        _tell_reviews_and_receipts(told)


def _tell_reviews_and_receipts(told: dict[UUID, Said]) -> None:
    for review in Review.objects.filter(judgement__in=told).order_by("pk"):
        kind = review.kind if review.kind in Review.Kind else OF_NO_KIND
        told[review.judgement_id][kind].append(review.draft())
    receipts = list(Receipt.objects.filter(judgement__in=told).with_council().order_by("issue_entry"))
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
    draft.texts |= {"title": values["title"], "content": values["content"], "request": values["request"]}


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


# ---- what is no evidence ----------------------------------------------------------------------------------

KNOWN = {*(label("flag", flag) for flag in Flag), *(label("verdict", verdict) for verdict in rules.Verdict)}

FOUND_BY = (
    *("pk", "request", "redacted", "run__owner", "run__account", "run__asked_by"),
    *("search__id", "search__words", "request_key__owner", "request_key__key", "request_key__request_hash"),
)


def contradictions(told: Mapping[UUID, Said]) -> Iterator[tuple[UUID, str]]:
    """Whose idempotency key or place in the search index is not that of the judgement, and in which way."""
    sought: dict[int, tuple[UUID, set[str]]] = {}
    for row in plain(Judgement.objects.filter(pk__in=list(told)).order_by("search__id"), *FOUND_BY):
        pk = key(row["pk"])
        if text := _contradiction_of_key(row):
            yield pk, text
        labels, there = {label("id", str(pk)[:8]), *_labels_of_owner(row), *_labels(told[pk])}, set(_labels_there(row))
        if missing := labels - there:
            yield pk, f"Lists and searches do not find it: its words lack {', '.join(sorted(missing))}."
        elif surplus := there - labels:
            yield pk, f"Lists and searches find it by what it is not: its words have {', '.join(sorted(surplus))}."
        else:
            sought[row["search__id"]] = pk, labels
    lost, strayed = SearchText.objects.astray({number: labels for number, (_, labels) in sought.items()}, KNOWN)
    yield from ((sought[number][0], "Lists and searches do not find it: the index has lost it.") for number in lost)
    text = "Lists and searches find it by what it is not: so says the index beside its words."
    yield from ((sought[number][0], text) for number in strayed)


def _contradiction_of_key(row: dict[str, Any]) -> str:
    """An account that is deleted takes its keys along, and a redaction the digest; older judgements have none."""
    there = row["request_key__key"] is not None
    if row["redacted"] or not row["run__account"]:
        return ""
    if not there:
        return "The idempotency key that it came with is gone." if row["request"] and row["run__owner"] else ""
    if row["request_key__owner"] != row["run__owner"]:
        return "Its idempotency key belongs to another account."
    if row["request"] != digest_of(row["request_key__key"], row["request_key__request_hash"]):
        return "Its idempotency key is not the one that it came with."
    return ""


def _labels_of_owner(row: dict[str, Any]) -> Iterator[str]:
    """Whose it is in lists; where its account is gone it may still be told, and where names are erased it is not."""
    if row["run__account"] == NOBODY:
        yield label("by", None)
    elif row["run__account"] or row["run__owner"]:
        yield label("by", row["run__account"] or row["run__owner"])
    else:  # of before accounts were kept, or its names are erased: nothing else knows whose it was
        there = [word for word in _labels_there(row) if word.startswith(label("by", ""))]
        yield from (word for word in there[:1] if row["run__asked_by"] or word == label("by", None))


def _labels_there(row: dict[str, Any]) -> list[str]:
    return labels_of(row["search__words"] or "")


def _labels(said: Said) -> Iterator[str]:
    """The others that the rows of a judgement make, from what is told of it."""
    [submitted, *_] = said[SUBMITTED]
    models = {agent["seat"]: agent["model"] for agent in submitted.facts["agents"]}
    yield label("rehearsal", any(map(is_rehearsal, models.values())))
    if submitted.facts["council"]:
        yield label("council", submitted.facts["council"]["id"])
    for kind, flag in ((REDACTED, Flag.REDACTED), ("note", Flag.NOTED), ("override", Flag.OVERRIDDEN)):
        if said.get(kind):
            yield label("flag", flag)
    for ended in said[ENDED]:
        if ended.facts["verdict"]:
            yield label("verdict", ended.facts["verdict"])
            yield from (label("flag", flag) for flag in _flags(said, models))


def _flags(said: Said, models: Mapping[str, str]) -> Iterator[Flag]:
    made = [(draft.facts["decision"], draft.facts["model"]) for draft in said[ATTEMPT] if draft.facts["decision"]]
    histories: dict[str, dict[int, Decision]] = {seat: {} for seat in models}
    for decision, _ in made:
        histories[decision["seat"]][decision["round"]] = Decision(decision["decision"])
    return remarkable(histories, fallback=any(model != models[decision["seat"]] for decision, model in made))


# ---- what cannot be ---------------------------------------------------------------------------------------


def doubt(entries: Sequence[dict[str, Any]]) -> str:
    """What the entries of one judgement say that cannot be by its rule, in a sentence; empty where nothing does."""
    histories: dict[str, dict[int, Decision]] = {seat: {} for seat in rules.SEATS}
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
        histories[made["seat"]][made["round"]] = Decision(made["decision"])
    ends = [entry["facts"] for entry in entries if entry["kind"] == ENDED]
    return _doubt_end(ends[-1], histories) if ends else ""


def _doubt_prompts(entries: Sequence[dict[str, Any]]) -> Iterator[str]:
    """What models were asked for their decisions, against what was submitted, as far as neither is erased."""
    asked = entries[0]
    content = asked["texts"].get("content")
    if not content or asked["facts"].get("prompt_version") != prompts.VERSION:
        return
    criteria = {agent["seat"]: agent["criteria"] for agent in asked["facts"]["agents"]}
    made = [
        (one["round"], one["seat"], Decision(one["decision"]), entry["texts"].get("reason", ""))
        for entry in entries
        if (one := entry["facts"].get("decision"))
    ]
    problems: dict[str, str] = defaultdict(str)  # of the last answer of each step that could not be used
    for entry in entries:
        one, prompt, step = entry["facts"].get("decision"), entry["texts"].get("prompt"), entry["facts"].get("step", "")
        if entry["facts"].get("error_code") == UnusableAnswer.code:
            problems[step] = entry["texts"].get("error", "")
        elif one and prompt:
            earlier = (prompts.Earlier(*decided) for decided in sorted(made) if decided[0] < one["round"])
            follows = criteria.get(one["seat"], "")
            case = prompts.Case(one["seat"], follows, content, one["round"], tuple(earlier))
            yield _doubt_prompt(prompt, case, problems[step])


def _doubt_prompt(prompt: str, due: prompts.Case, problem: str) -> str:
    place = f"{due.seat}{due.round}"
    try:
        case = prompts.read_case(json.loads(prompt))
        written = prompts.is_written(prompt, case, problem)
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
