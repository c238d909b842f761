"""Whoever performs a debate reads what is new of it, and sees all of it."""

from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone

from debates.models import Debate, DebateTurn
from debates.models.context_builder import build_prompt_context
from debates.models.incremental_read import IncrementalDebate
from debates.rules.state import SteeringKind
from tests.databases import tampering
from tests.debates.table import Table

pytestmark = [pytest.mark.django_db, pytest.mark.postgresql]

STEPS = (
    lambda table: table.chair("Think of the law."),
    lambda table: table.alone(2, "HIRE"),
    lambda table: table.chair("Be quick."),
    lambda table: table.alone(3, "HIRE"),
    lambda table: table.note(),
    lambda table: table.say(1, verdict="HIRE", reasoning="For the papers."),
    lambda table: table.open(2),
    lambda table: table.chair("Think of the costs.", [2]),
    lambda table: table.say(2, "The costs are known.", verdict="HIRE", reasoning="They are low."),
    lambda table: table.open(3),
    lambda table: table.skip(),
    lambda table: table.steer(SteeringKind.ASK, 4),
    lambda table: table.open(4, why="asked", steer=1),
    lambda table: table.say(4),
    lambda table: table.play(12),
    lambda table: table.steer(SteeringKind.EXTEND, amount=20),
    lambda table: table.close("closed"),
    lambda table: table.last_word(3, verdict="HIRE", reasoning="For all that."),
)


def whole(table):
    debate = Debate.objects.with_messages().get(pk=table.pk)
    return build_prompt_context(debate, debate.state(claim=7))


def test_each_look_sees_what_reading_all_of_it_would():
    table = Table(None)
    unfolding = IncrementalDebate(table.pk)
    for step in STEPS:
        step(table)
        seen = unfolding.read(7, timezone.now()).table
        assert replace(seen, course=None) == replace(whole(table), course=None)
        assert seen.course == whole(table).course


def test_what_is_read_anew_does_not_grow_with_what_was_said(django_assert_max_num_queries):
    table = Table(None)
    table.play(12)
    unfolding = IncrementalDebate(table.pk)
    unfolding.read(1, timezone.now())
    table.say()
    with django_assert_max_num_queries(5) as asked:
        unfolding.read(1, timezone.now())
    assert "debates_member" not in str(asked.captured_queries)


def test_a_turn_is_read_again_while_it_is_open():
    table = Table(None)
    table.play(4)
    unfolding = IncrementalDebate(table.pk)
    table.open()
    assert unfolding.read(1, timezone.now()).course.open_turn
    table.skip()
    assert unfolding.read(1, timezone.now()).course.open_turn is None
    assert DebateTurn.objects.filter(debate=table.pk, state="skipped").count() == 1


def test_skips_come_in_one_order_whatever_clocks_say():
    table = Table(None)
    table.open(2)
    table.skip()
    with tampering():  # as another host's clock would have it
        DebateTurn.objects.filter(debate=table.pk).update(closed=timezone.now() + timedelta(seconds=9))
    table.open(3)
    table.skip()
    skipped = DebateTurn.objects.filter(debate=table.pk, state="skipped")
    assert [*skipped.order_by("closed")] == [*skipped.order_by("number")]
    assert len(skipped) == 2
