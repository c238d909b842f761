"""Crews in numbered versions: written on a page, read from a file, and what missions keep of them."""

import json
from importlib import import_module

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from engine.audit.full_verification import verify_all
from missions import team_files
from missions.forms import submit_values
from missions.models import Crew
from missions.presets import agent_rows, find_team, offered_teams
from missions.procedure import submit

pytestmark = pytest.mark.django_db

READY = import_module("missions.migrations._ready_made").CREWS
ADA = {"a1-name": "Ada", "a1-description": "Coordinates.", "a1-tools": "all"}
BEN = {"a2-name": "Ben", "a2-description": "Reads.", "a2-tools": "reads", "a2-library": "on"}


@pytest.fixture
def ready(mira: User):
    """As a new installation has them; tests begin without."""
    for name, good_for, of_crew in READY:
        held = [{"name": who, "description": what, **more} for who, what, more in of_crew]
        Crew.objects.create_first(name=name, owner=None, good_for=good_for, agents=held)


def test_each_ready_made_crew_is_one_that_could_be_written(ready):
    for one in offered_teams():
        assert team_files.parse_team({"name": one.name, **one.held()}).held == one.held()
    assert find_team("").name == "Coordinator"
    assert find_team("coordinator and ltm-manager").agents[1]["rights"] == ["library", "tidy"]
    assert verify_all().faults == []


def test_without_any_crew_a_coordinator_works_alone():
    values, problems = submit_values({"goal": "Say hello.", "model": "rehearsal/instant"})
    assert not [field for field, _ in problems if field == "crew"]
    assert [one["name"] for one in values.get("agents", [{"name": "Magi-01"}])] == ["Magi-01"]


def test_a_crew_is_written_on_a_page_and_changed_by_a_version(admin_client: Client):
    admin_client.post(reverse("crew-new"), {"name": "Two", **ADA, **BEN})
    crew = Crew.objects.with_content().get(name="Two")
    assert [one["rights"] for one in crew.current.agents] == [[], ["library"]]
    admin_client.post(reverse("crew-edit", args=[crew.pk]), {"name": "Two", **ADA, "version": "1"})
    page = admin_client.get(reverse("crew", args=[crew.pk])).content.decode()
    assert "Ben is gone." in page
    assert verify_all().faults == []


def test_what_is_wrong_with_a_crew_is_said_and_nothing_typed_is_lost(admin_client: Client):
    sent = admin_client.post(reverse("crew-new"), {"name": "", **ADA, **BEN, "a2-name": "ada"})
    page = sent.content.decode()
    assert sent.status_code == 422
    assert "Give the crew a name." in page
    assert 'value="ada"' in page
    assert not Crew.objects.filter(name="").exists()


def test_a_crew_goes_out_and_in_as_json_and_as_markdown(ready, admin_client: Client):
    crew = Crew.objects.with_content().get(name="Coordinator and helpers")
    text = admin_client.get(reverse("crew-file", args=[crew.pk])).content.decode()
    read = team_files.parse_team_file(text)
    assert (read.name, read.held) == (crew.name, crew.current.held())
    text = admin_client.get(reverse("crew-file", args=[crew.pk]), {"as": "markdown"}).content.decode()
    assert team_files.parse_team_file(text) == read
    with pytest.raises(team_files.InvalidMissionTeamFile, match="Line 2: “name” stands there twice"):
        team_files.parse_team_file("---\nname: x\nname: y\n---\n")
    with pytest.raises(team_files.InvalidMissionTeamFile) as wrong:
        team_files.parse_team_file(json.dumps({"name": "x", "agents": [{"name": "all", "tools": ["fly"]}]}))
    assert {path for path, _ in wrong.value.problems} == {"agents.0.name", "agents.0.tools"}


def test_a_mission_keeps_the_version_that_it_began_with(ready, mira: User, settings):
    settings.DEFAULT_MODEL = "rehearsal/instant"
    values, problems = submit_values({"goal": "Say hello.", "crew": "Coordinator and helpers"})
    assert not problems
    row = submit(owner=mira, **values)
    row.crew_version.crew.revise(name="Others", author=mira, good_for="", agents=[{"name": "Zed"}])
    row.refresh_from_db()
    assert (row.crew, row.crew_version.number) == ("Coordinator and helpers", 1)
    assert agent_rows(row.crew_version, "m")[2]["tools"][0] == "read_file"
    assert verify_all().faults == []


def test_all_tools_that_are_not_there_are_named_by_whichever_door():
    one = {"name": "Ada", "tools": ["finish", "fax", "beam"]}
    problems = dict(submit_values({"goal": "Go."}, crew=[one])[1])
    assert problems["agents.0.tools"] == "There is no tool fax, beam for agents."
    with pytest.raises(team_files.InvalidMissionTeamFile, match=r"“fax”[^“]*“beam”"):
        team_files.parse_team({"name": "Two", "agents": [one]})
