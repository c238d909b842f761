"""Turns of persons: each is a gate that waits for this person, whose answer becomes a message."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.db.models.signals import post_save, pre_delete
from django.http import QueryDict

from engine.models import Gate, Run
from engine.policy import RETURN
from engine.runtime.procedure import InvalidAnswer

from . import prompts, turn_fields
from .models import Debate, DebateMember, writes
from .models.context_builder import build_prompt_context
from .prompt_context import EVERYONE, PromptContext
from .rules.state import MemberStatus, TurnReason, TurnState
from .rules.turn_taking import continues_message

KIND = "turn"
SPEAK, SKIP = "speak", "skip"
CHOICES = (
    {"word": SPEAK, "decision": "answer", "sentence": "Say it"},
    {"word": SKIP, "decision": "answer", "sentence": "Skip my turn"},
)
ABSENT_TEXT = "{name} was not there in time."
SKIPPED = "{name} skipped the turn."
LEFT_TEXT = "{name} has no account any more."
NO_WORDS = "Write what you want to say, or skip your turn."


def step_of(turn: TurnState) -> str:
    return f"turn-{turn.number}"


def policy_of(debate: Debate) -> dict[str, Any]:
    """Return the policy of a turn: only this person, for the debate's hours; then the debate continues without an
    answer."""
    return {"hours": debate.reply_within, "expiry": RETURN}


def user_of(member: DebateMember) -> User | None:
    """Return the user on this seat, or None if the account is disabled or deleted."""
    return User.objects.filter(seats=member.pk, is_active=True).first()


def gate_title(debate: Debate) -> str:
    return f"Your turn in: {debate.run.shown_title}"


def text_of(table: PromptContext, turn: TurnState, continues: int | None) -> str:
    """Return why this person has the floor, and for what."""
    if turn.why == TurnReason.CLOSING:
        return "The debate is over. All say their last word now, and nobody hears the others'. Say yours."
    return prompts.floor_reason(table, turn, continues)


def apply_turn_answer(gate: Gate, choice: str, answer: Any) -> None:
    """Write a person's message, or that the turn was skipped, in the transaction of the decision.

    Raises InvalidAnswer if the answer does not fit the turn.
    """
    debate = Debate.objects.with_messages().get(pk=gate.run_id)
    course = debate.state()
    turn = next((one for one in course.turns if step_of(one) == gate.step and one.state == MemberStatus.OPEN), None)
    if gate.kind != KIND or turn is None:
        raise InvalidAnswer([("choice", "This turn is over.")])
    if choice == SKIP:
        if answer is not None:
            raise InvalidAnswer([("answer", "A turn that is skipped has no words. Send none, or speak.")])
        writes.save_skip(debate.pk, turn.number, SKIPPED.format(name=debate.at_seat(turn.seat).name))
        return
    said = _said(debate, turn, answer)
    heard = course.newest_read(turn)
    writes.save_message(debate.pk, turn.number, said, heard=heard, continues=continues_message(course, turn))


def _said(debate: Debate, turn: TurnState, answer: Any) -> prompts.DebateAnswer:
    """Check a person's answer by the same rules as a model's. Raises InvalidAnswer."""
    if answer is None:
        raise InvalidAnswer([("answer", NO_WORDS)])
    table = build_prompt_context(debate, debate.state())
    try:
        return prompts.read_answer(table, turn, json.dumps(answer), prompts.TO_PEOPLE)
    except ValueError as error:
        raise InvalidAnswer([("answer", str(error))]) from error


def leave_seat(run: UUID, turn: TurnState, name: str, reason: str) -> None:
    writes.save_skip(run, turn.number, reason.format(name=name))
    if reason == LEFT_TEXT:
        writes.save_member_failure(run, turn.seat)


# ---- accounts that end during a turn -------------------------------------------------------------------------


def connect_account_signals() -> None:
    """Connect the signals that skip an open turn when the person's account is disabled or deleted."""
    post_save.connect(_account_saved, User, dispatch_uid="debates-account-saved")
    pre_delete.connect(_account_deleted, User, dispatch_uid="debates-account-deleted")


