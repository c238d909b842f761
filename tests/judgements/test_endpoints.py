"""The HTTP API of judgements: what callers get, and that whatever is wrong is a problem that says what."""

import asyncio
import gc
import json
import re
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from django.test import AsyncClient, Client

from engine import live
from engine.models import Run
from engine.models.budgets import Budget
from judgements import schemas
from judgements.models import Council, Judgement
from magi_site.api import api
from magi_site.models import Token
from runs import steering
from runs.api import events
from runs.api.schemas import Problem
from tests.conftest import JAPAN, NOBODYS_ID, agents, perform

pytestmark = pytest.mark.django_db
API = "/api/v1"
ASKED = {"content": JAPAN, "agents": agents()}


def bearer(user):
    return {"Authorization": f"Bearer {Token.objects.make(user).secret}"}


class Caller:
    def __init__(self, user):
        self.client = Client(headers=bearer(user))

    def get(self, path, **query):
        return self.client.get(f"{API}{path}", query_params=query)

    def post(self, path, content=None, content_type="application/json", **headers):
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        body = content if isinstance(content, (bytes, str)) else json.dumps(content)
        return self.client.post(f"{API}{path}", b"" if content is None else body, content_type, headers=named)


@pytest.fixture
def mira_calls(mira):
    return Caller(mira)


def problem(answer, status):
    assert answer.status_code == status, answer.content
    assert answer.headers["Content-Type"] == "application/problem+json"
    content = answer.json()
    Problem.model_validate(content)
    assert content["status"] == status
    return content


def fields(answer, status=422):
    return {error["path"]: error["message"] for error in problem(answer, status)["errors"]}


# ---- submitting ---------------------------------------------------------------------------------------------


def test_agents_are_put_to_judge(mira_calls, mira):
    answer = mira_calls.post("/judgements", ASKED)
    assert answer.status_code == 202
    found = answer.json()
    assert answer.headers["Location"] == f"http://testserver/api/v1/judgements/{found['id']}"
    assert (found["status"], found["verdict"], found["council"]) == ("idle", None, None)
    assert [agent["name"] for agent in found["agents"]] == ["Melchior", "Balthasar", "Casper"]
    assert Judgement.objects.get().run.owner == mira
    assert mira_calls.client.get(answer.headers["Location"]).json() == found


def test_a_council_is_put_to_judge_by_its_name(mira_calls, council):
    found = mira_calls.post("/judgements", {"content": JAPAN, "title": "Japan", "council": "mAgI"}).json()
    assert (found["council"], found["council_version"], found["title"]) == ("Magi", 1, "Japan")


def test_what_is_written_is_kept_as_it_is(mira_calls):
    content = "  Zürich → 東京 🗼\n\tone\r\ntwo  "
    assert mira_calls.post("/judgements", {**ASKED, "content": content}).json()["content"] == content


