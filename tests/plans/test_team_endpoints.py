"""Teams over HTTP: read, made and changed by files, and by whom."""

import json

import pytest
from django.contrib.auth.models import Permission

from plans.models import Team
from tests.callers import ApiCaller, fields, problem
from tests.plans.test_team_files import ELSEWHERE

pytestmark = pytest.mark.django_db
AGENTS = [{"name": "Letters", "description": "Writes.", "system": "Be brief.", "tools": ["mail.send"]}]


@pytest.fixture
def mine(mira):
    return Team.objects.create_first(
        name="Mine", owner=mira, agents=AGENTS, examples=["Write."], planner="rehearsal/instant"
    )


@pytest.fixture
def deciding(mira):
    return ApiCaller(mira, scopes=["decide"])


def test_a_team_is_told_whole_by_name_and_by_id(mira_calls, mine):
    said = mira_calls.get("/teams/mine").json()
    assert said == mira_calls.get(f"/teams/{mine.pk}").json()
    assert (said["version"], said["planner"], said["examples"]) == (1, "rehearsal/instant", ["Write."])
    assert said["agents"] == [AGENTS[0] | {"model": None, "fallback": None}]


def test_a_team_that_is_not_there_or_archived_is_not_found(mira_calls, mine, mira):
    mine.archive(mira)
    for name in ("Nobody", "0", "999999", "Mine", str(mine.pk)):
        problem(mira_calls.get(f"/teams/{name}"), 404)
        problem(mira_calls.get(f"/teams/{name}/file"), 404)


def test_a_team_goes_out_and_comes_in_again_as_it_was(deciding, mine):
    file = deciding.get("/teams/Mine/file").json()
    made = deciding.post("/teams", file | {"name": "Copy"})
    assert (made.status_code, made.json()["left_out"]) == (201, [])
    copy = deciding.get(made.headers["Location"].removeprefix("/api/v1")).json()
    assert copy == made.json()["team"]
    assert Team.objects.get(name="Copy").current.held() == mine.current.held()


def test_a_file_of_another_program_is_taken_and_the_rest_is_named(deciding, mira):
    said = deciding.post("/teams", ELSEWHERE).json()
    assert "id is not known here." in said["left_out"]
    assert [agent["system"] for agent in said["team"]["agents"]] == ["Read with care.", ""]
    assert Team.objects.get(name="Contracts").owner == mira


def test_what_is_no_team_is_refused_with_its_place(deciding, mine):
    for change in ({"name": "Mine"}, {"name": ""}, {"agents": []}, {"policy": {}}):
        assert list(fields(deciding.post("/teams", ELSEWHERE | change))) == [*change]
    assert not Team.objects.filter(name="Contracts").exists()


def test_what_submits_can_neither_make_nor_change_whom_it_has_to_ask(mira_calls, mine):
    for answer in (mira_calls.post("/teams", ELSEWHERE), mira_calls.put("/teams/Mine", ELSEWHERE)):
        assert "decide" in problem(answer, 403)["detail"]


def test_a_file_becomes_the_next_version_and_nothing_new_makes_none(deciding, mine):
    file = deciding.get("/teams/Mine/file").json()
    assert deciding.put("/teams/Mine", file).json()["team"]["version"] == 1
    assert deciding.put("/teams/Mine?version=1", file | {"description": "New."}).json()["team"]["version"] == 2
    late = deciding.put("/teams/Mine?version=1", file)
    assert "version 2 now" in problem(late, 409)["detail"]


def test_who_may_not_make_or_change_one_is_told_so(mine, noor):
    others = ApiCaller(noor, scopes=["decide"])
    assert "Mine" in problem(others.put("/teams/Mine", ELSEWHERE), 403)["detail"]
    Permission.objects.get(codename="add_team").group_set.clear()
    problem(others.post("/teams", ELSEWHERE), 403)


@pytest.mark.parametrize("body", ["{", json.dumps(["name"])])
def test_a_body_that_is_no_file_is_refused(deciding, body):
    assert deciding.post("/teams", body).status_code in (400, 422)
