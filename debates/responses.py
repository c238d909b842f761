"""API responses of debates, in addition to those of every run."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from engine.llm.pricing import to_decimal
from engine.models import Document
from runs.api.saved import part
from runs.forking import origin_facts
from runs.run_object import isoformat

from . import prompts
from .estimate import DebateEstimate, estimate
from .models import SWITCHES, Debate, DebateMember, DebateMessage, FirstVerdict, PanelVersion, SteeringAction
from .models.visibility import hides_first_verdicts, seed_digest, visible_seed
from .prompt_context import EVERYONE, NoteFacts
from .rules import state as rules
from .rules.outcome import outcome_of
from .xml_messages import number_of


def debate_fields(row: Debate) -> dict[str, Any]:
    course = row.state()
    come_to = row.result(course)
    return {
        "question": row.question,
        "forked": origin_facts(row.run),
        "stage": _stage(row, course),
        "rule": row.rule,
        "most": course.most,
        "until": isoformat(row.until),
        "reply_within": row.reply_within,
        "view": row.view,
        "switches": {name: getattr(row, name) for name in SWITCHES},
        "timekeeper": row.at_seat(0).model or None,
        "rehearsal": row.rehearsal,
        "clock": {"said": course.clock, "most": course.most, "to_deadline": course.messages_left},
        "floor": _floor(row, course),
        "options": [
            {"number": one.number, "word": one.word, "meaning": one.meaning, "direction": one.direction}
            for one in row.options.all()
        ],
        "members": [_member(one, course) for one in row.members_by_seat],
        "panel": _panel(row),
        "documents": [_document(one) for one in row.run.documents.all()],
        "messages": message_objects(row, course),
        "acts": [_act(one, row) for one in row.steers.all()],
        "tally": dict(come_to.tally),
        "no_decision": row.no_decision or None,
        "because": row.ended_because or None,
        "because_of_absence": _absent(row, course),
        "first": _first(row, course),
        "changes": [_change(one) for one in course.changes],
        "estimate": _estimate(row),
        "seed": visible_seed(row) or None,
        "seed_word": row.seed_word if visible_seed(row) else None,
        "seed_sha256": seed_digest(row),
    }


def message_objects(row: Debate, course: rules.DebateState | None = None, after: int = 0) -> list[dict[str, Any]]:
    """Return the messages with a number above `after`, in order. A last word is withheld until those before it were
    given or skipped, so that a client that polls for new ones misses none."""
    course = course or row.state()
    names = {seat.seat: seat.name for seat in course.seats}
    untold = _untold(row, course)
    seats = {member.pk: member.seat for member in row.members.all()}
    repeated = row.repeated
    return [
        {**_message(row, one, seats, names), "repeats": repeated.get(one.number)}
        for one in row.messages.all()
        if one.number > after and one.number not in untold
    ]


def _untold(row: Debate, course: rules.DebateState) -> set[int]:
    """Return the numbers of last words that came before a pending one with a lower turn."""
    awaited = [
        turn.number for turn in course.closings if turn.state == rules.MemberStatus.OPEN and not row.run.is_ended
    ]
    first = min(awaited, default=None)
    closings = (one for one in course.messages if one.sort == rules.StatementKind.CLOSING)
    return {one.number for one in closings if first is not None and (one.turn or 0) > first}


def _stage(row: Debate, course: rules.DebateState) -> str | None:
    if row.run.is_ended:
        return None
    if row.ended_because:
        return "closing"
    return "open" if course.messages or not row.first else "first"


def _floor(row: Debate, course: rules.DebateState) -> dict[str, Any] | None:
    turn = course.open_turn
    return {"member": turn.seat, "why": turn.why} if turn and not row.run.is_ended else None


def _panel(row: Debate) -> dict[str, Any] | None:
    """Return the panel that the debate is by, with its name at that time."""
    version = row.panel_version
    return {"id": version.panel_id, "name": version.name, "version": version.number} if version else None


def panel_object(version: PanelVersion) -> dict[str, Any]:
    held = version.held()
    members = [{"seat": seat, **one} for seat, one in enumerate(held.pop("members"), 1)]
    return {"id": version.panel_id, "name": version.name, "version": version.number, "members": members, **held}


def panel_in_short(version: PanelVersion) -> dict[str, Any]:
    found = panel_object(version)
    members = [part(one, "seat", "name", "person") for one in found["members"]]
    options = [part(one, "word") for one in found["options"]]
    return {**part(found, "id", "name", "version", "rule"), "members": members, "options": options}


def _document(one: Document) -> dict[str, Any]:
    return {"id": one.label, "title": one.title, "kind": one.kind, "lines": len(one.lines), "sha256": one.digest}


def _member(member: DebateMember, course: rules.DebateState) -> dict[str, Any]:
    stands_by = course.verdict_of.get(member.seat, "")
    stated = _last_stated(member, course)
    return {
        "seat": member.seat,
        "kind": member.kind,
        "name": member.name,
        "who": member.who,
        "model": member.model or None,
        "fallback": member.fallback or None,
        "user": member.user_name or None,
        "stands_by": stands_by if stands_by in course.settings.options else None,
        "abstained": stands_by == rules.ABSTAIN,
        "reasoning": stated[1],
        "since": stated[0],
        "withdrawn": member.seat in course.withdrawn,
        "silent": member.seat in course.silent,
        "messages": course.counts.get(member.seat, 0),
    }


def _last_stated(member: DebateMember, course: rules.DebateState) -> tuple[int | None, str]:
    """Return the message since which a member supports its verdict, and its newest reason."""
    since, stood, reasons = None, "", []
    words = {one.number: one.reasoning for one in member.debate.messages.all() if one.member_id == member.pk}
    for one in course.statements:
        if one.seat == member.seat:
            since = since if one.verdict == stood else one.number
            stood = one.verdict
            reasons.append(words.get(one.number, ""))
    left = [
        one
        for one in member.debate.steers.all()
        if one.act == rules.SteeringKind.WITHDRAW and one.member_id == member.pk
    ]
    return since, next(filter(None, [*(one.reasoning for one in left), *reversed(reasons)]), "")


def _message(row: Debate, one: DebateMessage, seats: Mapping[int, int], names: Mapping[int, str]) -> dict[str, Any]:
    stated = one.said_in(row)
    return {
        "number": one.number,
        "id": f"{str(row.pk)[:8]}-{one.number}",
        "at": isoformat(one.made),
        "kind": one.kind,
        "seat": _seat(one, seats),
        "name": _name(one, seats, names),
        "speaking_to": _addressees(one, names),
        "expects_answer": one.expects_answer,
        "content": _content(one, names),
        "points": [_point(one.number, place, point) for place, point in enumerate(one.points.all(), 1)],
        "artifact": json.loads(one.artifact) if one.artifact else None,
        "verdict": stated if stated and not one.abstained else None,
        "abstained": one.abstained,
        "verdict_reasoning": one.reasoning,
        "moved_by": one.moved_by,
        "withdrawn": one.withdrawn,
        "continues": one.continues,
        "clock": one.clock,
        "heard": one.heard,
        "cut": one.cut,
    }


def _act(one: SteeringAction, row: Debate) -> dict[str, Any]:
    stated = one.said_in(row)
    return {
        "number": one.number,
        "at": isoformat(one.made),
        "kind": one.act,
        "by": one.by_name,
        "seat": next((member.seat for member in row.seated if member.pk == one.member_id), None),
        "amount": one.amount or None,
        "after": one.after,
        "verdict": stated if stated and not one.abstained else None,
        "abstained": one.abstained,
        "verdict_reasoning": one.reasoning,
    }


def _seat(one: DebateMessage, seats: Mapping[int, int]) -> int | None:
    if one.kind == rules.StatementKind.NOTE:
        return 0
    return seats.get(one.member_id or 0)


def _name(one: DebateMessage, seats: Mapping[int, int], names: Mapping[int, str]) -> str:
    if one.kind == rules.StatementKind.CHAIR:
        return one.by_name
    return names.get(_seat(one, seats) or 0, "")


def _addressees(one: DebateMessage, names: Mapping[int, str]) -> list[str]:
    return [names.get(seat, "") for seat in one.speaking_to] or [EVERYONE]


def _content(one: DebateMessage, names: Mapping[int, str]) -> str:
    """Return the text; of a note the stated facts and a model's wording of them."""
    if one.kind != rules.StatementKind.NOTE or not one.facts:
        return one.content
    whole: dict[str, Any] = {n: tuple(v) if isinstance(v, list) else v for n, v in one.facts.items()}
    return f"{prompts.note_sentences(one.note, NoteFacts(**whole), names)} {one.content}".strip()


