"""Which models a plan asks is its own row, whatever the installation's default one is by now."""

import pytest

from engine.audit.verification import verify_one
from plans.models import Plan
from tests.plans.scenes import AGENTS, plan, team

pytestmark = pytest.mark.django_db(transaction=True)

OPEN = [{**AGENTS[0], "model": ""}, AGENTS[1]]


@pytest.fixture
def made(mira, settings):
    settings.DEFAULT_MODEL = "rehearsal/instant"
    found = plan(mira, team(planner="", agents=OPEN))
    settings.DEFAULT_MODEL = "another/model"
    return Plan.objects.get(pk=found.pk)


def test_it_asks_the_models_that_it_was_submitted_with(made):
    assert made.planner == "rehearsal/instant"
    assert [made.model_of(agent) for agent in made.agents] == ["rehearsal/instant", "test/letters"]
    assert made.rehearsal
    assert verify_one(made.pk)[2] == []
