"""Which gate a token was sent for a step, however many of its requests are answered at once."""

import asyncio

import pytest
from django.db import OperationalError

from engine.models import Gate
from plans.models import PlanStep, SentGate
from tests.conftest import at_once, perform
from tests.plans.scenes import plan, steps, team

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgresql]


@pytest.mark.postgresql
def test_two_answers_at_once_note_the_same_in_whatever_order(mira, models):
    models.will("test/planner", steps(*((f"Add {n}.", "Sums", ["figures.calculate"]) for n in range(12))))
    made = plan(mira, team())
    asyncio.run(perform(made.pk, models))
    gate = Gate.objects.filter(run=made.pk).first()
    forth = dict.fromkeys(PlanStep.objects.filter(plan=made.pk).order_by("pk").values_list("pk", flat=True), gate.pk)
    back = dict(reversed(forth.items()))

    def note(order):
        for token in range(40):
            SentGate.objects.note(token, order)

    assert at_once(lambda: note(forth), lambda: note(back), refused=OperationalError) == [None, None]
    assert SentGate.objects.count() == 40 * len(forth)
