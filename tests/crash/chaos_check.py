"""Reads every row of a database after a rough time, and the endpoint's ledger beside it, and judges both.

lost     what was promised or answered is not there
doubled  what may be there once is there twice
wrong    rows contradict each other, the rule, or what the endpoint sent
stray    a model call was interrupted although nothing happened to its worker

The rule of a verdict stands here a second time, on purpose in other words than in the product.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from engine.llm.response_format import RequestMode, messages_for_mode
from engine.models import ModelCall
from judgements import prompts
from judgements.models import Judgement, RoundDecision
from tests.endpoint.wire import fingerprint

# the endpoint must be scripted to answer so: it ties a row to the request that brought it
REASON = "Answer {number}: the criteria and the content leave no other choice."
NUMBERED = re.compile(r"Answer (\d+):")
SAVED = "IntegrityError"  # in a worker's log: only a constraint of the database has kept a row out
STEPS = [f"{seat}{number}" for number in (1, 2, 3) for seat in "ABC"]
KINDS = ("lost", "doubled", "wrong", "stray")
MOST_ATTEMPTS = 4
MOST_AT_ONCE = 3  # calls in flight of one run: one for each agent

Row = dict[str, Any]


class ChaosFinding(NamedTuple):
    kind: str
    sentence: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.sentence}"


@dataclass
class Blow:
    """Something was done to a worker, or to all of them, from `at` to `until`. `calls` were in flight under it."""

    kind: str
    at: float
    until: float = 0.0
    calls: list[tuple[int, str]] = field(default_factory=list)  # of the worker: key of the call, key of its run
    all_of_them: bool = False  # every call that was in flight at the time may have suffered

    def explains(self, call: Row) -> bool:
        overlaps = call["started"].timestamp() <= self.until and call["ended"].timestamp() >= self.at
        return any(pk == call["pk"] for pk, _ in self.calls) or (self.all_of_them and overlaps)


@dataclass
class ChaosReport:
    counts: dict[str, int]
    findings: list[ChaosFinding]
    notes: list[str] = field(default_factory=list)

    @property
    def good(self) -> bool:
        return not self.findings

    def __str__(self) -> str:
        wide = max(map(len, self.counts))
        table = [f"{name:<{wide}}  {number:>9,}" for name, number in self.counts.items()]
        return "\n".join([*table, *self.notes[:40], *map(str, self.findings[:40])])


@dataclass
class Record:
    """One judgement with all that belongs to it."""

    run: Row
    decisions: list[Row] = field(default_factory=list)
    calls: list[Row] = field(default_factory=list)

    def __str__(self) -> str:
        return f"judgement {self.run['pk']}"


def check(
    ledger: Path, submitted: Iterable[str] = (), blows: Iterable[Blow] = (), using: str = "default"
) -> ChaosReport:
    requests, records, blows = read_ledger(ledger), read_rows(using), list(blows)
    findings = [ChaosFinding("lost", f"judgement {pk} is not there") for pk in submitted if pk not in records]
    for record in records.values():
        findings += judge(record, requests)
    findings += requests_without_row(requests, records.values())
    findings += stray(records.values(), blows)
    findings += too_many_at_once(blows)
    notes = [note(record) for record in records.values() if given_up(record)]
    return ChaosReport(count(requests, records.values(), findings, blows), findings, notes)


# ---- reading ---------------------------------------------------------------------------------------------------


def read_ledger(path: Path) -> dict[int, Row]:
    return {line["number"]: line for line in map(json.loads, path.read_text().splitlines())}


def read_rows(using: str) -> dict[str, Record]:
    runs = Judgement.objects.using(using).values(
        *("run__outcome", "run__status", "run__error", "run__ended", "run__claims", "run__deaths", "run_id")
    )
    records = {str(row["run_id"]): Record(unprefixed(row)) for row in runs}
    decisions = RoundDecision.objects.using(using).values(
        *("decision", "reason", "created", "round", "agent__seat", "agent__judgement_id", "call_id")
    )
    for row in decisions.iterator():
        records[str(row["agent__judgement_id"])].decisions.append(row)
    calls = ModelCall.objects.using(using).values(
        *("pk", "run_id", "step", "series", "attempt", "status", "answer", "error_code", "started", "ended", "prompt")
    )
    for row in calls.order_by("pk").iterator(chunk_size=500):
        records[str(row["run_id"])].calls.append(condensed(row))
    return records


def unprefixed(row: Row) -> Row:
    return {"pk": str(row.pop("run_id"))} | {name.removeprefix("run__"): value for name, value in row.items()}


def condensed(call: Row) -> Row:
    """Prompts are most of a database: only what is compared stays of one."""
    messages = json.loads(call.pop("prompt"))
    case = prompts.read_case(messages[:2])
    shown = {(earlier.seat, earlier.round, str(earlier.decision), earlier.reason) for earlier in case.earlier}
    return call | {
        "asked": fingerprint(messages_for_mode(messages, RequestMode())),
        "shown": shown,
        "for": f"{case.seat}{case.round}",
    }


# ---- one judgement ---------------------------------------------------------------------------------------------


def judge(record: Record, requests: dict[int, Row]) -> Iterator[ChaosFinding]:
    yield from judge_end(record)
    yield from judge_decisions(record)
    for step in sorted({call["step"] for call in record.calls}):
        yield from judge_attempts(record, step, [call for call in record.calls if call["step"] == step])
    calls = {call["pk"]: call for call in record.calls}
    kept = {decision["call_id"] for decision in record.decisions}
    for call in record.calls:
        yield from judge_call(record, call, call["pk"] in kept)
    for decision in record.decisions:
        yield from judge_origin(record, decision, calls.get(decision["call_id"]), requests)


def judge_end(record: Record) -> Iterator[ChaosFinding]:
    run = record.run
    match run["status"]:
        case "finished":
            missing = sorted(set(STEPS) - {step_of(decision) for decision in record.decisions})
            if missing:
                yield ChaosFinding("lost", f"{record} is finished without {', '.join(missing)}")
            elif run["outcome"] != verdict(record.decisions):
                yield ChaosFinding("wrong", f"{record} is {run['outcome']}, by the rule {verdict(record.decisions)}")
        case "failed":
            yield from judge_failure(record)
        case "running":
            yield ChaosFinding("wrong", f"{record} is still running")
        case status:
            yield ChaosFinding("lost", f"{record} has not ended: {status}")
    if (run["status"] in ("finished", "failed")) != (run["ended"] is not None):
        yield ChaosFinding("wrong", f"{record} is {run['status']} and its end is {run['ended']}")
    if run["status"] != "finished" and run["outcome"]:
        yield ChaosFinding("wrong", f"{record} is {run['status']} and yet {run['outcome']}")


def verdict(decisions: list[Row]) -> str:
    """An agent approves if it approved in round 3, or in both rounds before; two of three approve the whole."""
    approved = {step_of(decision) for decision in decisions if decision["decision"] == "approve"}
    agents = [f"{seat}3" in approved or {f"{seat}1", f"{seat}2"} <= approved for seat in "ABC"]
    return "approved" if sum(agents) >= 2 else "rejected"


def step_of(decision: Row) -> str:
    return f"{decision['agent__seat']}{decision['round']}"


def judge_failure(record: Record) -> Iterator[ChaosFinding]:
    """A judgement may fail when an agent got no usable answer, and when its worker died again and again."""
    error = record.run["error"] or {}
    if given_up(record):
        return
    step = f"{error.get('agent')}{error.get('round')}"
    last = [call for call in record.calls if call["step"] == step and call["status"] == "failed"]
    if not last or last[-1]["error_code"] != error.get("code") or len(last) % MOST_ATTEMPTS:
        yield ChaosFinding("wrong", f"{record} failed with {error}, which its calls do not say")


def given_up(record: Record) -> bool:
    error = record.run["error"] or {}
    return error.get("code") == "internal" and "five times" in error.get("message", "")


def note(record: Record) -> str:
    run, calls = record.run, [f"{call['step']} {call['status']}" for call in record.calls[-4:]]
    return f"given up: {record}, claimed {run['claims']} times, {len(record.decisions)} decisions; {', '.join(calls)}"


def judge_decisions(record: Record) -> Iterator[ChaosFinding]:
    for step, number in Counter(map(step_of, record.decisions)).items():
        if number > 1:
            yield ChaosFinding("doubled", f"{record} has {number} decisions {step}")
    for number in (2, 3):
        begun = [call["started"] for call in record.calls if call["step"][1:] == str(number)]
        decided = [decision["created"] for decision in record.decisions if decision["round"] == number - 1]
        if begun and (len(decided) < len("ABC") or min(begun) < max(decided)):
            yield ChaosFinding("wrong", f"{record} began round {number} before round {number - 1} had ended")


def judge_attempts(record: Record, step: str, calls: list[Row]) -> Iterator[ChaosFinding]:
    answered = sum(call["status"] == "answered" for call in calls)
    if answered > 1:
        yield ChaosFinding("doubled", f"{record} has {answered} answered calls for {step}")
    for series in {call["series"] for call in calls}:
        # one that was cut short is made again under the same number
        made = [call for call in calls if call["series"] == series and call["status"] != "interrupted"]
        numbers = [call["attempt"] for call in made]
        if numbers != list(range(1, len(made) + 1)) or len(made) > MOST_ATTEMPTS:
            yield ChaosFinding("wrong", f"{record} has the attempts {numbers} for {step}")


def judge_call(record: Record, call: Row, kept: bool) -> Iterator[ChaosFinding]:
    if call["status"] == "open":
        yield ChaosFinding("wrong", f"{record} has an open call {call['pk']} for {call['step']}")
    if call["status"] == "answered" and not kept:
        yield ChaosFinding("lost", f"{record} has the answer of {call['step']} in call {call['pk']}, but no decision")
    if (call["ended"] is None) != (call["status"] == "open"):
        yield ChaosFinding(
            "wrong", f"{record} has a call {call['pk']} that is {call['status']} and ended {call['ended']}"
        )
    if call["for"] != call["step"]:
        yield ChaosFinding(
            "wrong", f"{record} asked in call {call['pk']} for {call['for']}, in the name of {call['step']}"
        )
    before = {
        (decision["agent__seat"], decision["round"], decision["decision"], decision["reason"])
        for decision in record.decisions
        if decision["round"] < int(call["step"][1:])
    }
    if call["shown"] != before:
        yield ChaosFinding("wrong", f"{record} showed in call {call['pk']} other decisions than it keeps")


def judge_origin(record: Record, decision: Row, call: Row | None, requests: dict[int, Row]) -> Iterator[ChaosFinding]:
    """From the decision to its call, from there to the request at the endpoint, and what that was answered."""
    name = f"{record}, {step_of(decision)}"
    if call is None or (call["step"], call["status"]) != (step_of(decision), "answered"):
        yield ChaosFinding("wrong", f"{name}: its call {decision['call_id']} is not an answered one for this step")
        return
    number = NUMBERED.match(decision["reason"])
    request = requests.get(int(number[1])) if number else None
    if request is None:
        yield ChaosFinding("wrong", f"{name}: the endpoint never sent the reason “{decision['reason'][:80]}”")
        return
    if (decision["decision"], decision["reason"], "good") != sent(request):
        yield ChaosFinding("wrong", f"{name}: kept other words than the endpoint sent for request {request['number']}")
    if call["answer"] != json.dumps({"decision": decision["decision"], "reason": decision["reason"]}):
        yield ChaosFinding("wrong", f"{name}: its call {call['pk']} holds another answer")
    if call["asked"] != request["asked"]:
        yield ChaosFinding("wrong", f"{name}: request {request['number']} asked something else than call {call['pk']}")


def sent(request: Row) -> tuple[str, str, str]:
    return request["decision"], request["reason"], request["behaviour"]


# ---- all of them -----------------------------------------------------------------------------------------------


def requests_without_row(requests: dict[int, Row], records: Iterable[Record]) -> Iterator[ChaosFinding]:
    """A call is a row before it is a request, so there are never more requests than rows."""
    rows = Counter(call["asked"] for record in records for call in record.calls)
    arrived: dict[str, list[int]] = defaultdict(list)
    for request in requests.values():
        arrived[request["asked"]].append(request["number"])
    for asked, numbers in arrived.items():
        if len(numbers) > rows[asked]:
            yield ChaosFinding("wrong", f"requests {numbers} reached the endpoint, but {rows[asked]} calls say so")


def stray(records: Iterable[Record], blows: list[Blow]) -> Iterator[ChaosFinding]:
    for record in records:
        for call in record.calls:
            if call["status"] == "interrupted" and not any(blow.explains(call) for blow in blows):
                yield ChaosFinding(
                    "stray", f"{record}: call {call['pk']} for {call['step']} was interrupted by nothing"
                )


def too_many_at_once(blows: Iterable[Blow]) -> Iterator[ChaosFinding]:
    for blow in blows:
        for run, number in Counter(run for _, run in blow.calls).items():
            if number > MOST_AT_ONCE:
                yield ChaosFinding("wrong", f"judgement {run} had {number} calls in flight at a {blow.kind}")


def count(
    requests: dict[int, Row], records: Iterable[Record], findings: list[ChaosFinding], blows: list[Blow]
) -> dict[str, int]:
    records = list(records)
    ends = Counter("given up" if given_up(record) else record.run["status"] for record in records)
    calls = Counter(call["status"] for record in records for call in record.calls)
    return {
        "judgements": len(records),
        "finished": ends["finished"],
        "failed for want of an answer": ends["failed"],
        "given up after five deaths": ends["given up"],
        "most deaths under one judgement": max((record.run["deaths"] for record in records), default=0),
        "decisions": sum(len(record.decisions) for record in records),
        "model calls": calls.total(),
        "calls failed": calls["failed"],
        "calls interrupted": calls["interrupted"],
        "calls in flight at the blows": len({pk for blow in blows for pk, _ in blow.calls}),
        "requests at the endpoint": len(requests),
        **{kind: sum(finding.kind == kind for finding in findings) for kind in KINDS},
    }
