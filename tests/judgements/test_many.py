"""Many judgements in one request: all or none, each once, and every fault by its number."""

import pytest

from engine.models import Run
from runs.models import IdempotencyKey
from tests.callers import fields, problem
from tests.conftest import JAPAN, agents

pytestmark = pytest.mark.django_db


def asked(*keys, **more):
    return {"judgements": [{"content": JAPAN, "agents": agents(), "key": key, **more} for key in keys]}


def test_all_are_submitted_in_their_order_and_again_only_once(mira_calls):
    first = mira_calls.post("/judgements/batch", asked("a", "b", "c"))
    assert first.status_code == 202
    again = mira_calls.post("/judgements/batch", asked("c", "a", "b"))
    ids = [one["id"] for one in first.json()["results"]]
    assert [one["id"] for one in again.json()["results"]] == [ids[2], ids[0], ids[1]]
    assert Run.objects.count() == 3


def test_one_that_was_submitted_alone_is_the_same(mira_calls):
    alone = mira_calls.post("/judgements", {"content": JAPAN, "agents": agents()}, Idempotency_Key="a").json()
    assert mira_calls.post("/judgements/batch", asked("a")).json()["results"][0]["id"] == alone["id"]


def test_of_many_with_faults_none_is_submitted_and_each_fault_is_named(mira_calls):
    body = asked("a", "b", "b", "", "a\0", "\ud800")
    body["judgements"][1] |= {"content": " ", "title": "x" * 121}
    body["judgements"][2] |= {"agents": None, "council": "Nobody"}
    wrong = fields(mira_calls.post("/judgements/batch", body))
    places = {"1.content", "1.title", "2.key", "2.council", "3.key", "4.key", "5.key"}
    assert set(wrong) == {f"judgements.{place}" for place in places}
    assert not Run.objects.exists()
    assert not IdempotencyKey.objects.exists()


def test_a_version_that_is_another_one_names_whose_it_is(mira_calls, council):
    body = asked("a", "b")
    body["judgements"][1] |= {"agents": None, "council": "Magi", "version": 7}
    assert "judgements.1" in fields(mira_calls.post("/judgements/batch", body), 409)
    assert not Run.objects.exists()


@pytest.mark.parametrize("number", [0, 4, 51])
def test_no_more_than_one_person_may_submit(mira_calls, settings, number):
    settings.USER_SUBMISSIONS = 3
    assert "judgements" in fields(mira_calls.post("/judgements/batch", asked(*map(str, range(number)))))


def test_beyond_the_limit_none_is_submitted_and_none_counted(mira_calls, settings):
    settings.USER_SUBMISSIONS = 3
    assert mira_calls.post("/judgements/batch", asked("a", "b")).headers["RateLimit"].startswith('"submissions";r=1;')
    answer = mira_calls.post("/judgements/batch", asked("c", "d"))
    problem(answer, 429)
    assert answer.headers["RateLimit"].startswith('"submissions";r=1;')
    assert Run.objects.count() == 2
