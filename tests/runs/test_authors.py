"""Whoever says something to a run, of whatever kind, is one of those whose words are in what it asks."""

import pytest

from debates import chair
from engine.models import RunAuthor
from inquiries import talking as inquiry_talk
from inquiries.models import OrderKind
from missions import talking as mission_talk
from plans import talking as plan_talk
from tests.debates.rows import queued
from tests.inquiries.scenes import inquiry
from tests.missions.scenes import mission
from tests.plans.scenes import plan

pytestmark = pytest.mark.django_db

SAID = {
    "the planner": (plan, lambda pk, user: plan_talk.say(pk, user, "Write it to Ben.")),
    "a crew": (mission, lambda pk, user: mission_talk.say(pk, user, "Take the second file.")),
    "an inquiry": (inquiry, lambda pk, user: inquiry_talk.say(pk, user, OrderKind.HINT, "Look here.")),
    "a debate": (queued, lambda pk, user: chair.say(pk, user, "Let us speak of money.")),
}


def test_whoever_says_something_to_it_is_known_as_one_of_its_authors(mira, noor):
    begun = {name: begin(mira).pk for name, (begin, _) in SAID.items()}
    for name, (_, say) in SAID.items():
        say(begun[name], noor)
        say(begun[name], noor)
    known = list(RunAuthor.objects.values_list("run", "user", "name", "part", "place"))
    assert sorted(known, key=str) == sorted([(pk, noor.pk, "noor", "said", "") for pk in begun.values()], key=str)


def test_the_command_line_is_nobody_who_decides(mira):
    mission_talk.say(mission(mira).pk, None, "Take the second file.")
    assert not RunAuthor.objects.exists()
