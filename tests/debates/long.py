"""A debate of nine that is 200 messages long, as rows that are written at once: to play it takes a minute."""

from datetime import timedelta
from typing import Any

from debates.models import DebateMessage, DebateOption, DebateTurn, MessagePoint
from debates.prompts import facts_in
from debates.rules import state as rules
from debates.rules.state import MemberStatus, NoteKind, StatementKind, TurnReason
from engine.models import ModelCall
from tests.debates.table import BEGINNING, Table

CONTENT = "The letter says more than the list of papers does, and nobody has answered what was asked about it. " * 2


def long_debate(owner: Any, members: int = 9, messages: int = 199) -> Table:
    """At work, and the next member is speaking."""
    table = Table(owner, members, most=200)
    for seat in range(1, members + 1):
        table.alone(seat, "HIRE")
    facts = facts_in(table.course).told
    seats = {one.seat: one for one in table.debate.members.all()}
    options = list(DebateOption.objects.filter(debate=table.pk).order_by("number"))
    said = [(clock, seats[1 + clock * 5 % members]) for clock in range(1, messages + 1)]
    moments = {clock: BEGINNING + timedelta(seconds=200 + 10 * clock) for clock, _ in said}
    turns = DebateTurn.objects.bulk_create(
        DebateTurn(
            debate=table.debate, number=n, member=who, why=TurnReason.CALL, state=MemberStatus.SPOKEN, made=moments[n]
        )
        for n, who in said
    )
    rows, number = [], 0
    for (clock, who), turn in zip(said, turns, strict=True):
        for after in [clock - 1] if (clock - 1) % rules.REMINDER_EVERY == 0 else []:
            kind = NoteKind.OPENING if not after else NoteKind.REMINDER if after % rules.SPAN else NoteKind.DEADLINE
            number += 1
            made = moments[clock] - timedelta(seconds=2)
            note = {"kind": StatementKind.NOTE, "note": kind, "after": after, "facts": facts, "claim": 1, "made": made}
            rows.append(DebateMessage(debate=table.debate, number=number, **note))
        number += 1
        told: dict[str, Any] = {"kind": StatementKind.SAID, "turn": turn, "member": who, "heard": number - 1}
        if clock % 16 < 2 or clock <= members:
            told |= {"verdict": options[clock % len(options)], "reasoning": "It was said well."}
        told |= {
            "made": moments[clock],
            "speaking_to": [1 + (clock * 5 + 1) % members],
            "content": f"{CONTENT}{clock}.",
        }
        rows.append(DebateMessage(debate=table.debate, number=number, clock=clock, **told))
    kept = DebateMessage.objects.bulk_create(rows)
    MessagePoint.objects.bulk_create(
        MessagePoint(message=one, number=1, claim=f"Claim {one.number} of the file", option=options[0].word, side="for")
        for one in kept
        if one.kind == StatementKind.SAID
    )
    asked = {"model": "openai/a", "prompt": "[]", "status": "answered", "cost": 2_400_000, "attempt": 1}
    ModelCall.objects.bulk_create(
        ModelCall(run_id=table.pk, step=turn.step, started=turn.made, ended=turn.made, deadline=turn.made, **asked)
        for turn in turns
    )
    table.speaks(1 + (messages + 1) * 5 % members, why=TurnReason.CALL)
    return table
