"""A list of the API says what a list needs; all of a run stands at its own address, and in a list with `full`."""

import json

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from engine.models import Gate, ModelCall
from engine.policy import policy_of
from judgements.models import Judgement
from magi_site.api import api
from missions.models import Step
from runs.api.schemas import RunSummary
from tests.callers import Caller, fields
from tests.conftest import agents
from tests.missions.scenes import mission

pytestmark = pytest.mark.django_db
LONG = "x" * 100_000


@pytest.fixture
def long_mission(mira):
    row = mission(mira)
    agent = row.agents.get()
    for number in range(1, 11):
        about = {"model": "test/one", "attempt": 1, "deadline": timezone.now()}
        call = ModelCall.objects.create(run=row.run, step=f"step {number}", **about)
        Step.objects.create(mission=row, agent=agent, number=number, reasoning=LONG, heard=0, call=call)
    Gate.objects.ask(None, run=row.run, step="a", kind="tool", title="Go?", text=LONG, policy=policy_of({}))
    return row


@pytest.mark.parametrize("path", ["/missions", "/runs"])
def test_a_long_mission_is_short_in_a_list_and_whole_where_that_is_asked(mira, long_mission, path):
    calls = Caller(mira)
    short, full = calls.get(path), calls.get(path, full="1")
    (one,) = short.json()["results"]
    assert (len(short.content) < 2_000, len(full.content) > 1_000_000) == (True, True)
    assert RunSummary.model_validate(one).id == str(long_mission.pk)
    assert [gate["title"] for gate in one["gates"]] == ["Go?"]
    assert full.json()["results"] == [calls.get(f"/missions/{long_mission.pk}").json()]


def test_a_short_one_says_the_same_as_the_whole_one(mira, long_mission):
    Judgement.objects.submit(owner=mira, content="Go?", agents=agents())
    calls = Caller(mira)
    for short, full in zip(*(calls.get("/runs", full=word).json()["results"] for word in ("0", "1")), strict=True):
        gates = [{name: gate[name] for name in short["gates"][0]} for gate in full.get("gates", ()) if short["gates"]]
        assert short == {name: full[name] for name in short} | ({"gates": gates} if "gates" in full else {})
        assert "rehearsal" in short


def test_a_list_reads_no_steps_however_many_there_are(mira, long_mission):
    with CaptureQueriesContext(
        connection,
    ) as queries:
        Caller(mira).get("/missions")
    read = " ".join(query["sql"] for query in queries)
    assert ("missions_step" in read, '"engine_gate"."text"' in read) == (False, False)


def test_the_next_page_of_a_whole_list_is_whole(mira):
    for _ in range(51):
        mission(mira)
    page = Caller(mira).get("/missions", full="true").json()
    assert "full=1" in page["next"]
    assert "steps" in Caller(mira).client.get(page["next"]).json()["results"][0]


def test_full_is_a_flag_and_described(mira):
    assert "full" in fields(Caller(mira).get("/runs", full="yes"))
    described = api.get_openapi_schema()
    named = {one["name"]: one for one in described["paths"]["/api/v1/missions"]["get"]["parameters"]}
    assert named["full"]["schema"]["type"] == "boolean"
    results = described["components"]["schemas"]["Missions"]["properties"]["results"]["items"]["anyOf"]
    assert {one["$ref"].rpartition("/")[2] for one in results} == {"RunSummary", "Mission"}
    assert "steps" not in json.dumps(described["components"]["schemas"]["RunSummary"])