def changed(**agent):
    return [agents()[0], {**agents()[1], **agent}, agents()[2]]


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"content": ""}, "content"),
        ({"content": None}, "content"),
        ({"content": 5}, "content"),
        ({"content": ["x"]}, "content"),
        ({"content": " \n"}, "content"),
        ({"content": "x" * 20_001}, "content"),
        ({"content": "a\x00b"}, "content"),
        ({"content": "a\ud800b"}, "content"),
        ({"title": "x" * 121}, "title"),
        ({"title": "a\nb"}, "title"),
        ({"title": {}}, "title"),
        ({"verdict": "approved"}, "verdict"),
        ({"\ud800": 1}, ""),
        ({"agents": []}, "agents"),
        ({"agents": agents()[:2]}, "agents"),
        ({"agents": agents() + agents()[:1]}, "agents"),
        ({"agents": "three"}, "agents"),
        ({"agents": None}, "agents"),
        ({"agents": [1, 2, 3]}, "agents.0"),
        ({"agents": changed(name="")}, "agents.1.name"),
        ({"agents": changed(name="MELCHIOR")}, "agents.1.name"),
        ({"agents": changed(criteria=" ")}, "agents.1.criteria"),
        ({"agents": changed(criteria="x" * 4_001)}, "agents.1.criteria"),
        ({"agents": changed(model="nowhere/x")}, "agents.1.model"),
        ({"agents": changed(model="\x00")}, "agents.1.model"),
        ({"agents": changed(fallback="rehearsal/instant")}, "agents.1.fallback"),
        ({"agents": changed(seat="A")}, "agents.1.seat"),
        ({"council": "Magi"}, "agents"),
        ({"agents": None, "council": "Nobody"}, "council"),
        ({"agents": None, "council": "\x00"}, "council"),
        ({"agents": None, "council": "\ud800"}, "council"),
        ({"agents": None, "council": ""}, "council"),
        ({"agents": None, "council": 7}, "council"),
    ],
)
def test_what_is_wrong_is_named_and_nothing_is_queued(mira_calls, council, change, path):
    assert path in fields(mira_calls.post("/judgements", ASKED | change))
    assert not Run.objects.exists()


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"{", "line 1"),
        (b"\xff\xfe{\x00}\x00", "UTF-8"),
        (b"\xef\xbb\xbf{}", "BOM"),
        (b'{"content": "a", "content": "b"}', "twice"),
        (b'{"agents": [{"name": "a", "name": "b"}]}', "twice"),
        (b'{"content": 1e400}', "too large"),
        (b'{"content": -1e999}', "too large"),
        (b'{"content": NaN}', "NaN"),
        (b'{"content": ' + b"9" * 5000 + b"}", "too large"),
        (b'{"content": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "too deeply"),
        (b"{'content': 1}", "line 1"),
        (b'{"content": "a\nb"}', "control character"),
    ],
)
def test_what_is_no_json_is_said(mira_calls, body, said):
    assert said in problem(mira_calls.post("/judgements", body), 400)["detail"]


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"null", b"5", b'"x"', b"{}", b'{"content":' + b"[" * 500 + b"]" * 500 + b"}"]
)
def test_json_that_is_no_judgement_is_refused(mira_calls, body):
    problem(mira_calls.post("/judgements", body), 422)


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""]
)
def test_only_json_is_taken(mira_calls, kind):
    problem(mira_calls.post("/judgements", ASKED, kind), 415)


def test_a_body_that_is_too_large_is_refused(mira_calls):
    said = problem(mira_calls.post("/judgements", {**ASKED, "content": "x" * 300_000}), 413)
    assert "256 kB" in said["detail"]


def test_a_budget_that_is_used_up_is_said(mira_calls, mira, settings, provider):
    Budget.objects.create(owner=mira, limit=1)
    settings.PROVIDERS = {"openai": {**settings.PROVIDERS["openai"], "prices": {"*": (1, 1)}}}
    said = problem(mira_calls.post("/judgements", {**ASKED, "agents": agents(*["openai/x"] * 3)}), 402)
    assert "does not suffice" in said["detail"]
    assert not Run.objects.exists()


# ---- sending again ------------------------------------------------------------------------------------------


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
    ids = {caller.post("/judgements", ASKED, Idempotency_Key="k").json()["id"] for caller in (mira_calls, Caller(noor))}
    assert len(ids) == 2


def test_a_key_is_free_again_where_nothing_was_submitted(mira_calls):
    problem(mira_calls.post("/judgements", {**ASKED, "content": ""}, Idempotency_Key="k"), 422)
    assert mira_calls.post("/judgements", ASKED, Idempotency_Key="k").status_code == 202


@pytest.mark.parametrize("key", ["", "x" * 201])
def test_a_key_that_is_none_is_refused(mira_calls, key):
    problem(mira_calls.post("/judgements", ASKED, Idempotency_Key=key), 400)
    assert not Run.objects.exists()


# ---- looking ------------------------------------------------------------------------------------------------