def skip_disabled_members() -> bool:
    """Wake the debates that wait for disabled accounts: an update that sends no signal may have disabled them. A
    chore; returns False, as no work remains."""
    _go_on(Gate.objects.exclude(asked_user__is_active=True))
    return False


def _account_saved(instance: User, created: bool, **_: Any) -> None:
    if not instance.is_active and not created:
        _go_on(Gate.objects.filter(asked_user=instance))


def _account_deleted(instance: User, **_: Any) -> None:
    _go_on(Gate.objects.filter(asked_user=instance))


def _go_on(gates: QuerySet[Gate]) -> None:
    """Wake the runs of these gates, which then skip the turn."""
    turns = gates.filter(kind=KIND, state=Gate.State.PENDING, run__debate__isnull=False)
    for run in set(turns.order_by().values_list("run", flat=True)):
        Run.objects.wake(run)


# ---- the form of a person's turn -----------------------------------------------------------------------------


def turn_gates(gates: Sequence[Gate]) -> Sequence[Gate]:
    """Return the gates of a run that are open turns."""
    return [gate for gate in gates if gate.kind == KIND and gate.pending]


def seat_context(debate: Debate, user: Any) -> dict[str, Any]:
    """Return what the page shows only to a person on a seat, with the turn's form if it is that person's turn."""
    member = next((one for one in debate.seated if one.user_id is not None and one.user_id == user.pk), None)
    if member is None or debate.run.is_ended:
        return {}
    gate = Gate.objects.pending().filter(run=debate.pk, kind=KIND, asked_user=user).first()
    return {"sits": member, "gate": gate, **(turn_form(gate, {}) if gate else {})}


def turn_form(gate: Gate, typed: Mapping[str, Any]) -> dict[str, Any]:
    """Return the context of the form: the members to speak to, the options, and the values typed before."""
    debate = Debate.objects.with_messages().get(pk=gate.run_id)
    course = debate.state()
    turn = next(one for one in course.turns if step_of(one) == gate.step)
    table = build_prompt_context(debate, course)
    asker = next((one.seat for one in course.messages if one.number == turn.asked_by and one.seat), None)
    return {
        "turn": {
            "number": turn.number,
            "name": table.names[turn.seat],
            "closing": turn.why == TurnReason.CLOSING,
            "must": prompts.must_decide(table, turn),
            "names": [name for seat, name in table.names.items() if seat != turn.seat],
            "options": course.settings.options,
            "stands": course.verdict_of.get(turn.seat, ""),
            "why": text_of(table, turn, continues_message(course, turn)),
            "to": [table.names[asker] if asker and asker != turn.seat else EVERYONE],
            **_typed(typed),
            **turn_fields.shown(table, turn, typed),
        }
    }


def _typed(typed: Mapping[str, Any]) -> dict[str, Any]:
    """Return the typed values for the form; `to` may have several."""
    fields = {name: text.replace("\r\n", "\n") for name, text in typed.items()}
    return fields | ({"to": typed.getlist("to")} if isinstance(typed, QueryDict) and "to" in typed else {})


def answer_of(typed: QueryDict) -> dict[str, Any] | None:
    """Return the typed values as the answer that a model would give; None if no text was typed."""
    if not typed.get("content", "").strip():
        return None
    said: dict[str, Any] = {
        name: typed.get(name, "").replace("\r\n", "\n") for name in ("content", "verdict", "verdict_reasoning")
    }
    said["moved_by"] = [int(number) for number in re.findall(r"[0-9]{1,4}", typed.get("moved_by", ""))]
    if "p1-claim" in typed:  # a closing has no such field
        said["speaking_to"] = typed.getlist("to")
        said |= {name: name in typed for name in ("expects_answer", "withdrawn")}
        said |= turn_fields.read(typed)
    return said
