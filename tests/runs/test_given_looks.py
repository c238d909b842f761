"""Whoever was given a record has looked at it once any door has shown it to them."""

import pytest
from django.contrib.auth.models import Group

from runs.given_looks import note_look
from runs.giving import give
from runs.models import GivenLook
from tests.conftest import judged
from tests.databases import once

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def run(mira):
    return once(judged, mira).run


def anew(user):
    return type(user).objects.get(pk=user.pk)


def given_twice(run, by, user, then_by):
    """By name, and then in a group."""
    user.groups.add(Group.objects.create(name="Release"))
    return give(run, by, user.username), give(run, then_by, "Release")


def test_a_look_counts_for_what_was_given_by_name_before_what_a_group_was_given(run, mira, noor):
    by_name, _ = given_twice(run, mira, noor, mira)
    note_look(run, anew(noor))
    assert GivenLook.objects.get().given == by_name


def test_a_look_counts_for_nothing_whose_giver_may_not_give_it_any_more(run, mira, noor, reviewer):
    _, to_the_group = given_twice(run, reviewer, noor, mira)
    type(reviewer).objects.filter(pk=reviewer.pk).update(is_superuser=False)
    note_look(run, anew(noor))
    assert GivenLook.objects.get().given == to_the_group