def test_what_others_submitted_is_not_there(mira_calls, noor, judgement):
    for method, path in [
        ("get", ""),
        ("get", "/record"),
        ("get", "/events"),
        ("post", "/cancel"),
        ("post", "/retry"),
    ]:
        theirs = getattr(Caller(noor), method)(f"/judgements/{judgement.pk}{path}")
        missing = getattr(mira_calls, method)(f"/judgements/{uuid4()}{path}")
        assert problem(theirs, 404) == problem(missing, 404)
    assert Run.objects.get().status == Run.Status.QUEUED


def test_staff_sees_all(reviewer, judgement):
    assert Caller(reviewer).get(f"/judgements/{judgement.pk}").json()["id"] == str(judgement.pk)


@pytest.mark.parametrize("wait", ["-1", "61", "x", "nan", "inf", "1e400"])
def test_a_wait_that_cannot_be_is_refused(mira_calls, judgement, wait):
    assert "wait" in fields(mira_calls.get(f"/judgements/{judgement.pk}", wait=wait))


def test_the_record_has_every_entry(mira_calls, mira, judgement):
    steering.cancel(judgement, mira)
    found = mira_calls.get(f"/judgements/{judgement.pk}/record").json()
    kinds = [entry["kind"] for entry in found["entries"]]
    assert (found["id"], kinds) == (str(judgement.pk), ["submitted", "ended"])


@pytest.mark.parametrize(
    "path", ["/nothing", "/judgements/5", f"/judgements/{NOBODYS_ID}/nothing", "/", "/judgements/"]
)
def test_an_unknown_address_is_a_problem(mira_calls, path):
    problem(mira_calls.get(path), 404)


def test_another_method_is_a_problem_that_names_the_right_ones(mira_calls, judgement):
    answer = mira_calls.client.delete(f"{API}/judgements/{judgement.pk}")
    problem(answer, 405)
    assert answer.headers["Allow"] == "GET"


def test_an_unknown_host_is_a_problem(mira_calls):
    problem(mira_calls.client.get(f"{API}/councils", headers={"Host": "evil.example"}), 400)


# ---- steering -----------------------------------------------------------------------------------------------


def test_cancelling_ends_and_may_be_sent_again(mira_calls, mira, judgement):
    for _ in range(2):
        answer = mira_calls.post(f"/judgements/{judgement.pk}/cancel")
        assert (answer.status_code, answer.json()["status"]) == (202, "cancelled")
    assert Run.objects.get().cancelled_by == mira


def test_what_is_over_cannot_be_cancelled(mira_calls, judgement):
    Run.objects.update(status="failed", error={"code": "timeout", "message": "It took too long."})
    assert "error" in problem(mira_calls.post(f"/judgements/{judgement.pk}/cancel"), 409)["detail"]


def test_what_failed_goes_on(mira_calls, judgement):
    Run.objects.update(status="failed", error={"code": "timeout", "message": "It took too long."})
    answer = mira_calls.post(f"/judgements/{judgement.pk}/retry")
    assert (answer.status_code, answer.json()["status"]) == (202, "idle")
    assert "idle" in problem(mira_calls.post(f"/judgements/{judgement.pk}/retry"), 409)["detail"]


# ---- lists --------------------------------------------------------------------------------------------------


def submitted(owner, number):
    return [Judgement.objects.submit(owner=owner, content=f"Trip {n}", agents=agents()) for n in range(number)]


def test_pages_lead_from_the_newest_to_the_oldest(mira_calls, mira, noor):
    mine = submitted(mira, 30)
    submitted(noor, 2)
    first = mira_calls.get("/judgements", status="idle", q="trip").json()
    second = mira_calls.client.get(first["next"]).json()
    found = [one["id"] for one in first["results"] + second["results"]]
    assert found == [str(one.pk) for one in reversed(mine)]
    assert (len(first["results"]), second["next"]) == (25, None)
    assert "status=idle" in first["next"]


def test_a_list_takes_as_many_queries_however_long_it_is(mira_calls, mira, django_assert_max_num_queries):
    submitted(mira, 25)
    with django_assert_max_num_queries(11):
        mira_calls.get("/judgements")


