"""The calls that all kinds of runs share: each kind under its own address, and all of them under /runs."""

import asyncio
from itertools import product

import pytest
from asgiref.sync import sync_to_async
from django.test import AsyncClient, Client

from engine.models import Run
from engine.models.budgets import Budget
from magi_site.api import api
from magi_site.models import Token
from runs.procedure import schemas
from tests.callers import ApiCaller, bearer, fields, messages, problem
from tests.checking.face import CheckObject
from tests.checking.models import Check
from tests.conftest import perform
from tests.contract import EXAMPLES

pytestmark = pytest.mark.django_db
ASKED = {"question": "Is a xylophone an instrument?"}


@pytest.fixture
def two(mira):
    """A run of each kind, the check last."""
    return [EXAMPLES[kind](mira) for kind in ("judgement", "check")]


def with_scopes(user, *scopes):
    caller = ApiCaller(user)
    caller.client = Client(headers={"Authorization": f"Bearer {Token.objects.make(user, scopes=scopes).secret}"})
    return caller


# ---- looking ------------------------------------------------------------------------------------------------


def test_a_run_is_the_same_under_the_address_of_its_kind_and_of_all(mira_calls, two):
    for row, nouns in zip(two, ("judgements", "checks"), strict=True):
        found = mira_calls.get(f"/runs/{row.pk}").json()
        schemas.RunOut.model_validate(found)
        assert found == mira_calls.get(f"/{nouns}/{row.pk}").json()
        assert found["url"].endswith(f"/{nouns}/{row.pk}/")


def test_each_kind_says_its_own_beside_what_all_say(mira_calls, two):
    judgement, check = (mira_calls.get(f"/runs/{row.pk}").json() for row in two)
    assert (judgement["kind"], judgement["status"], judgement["outcome"]) == ("judgement", "idle", None)
    assert (check["kind"], check["status"], check["question"]) == ("check", "queued", two[1].question)
    CheckObject.model_validate(check)


def test_a_run_is_not_there_under_the_address_of_another_kind(mira_calls, two):
    judgement, check = two
    assert "no such check" in problem(mira_calls.get(f"/checks/{judgement.pk}"), 404)["detail"]
    assert "no such judgement" in problem(mira_calls.get(f"/judgements/{check.pk}"), 404)["detail"]


def test_others_runs_are_answered_as_those_that_are_not_there(noor, two):
    ways = ("get", ""), ("get", "/events"), ("get", "/record"), ("post", "/cancel"), ("post", "/retry")
    for row, (method, path) in product(two, ways):
        assert "no such run" in problem(getattr(ApiCaller(noor), method)(f"/runs/{row.pk}{path}"), 404)["detail"]


def test_a_run_of_a_procedure_that_is_gone_is_not_there(mira_calls, mira):
    gone = Run.objects.create(procedure="gone", owner=mira)
    problem(mira_calls.get(f"/runs/{gone.pk}"), 404)
    assert mira_calls.get("/runs").json()["results"] == []


def test_the_record_of_any_kind_is_given(mira_calls, two):
    for row in two:
        found = mira_calls.get(f"/runs/{row.pk}/record").json()
        assert (found["id"], [entry["kind"] for entry in found["entries"]]) == (str(row.pk), ["submitted"])


def test_a_look_takes_few_queries(mira_calls, two, django_assert_max_num_queries):
    mira_calls.get("/councils")  # writes down that the token was used
    for row, queries in zip(two, (8, 7), strict=True):
        with django_assert_max_num_queries(queries):
            mira_calls.get(f"/runs/{row.pk}")


# ---- submitting ---------------------------------------------------------------------------------------------


def test_a_procedure_is_asked_in_a_few_lines(mira_calls, mira):
    answer = mira_calls.post("/checks", ASKED)
    assert answer.status_code == 202
    found = mira_calls.client.get(answer.headers["Location"]).json()
    assert (found, found["question"]) == (answer.json(), ASKED["question"])
    assert Check.objects.get().run.owner == mira


def test_a_key_brings_what_was_submitted_first_whatever_its_kind(mira_calls):
    first, again = (mira_calls.post("/checks", ASKED, Idempotency_Key="k").json() for _ in range(2))
    assert first["id"] == again["id"]
    problem(mira_calls.post("/checks", {"question": "Another?"}, Idempotency_Key="k"), 422)
    problem(mira_calls.post("/checks", ASKED, Idempotency_Key=""), 400)
    assert Run.objects.count() == 1


# ---- steering -----------------------------------------------------------------------------------------------


def test_any_run_is_cancelled_and_says_so_in_the_words_of_its_kind(mira_calls, two):
    for row in two:
        for _ in range(2):
            answer = mira_calls.post(f"/runs/{row.pk}/cancel")
            assert (answer.status_code, answer.json()["status"]) == (202, "cancelled")


def test_what_is_over_is_not_cancelled(mira_calls, two):
    Run.objects.update(status="failed", error={"code": "timeout", "message": "It took too long."})
    for row, word in zip(two, ("error", "failed"), strict=True):
        said = problem(mira_calls.post(f"/runs/{row.pk}/cancel"), 409)["detail"]
        assert said == f"It cannot be cancelled, for it is over: {word}."


def test_any_run_that_failed_goes_on(mira_calls, two):
    Run.objects.update(status="failed", error={"code": "timeout", "message": "It took too long."})
    for row, word in zip(two, ("idle", "queued"), strict=True):
        answer = mira_calls.post(f"/runs/{row.pk}/retry")
        assert (answer.status_code, answer.json()["status"]) == (202, word)
        assert word in problem(mira_calls.post(f"/runs/{row.pk}/retry"), 409)["detail"]


