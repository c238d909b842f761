"""Which rule of the installation holds at a gate, and what it leaves open."""

import pytest

from engine.models import GateRule

pytestmark = pytest.mark.django_db


def test_a_rule_that_names_no_two_who_decide_leaves_it_open_whether_one_is_blind():
    assert "blind" not in GateRule(persons=2).policy
    assert "blind" not in GateRule(who="council", council="Trio").policy
    assert GateRule(who="both", council="Trio").policy["blind"] is False


def test_the_most_exact_rule_counts():
    rules = [
        {"persons": 1},
        {"procedure": "polite", "persons": 2},
        {"procedure": "polite", "kind": "letter", "persons": 3},
    ]
    for rule in rules:
        GateRule.objects.create(**rule)
    best = GateRule.objects.strictest
    about = {"effect": "", "tool": ""}
    assert best(procedure="polite", kind="letter", **about).persons == 3
    assert best(procedure="polite", kind="plan", **about).persons == 2
    assert best(procedure="other", kind="letter", **about).persons == 1
