"""Whoever says something to a run, of whatever kind, is one of those whose words are in what it asks, and in what a run
that begins from it asks."""

import pytest

from debates import moderation
from engine.gate_decisions import may_decide
from engine.models import AuthorContribution, Gate, GateAuthor, Run, RunAuthor
from engine.policy import parse_policy
from inquiries import comments as inquiry_talk
from inquiries.models import AssignmentKind
from judgements.models import Judgement
from missions import comments as mission_talk
from plans import comments as plan_talk
from tests.conftest import agents, allow
from tests.databases import tampering
from tests.debates.rows import queued
from tests.inquiries.scenes import inquiry
from tests.missions.scenes import mission
from tests.plans.scenes import plan

pytestmark = pytest.mark.django_db

SAID = {
    "the planner": (plan, lambda pk, user: plan_talk.post_comment(pk, user, "Write it to Ben.")),
    "a crew": (mission, lambda pk, user: mission_talk.post_message(pk, user, "Take the second file.")),
    "an inquiry": (inquiry, lambda pk, user: inquiry_talk.post_hint(pk, user, AssignmentKind.HINT, "Look here.")),
    "a debate": (queued, lambda pk, user: moderation.post_message(pk, user, "Let us speak of money.")),
}


def test_whoever_says_something_to_it_is_known_as_one_of_its_authors(mira, noor):
    begun = {name: begin(mira).pk for name, (begin, _) in SAID.items()}
    for name, (_, say) in SAID.items():
        say(begun[name], noor)
        say(begun[name], noor)
    known = list(RunAuthor.objects.values_list("run", "user", "name", "part", "place"))
    assert sorted(known, key=str) == sorted([(pk, noor.pk, "noor", "said", "") for pk in begun.values()], key=str)


def test_the_command_line_is_nobody_who_decides(mira):
    mission_talk.post_message(mission(mira).pk, None, "Take the second file.")
    assert not RunAuthor.objects.exists()


# ---- a run that begins from another one ----------------------------------------------------------------------


def judgement(owner, **asked):
    return Judgement.objects.submit(owner=owner, content="Shall we?", agents=agents(), **asked)


def planned(owner, earlier=None):
    return plan(owner, earlier and earlier.team_version, earlier=earlier)


FROM = {
    "earlier": (judgement, queued, planned),
    "follows": (inquiry, mission),
}
BEGINS = [(begin, name) for name, kinds in FROM.items() for begin in kinds]


def asks(run):
    """Its gate under four eyes."""
    policy = parse_policy({"who": "person", "four_eyes": True})
    gate = Gate.objects.open(None, run=run, step="ask-1", kind="tool", title="A letter", text="Dear Ben", policy=policy)
    GateAuthor.objects.add_for(gate)
    return gate


def may(gate, *users):
    return [
        may_decide(Gate.objects.with_decisions().get(pk=gate.pk), allow(one, "engine.decide_gate")) for one in users
    ]


@pytest.mark.parametrize(("begin", "earlier"), BEGINS, ids=[begin.__name__ for begin, _ in BEGINS])
def test_who_spoke_in_what_a_run_began_from_or_asked_for_that_does_not_decide_there(
    mira, noor, reviewer, admin_user, begin, earlier
):
    first = begin(reviewer)
    RunAuthor.objects.note(first.pk, noor, AuthorContribution.SAID)
    again = begin(mira, **{earlier: begin(mira, **{earlier: first})})
    gate = asks(again.run)
    assert may(gate, mira, noor, reviewer, admin_user) == [False, False, False, True]
    waits = [Gate.objects.for_user(one).filter(pk=gate.pk).exists() for one in (noor, reviewer, admin_user)]
    assert waits == [False, False, True]


def test_nor_who_spoke_where_the_earlier_run_was_made(mira, noor, reviewer):
    above = plan(mira)
    step = {"parent": above.run, "root": above.run, "step": "step-1", "owner": mira}
    made = mission(mira, made_by=step)
    RunAuthor.objects.note(above.pk, noor, AuthorContribution.SAID, "step-1")
    assert may(asks(mission(mira, follows=made).run), noor, reviewer) == [False, True]


def test_what_is_said_in_the_earlier_run_after_the_later_one_began_comes_into_nothing_of_it(mira, noor):
    first = mission(mira)
    later = mission(mira, follows=first)
    RunAuthor.objects.note(first.pk, noor, AuthorContribution.SAID)
    assert may(asks(later.run), noor) == [True]


def test_runs_that_began_from_each_other_are_no_endless_way(mira, noor):
    first = mission(mira)
    later = mission(mira, follows=first)
    with tampering():
        Run.objects.filter(pk=later.pk).update(parent=first.run, root=first.run, step="agent-1")
    RunAuthor.objects.note(first.pk, noor, AuthorContribution.SAID)
    assert may(asks(later.run), noor) == [False]
