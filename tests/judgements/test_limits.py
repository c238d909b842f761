"""What one person may have and do at once: pages and API refuse more, kindly, and the command line does not."""

import gc
from functools import partial

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from engine.models import Run, rate_limits
from engine.models.rate_limits import RateLimitReached
from judgements import procedure
from judgements.models import Judgement
from magi_site.models import Token
from runs.record import export
from tests.conftest import JAPAN, agents, at_once

pytestmark = pytest.mark.django_db
ASKED = {"content": JAPAN, "agents": agents()}
TYPED = {"content": JAPAN, "title": "Japan", "council": "0"} | {
    f"a{number}-{key}": value for number, agent in enumerate(agents(), start=1) for key, value in agent.items()
}


def post(user, path="/judgements", content=ASKED, **headers):
    client = Client(headers={"Authorization": f"Bearer {Token.objects.make(user).secret}", **headers})
    return client.post(f"/api/v1{path}", content, content_type="application/json")


def statuses(user, number, **more):
    return [post(user, **more).status_code for _ in range(number)]


def test_the_api_queues_only_so_many_of_one_person(mira, noor, settings):
    settings.USER_QUEUED = 2
    assert statuses(mira, 2) == [202, 202]
    answer = post(mira)
    assert (answer.status_code, answer.headers["Retry-After"]) == (429, "30")
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert "You have 2 waiting in the queue" in answer.json()["detail"]
    assert post(noor).status_code == 202
    Run.objects.filter(owner=mira).update(status="running")
    assert post(mira).status_code == 202


def test_nobody_submits_more_in_a_minute_than_may(mira, settings, monkeypatch):
    settings.USER_SUBMISSIONS = 3
    now = rate_limits.time.time()
    monkeypatch.setattr(rate_limits.time, "time", lambda: now)
    assert statuses(mira, 4) == [202, 202, 202, 429]
    monkeypatch.setattr(rate_limits.time, "time", lambda: now + 21)
    assert statuses(mira, 2) == [202, 429]


def test_answers_and_refusals_say_how_many_are_left(mira, settings, monkeypatch):
    settings.USER_SUBMISSIONS = 3
    now = rate_limits.time.time()
    monkeypatch.setattr(rate_limits.time, "time", lambda: now)
    answers = [post(mira) for _ in range(4)]
    assert {one.headers["RateLimit-Policy"] for one in answers} == {'"submissions";q=3;w=60'}
    said = ["r=2;t=20", "r=1;t=40", "r=0;t=60", "r=0;t=60"]
    assert [one.headers["RateLimit"] for one in answers] == [f'"submissions";{one}' for one in said]
    assert [one.headers.get("Retry-After") for one in answers] == [None, None, None, "20"]
    wrong = post(mira, content={"content": JAPAN, "council": "Nobody"})
    assert (wrong.status_code, wrong.headers["RateLimit"]) == (422, '"submissions";r=0;t=60')
    formless = post(mira, content={})
    assert (formless.status_code, "RateLimit" in formless.headers) == (422, False)


def test_the_page_says_so_and_keeps_what_was_typed(client, mira, settings):
    settings.USER_QUEUED = 1
    Judgement.objects.submit(owner=mira, content=JAPAN, agents=agents())
    client.force_login(mira)
    answer = client.post(reverse("new"), TYPED)
    text = answer.content.decode()
    assert (answer.status_code, answer.headers["Retry-After"]) == (429, "30")
    assert "You have 1 waiting in the queue" in text
    assert JAPAN in text
    assert "Criteria of Casper." in text
    assert Judgement.objects.count() == 1


def test_a_request_that_is_sent_again_under_its_key_is_not_limited(mira, settings):
    settings.USER_QUEUED = 1
    key = {"Idempotency-Key": "once"}
    assert [post(mira, **key).status_code for _ in range(3)] == [202, 202, 202]
    assert post(mira).status_code == 429


def test_what_is_refused_for_the_queue_costs_no_submission(mira, settings):
    settings.USER_QUEUED, settings.USER_SUBMISSIONS = 1, 2
    assert statuses(mira, 5) == [202, 429, 429, 429, 429]
    Run.objects.update(status="running")
    assert post(mira).status_code == 202


def test_to_retry_is_to_queue(client, mira, settings):
    settings.USER_QUEUED = 1
    failed, _ = (Judgement.objects.submit(owner=mira, content=JAPAN, agents=agents()) for _ in range(2))
    Run.objects.filter(pk=failed.pk).update(status="failed")
    assert post(mira, f"/judgements/{failed.pk}/retry", {}).status_code == 429
    client.force_login(mira)
    assert client.post(reverse("retry", args=[failed.pk])).status_code == 429
    assert Run.objects.get(pk=failed.pk).status == "failed"


def test_the_command_line_is_not_limited(mira, settings, capsys):
    settings.USER_QUEUED = settings.USER_SUBMISSIONS = 1
    for _ in range(3):
        procedure.submit(owner=mira, content=JAPAN, agents=agents())
    settings.USER_TOKENS = 1
    for _ in range(2):
        call_command("create_token", "mira")


def test_receipts_are_asked_for_at_a_limited_pace(mira, judgement, settings):
    settings.USER_RECEIPTS = 2
    path = f"/judgements/{judgement.pk}/receipt"
    assert statuses(mira, 3, path=path, content={}) == [409, 409, 429]


@pytest.mark.django_db(transaction=True)
def test_one_person_has_only_so_many_exports_under_way(client, mira, settings):
    settings.USER_EXPORTS = 2
    client.force_login(mira)
    address = reverse("export", args=["csv"])
    held = [client.get(address) for _ in range(2)]
    answer = client.get(address)
    assert (answer.status_code, answer.headers["Retry-After"]) == (429, "10")
    assert "You have 2 exports under way" in answer.content.decode()
    held.pop().close()
    assert client.get(address).status_code == 200
    del held
    gc.collect()
    assert not export._under_way


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_of_many_submissions_at_once_no_more_get_through_than_may(mira, settings):
    settings.USER_QUEUED = 3
    submit = partial(procedure.submit, owner=mira, content=JAPAN, agents=agents(), limited=True)
    outcomes = at_once(*[submit] * 10, refused=RateLimitReached)
    refused = [outcome for outcome in outcomes if isinstance(outcome, RateLimitReached)]
    assert (Run.objects.queued().count(), len(refused)) == (3, 7)
