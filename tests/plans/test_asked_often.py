"""Where one kind of change is approved again and again, a policy that asks less is prepared for whoever may set it."""

import json
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from engine.models import Gate, GateDecision, GateRule
from engine.policy import parse_policy
from plans.models import Team
from plans.rules.approval_policy import CAREFUL_POLICY, WATCHFUL_POLICY, TeamPolicy
from plans.rules.enums import StepEffect
from tests.conftest import allow
from tests.plans.scenes import plan, team

pytestmark = pytest.mark.django_db
TITLE = {"title": "Order a laptop"}


def approved(run, user, times=10, state="approved", tool="tasks.add", effect="writes", days=0, arguments=TITLE):
    """So many calls of this tool, each asked about and decided."""
    made = timezone.now() - timedelta(days=days, minutes=1)
    text = f"{tool}, which {effect}\n{json.dumps(arguments, indent=2)}\nDefinition of the tool: {'0' * 64}"
    about = {"kind": "tool", "tool": tool, "effect": effect, "text": text, "policy": parse_policy(None), "number": 1}
    for _ in range(times):
        step = f"step-{Gate.objects.count()}-0-1"
        gate = Gate.objects.create(run=run, step=step, state=state, made=made, closed=made, **about)
        word = "approve" if state == "approved" else "reject"
        GateDecision.objects.create(gate=gate, by_user=user, by=user.username, decision=word, made=made)


@pytest.fixture
def run(mira):
    return plan(mira, team(WATCHFUL_POLICY, name="Watched")).run


@pytest.fixture
def rail(page):
    def rail():
        source = page.get(reverse("waiting")).content.decode()
        return source.partition("Perhaps asked too often")[2]

    return rail


def test_after_ten_approvals_of_one_shape_it_is_said_and_not_before(rail, run, mira):
    approved(run, mira, 9)
    assert not rail()
    approved(run, mira, 1)
    said = rail()
    assert "You approved 10 of 10 uses of tasks.add by the team “Watched” in 30 days, each as it was asked." in said
    assert "Propose it to whoever may change teams here" in said
    assert reverse("team", args=[Team.objects.get().pk]) in said


@pytest.mark.parametrize(
    "otherwise",
    [
        {"days": 31},
        {"effect": "reaches_out", "tool": "mail.send"},
        {"times": 9},
    ],
    ids=["long ago", "what leaves the house", "seldom"],
)
def test_other_approvals_say_nothing(rail, run, mira, otherwise):
    approved(run, mira, **otherwise)
    assert not rail()


def test_calls_with_other_arguments_are_another_shape(rail, run, mira):
    approved(run, mira, 6)
    approved(run, mira, 6, arguments=TITLE | {"assignee": "ada@example.org"})
    assert not rail()
    approved(run, mira, 4, arguments=TITLE | {"assignee": "ben@example.org"})
    assert "10 of 10" in rail()


@pytest.mark.parametrize("state", ["rejected", "void"])
def test_one_that_was_refused_or_changed_stands_against_all(rail, run, mira, noor, state):
    approved(run, mira, 12)
    approved(run, noor, 1, state=state, tool="people.add")
    assert not rail()


def test_where_a_rule_of_the_installation_asks_nothing_can_be_eased(rail, run, mira):
    approved(run, mira)
    GateRule.objects.create(procedure="plan", kind="tool", who="person")
    assert not rail()


@pytest.mark.parametrize("policy", [CAREFUL_POLICY, "four eyes", "a council"])
def test_a_team_that_asks_nobody_or_more_than_one_word_is_left_as_it_is(rail, mira, policy):
    asked = {"four eyes": {"who": "person", "four_eyes": True}, "a council": {"who": "council", "council": "Any"}}
    if isinstance(policy, str):
        policy = TeamPolicy(calls={**CAREFUL_POLICY.calls, StepEffect.WRITES: asked[policy]})
    approved(plan(mira, team(policy, name="Other")).run, mira)
    assert not rail()


def test_whoever_may_change_the_team_is_offered_the_policy_and_saves_it_or_not(page, rail, run, mira):
    approved(run, mira)
    allow(mira, "plans.change_team")
    edit = f"{reverse('team-edit', args=[Team.objects.get().pk])}?ease=writes"
    assert f'href="{edit}#asked">Look at that version' in rail()
    form = page.get(edit).context["submission"]
    assert "Prepared" in page.get(edit).content.decode()
    assert {one.key: one["who"].value() for one in form.demands}["calls-writes"] == "open"
    assert TeamPolicy.of(Team.objects.get().current.policy) == WATCHFUL_POLICY


def test_the_page_of_the_team_says_it_to_whoever_may_change_it_and_to_nobody_else(page, run, mira, noor):
    approved(run, noor)
    address = reverse("team", args=[Team.objects.get().pk])
    assert "Perhaps asked too often" not in page.get(address).content.decode()
    allow(mira, "plans.change_team")
    assert "People approved 10 of 10 uses of tasks.add" in page.get(address).content.decode()
