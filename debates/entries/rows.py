"""What the rows of debates add to the record of their runs: each turn, message, note and act, in the order of its rows.

What is told once never changes, for it may be sealed before the next row is written: so a turn tells that the floor was
given, and what came of it is a message, or an entry of its own where it was skipped.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any
from uuid import UUID

from engine.audit.entries_from_rows import RunEntries, plain_rows, row_key
from engine.ledger.entries import ATTEMPT, ENDED, SUBMITTED
from engine.ledger.hashing import EntryDraft, format_timestamp
from engine.models import Fork, Run

from ..models import (
    Debate,
    DebateMember,
    DebateMessage,
    DebateOption,
    DebateTurn,
    FirstVerdict,
    MessagePoint,
    SteeringAction,
)
from ..rules.outcome import outcome_of
from ..rules.state import MemberStatus, StatementKind
from .reconstruction import FIRST, MESSAGE, NOTE, SKIPPED, SPOKEN, STEERED, TURN, ReconstructedDebate

SWITCH_COLUMNS = ("reply", "call", "challenge", "first", "free_floor")
PANEL_COLUMNS = ("panel_version__panel", "panel_version__name", "panel_version__number")
DEBATE_COLUMNS = (
    *("pk", "question", "earlier", "rule", "most", "until", "reply_within", "view", "seed", "seed_random", "seed_word"),
    *("boundary", "prompt_version", "no_decision", "ended_because", *SWITCH_COLUMNS, "advisory", *PANEL_COLUMNS),
)
PLAIN_COLUMNS = ("rule", "most", "reply_within", "view", "boundary", "prompt_version")
OPTION_COLUMNS = ("debate", "number", "word", "direction", "meaning")
MEMBER_COLUMNS = ("debate", "seat", "kind", "name", "model", "fallback", "user_name", "who")
_STATED = ("verdict__word", "abstained")
FIRST_VERDICT_COLUMNS = (
    "member__debate",
    "member__seat",
    "confidence",
    "missing",
    "call",
    "reasoning",
    "made",
    *_STATED,
)
TURN_COLUMNS = (
    *("debate", "number", "member__seat", "why", "after", "asked_by", "steer", "weights", "ticket", "series", "state"),
    *("reason_skipped", "made", "closed"),
)
MESSAGE_COLUMNS = (
    *("pk", "debate", "number", "clock", "kind", "turn__number", "member__seat", "by_name", "note", "after", "facts"),
    *("speaking_to", "expects_answer", "content", "reasoning", "artifact", "moved_by", "withdrawn", "continues"),
    *("heard", "claim", "cut", "calls", "names_option", "request", "made", *_STATED),
)
POINT_COLUMNS = ("message", "number", "claim", "option", "side", "document", "line", "answers")
STEERING_COLUMNS = (
    *("debate", "number", "by_name", "act", "member__seat", "amount", "after", "text", "reasoning", "request"),
    *("made", *_STATED),
)

Row = dict[str, Any]
Rows = Mapping[UUID, Sequence[Row]]


def build_entries(told: dict[UUID, RunEntries], *, new: bool = False) -> None:
    """Add what the rows of these debates say to the drafts of their runs."""
    of = list(told)
    options = _of_debates(plain_rows(DebateOption.objects.filter(debate__in=of).order_by("number"), *OPTION_COLUMNS))
    members = _of_debates(plain_rows(DebateMember.objects.filter(debate__in=of).order_by("seat"), *MEMBER_COLUMNS))
    debates = list(plain_rows(Debate.objects.filter(pk__in=of), *DEBATE_COLUMNS))
    for debate in debates:
        pk = row_key(debate["pk"])
        _tell_submission(told[pk][SUBMITTED][0], debate, options[pk], members[pk])
    Fork.objects.tell(told)
    if not new:
        _tell_course(told)
        for debate in debates:
            _tell_ends(told[row_key(debate["pk"])], debate)


def _of_debates(rows: Iterable[Row], column: str = "debate") -> Rows:
    found = defaultdict(list)
    for row in rows:
        found[row_key(row[column])].append(row)
    return found


def _tell_submission(draft: EntryDraft, debate: Row, options: Sequence[Row], members: Sequence[Row]) -> None:
    draft.facts |= {name: debate[name] for name in PLAIN_COLUMNS} | {
        name: bool(debate[name]) for name in SWITCH_COLUMNS
    }
    draft.facts |= {"advisory": True} if debate["advisory"] else {}  # older ones knew no such thing
    panel = dict(zip(("id", "name", "version"), (debate[name] for name in PANEL_COLUMNS), strict=True))
    draft.facts |= {
        "panel": panel if panel["version"] else None,
        "earlier": str(row_key(debate["earlier"])) if debate["earlier"] else None,
        "until": format_timestamp(debate["until"]),
        "seed_sha256": sha256(bytes.fromhex(debate["seed"])).hexdigest(),
        "options": [{name: option[name] for name in OPTION_COLUMNS[1:4]} for option in options],
        "members": [
            {**{name: one[name] for name in MEMBER_COLUMNS[1:6]}, "person": one["user_name"]} for one in members
        ],
    }
    draft.texts |= {"question": debate["question"], "word": debate["seed_word"]}
    draft.texts |= {f"meaning of option {option['number']}": option["meaning"] for option in options}
    draft.texts |= {f"who of seat {member['seat']}": member["who"] for member in members}


# ---- what happened ----------------------------------------------------------------------------------------


def _tell_course(told: dict[UUID, RunEntries]) -> None:
    of = list(told)
    for row in plain_rows(FirstVerdict.objects.filter(member__debate__in=of).order_by("pk"), *FIRST_VERDICT_COLUMNS):
        said = told[row_key(row["member__debate"])]
        said[FIRST].append(_first(row, _steps(said)))
    for row in plain_rows(DebateTurn.objects.filter(debate__in=of).order_by("number"), *TURN_COLUMNS):
        told[row_key(row["debate"])][TURN].append(_turn(row))
    for row in plain_rows(
        DebateTurn.objects.filter(debate__in=of, state=MemberStatus.SKIPPED).order_by("closed", "number"), *TURN_COLUMNS
    ):
        told[row_key(row["debate"])][SKIPPED].append(_skipped(row))
    points = _points(of)
    # as they came: last words have their numbers by their seats
    for row in plain_rows(DebateMessage.objects.filter(debate__in=of).order_by("pk"), *MESSAGE_COLUMNS):
        said = told[row_key(row["debate"])]
        said[_KINDS.get(row["kind"], MESSAGE)].append(_message(row, points[row["pk"]], said))
    for row in plain_rows(SteeringAction.objects.filter(debate__in=of).order_by("number"), *STEERING_COLUMNS):
        told[row_key(row["debate"])][STEERED].append(_steered(row))


_KINDS = {StatementKind.NOTE: NOTE, StatementKind.CHAIR: SPOKEN}


def _steps(said: RunEntries) -> Mapping[int | None, list[Any]]:
    """Of each attempt, what names it."""
    return {draft.row: [draft.facts[name] for name in ("step", "series", "attempt")] for draft in said[ATTEMPT]}


def _stated(row: Row) -> dict[str, Any]:
    return {"verdict": row["verdict__word"], "abstained": bool(row["abstained"])}


def _first(row: Row, steps: Mapping[int | None, list[Any]]) -> EntryDraft:
    facts = {
        "seat": row["member__seat"],
        **_stated(row),
        "confidence": row["confidence"],
        "missing": row["missing"],
        "attempt": steps.get(row["call"]) if row["call"] else None,
    }
    return EntryDraft(FIRST, format_timestamp(row["made"]) or "", facts, {"reasoning": row["reasoning"]})


def _turn(row: Row) -> EntryDraft:
    facts = {name: row[name] for name in ("number", "why", "after", "asked_by", "steer", "ticket", "series")}
    facts |= {"seat": row["member__seat"], "weights": _list(row["weights"])}
    return EntryDraft(TURN, format_timestamp(row["made"]) or "", facts)


def _skipped(row: Row) -> EntryDraft:
    return EntryDraft(
        SKIPPED, format_timestamp(row["closed"]) or "", {"turn": row["number"]}, {"reason": row["reason_skipped"]}
    )


def _message(row: Row, points: Sequence[Row], said: RunEntries) -> EntryDraft:
    kind = _KINDS.get(row["kind"], MESSAGE)
    facts = {"number": row["number"], **_FACTS[kind](row)}
    texts = {"content": row["content"], "request": row["request"]}
    if kind == MESSAGE:
        steps = _steps(said)
        facts["attempts"] = [steps.get(call) for call in _list(row["calls"])]
        facts["points"] = [{name: point[name] for name in ("number", *POINT_COLUMNS[3:])} for point in points]
        texts |= {"reasoning": row["reasoning"], "artifact": row["artifact"]}
        texts |= {f"claim {point['number']}": point["claim"] for point in points}
    return EntryDraft(kind, format_timestamp(row["made"]) or "", facts, texts)


def _of_member(row: Row) -> dict[str, Any]:
    return {
        "kind": row["kind"],
        "turn": row["turn__number"],
        "seat": row["member__seat"],
        "by": row["by_name"],
        **{name: row[name] for name in ("clock", "continues", "heard")},
        **{name: bool(row[name]) for name in ("expects_answer", "withdrawn", "cut")},
        **{name: _list(row[name]) for name in ("speaking_to", "moved_by")},
        **_stated(row),
    }


def _of_note(row: Row) -> dict[str, Any]:
    facts = json.loads(row["facts"]) if row["facts"] else None
    return {"note": row["note"], "after": row["after"], "claim": row["claim"], "facts": facts, "clock": row["clock"]}


def _of_chair(row: Row) -> dict[str, Any]:
    return {
        "by": row["by_name"],
        "speaking_to": _list(row["speaking_to"]),
        "expects_answer": bool(row["expects_answer"]),
        "names_option": bool(row["names_option"]),
        "clock": row["clock"],
    }


_FACTS = {MESSAGE: _of_member, NOTE: _of_note, SPOKEN: _of_chair}


def _points(of: Sequence[UUID]) -> Mapping[int, list[Row]]:
    found: Mapping[int, list[Row]] = defaultdict(list)
    for row in plain_rows(
        MessagePoint.objects.filter(message__debate__in=of).order_by("message", "number"), *POINT_COLUMNS
    ):
        found[row["message"]].append(row)
    return found


def _steered(row: Row) -> EntryDraft:
    facts = {name: row[name] for name in ("number", "act", "amount", "after")}
    facts |= {"by": row["by_name"], "seat": row["member__seat"], **_stated(row)}
    texts = {name: row[name] for name in ("text", "reasoning", "request")}
    return EntryDraft(STEERED, format_timestamp(row["made"]) or "", facts, texts)


def _list(value: Any) -> list[Any]:
    found = json.loads(value) if isinstance(value, str) else value
    return found if isinstance(found, list) else [found]


# ---- what came of it --------------------------------------------------------------------------------------


def _tell_ends(said: RunEntries, debate: Row) -> None:
    for ended in said[ENDED]:
        ended.facts |= {"because": debate["ended_because"], "no_decision": debate["no_decision"]}
        ended.facts |= _come_to(said) | dict(_seed(debate, ended.facts["status"]))


def _come_to(said: RunEntries) -> dict[str, Any]:
    """As it stands, whether or not that was its end."""
    retold = ReconstructedDebate(list(entries_in_order(said)))
    course = retold.state()
    verdicts = [course.verdict_of.get(one.seat, "") for one in course.voters]
    outcome = outcome_of(retold.settings.rule, retold.settings.options, verdicts)
    return {
        "tally": [[option, count] for option, count in outcome.tally.items()],  # words may be in any script, keys not
        "abstained": outcome.abstained,
        "missing": outcome.missing,
        "base": outcome.base,
        "silent": sorted(course.silent),
        "messages": len(course.messages),
        "turns": len(course.turns),
        "changes": len(course.changes),
    }


def entries_in_order(said: RunEntries) -> Iterator[Mapping[str, Any]]:
    """Its drafts as entries: each kind in its order, which is all that a debate needs."""
    for drafts in said.values():
        yield from ({"kind": one.kind, "at": one.at, "facts": one.facts, "texts": one.texts} for one in drafts)


def _seed(debate: Row, status: str) -> Iterator[tuple[str, str]]:
    """Once nobody can go on with it: what failed may be tried again, and goes on with the same seed."""
    if status in (Run.Status.FINISHED, Run.Status.CANCELLED):
        yield "seed", debate["seed"]
        yield "seed_random", debate["seed_random"]
