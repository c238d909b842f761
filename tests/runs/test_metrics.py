"""What /metrics tells: to whom, and that it is counted."""

import pytest
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families

from engine.models import Run
from runs.metrics import metrics_text
from tests.conftest import ScriptedModels, judged, submitted

TOKEN = "a-token-for-the-scraper"


def told():
    """Each value by its name and what its labels say, in the order of their names."""
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(metrics_text().decode())
        for sample in family.samples
    }


def test_it_is_told_to_whoever_has_the_token_and_to_nobody_else(db, settings):
    ask = Client().get
    assert ask("/metrics").status_code == 404
    settings.METRICS_TOKEN = TOKEN
    assert ask("/metrics").status_code == 404
    assert ask("/metrics", headers={"authorization": f"Bearer {TOKEN}x"}).status_code == 404
    answer = ask("/metrics", headers={"authorization": f"Bearer {TOKEN}"})
    assert (answer.status_code, b"magi_info" in answer.content) == (200, True)
    assert answer["Content-Type"].startswith("text/plain; version=0.0.4")


def test_runs_are_counted_by_kind_and_status_and_the_queue_has_an_age(mira):
    submitted(mira)
    values = told()
    assert values["magi_runs", "judgement", Run.Status.QUEUED] == 1
    assert values["magi_queue_runs",] == 1
    assert 0 <= values["magi_queue_age_seconds",] < 60
    assert values["magi_engine_at_work",] == 1


@pytest.mark.django_db(transaction=True)
def test_calls_are_counted_by_provider_and_outcome_with_what_they_used(mira):
    judged(mira, ScriptedModels())
    values = told()
    assert values["magi_runs", "judgement", "finished"] == 1
    assert values["magi_recent_calls", "answered", "openai"] == 9
    assert values["magi_recent_tokens", "in", "openai"] > 0
    assert values["magi_queue_runs",] == 0


def test_whether_commands_of_missions_are_held_is_told(db):
    assert told()["magi_sandbox_holds",] in (0, 1)
