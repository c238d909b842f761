"""How often one person may read through the API."""

import pytest

from engine.models import RateBucket
from magi_site import api
from magi_site.reads import Reads
from tests.callers import ApiCaller, problem
from tests.magi_site.test_trouble import set_read_only

pytestmark = pytest.mark.django_db


@pytest.fixture
def paced(settings, monkeypatch):
    settings.USER_READS = 20
    monkeypatch.setattr(api, "reads", Reads())


def test_who_reads_more_often_than_the_setting_waits_and_others_do_not(paced, mira, noor):
    calls = ApiCaller(mira)
    assert [calls.get("/councils").status_code for _ in range(20)] == [200] * 20
    refused = problem(ApiCaller(mira).get("/runs"), 429)
    assert "You have read 20 times in a minute" in refused["detail"]
    assert int(calls.get("/runs").headers["Retry-After"]) > 0
    assert ApiCaller(noor).get("/councils").status_code == 200


def test_what_changes_something_has_its_own_pace(paced, mira):
    calls = ApiCaller(mira)
    for _ in range(21):
        calls.get("/councils")
    assert calls.post("/judgements", {}).status_code == 422


def test_of_many_reads_few_write(settings, mira, django_assert_num_queries):
    settings.USER_READS = 1_200
    reads = Reads()
    reads.take(mira)
    with django_assert_num_queries(0):
        for _ in range(99):
            reads.take(mira)
    assert RateBucket.objects.count() == 1


def test_without_a_limit_nothing_is_counted(settings, mira):
    settings.USER_READS = 0
    Reads().take(mira)
    assert not RateBucket.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_where_nothing_can_be_written_what_can_be_read_is_read(paced, mira):
    set_read_only(True)
    try:
        Reads().take(mira)
    finally:
        set_read_only(False)


def test_each_call_that_reads_is_described_with_it():
    paths = api.api.get_openapi_schema()["paths"].values()
    assert [
        one for operations in paths if (one := operations.get("get")) and "429" not in map(str, one["responses"])
    ] == []
