"""The one door to decide at a gate, whoever asks: pages, API, commands.

Why so: docs/decisions.md, Gates.
"""

import json
from collections.abc import Sequence
from typing import Any

from django.contrib.auth.models import Group
from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now

from .hidden import in_one_line
from .llm.providers import storable
from .models import Gate, GateDecision, after_deadlock, record_name
from .models.gates import REJECT, SPOKEN, Decision, GateState, name_of_asked, policy_of, state_of
from .procedure import DoesNotFit, procedures
from .steering import Over, act

__all__ = ["Closed", "DoesNotFit", "NotAsked", "NotDecided", "TooLate", "decide", "may_decide", "policy_of", "state_of"]

SAID = {
    Decision.APPROVE: "approved",
    Decision.REJECT: "rejected",
    Decision.ANSWER: "answered",
}
DECISION_LENGTH = 4_000
NOT_ASKED_ANY_MORE = "Not asked any more."


class NotDecided(Exception):
    """Nothing was decided. The text is a sentence for people; nothing was written."""


class NotAsked(NotDecided):
    """Somebody else is to decide."""


class Closed(NotDecided):
    """Somebody was first, it is asked otherwise by now, or not at all any more."""


class TooLate(NotDecided):
    """Its time was over."""


def may_decide(gate: Gate, user: Any) -> bool:
    """Asked by name, as a member of a group, or else as whose run it is, and with `engine.decide_gate`.

    Where somebody was asked by name whose account is gone, nobody may speak in their place.
    """
    if not user.is_active or (gate.policy["four_eyes"] and user.pk == gate.run.owner_id):
        return False
    if gate.asked_user_id:
        return user.pk == gate.asked_user_id
    if gate.asked_group_id:
        return user.groups.filter(pk=gate.asked_group_id).exists()
    return not gate.asked and (user.pk == gate.run.owner_id or user.has_perm("engine.decide_gate"))


def columns_of(who: Any) -> dict[str, Any]:
    """The columns of a gate that say who is asked: a user, a group, or nobody by name."""
    group = isinstance(who, Group)
    return {"asked_group": who if group else None, "asked_user": None if group else who, "asked": name_of_asked(who)}


@after_deadlock
@transaction.atomic
def decide(
    pk: int,
    user: Any,
    decision: str,
    text: str = "",
    choice: str = "",
    answer: Any = None,
    digest: str = "",
) -> Gate:
    """Say it at this gate; the gate as it is then. It closes when its policy has enough.

    Gate.DoesNotExist, NotAsked, Closed, TooLate, or DoesNotFit with what its procedure or its choices complain of.
    `digest`: of the text that was read, where it is known.
    """
    asked = Gate.objects.whole().get(pk=pk)
    if not may_decide(asked, user):
        raise NotAsked(f"{asked.asked or 'Somebody else'} is asked, not you.")

    def say() -> Gate:
        gate = Gate.objects.whole().get(pk=pk)
        _refuse_late(gate, user, digest)
        _refuse_unfitting(gate, decision, choice, text, answer)
        GateDecision.objects.create(
            gate=gate,
            by_user=user,
            by=record_name(user),
            decision=decision,
            choice=choice,
            text=storable(text),
            answer=json.dumps(answer) if answer is not None else "",  # in ASCII: no database refuses it
        )
        gate = Gate.objects.whole().get(pk=pk)
        _close(gate)
        procedures()[gate.run.procedure].answered(gate, choice, answer)
        return Gate.objects.whole().get(pk=pk)

    try:
        return act(asked.run_id, say)
    except Over as over:
        raise _closed(Gate.objects.whole().get(pk=pk)) from over


def _refuse_late(gate: Gate, user: Any, digest: str) -> None:
    if not gate.pending:
        raise _closed(gate)
    if any(one.by_user_id == user.pk for one in gate.decisions.all()):
        raise Closed("You have decided already. Others are asked as well.")
    if digest and digest.lower() != gate.digest:
        raise Closed("This is not the text that you have read: its SHA-256 is another.")


def _refuse_unfitting(gate: Gate, decision: str, choice: str, text: str, answer: Any) -> None:
    """Where there are choices for a decision one must be named, and where all are answers nothing else is asked."""
    words = [one["word"] for one in gate.choices if one["decision"] == decision]
    if decision not in offered(gate):
        raise DoesNotFit([("decision", f"It is one of {', '.join(offered(gate))}.")])
    if choice not in (words or [""]):
        known = f"It is one of {', '.join(words)}." if words else "There are no choices for this decision."
        raise DoesNotFit([("choice", known)])
    if len(text) > DECISION_LENGTH:
        raise DoesNotFit([("text", f"It has {len(text):,} characters, and {DECISION_LENGTH:,} are taken.")])
    if decision == Decision.ANSWER and not choice and answer is None and not text.strip():
        raise DoesNotFit([("text", "An answer needs a word.")])


def offered(gate: Gate) -> Sequence[str]:
    """Which decisions can be said there."""
    answers_alone = gate.choices and all(one["decision"] == Decision.ANSWER for one in gate.choices)
    return (Decision.ANSWER,) if answers_alone else SPOKEN


def _close(gate: Gate) -> None:
    """One conditional UPDATE: whoever comes second, or too late, has decided nothing."""
    state = state_of(gate.policy, gate.decisions.all())
    in_time = Q(expires=None) | Q(expires__gt=Now())
    closed = None if state == GateState.PENDING else Now()
    if not Gate.objects.filter(in_time, pk=gate.pk, state=GateState.PENDING).update(state=state, closed=closed):
        raise _closed(Gate.objects.whole().get(pk=gate.pk), late=True)


def _closed(gate: Gate, *, late: bool = False) -> NotDecided:
    """Why nothing is left to decide, in a sentence: who was first, and when."""
    last = gate.last
    nobody = last is not None and not last.by and (last.decision == Decision.EXPIRE or gate.policy["expiry"] == REJECT)
    if nobody or (late and gate.pending and gate.expires):
        return TooLate(f"The time for this was over on {gate.expires:%d %b %Y, %H:%M} UTC.")
    if last and not gate.pending:
        return Closed(
            f"{in_one_line(last.by)} {SAID[Decision(last.decision)]} this at {last.made:%H:%M} UTC. "
            f"Nothing is left to decide."
        )
    newer = Gate.objects.newest(gate.run_id, gate.step)
    if newer and newer.number > gate.number:
        return Closed(f"Asked anew at {newer.made:%H:%M} UTC: see gate {newer.pk}.")
    return Closed(NOT_ASKED_ANY_MORE)
