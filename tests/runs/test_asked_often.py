"""Each person sees their own numbers: how often they were asked, and what they said."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from engine.models import Gate, GateDecision, Run
from engine.policy import parse_policy
from runs.approvals.stats import DecisionCounts, add_counts, approval_numbers, format_numbers


def said(gate, decision, seconds=10):
    return DecisionCounts(gate, decision, timedelta(seconds=seconds))


def test_gates_are_counted_once_each_and_what_was_said_last_counts():
    found = add_counts([said(1, "approve", 4), said(2, "reject", 60), said(3, "answer", 8)], {}, waits=2)
    assert (found.asked, found.decided, found.approved, found.rejected, found.answered) == (5, 3, 1, 1, 1)
    assert (found.seconds, found.share, found.differed) == (8, 33, 0)


def test_where_a_council_differed_it_is_seen_whether_one_changed_ones_mind():
    mine = [said(1, "approve"), said(1, "reject"), said(2, "approve"), said(2, "override"), said(3, "reject")]
    found = add_counts(mine, {1: "reject", 2: "reject", 3: "reject"}, waits=0)
    assert (found.differed, found.changed) == (2, 1)
    assert (found.decided, found.approved, found.rejected) == (3, 1, 2)


def test_who_was_never_asked_has_nothing():
    assert add_counts([], {}, 0).share == add_counts([], {}, 0).seconds == 0


@pytest.fixture
def gates(mira):
    run = Run.objects.create(procedure="check", owner=mira, status=Run.Status.WAITING)
    made = timezone.now() - timedelta(minutes=5)
    about = {"kind": "step", "title": "A step", "policy": parse_policy(None), "made": made, "number": 1}
    return [Gate.objects.create(run=run, step=f"step {number}", **about) for number in range(4)]


def decide(gate, user, decision, **more):
    return GateDecision.objects.create(gate=gate, by_user=user, by=user.username, decision=decision, **more)


def test_they_are_of_thirty_days_and_of_nobody_else(gates, mira, noor):
    decide(gates[0], mira, "approve")
    decide(gates[1], mira, "look")
    decide(gates[2], noor, "reject")
    decide(gates[3], mira, "reject", made=timezone.now() - timedelta(days=31))
    found = approval_numbers(mira, timezone.now(), 1)
    assert (found.decided, found.approved, 299 < found.seconds < 400) == (1, 1, True)


def test_of_very_many_that_wait_the_first_are_counted(gates, mira):
    decide(gates[0], mira, "approve")
    assert [format_numbers(approval_numbers(mira, timezone.now(), waiting))[0] for waiting in (3, 99, 100)] == [
        ("Asked", "4"),
        ("Asked", "100"),
        ("Asked", "100+"),
    ]


def test_they_stand_beside_what_waits_for_who_has_decided_something(gates, mira, client):
    client.force_login(mira)
    assert "Your last 30 days" not in client.get(reverse("waiting")).content.decode()
    decide(gates[0], mira, "approve")
    source = client.get(reverse("waiting")).content.decode()
    assert "Your last 30 days" in source
    assert "<dd>1 (100%)</dd>" in source
    assert "Only you see this." in source
