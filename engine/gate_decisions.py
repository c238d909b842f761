"""Deciding at gates. Pages, the API and commands all use these functions.

Why so: engine/DESIGN.md, Gates.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from django.contrib.auth.models import Group
from django.db import transaction
from django.db.models.functions import Now

from .council_approval import cancel_council_runs, record_council_decision
from .llm.providers import clean_storable_text
from .models import (
    AuthorContribution,
    Gate,
    GateAuthor,
    GateDecision,
    RunAuthor,
    account_key,
    after_deadlock,
    record_name,
)
from .models.gates import DECIDE_PERMISSION, DECIDED_STATES, DecisionValue, account_of_asked, approver_name
from .policy import ALWAYS_A_PERSON, REJECT, has_quorum
from .run_control import RunEnded, apply_action
from .runtime.procedure import InvalidAnswer, procedures
from .text.invisible_chars import single_line

__all__ = [
    "DecisionRefused",
    "DecisionTooLate",
    "GateClosed",
    "InvalidAnswer",
    "NotAnApprover",
    "check_batch",
    "decide",
    "may_decide",
    "may_override",
    "own_words",
    "reaches_out",
    "read_gate",
]

DECISION_WORDS = {
    DecisionValue.APPROVE: "approved",
    DecisionValue.REJECT: "rejected",
    DecisionValue.ANSWER: "answered",
    DecisionValue.OVERRIDE: "opened",
    DecisionValue.FAIL: "failed to decide",
}
PARTS = {DecisionValue.ANSWER: AuthorContribution.ANSWERED, DecisionValue.REJECT: AuthorContribution.ASKED_CHANGES}
OVERRIDE = "engine.override_gate"
MIN_OVERRIDE_WORDS = 10
DECISION_LENGTH = 4_000
MAX_BATCH = 50  # gates of one request
BATCH_TEXT = f"Together are decided up to {MAX_BATCH} of one run, of one kind or about one tool."
ONE_BY_ONE_TEXT = "What is sent out of this installation is decided one by one: open each, read it, and decide there."
CUT_TEXT = "The text of gate {pk} names something that it does not show, so it is decided alone."
UNREAD_TEXT = (
    "This is sent out of this installation: read its text, and name the SHA-256 of what you read. Both are on the page "
    "of gate {pk}, in its object of the API as text and digest, and in what `manage.py gates --json` prints."
)
GATE_CLOSED_TEXT = "Not asked any more."


class DecisionRefused(Exception):
    """Nothing was decided or written. The text is a sentence for people."""


class NotAnApprover(DecisionRefused):
    """The user may not decide at this gate."""


class GateClosed(DecisionRefused):
    """The gate is decided, replaced by another one, or withdrawn."""


class DecisionTooLate(DecisionRefused):
    """The gate has expired."""


def may_decide(gate: Gate, user: Any) -> bool:
    """Whether the user is an approver: named, in the named group, or else the run's owner or with DECIDE_PERMISSION.

    If the named user or group was deleted, or a council decides alone, nobody may decide.
    """
    if not gate.needs_people or not user.is_active or _is_one_of_four_eyes(gate, user):
        return False
    if gate.asked_user_id:
        return user.pk == gate.asked_user_id
    if gate.asked_group_id:
        return user.groups.filter(pk=gate.asked_group_id).exists()
    return not gate.asked and (user.pk == gate.run.owner_id or user.has_perm(DECIDE_PERMISSION))


def _is_one_of_four_eyes(gate: Gate, user: Any) -> bool:
    """Whether the gate needs four eyes and the user requested the run or wrote part of the text."""
    return bool(gate.policy["four_eyes"]) and Gate.objects.filter(pk=gate.pk).not_for_author(user).exists()


def may_override(gate: Gate, user: Any) -> bool:
    """Whether the user may override a council's rejection."""
    return gate.is_split and user.is_active and user.has_perm(OVERRIDE) and not _is_one_of_four_eyes(gate, user)


def may_read(gate: Gate, user: Any) -> bool:
    """Whether the user may see a hidden decision of the council, which is recorded."""
    hides = Gate.objects.filter(pk=gate.pk).hidden_from_user(user).exists()
    return hides and user.is_active and user.has_perm(OVERRIDE)


