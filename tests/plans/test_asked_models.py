"""Which models a plan asks is its own row, whatever the installation's default one is by now."""

from importlib import import_module

import pytest
from django.apps import apps
from django.db import connection

from engine.audit.verification import verify_one
from plans.models import Plan
from tests.databases import tampering
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


def test_an_older_row_is_filled_with_what_was_sealed(made):
    with tampering():
        Plan.objects.update(asked_models=[])
        import_module("plans.migrations.0011_asked_models").fill(apps, connection.SchemaEditorClass(connection))
    assert Plan.objects.get().asked_models == made.asked_models
    assert verify_one(made.pk)[2] == []


def test_an_older_row_whose_team_was_changed_stays_to_be_seen(made):
    with tampering():
        made.team_version.agents.filter(seat=2).update(model="forged/model")
        import_module("plans.migrations.0011_asked_models").fill(apps, connection.SchemaEditorClass(connection))
    assert "The models was changed" in str(verify_one(made.pk)[2])
