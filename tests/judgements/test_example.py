import re

import pytest
from django.urls import reverse

from engine.models import ModelCall, Run
from judgements.demo import ID, demo_judgement
from judgements.models import Judgement, RoundDecision

pytestmark = pytest.mark.django_db


def html_of(page, name):
    return page.get(reverse(name)).content.decode()


def test_the_example_is_shown_as_any_judgement_and_says_that_it_is_one(page):
    html = html_of(page, "example")
    for text in ("Example: Release on Friday at 16:00", "Rehearsal: no model was asked.", ">Approved<", "Release gate"):
        assert text in html
    assert html.count('data-state="approve"') > 9


def test_nothing_on_it_leads_to_a_row_that_is_not_there(page):
    for name in ("example", "example-replay"):
        for address in set(re.findall(rf'(?:href|action|data-frames)="([^"]*{ID}[^"]*)"', html_of(page, name))):
            assert page.get(address, follow=True).status_code == 200


def test_it_can_be_replayed(page):
    frames = page.get(reverse("example-frames")).json()
    assert len(frames["frames"]) >= 10
    assert 20 < frames["length"] < 60
    assert "data-frames" in html_of(page, "example-replay")


def test_it_is_counted_nowhere_and_read_from_nowhere(page, django_assert_num_queries):
    html_of(page, "example")
    assert not any(model.objects.exists() for model in (Run, Judgement, RoundDecision, ModelCall))
    with django_assert_num_queries(0):
        judgement, _ = demo_judgement()
        assert judgement.status == "approved"
        assert [len(agent.decided) for agent in judgement.agents.all()] == [3, 3, 3]