def approver_columns(who: Any) -> dict[str, Any]:
    """The columns of a gate for its approver: a user, a group, or None for the default approvers."""
    group = isinstance(who, Group)
    asked = {"asked_group": who if group else None, "asked_user": None if group else who}
    return {**asked, "asked": approver_name(who), "asked_account": account_of_asked(who)}


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
    """Record a decision, and close the gate if its policy is satisfied. Returns the gate.

    `digest` is the SHA-256 (hex) of the text that the user has read; it is required for gates about external actions.

    Raises Gate.DoesNotExist, NotAnApprover, GateClosed, DecisionTooLate, and InvalidAnswer with the problems by field.
    """
    asked = Gate.objects.with_decisions().get(pk=pk)
    if asked.policy["four_eyes"]:
        GateAuthor.objects.add_for(asked)  # gates from before authors were stored have none yet
    _refuse_others(asked, user, decision)

    def say() -> Gate:
        gate = Gate.objects.with_decisions().get(pk=pk)
        _refuse_others(gate, user, decision)  # checked again under the lock: decisions or permissions may have changed
        _refuse_late(gate, user, decision, digest)
        _refuse_unread(gate, digest)
        _refuse_unfitting(gate, decision, choice, text, answer)
        said = {"decision": decision, "choice": choice, "text": clean_storable_text(text)}
        # as ASCII escapes, because databases refuse NUL and lone surrogates
        _add(gate, user, answer=json.dumps(answer) if answer is not None else "", **said)
        _note_words(gate, user, decision, bool(text.strip()) or answer is not None)
        gate = record_council_decision(pk)
        procedures()[gate.run.procedure].apply_decision(gate, choice, answer)
        cancel_council_runs(gate.run_id, user)
        return Gate.objects.with_decisions().get(pk=pk)

    return _act(asked, say)


@after_deadlock
@transaction.atomic
def read_gate(pk: int, user: Any) -> Gate:
    """Record that the user sees the council's hidden decision. Raises Gate.DoesNotExist and NotAnApprover."""
    asked = Gate.objects.with_decisions().get(pk=pk)
    if not may_read(asked, user):
        raise NotAnApprover("What the council says is not hidden, or you may not look at it before others.")

    def see() -> Gate:
        _add(asked, user, decision=DecisionValue.LOOK)
        return Gate.objects.with_decisions().get(pk=pk)

    return _act(asked, see)


def _act(gate: Gate, change: Callable[[], Gate]) -> Gate:
    try:
        return apply_action(gate.run_id, change)
    except RunEnded as over:
        raise _closed(Gate.objects.with_decisions().get(pk=gate.pk)) from over


def _add(gate: Gate, user: Any, **said: Any) -> None:
    known = bool(gate.council and gate.council.is_ended)
    known = known and not Gate.objects.filter(pk=gate.pk).hidden_from_user(user).exists()
    said |= {"by_user": user, "by": record_name(user), "account": account_key(user), "authors": author_names(gate)}
    GateDecision.objects.create(gate=gate, knew_council=known, **said)


def _note_words(gate: Gate, user: Any, decision: str, has_words: bool) -> None:
    """Record the user as an author if the run will read the text of the decision.

    A chosen answer counts as text, too, except for the engine's own questions.
    """
    answers = decision == DecisionValue.ANSWER and gate.kind not in ALWAYS_A_PERSON
    if not (has_words or answers):
        return
    part = PARTS.get(DecisionValue(decision), AuthorContribution.SAID)
    place = procedures()[gate.run.procedure].place_of_words(gate, decision)
    if place is not None:
        RunAuthor.objects.note(gate.run_id, user, part, place, said_at=gate)


def author_names(gate: Gate) -> list[str]:
    """Present names of the authors of the gate's text; empty unless four eyes are needed."""
    found = gate.authors.select_related("author__user").order_by("pk") if gate.policy["four_eyes"] else ()
    return list(dict.fromkeys(one.author.name_now for one in found))


def _refuse_others(gate: Gate, user: Any, decision: str) -> None:
    if not (may_override(gate, user) if decision == DecisionValue.OVERRIDE else may_decide(gate, user)):
        raise NotAnApprover(_not_asked(gate, user, decision))


def own_words(gate: Gate, user: Any) -> str:
    """Why four eyes exclude this user, as part of a sentence; empty if they do not."""
    if not gate.policy["four_eyes"]:
        return ""
    run, name = gate.run, record_name(user)
    asked = user.pk == run.owner_id or (run.owner_id is None and name == run.asked_by)
    parts = ["asked for it"] if asked else []
    return " and ".join([*parts, *GateAuthor.objects.of_user(gate, user)])


def _not_asked(gate: Gate, user: Any, decision: str) -> str:
    if decision == DecisionValue.OVERRIDE:
        return "There is nothing to override here, or you have not the right to."
    if not gate.needs_people:
        return f"The council {single_line(gate.policy['council'])} is asked, not you."
    who = f"{gate.asked or 'Somebody else'} is asked, not you"
    why = own_words(gate, user)
    return f"{who}: you {why}, and somebody else than who wrote it has to decide." if why else f"{who}."