def test_filters_are_those_of_the_history(mira_calls, mira, council):
    one = Judgement.objects.submit(owner=mira, content="Osaka", agents=council.agents(), council=council.current)
    submitted(mira, 1)

    def found(**query):
        return [each["id"] for each in mira_calls.get("/judgements", **query).json()["results"]]

    for query in ({"q": "osaka"}, {"council": "Magi"}, {"council": "Magi", "status": "idle", "until": ""}):
        assert found(**query) == [str(one.pk)]
    assert found(status="approved") == found(until="2020-01-01") == []
    assert len(found(since="2020-01-01")) == 2


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ({"status": "good"}, "status"),
        ({"council": "Nobody"}, "council"),
        ({"council": "\x00"}, "council"),
        ({"since": "yesterday"}, "since"),
        ({"until": "2026-02-30"}, "until"),
        ({"since": "2026-02-02", "until": "2026-02-01"}, "until"),
        ({"q": "x" * 1001}, "q"),
        ({"q": "\x00"}, "q"),
        ({"cursor": "x"}, "cursor"),
        ({"cursor": NOBODYS_ID}, "cursor"),
        ({"stauts": "idle"}, "stauts"),
        ({"status": ["idle", "error"]}, "status"),
    ],
)
def test_a_filter_that_is_wrong_is_named(mira_calls, council, query, path):
    assert path in fields(mira_calls.get("/judgements", **query))


def test_councils_are_those_that_are_offered(mira_calls, council):
    found = mira_calls.get("/councils").json()
    schemas.Councils.model_validate(found)
    assert "Magi" in [each["name"] for each in found["results"]]
    council.archive(by=None)
    assert "Magi" not in [each["name"] for each in mira_calls.get("/councils").json()["results"]]


def test_models_are_those_that_are_known(mira_calls):
    found = mira_calls.get("/models").json()
    assert found == {"results": [{"name": "rehearsal/magi", "default": True, "rehearsal": True}]}


# ---- waiting and following ----------------------------------------------------------------------------------


@pytest.fixture
async def async_mira(mira):
    """Asks for an address of the API as Mira."""
    token = await sync_to_async(bearer)(mira)

    async def get(path, headers=(), **query):
        return await AsyncClient().get(f"{API}{path}", headers=token | dict(headers), query_params=query)

    return get


async def messages(answer, name="judgement"):
    """Each event as (id, data) until the stream ends."""
    text = ""
    async for piece in answer.streaming_content:
        text += piece.decode()
        while "\n\n" in text:
            message, _, text = text.partition("\n\n")
            lines = dict(line.split(": ", 1) for line in message.split("\n"))
            if "event" in lines:
                assert lines["event"] == name
                yield int(lines["id"]), json.loads(lines["data"])


@pytest.fixture
def place_free():
    yield
    assert events._taken.total() == 0


slow = pytest.mark.django_db(transaction=True)


@slow
async def test_a_wait_ends_with_the_judgement(async_mira, mira, place_free):
    made = await sync_to_async(Judgement.objects.submit)(owner=mira, content=JAPAN, agents=agents())
    asking = asyncio.create_task(async_mira(f"/judgements/{made.pk}", wait="30"))
    await perform(made.pk)
    answer = await asyncio.wait_for(asking, 20)
    assert answer.json()["status"] in ("approved", "rejected")
    schemas.Judgement.model_validate(answer.json())


@slow
async def test_a_wait_ends_after_its_time(async_mira, judgement, place_free):
    answer = await async_mira(f"/judgements/{judgement.pk}", wait="0.3")
    assert (answer.status_code, answer.json()["status"]) == (200, "idle")