def test_a_retry_needs_what_it_may_cost(mira_calls, mira, two, monkeypatch):
    Budget.objects.create(owner=mira, limit=1)
    Run.objects.update(status="failed", error={"code": "timeout", "message": "It took too long."})
    monkeypatch.setattr("tests.checking.face.Checking.estimate", lambda face, row: 2)
    problem(mira_calls.post(f"/runs/{two[1].pk}/retry"), 402)
    assert Run.objects.get(pk=two[1].pk).status == "failed"


def test_a_scope_for_one_kind_holds_for_that_kind_under_every_address(mira, two):
    judgement, check = two
    caller = with_scopes(mira, "steer:check")
    assert caller.post(f"/runs/{check.pk}/cancel").status_code == 202
    for refused in (caller.post(f"/runs/{judgement.pk}/cancel"), caller.post("/checks", ASKED)):
        assert 'error="insufficient_scope"' in refused.headers["WWW-Authenticate"]
        problem(refused, 403)
    assert Run.objects.get(pk=judgement.pk).status == "queued"


def test_who_lacks_a_scope_is_not_told_whether_there_is_such_a_run(mira, noor, two):
    problem(with_scopes(noor).post(f"/runs/{two[0].pk}/cancel"), 404)


# ---- lists --------------------------------------------------------------------------------------------------


def ids(answer):
    return [one["id"] for one in answer.json()["results"]]


def test_the_list_has_all_kinds_newest_first_or_one_of_them(mira_calls, noor, two):
    EXAMPLES["check"](noor)
    judgement, check = (str(row.pk) for row in two)
    assert ids(mira_calls.get("/runs")) == [check, judgement]
    assert ids(mira_calls.get("/runs", kind="judgement")) == [judgement]
    assert ids(mira_calls.get("/runs", kind="check")) == ids(mira_calls.get("/checks")) == [check]


def test_pages_lead_from_the_newest_to_the_oldest_of_all_kinds(mira_calls, mira):
    made = [EXAMPLES[kind](mira) for _ in range(14) for kind in ("judgement", "check")]
    first = mira_calls.get("/runs")
    second = mira_calls.client.get(first.json()["next"])
    assert ids(first) + ids(second) == [str(row.pk) for row in reversed(made)]
    assert (len(ids(first)), second.json()["next"]) == (25, None)


def test_a_page_keeps_its_kind(mira_calls, mira):
    for _ in range(26):
        EXAMPLES["check"](mira)
    EXAMPLES["judgement"](mira)
    following = mira_calls.get("/runs", kind="check").json()["next"]
    assert "kind=check" in following
    assert len(ids(mira_calls.client.get(following))) == 1


def test_a_list_of_all_kinds_takes_as_many_queries_however_long_it_is(mira_calls, mira, django_assert_max_num_queries):
    for kind in ("judgement", "check") * 12:
        EXAMPLES[kind](mira)
    with django_assert_max_num_queries(16):
        mira_calls.get("/runs")


def test_what_is_listed_is_sought_by_words_and_days(mira_calls, two):
    check = str(two[1].pk)
    for path in ("/runs", "/checks"):
        assert ids(mira_calls.get(path, q="instrument", since="2020-01-01")) == [check]
        assert ids(mira_calls.get(path, q="nothing")) == ids(mira_calls.get(path, until="2020-01-01")) == []


def test_what_is_wrong_in_a_list_is_named(mira_calls):
    wrong = {"since": "yesterday", "kind": "nonsense", "cursor": "x", "status": "idle", "outcome": "x" * 61}
    assert [name for name, value in wrong.items() if name not in fields(mira_calls.get("/runs", **{name: value}))] == []


def test_a_page_does_not_begin_at_what_one_may_not_see(noor, two):
    assert "cursor" in fields(ApiCaller(noor).get("/runs", cursor=str(two[0].pk)))


# ---- waiting and following ----------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
async def test_any_run_is_waited_for_and_followed(mira):
    row = await sync_to_async(EXAMPLES["check"])(mira)
    client, token = AsyncClient(), await sync_to_async(bearer)(mira)
    waits = asyncio.create_task(client.get(f"/api/v1/runs/{row.pk}", headers=token, query_params={"wait": "30"}))
    stream = await client.get(f"/api/v1/checks/{row.pk}/events", headers=token)
    performing = asyncio.create_task(perform(row.pk))
    async with asyncio.timeout(60):
        told = [data async for _, data in messages(stream, "check")]
    await performing
    assert told[-1]["outcome"] == (await waits).json()["outcome"] is not None
    assert {data["status"] for data in told} <= {"queued", "running", "finished"}


@pytest.mark.django_db(transaction=True)
async def test_an_event_under_runs_has_one_name_for_all_kinds(mira):
    row = await sync_to_async(EXAMPLES["judgement"])(mira)
    answer = await AsyncClient().get(f"/api/v1/runs/{row.pk}/events", headers=await sync_to_async(bearer)(mira))
    _, data = await anext(messages(answer, "run"))
    assert data["kind"] == "judgement"


# ---- what it says of itself ---------------------------------------------------------------------------------


def test_every_kind_has_the_calls_of_all():
    paths = set(api.get_openapi_schema()["paths"])
    shared = {path.removeprefix("/api/v1/runs") for path in paths if path.startswith("/api/v1/runs")}
    shared.remove("/{id}/reviews")  # of whatever kind, they are under this address alone
    assert len(shared) == 6
    for nouns in ("judgements", "checks"):
        assert {f"/api/v1/{nouns}{path}" for path in shared} <= paths


def test_no_call_has_the_name_of_another():
    calls = [call for operations in api.get_openapi_schema()["paths"].values() for call in operations.values()]
    names = [call["operationId"] for call in calls]
    assert len(names) == len(set(names))
