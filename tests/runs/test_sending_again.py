"""A key by which one request can be sent again."""

import json

import pytest

from engine.models import Run
from judgements.models import Council
from tests.callers import ApiCaller, problem
from tests.conftest import JAPAN, agents

pytestmark = pytest.mark.django_db


ASKED = {"content": JAPAN, "agents": agents()}


def test_a_key_submits_once(mira_calls):
    first = mira_calls.post("/judgements", ASKED, Idempotency_Key="k")
    other_order = json.dumps(dict(reversed(ASKED.items())), indent=3)
    again = mira_calls.post("/judgements", other_order, Idempotency_Key="k")
    assert (again.status_code, again.json()["id"]) == (202, first.json()["id"])
    assert Run.objects.count() == 1


def test_a_key_brings_the_judgement_even_if_it_could_not_be_submitted_now(mira_calls, council):
    asked = {"content": JAPAN, "council": "Magi"}
    first = mira_calls.post("/judgements", asked, Idempotency_Key="k").json()
    Council.objects.get(name="Magi").archive(by=None)
    assert mira_calls.post("/judgements", asked, Idempotency_Key="k").json()["id"] == first["id"]


def test_a_key_with_another_body_is_refused(mira_calls):
    mira_calls.post("/judgements", ASKED, Idempotency_Key="k")
    said = problem(mira_calls.post("/judgements", {**ASKED, "content": "Other"}, Idempotency_Key="k"), 422)
    assert "Idempotency-Key" in said["detail"]
    assert Run.objects.count() == 1


def test_a_key_belongs_to_its_owner(mira_calls, noor):
    ids = {
        caller.post("/judgements", ASKED, Idempotency_Key="k").json()["id"] for caller in (mira_calls, ApiCaller(noor))
    }
    assert len(ids) == 2


def test_a_key_is_free_again_where_nothing_was_submitted(mira_calls):
    problem(mira_calls.post("/judgements", {**ASKED, "content": ""}, Idempotency_Key="k"), 422)
    assert mira_calls.post("/judgements", ASKED, Idempotency_Key="k").status_code == 202


@pytest.mark.parametrize("key", ["", "x" * 201])
def test_a_key_that_is_none_is_refused(mira_calls, key):
    problem(mira_calls.post("/judgements", ASKED, Idempotency_Key=key), 400)
    assert not Run.objects.exists()
