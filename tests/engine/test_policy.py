"""Who has to decide, how rules and floors make that stricter, and what decisions come to: on paper."""

from dataclasses import dataclass

import pytest

from engine.policy import apply_minimums, parse_policy, policy_state, strictest


@dataclass
class SaidDecision:
    decision: str
    judged_by_id: int | None = None
    by: str = ""


def said(words):
    """`council:reject` is what a council decided, all else what a person did or what nobody did: `approve@ada` by her,
    what names nobody by somebody else each time."""
    return [_said(word, number) for number, word in enumerate(words.split())]


def _said(word, number):
    if word.startswith("council:"):
        return SaidDecision(word.partition(":")[2], 1)
    decision, _, by = word.partition("@")
    return SaidDecision(decision, by=by or str(number))


COME_TO = [
    ("open", 1, "", "approved"),
    ("person", 1, "approve", "approved"),
    ("person", 2, "approve", "pending"),
    ("council", 1, "", "pending"),
    ("council", 1, "council:approve", "approved"),
    ("council", 1, "council:reject", "rejected"),
    ("council", 1, "turn", "pending"),
    ("council", 1, "turn approve", "approved"),
    ("council", 1, "turn reject", "rejected"),
    ("council", 2, "turn approve", "pending"),
    ("council", 1, "fail", "failed"),
    ("council", 1, "expire", "expired"),
    ("both", 1, "", "pending"),
    ("both", 1, "approve", "pending"),
    ("both", 1, "council:approve", "pending"),
    ("both", 1, "approve council:approve", "approved"),
    ("both", 1, "council:approve approve", "approved"),
    ("both", 2, "council:approve approve", "pending"),
    ("both", 2, "council:approve approve approve", "approved"),
    ("both", 1, "reject", "rejected"),
    ("both", 1, "council:approve reject", "rejected"),
    ("both", 1, "council:reject", "pending"),
    ("both", 1, "approve council:reject", "pending"),
    ("both", 1, "approve council:reject approve", "pending"),
    ("both", 1, "approve council:reject reject", "rejected"),
    ("both", 1, "approve council:reject override", "approved"),
    ("both", 2, "council:reject override", "pending"),
    ("both", 2, "council:reject override approve", "approved"),
    ("both", 2, "approve@ada council:reject override@ada", "pending"),
    ("both", 2, "approve@ada council:approve approve@ada", "pending"),
    ("both", 1, "look approve", "pending"),
    ("both", 1, "approve turn", "approved"),
    ("both", 1, "approve fail", "failed"),
    ("both", 1, "answer", "answered"),
]


def test_what_decisions_come_to():
    found = []
    for who, persons, words, _ in COME_TO:
        policy = parse_policy({"who": who, "persons": persons, "council": "Trio"})
        found.append((who, persons, words, policy_state(policy, said(words))))
    assert found == COME_TO


def test_no_council_alone_opens_what_leaves_something_out():
    alone = parse_policy({"who": "council", "council": "Trio"})
    come_to = {"council:approve": "pending", "council:approve approve": "approved", "turn approve": "approved"}
    assert {words: policy_state(alone, said(words), cut=True) for words in come_to} == come_to
    assert policy_state(alone, said("council:approve")) == "approved"


def test_what_was_asked_before_there_were_councils_comes_to_the_same():
    old = {"who": "person", "persons": 1, "four_eyes": False, "hours": None, "expiry": "remind"}
    assert policy_state(old, said("approve")) == "approved"


TOGETHER = [
    ("open", "open", "open"),
    ("open", "person", "person"),
    ("open", "council", "council"),
    ("person", "open", "person"),
    ("person", "person", "person"),
    ("person", "council", "both"),
    ("council", "person", "both"),
    ("council", "council", "council"),
    ("both", "open", "both"),
    ("council", "both", "both"),
]


def test_who_decides_is_never_fewer():
    assert [(one, other, strictest({"who": one}, {"who": other})["who"]) for one, other, _ in TOGETHER] == TOGETHER


DEMANDED = [
    ({"persons": 2}, {"persons": 1}, "persons", 2),
    ({"persons": 1}, {"persons": 3}, "persons", 3),
    ({"four_eyes": True}, {}, "four_eyes", True),
    ({}, {"four_eyes": True}, "four_eyes", True),
    ({"blind": False}, {"blind": True}, "blind", True),
    ({"blind": False}, {}, "blind", False),
    ({"who": "both"}, {"blind": False}, "blind", True),
    ({"who": "both", "blind": False}, {"persons": 2}, "blind", False),
    ({"hours": 48, "expiry": "reject"}, {"hours": 24, "expiry": "return"}, "hours", 24),
    ({"hours": 48, "expiry": "reject"}, {"hours": 24, "expiry": "return"}, "expiry", "reject"),
    ({"hours": 48, "expiry": "return"}, {"hours": 24, "expiry": "remind"}, "hours", 48),
    ({}, {"hours": 24, "expiry": "reject"}, "expiry", "reject"),
    ({"council": "Mine"}, {}, "council", "Mine"),
    ({"council": "Mine"}, {"council": "Ours"}, "council", "Ours"),
]


def test_what_is_demanded_besides_only_makes_it_stricter():
    found = [(policy, demand, name, strictest(policy, demand)[name]) for policy, demand, name, _ in DEMANDED]
    assert found == DEMANDED


FLOORS = [
    ("open", {}, "open"),
    ("open", {"effect": "writes"}, "open"),
    ("open", {"effect": "reaches_out"}, "person"),
    ("council", {"effect": "reaches_out"}, "council"),
    ("council", {"cut": True}, "both"),
    ("open", {"kind": "budget"}, "person"),
    ("council", {"kind": "uncertain"}, "both"),
    ("person", {"kind": "uncertain"}, "person"),
]


def test_what_no_policy_can_open():
    assert [(who, about, apply_minimums({"who": who}, **about)["who"]) for who, about, _ in FLOORS] == FLOORS


def test_where_both_decide_a_person_decides_without_knowing_unless_the_policy_says_otherwise():
    both = {"who": "both", "council": "Trio"}
    assert parse_policy(both)["blind"] is True
    assert parse_policy({**both, "blind": False})["blind"] is False
    assert parse_policy({"who": "council", "council": "Trio"})["blind"] is False


UNKNOWN = [
    *({"person": 1}, {"who": "council"}, {"who": "all"}, {"expiry": "approve"}, {"persons": 0}, {"persons": 51}),
    *({"persons": 1.5}, {"persons": True}, {"persons": "2"}, {"four_eyes": "no"}, {"blind": "yes"}, {"blind": []}),
    *({"hours": hours} for hours in ("4", -1, float("inf"), float("nan"), 10**9, True)),
    *({"who": "council", "council": name} for name in (["Trio"], "T\x00", "T\ud800", "T" * 121)),
]


def test_a_policy_that_nobody_knows_is_refused():
    for wrong in UNKNOWN:
        with pytest.raises(ValueError, match="no such policy"):
            parse_policy(wrong)