def _point(message: int, place: int, point: Any) -> dict[str, Any]:
    return {
        "number": number_of(message, place),
        "claim": point.claim,
        "option": point.option or None,
        "side": point.side,
        "document": point.document or None,
        "line": point.line,
        "answers": point.answers or None,
    }


def _absent(row: Debate, course: rules.DebateState) -> list[str]:
    """Return sentences about the members that are silent or gave no verdict."""
    names = {member.seat: member.name for member in row.seated}
    silent = [f"{name} is silent." for seat, name in names.items() if seat in course.silent]
    if not row.run.is_ended:
        return silent
    none = [f"{name} gave no verdict." for seat, name in names.items() if seat not in course.verdict_of]
    return [*silent, *none]


def _change(change: rules.VerdictChange) -> dict[str, Any]:
    return {
        "message": change.number,
        "seat": change.seat,
        "from": change.before,
        "to": change.verdict,
        "moved_by": list(change.moved_by),
    }


def first_verdicts(row: Debate) -> list[tuple[DebateMember, FirstVerdict]]:
    """Return the first verdicts that are public: with a person on a seat, none before the end."""
    if hides_first_verdicts(row):
        return []
    return [(one, one.first) for one in row.seated if hasattr(one, "first")]


def _first(row: Debate, course: rules.DebateState) -> dict[str, Any] | None:
    """Return the first verdicts and the outcome that they would have had; None while they are hidden."""
    known = first_verdicts(row)
    if not known:
        return None
    stated = {member.seat: first.stated for member, first in known}
    alone = outcome_of(row.rule, course.settings.options, [stated.get(one.seat, "") for one in course.voters])
    return {"outcome": alone.word if row.run.is_ended else None, "verdicts": [_alone(*one) for one in known]}


def _alone(member: DebateMember, first: FirstVerdict) -> dict[str, Any]:
    return {
        "seat": member.seat,
        "verdict": first.verdict.word if first.verdict else None,
        "abstained": first.abstained,
        "confidence": first.confidence,
        "reasoning": first.reasoning,
        "missing": first.missing or None,
    }


def estimated(row: Debate) -> DebateEstimate:
    asked: Sequence[dict[str, str]] = [{"model": one.model, "fallback": one.fallback} for one in row.seated]
    return estimate(row.read, asked, row.at_seat(0).model, row.most)


def _estimate(row: Debate) -> dict[str, Any]:
    known = estimated(row)
    dollars = {"dollars": to_decimal(known.cost), "likely_dollars": to_decimal(known.likely)}
    return {"calls": known.calls, **dollars, "minutes": list(known.minutes)}
