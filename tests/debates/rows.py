"""Debates as rows, for tests of what is made of them."""

from typing import Any

from django.contrib.auth.models import User
from django.utils import timezone

from debates.models import Debate, DebateMessage, DebateOption, DebateTurn
from debates.rules import state as rules
from engine.models import Run

OPTIONS = [
    {"word": "HIRE", "meaning": "Offer the post.", "direction": "for"},
    {"word": "WAIT", "direction": "between"},
    {"word": "DO NOT HIRE", "direction": "against"},
]
NAMES = ("Amara Osei", "Ilse Brandt", "Rajiv Menon")


def member(name: str, model: str = "rehearsal/instant", **more: Any) -> dict[str, Any]:
    return {"name": name, "who": f"What {name} is.", "model": model, **more}


def queued(owner: User | None, **more: Any) -> Debate:
    asked: dict[str, Any] = {
        "question": "Should she be hired?",
        "options": OPTIONS,
        "members": list(map(member, NAMES)),
    }
    return Debate.objects.submit(owner=owner, **asked | more)


def say(debate: Debate, seat: int, verdict: str = "", **more: Any) -> DebateMessage:
    """A message of the member on this seat, with a turn that was drawn."""
    number, turns = debate.messages.count() + 1, debate.turns.count() + 1
    on_seat = debate.members.get(seat=seat)
    drawn = {"why": rules.TurnReason.DRAW, "ticket": 0, "weights": [[seat, 10]], "state": rules.MemberStatus.SPOKEN}
    turn = DebateTurn.objects.create(debate=debate, number=turns, member=on_seat, closed=timezone.now(), **drawn)
    stated = {
        "verdict": DebateOption.objects.filter(debate=debate, word=verdict).first(),
        "abstained": verdict == rules.ABSTAIN,
        "reasoning": "Because of line 12." if verdict else "",
    }
    clock = debate.messages.exclude(clock=None).count() + 1
    fixed = {"number": number, "clock": clock, "kind": rules.StatementKind.SAID, "turn": turn, "member": on_seat}
    return DebateMessage.objects.create(debate=debate, **fixed, **{"content": "I think so.", **stated, **more})


def in_closing(debate: Debate) -> Debate:
    Debate.objects.filter(pk=debate.pk).update(ended_because="most")
    return debate


def over(debate: Debate, outcome: str = "HIRE") -> Debate:
    ended = {"status": Run.Status.FINISHED, "outcome": outcome, "ended": timezone.now(), "started": timezone.now()}
    Run.objects.filter(pk=debate.pk).update(**ended)
    return debate
