from datetime import timedelta

import pytest
from django.utils import timezone

from engine.models import ModelCall, Run
from runs.views.start import typical_cost

pytestmark = pytest.mark.django_db

DOLLAR = 1_000_000_000


def finished(number, *, took=50, cost=20_000_000, model="openai/a", kind="judgement"):
    now = timezone.now()
    for _ in range(number):
        run = Run.objects.create(
            procedure=kind, status="finished", outcome="approved", started=now, ended=now + timedelta(seconds=took)
        )
        values = {"status": "answered", "model": model, "input_tokens": 9, "output_tokens": 9, "cost": cost}
        ModelCall.objects.create(run=run, step="A1", attempt=1, deadline=now, ended=now, **values)


def test_ten_are_enough_to_say_what_is_usual():
    finished(9)
    assert typical_cost("judgement", rehearsed=False) is None
    finished(1, took=500, cost=DOLLAR)
    assert str(typical_cost("judgement", rehearsed=False)) == "It usually takes 50 s and costs $0.0200."


def test_a_rehearsal_and_another_kind_say_nothing_about_it():
    finished(10, model="rehearsal/magi", cost=0)
    finished(10, kind="check")
    assert typical_cost("judgement", rehearsed=False) is None
    assert str(typical_cost("judgement", rehearsed=True)) == "It usually takes 50 s."


def test_costs_that_nobody_knows_are_not_said():
    finished(10, cost=None)
    assert str(typical_cost("judgement", rehearsed=False)) == "It usually takes 50 s."


def test_it_asks_twice_and_for_no_more_than_the_newest(django_assert_num_queries):
    finished(10, took=70)
    finished(100)
    with django_assert_num_queries(2):
        assert typical_cost("judgement", rehearsed=False).took == timedelta(seconds=50)