@slow
async def test_a_stream_brings_each_revision_and_ends(async_mira, mira, place_free):
    made = await sync_to_async(Judgement.objects.submit)(owner=mira, content=JAPAN, agents=agents())
    answer = await async_mira(f"/judgements/{made.pk}/events")
    assert answer.headers["Content-Type"] == "text/event-stream"
    told = messages(answer)
    async with asyncio.timeout(20):
        found = [await anext(told)]
        performing = asyncio.create_task(perform(made.pk))
        found += [message async for message in told]
    await performing
    revisions = [revision for revision, _ in found]
    assert revisions == sorted(set(revisions))
    assert all(revision == data["revision"] for revision, data in found)
    assert found[0][1]["status"] == "idle"
    assert found[-1][1]["status"] in ("approved", "rejected")


@slow
async def test_a_stream_goes_on_after_what_is_known(async_mira, judgement, place_free):
    path = f"/judgements/{judgement.pk}/events"
    answer = await async_mira(path, headers={"Last-Event-ID": "0"})
    told = messages(answer)
    following = asyncio.create_task(anext(told))
    await asyncio.sleep(0.3)
    assert not following.done()
    await sync_to_async(steering.cancel)(judgement, None)
    revision, data = await asyncio.wait_for(following, 20)
    assert (revision, data["status"]) == (1, "cancelled")
    assert [message async for message in told] == []
    assert (await async_mira(path, headers={"Last-Event-ID": "1"})).status_code == 204
    late = await async_mira(path, headers={"Last-Event-ID": "nonsense"})
    assert [r async for r, _ in messages(late)] == [1]


@slow
@pytest.mark.parametrize("ended", ["token", "user"])
async def test_a_stream_ends_with_the_right_to_it(async_mira, judgement, mira, ended, place_free):
    answer = await async_mira(f"/judgements/{judgement.pk}/events")
    told = messages(answer)
    await anext(told)
    if ended == "token":
        await sync_to_async(Token.objects.all().revoke)()
    else:
        await type(mira).objects.aupdate(is_active=False)
    live.announce(judgement.pk)
    async with asyncio.timeout(10):
        assert [message async for message in told] == []


@slow
async def test_a_stream_that_nobody_reads_gives_its_place_back(judgement, mira, place_free):
    token = await sync_to_async(Token.objects.make)(mira)
    pieces = events.stream(judgement.pk, token, "http://magi", None, "judgement")
    assert await anext(pieces) == ""
    assert events._taken.total() == 1
    del pieces
    gc.collect()
    await asyncio.sleep(0.1)


@slow
@pytest.mark.parametrize(("limit", "status"), [("CALLERS_PER_USER", 429), ("CALLERS", 503)])
async def test_there_are_only_so_many_places(async_mira, judgement, monkeypatch, limit, status):
    monkeypatch.setattr(events, limit, 0)
    for path, query in (("/events", {}), ("", {"wait": "1"})):
        answer = await async_mira(f"/judgements/{judgement.pk}{path}", **query)
        problem(answer, status)
        assert answer.headers["Retry-After"] == "5"


# ---- what it says of itself ---------------------------------------------------------------------------------


def test_the_description_and_its_page_are_open_to_everybody(client):
    assert client.get(f"{API}/openapi.json").json()["openapi"].startswith("3.1")
    page = client.get(f"{API}/docs").content.decode()
    assert "POST /api/v1/judgements" in page


def test_the_page_needs_nothing_that_the_policy_forbids(client):
    page = client.get(f"{API}/docs").content.decode()
    assert "<style" not in page
    assert " style=" not in page
    assert set(re.findall(r"https?://[^/\s]+", page)) <= {"http://www.w3.org", "http://testserver"}


def test_every_call_says_how_it_may_be_refused():
    for operations in api.get_openapi_schema()["paths"].values():
        for operation in operations.values():
            assert 401 in operation["responses"]
            refusals = [answer for status, answer in operation["responses"].items() if status >= 400]
            assert {kind for answer in refusals for kind in answer["content"]} == {"application/problem+json"}


def test_the_description_knows_everything_in_a_judgement(mira_calls, judgement):
    found = mira_calls.get(f"/judgements/{judgement.pk}").json()
    schemas.Judgement.model_validate(found)
    schemas.Judgements.model_validate(mira_calls.get("/judgements").json())