def _refuse_late(gate: Gate, user: Any, decision: str, digest: str) -> None:
    late = Gate.objects.filter(pk=gate.pk, expires__lte=Now()).exists()
    if late or not gate.pending:
        raise _closed(gate, late=late)
    mine = [one.decision for one in gate.decisions.all() if one.by_user_id == user.pk and one.decides]
    new = decision not in mine and not (decision == DecisionValue.APPROVE and DecisionValue.OVERRIDE in mine)
    if mine and not (gate.is_split and (new or has_quorum(gate.policy, gate.decisions.all()))):
        raise GateClosed("You have decided already. Others are asked as well.")
    if digest and digest.lower() != gate.digest:
        raise GateClosed("This is not the text that you have read: its SHA-256 is another.")


def _refuse_unread(gate: Gate, digest: str) -> None:
    if not digest and reaches_out(gate):
        raise InvalidAnswer([("digest", UNREAD_TEXT.format(pk=gate.pk))])


def reaches_out(gate: Gate) -> bool:
    return procedures()[gate.run.procedure].reaches_out(gate)


def is_alike(gates: Iterable[Gate]) -> bool:
    """Whether all gates are of one run and of one kind, or about one tool."""
    return len({(gate.run_id, gate.tool or gate.kind) for gate in gates}) <= 1


def check_batch(read: Sequence[tuple[Gate, str]]) -> None:
    """Raise InvalidAnswer if these gates, each with the digest of its read text, need requests of their own."""
    gates = [gate for gate, _ in read]
    if len(gates) > MAX_BATCH or not is_alike(gates):
        raise InvalidAnswer([("gates", BATCH_TEXT)])
    if any(map(reaches_out, gates)):
        raise InvalidAnswer([("gates", ONE_BY_ONE_TEXT)])
    if cut := [gate.pk for gate in gates if gate.cut]:
        raise InvalidAnswer([("gates", CUT_TEXT.format(pk=cut[0]))])
    if unread := [str(gate.pk) for gate, digest in read if not digest]:
        raise InvalidAnswer([("gates", f"Name the digest of the text that was read of gate {', '.join(unread)}.")])


def _refuse_unfitting(gate: Gate, decision: str, choice: str, text: str, answer: Any) -> None:
    """Raise InvalidAnswer unless decision, choice and text fit the gate's choices."""
    words = [one["word"] for one in gate.choices if one["decision"] == decision]
    if decision not in offered_choices(gate):
        raise InvalidAnswer([("decision", f"It is one of {', '.join(offered_choices(gate))}.")])
    if choice not in (words or [""]):
        known = f"It is one of {', '.join(words)}." if words else "There are no choices for this decision."
        raise InvalidAnswer([("choice", known)])
    if len(text) > DECISION_LENGTH:
        raise InvalidAnswer([("text", f"It has {len(text):,} characters, and {DECISION_LENGTH:,} are taken.")])
    if decision == DecisionValue.OVERRIDE and len(text.split()) < MIN_OVERRIDE_WORDS:
        raise InvalidAnswer([("text", f"An override needs a reason of at least {MIN_OVERRIDE_WORDS} words.")])
    if decision == DecisionValue.ANSWER and not choice and answer is None and not text.strip():
        raise InvalidAnswer([("text", "An answer needs a word.")])


def offered_choices(gate: Gate) -> Sequence[str]:
    """The decisions that are possible at the gate now."""
    said = gate.decisions.all()
    overridden = any(
        one.decision == DecisionValue.OVERRIDE for one in said
    )  # other approvers may still agree with the override
    if gate.is_split and not overridden and (not gate.policy["blind"] or has_quorum(gate.policy, gate.decisions.all())):
        return (DecisionValue.REJECT, DecisionValue.OVERRIDE)  # an approval alone would not open the gate
    named = {one["decision"] for one in gate.choices}
    usual = tuple(one for one in DECIDED_STATES if one in named) if gate.asks_for_answers else DECIDED_STATES
    return (*usual, DecisionValue.OVERRIDE) if gate.is_split else usual


def _closed(gate: Gate, *, late: bool = False) -> DecisionRefused:
    """The exception for a closed gate, with a sentence that says who decided and when."""
    last = gate.last_decision
    nobody = (
        last is not None and not last.by and (last.decision == DecisionValue.EXPIRE or gate.policy["expiry"] == REJECT)
    )
    if nobody or (late and gate.pending and gate.expires):
        return DecisionTooLate(f"The time for this was over on {gate.expires:%d %b %Y, %H:%M} UTC.")
    if last and not gate.pending:
        return GateClosed(
            f"{single_line(last.by)} {DECISION_WORDS[DecisionValue(last.decision)]} this at {last.made:%H:%M} UTC. "
            f"Nothing is left to decide."
        )
    newer = Gate.objects.newest(gate.run_id, gate.step)
    if newer and newer.number > gate.number:
        return GateClosed(f"Asked again at {newer.made:%H:%M} UTC: see gate {newer.pk}.")
    return GateClosed(GATE_CLOSED_TEXT)
