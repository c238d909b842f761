"""Each column of a gate and of what was decided there is changed in turn: it is noticed, or named as no evidence."""

import pytest
from django.contrib.auth.models import Group

from engine import gate_decisions
from engine.audit import sealing
from engine.audit.verification import verify_one
from engine.ledger.entries import USED, AuditEntry
from engine.models import Gate, GateDecision
from engine.policy import parse_policy
from tests.columns import turned
from tests.contract import doubted
from tests.databases import tampering

pytestmark = pytest.mark.django_db

NO_EVIDENCE = {("gate", "closed"): "when its last decision was made is told"}


@pytest.fixture
def used(mira, noor):
    return allowed(mira, noor, noor)


def allowed(owner, asked, by):
    """The gate of a run at which somebody was asked, has approved, and what it allows was begun."""
    run = doubted(owner).run
    about = {"step": "publish", "kind": "answer", "title": "May it?", "text": "It.", "policy": parse_policy({})}
    gate = Gate.objects.open(None, run=run, **about, **gate_decisions.approver_columns(asked))
    gate_decisions.decide(gate.pk, by, "approve", text="Yes.")
    Gate.objects.get(pk=gate.pk).consume()
    sealing.seal_action(run.pk)
    return Gate.objects.get(pk=gate.pk)


def faults(gate):
    return [fault.text for fault in verify_one(gate.run_id)[2]]


def unnoticed(gate):
    for row in (gate, GateDecision.objects.get(gate=gate)):
        for column, _ in turned(row):
            if not faults(gate):
                yield row._meta.model_name, column


def test_a_change_of_any_column_is_noticed_or_named(used, reviewer):
    with tampering():
        assert faults(used) == []
        assert set(unnoticed(used)) == set(NO_EVIDENCE)


NAMED = {
    "used": (None, "What this entry tells of was deleted"),
    "asked_user": (None, "Its gate publish asks somebody else than is told."),
    "state": ("void", "Its gate publish stands otherwise than it was decided."),
    "hides": (True, "Its gate publish stands otherwise than it was decided."),
}


def test_what_lets_an_approval_act_twice_or_for_others_is_named(used):
    with tampering():
        for column, (value, sentence) in NAMED.items():
            Gate.objects.filter(pk=used.pk).update(**{column: value})
            assert any(text.startswith(sentence) for text in faults(used)), column
            Gate.objects.filter(pk=used.pk).update(**{column: getattr(used, column)})


def test_the_account_that_decided_is_told_beside_its_name(used, mira, noor):
    with tampering():
        GateDecision.objects.update(by_user=mira)
    assert faults(used) == ["Its gate publish was decided by another account than is told."]


def test_accounts_and_groups_may_be_renamed_and_deleted(mira, noor, reviewer):
    group = Group.objects.create(name="Editors")
    noor.groups.add(group)
    both = [allowed(mira, group, noor), allowed(mira, reviewer, reviewer)]
    group.name = "Others"
    group.save()
    assert [faults(gate) for gate in both] == [[], []]
    group.delete()
    reviewer.delete()
    assert [faults(gate) for gate in both] == [[], []]


def test_gates_of_before_say_neither_accounts_nor_their_use_and_are_intact(mira, noor, monkeypatch):
    monkeypatch.setattr(gate_decisions, "account_of_asked", lambda who: None)
    monkeypatch.setattr(gate_decisions, "account_key", lambda user: None)
    gate = allowed(mira, noor, noor)
    assert not AuditEntry.objects.filter(run=gate.run_id, kind=USED).exists()
    assert faults(gate) == []
