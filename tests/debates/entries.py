"""A debate that was held on paper, as the entries that its rows would tell."""

import json
from hashlib import sha256
from typing import Any

from debates.entries.reconstruction import FIRST, MESSAGE, NOTE, SKIPPED, SPOKEN, STEERED, TURN
from debates.prompts import facts_in
from debates.rules.outcome import outcome_of
from debates.rules.state import (
    ABSTAIN,
    DebateState,
    MemberStatus,
    MessageState,
    StatementKind,
    SteeringKind,
    SteeringState,
    TurnState,
)
from debates.rules.turn_taking import EndDebate
from tests.debates.plays import DebatePlay

Entry = dict[str, Any]


def entries_of(play: DebatePlay, until: str | None = None, spend: bool = True) -> list[Entry]:
    """From what was asked to its end, if it has one."""
    course = play.course
    persons = {seat.seat for seat in course.seats if seat.person}
    ended = [_ended(play)] if play.steps and isinstance(play.end, EndDebate) else []
    return [
        _submitted(course, until),
        *(_attempt(f"first-{first.seat}") for first in course.firsts),
        *(_first(first.seat, first.verdict) for first in course.firsts),
        *(_attempt(f"turn-{turn.number}") for turn in course.turns if _answered(turn, persons)),
        *(_spoken(turn) for turn in course.turns if turn.state == MemberStatus.SPOKEN and turn.seat in persons),
        *map(_turn, course.turns),
        *(_message(message, play, persons) for message in course.messages),
        *({"kind": SKIPPED, "facts": {"turn": turn.number}, "texts": {}} for turn in _skipped(course)),
        *map(_steer, course.steers),
        *ended,
    ]


def _submitted(course: DebateState, until: str | None) -> Entry:
    settings = course.settings
    members = [
        {
            "seat": one.seat,
            "kind": one.kind,
            "name": one.name,
            "model": f"m/{one.seat}" if one.seat else "",
            "person": "",
        }
        for one in course.seats
    ]
    for one, seat in zip(members, course.seats, strict=True):
        if seat.person:
            one |= {"model": "", "person": f"user-{seat.seat}"}
    facts = {
        "options": [
            {"number": number, "word": word, "direction": "for"} for number, word in enumerate(settings.options, 1)
        ],
        "members": members,
        "seed_sha256": sha256(settings.seed).hexdigest(),
        "until": until,
        "prompt_version": "none of ours",
        **{
            name: getattr(settings, name)
            for name in ("rule", "most", "reply", "call", "challenge", "first", "free_floor")
        },
    }
    return {"kind": "submitted", "facts": facts, "texts": {}}


def _attempt(step: str) -> Entry:
    facts = {"step": step, "series": 0, "attempt": 1, "status": "answered"}
    return {"kind": "attempt", "facts": facts, "texts": {}}


def _answered(turn: TurnState, persons: set[int]) -> bool:
    return turn.state == MemberStatus.SPOKEN and turn.seat not in persons


def _spoken(turn: TurnState) -> Entry:
    facts = {"step": f"turn-{turn.number}", "number": 1, "said": "answer", "by": "somebody", "choice": "speak"}
    return {"kind": "decided", "facts": facts, "texts": {}}


def _stated(verdict: str) -> dict[str, Any]:
    return {"verdict": None if verdict in ("", ABSTAIN) else verdict, "abstained": verdict == ABSTAIN}


def _first(seat: int, verdict: str) -> Entry:
    facts = {"seat": seat, **_stated(verdict), "confidence": 70, "missing": "", "attempt": [f"first-{seat}", 0, 1]}
    return {"kind": FIRST, "facts": facts, "texts": {}}


def _turn(turn: TurnState) -> Entry:
    names = ("number", "seat", "why", "after", "series", "steer", "asked_by", "ticket")
    facts = {name: getattr(turn, name) for name in names}
    return {"kind": TURN, "facts": facts | {"weights": [list(one) for one in turn.weights]}, "texts": {}}


def _message(message: MessageState, play: DebatePlay, persons: set[int]) -> Entry:
    facts: dict[str, Any] = {"number": message.number, "clock": message.clock}
    if message.sort == StatementKind.NOTE:
        facts |= {"note": message.note, "after": message.after, "claim": message.claim}
        facts["facts"] = json.loads(json.dumps((play.facts.get(message.number) or facts_in(play.course)).told))
        return {"kind": NOTE, "facts": facts, "texts": {}}
    facts |= {"by": "chair", "speaking_to": list(message.to), "expects_answer": message.wants_answer}
    if message.sort == StatementKind.CHAIR:
        return {"kind": SPOKEN, "facts": facts | {"names_option": False}, "texts": {}}
    facts["by"] = f"user-{message.seat}" if message.sort == StatementKind.LEAVING else "chair"
    facts |= {
        **{name: getattr(message, name) for name in ("turn", "seat", "continues", "withdrawn")},
        **_stated(message.verdict),
        "kind": message.sort,
        "heard": message.number - 1,
        "cut": False,
        "moved_by": list(message.moved_by),
        "attempts": [] if message.seat in persons else [[f"turn-{message.turn}", 0, 1]],
        "points": [],
    }
    return {"kind": MESSAGE, "facts": facts, "texts": {}}


def _skipped(course: DebateState) -> list[TurnState]:
    return [turn for turn in course.turns if turn.state == MemberStatus.SKIPPED]


def _steer(steer: SteeringState) -> Entry:
    facts = {name: getattr(steer, name) for name in ("number", "act", "seat", "amount", "after")}
    by = f"user-{steer.seat}" if steer.act == SteeringKind.WITHDRAW else "chair"
    return {"kind": STEERED, "facts": facts | {"by": by, **_stated(steer.verdict)}, "texts": {}}


def _ended(play: DebatePlay) -> Entry:
    course = play.course
    verdicts = [course.verdict_of.get(one.seat, "") for one in course.voters]
    outcome = outcome_of(course.settings.rule, course.settings.options, verdicts)
    facts = {
        "status": "finished",
        "retries": 0,
        "because": play.end.because,  # type: ignore[union-attr]
        "outcome": outcome.word,
        "no_decision": outcome.code,
        "tally": [[option, count] for option, count in outcome.tally.items()],
        "abstained": outcome.abstained,
        "missing": outcome.missing,
        "base": outcome.base,
        "silent": sorted(course.silent),
        "messages": len(course.messages),
        "turns": len(course.turns),
        "changes": len(course.changes),
        "seed": course.settings.seed.hex(),
        "seed_random": "",
    }
    return {"kind": "ended", "facts": facts, "texts": {}}
