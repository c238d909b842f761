"""A list of the API says what a list needs; all of a run stands at its own address, and in a list with `full`."""

import json

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from debates.models import Panel
from engine.models import Gate, ModelCall
from engine.policy import parse_policy
from judgements.models import Council, Judgement
from magi_site.api import api
from missions import memory_review
from missions.memory_files import MemoryFile
from missions.models import MissionStep
from plans.models import Team
from runs.procedure.schemas import RunSummary
from tests.callers import ApiCaller, fields
from tests.conftest import agents
from tests.debates.rows import OPTIONS, member
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
        MissionStep.objects.create(mission=row, agent=agent, number=number, reasoning=LONG, heard=0, call=call)
    Gate.objects.open(None, run=row.run, step="a", kind="tool", title="Go?", text=LONG, policy=parse_policy({}))
    return row


@pytest.mark.parametrize("path", ["/missions", "/runs"])
def test_a_long_mission_is_short_in_a_list_and_whole_where_that_is_asked(mira, long_mission, path):
    calls = ApiCaller(mira)
    short, full = calls.get(path), calls.get(path, full="1")
    (one,) = short.json()["results"]
    assert (len(short.content) < 2_000, len(full.content) > 1_000_000) == (True, True)
    assert RunSummary.model_validate(one).id == str(long_mission.pk)
    assert [gate["title"] for gate in one["gates"]] == ["Go?"]
    assert full.json()["results"] == [calls.get(f"/missions/{long_mission.pk}").json()]


def test_a_short_one_says_the_same_as_the_whole_one(mira, long_mission):
    Judgement.objects.submit(owner=mira, content="Go?", agents=agents())
    calls = ApiCaller(mira)
    for short, full in zip(*(calls.get("/runs", full=word).json()["results"] for word in ("0", "1")), strict=True):
        gates = [{name: gate[name] for name in short["gates"][0]} for gate in full.get("gates", ()) if short["gates"]]
        assert short == {name: full[name] for name in short} | ({"gates": gates} if "gates" in full else {})
        assert "rehearsal" in short


def test_a_list_reads_no_steps_however_many_there_are(mira, long_mission):
    with CaptureQueriesContext(
        connection,
    ) as queries:
        ApiCaller(mira).get("/missions")
    read = " ".join(query["sql"] for query in queries)
    assert ("missions_step" in read, '"engine_gate"."text"' in read) == (False, False)


def test_the_next_page_of_a_whole_list_is_whole(mira):
    for _ in range(51):
        mission(mira)
    page = ApiCaller(mira).get("/missions", full="true").json()
    assert "full=1" in page["next"]
    assert "steps" in ApiCaller(mira).client.get(page["next"]).json()["results"][0]


def test_full_is_a_flag_and_described(mira):
    assert "full" in fields(ApiCaller(mira).get("/runs", full="yes"))
    described = api.get_openapi_schema()
    named = {one["name"]: one for one in described["paths"]["/api/v1/missions"]["get"]["parameters"]}
    assert named["full"]["schema"]["type"] == "boolean"
    results = described["components"]["schemas"]["Missions"]["properties"]["results"]["items"]["anyOf"]
    assert {one["$ref"].rpartition("/")[2] for one in results} == {"RunSummary", "MissionOut"}
    assert "steps" not in json.dumps(described["components"]["schemas"]["RunSummary"])


# ---- what is saved to be used again --------------------------------------------------------------------------


@pytest.fixture
def saved():
    """One of each sort with as much text as it may have, by the path of its list."""
    Council.objects.create_first(name="Long", agents=[one | {"criteria": "x" * 4_000} for one in agents()], owner=None)
    members = [member(name) | {"who": "x" * 1_000} for name in ("Ada", "Ben")]
    Panel.objects.create_first(name="Long", owner=None, members=members, options=OPTIONS)
    Team.objects.create_first(
        name="Long", owner=None, agents=[{"name": "Ada", "description": "Adds.", "system": "x" * 4_000}]
    )
    proposed = memory_review.propose(MemoryFile("Long", "What is long.", "x" * 20_000), "mira", library="", base=0)
    memory_review.decide_proposal(proposed.pk, "noor", True)


@pytest.mark.parametrize("path", ["/councils", "/panels", "/teams", "/memories"])
def test_what_is_saved_is_short_in_a_list_and_whole_at_its_address_and_where_that_is_asked(mira, saved, path):
    calls = ApiCaller(mira)
    (short,), (full,) = (
        [one for one in calls.get(path, full=word).json()["results"] if one["name"] == "Long"] for word in ("0", "1")
    )
    assert (len(json.dumps(short)) < 500, len(json.dumps(full)) > 2_000) == (True, True)
    assert full == calls.get(f"{path}/Long").json()
    assert is_part(short, full)


def is_part(short, full):
    """Whether nothing is said otherwise, or under another name."""
    if isinstance(short, dict):
        return all(is_part(value, full[name]) for name, value in short.items())
    return all(map(is_part, short, full)) if isinstance(short, list) else short == full


@pytest.mark.parametrize("path", ["/councils", "/panels", "/teams", "/memories"])
def test_of_what_is_not_saved_there_is_no_address(mira, path):
    assert ApiCaller(mira).get(f"{path}/Nothing").status_code == 404
    assert "full" in fields(ApiCaller(mira).get(path, full="yes"))


def test_a_proposed_memory_is_short_in_the_list_and_whole_by_its_version(mira):
    memory_review.propose(MemoryFile("New", "", "x" * 20_000), "mira", library="", base=0)
    calls = ApiCaller(mira)
    (listed,) = calls.get("/memories").json()["proposals"]
    assert (listed["state"], "text" in listed, calls.get("/memories/New").status_code) == ("proposed", False, 404)
    assert calls.get("/memories/New", version=listed["version"]).json()["text"] == "x" * 20_000
