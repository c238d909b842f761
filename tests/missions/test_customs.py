"""Customs of a workspace and of a crew: which are told, in what order, how much of them, and with what rank."""

from dataclasses import replace

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from engine.audit.full_verification import verify_all
from missions import customs, forms
from missions.customs import CREW, LONGEST, TOGETHER, chosen
from missions.models import Crew, Mission, queries
from missions.procedure import submit
from missions.prompts.steps import step_messages as prompt
from missions.team_files import parse_team_file, team_file_markdown, team_file_text
from tests.missions.test_source import MARK, WORK


def names(found):
    return [one.name for one in found]


def test_the_crew_s_own_come_first_then_known_names_in_their_order_and_none_twice():
    files = {
        "CONTRIBUTING.md": "Small commits.",
        "AGENTS.md": "Run make.",
        "CLAUDE.md": "Run make.\n",
        "README.md": "x",
    }
    assert names(chosen(files, "Be brief.")) == [CREW, "AGENTS.md", "CONTRIBUTING.md"]
    assert chosen({"a/AGENTS.md": "No.", "AGENTS.md": " \n"}) == []


def test_they_are_bounded_each_and_together_and_say_what_is_left_out():
    found = chosen(dict.fromkeys(("AGENTS.md", "CLAUDE.md", "GEMINI.md"), "") | {"AGENTS.md": "a" * 9_000})
    assert [(len(one.text), one.length, one.cut) for one in found] == [(LONGEST, 9_000, True)]
    assert customs.for_agents(found)[0][1].endswith("[3,000 characters more]")
    many = chosen({name: f"{name} " * 1_000 for name in customs.NAMES})
    assert (sum(len(one.text) for one in many), names(many)) == (TOGETHER, ["AGENTS.md", "CLAUDE.md"])
    assert customs.from_json(customs.to_json(many)) == many


def test_whoever_goes_on_has_those_of_the_first_workspace_and_of_its_own_crew():
    before = chosen({"AGENTS.md": "Run make."}, "Be brief.")
    assert [(one.name, one.text) for one in customs.for_next(before, "Be loud.")] == [
        (CREW, "Be loud."),
        ("AGENTS.md", "Run make."),
    ]


def test_they_stand_between_lines_of_their_own_with_their_rank():
    told = prompt(replace(WORK, customs=[("AGENTS.md", "Run make.")]), MARK)[0]["content"]
    block = told.partition("BEGIN CUSTOMS mark\n")[2].partition("\nEND CUSTOMS mark")[0]
    assert block == '{"AGENTS.md": "Run make."}'
    assert "where the person, the core rules and the coordinator say nothing else" in told
    assert "CUSTOMS" not in prompt(WORK, MARK)[0]["content"]


# ---- of missions ------------------------------------------------------------------------------------------------

FILES = [("AGENTS.md", "Run make."), ("README.md", "Something else.")]
CREW_FILE = '{"name": "Two", "agents": [{"name": "Ada"}], "customs": "Be brief."}'


@pytest.fixture
def row(mira: User, monkeypatch):
    monkeypatch.setattr("missions.workspace.missing_programs", lambda: "")
    read_crew = parse_team_file(CREW_FILE)
    Crew.objects.create_first(name=read_crew.name, owner=mira, **read_crew.held)
    values, problems = forms.submit_values({"goal": "Mend it.", "crew": "Two", "model": "rehearsal/instant"}, FILES)
    assert problems == []
    return submit(owner=mira, **values)


@pytest.mark.django_db
def test_a_mission_has_them_in_its_prompts_on_its_page_and_in_its_record(mira: User, row, page: Client):
    work = queries.agent_work(Mission.objects.active().get(pk=row.pk), 1, 0.0, row.run.created)
    assert work.customs == [("of this crew", "Be brief."), ("AGENTS.md", "Run make.")]
    shown = page.get(reverse("mission-live", args=[row.pk])).content.decode()
    assert ("Run make." in shown, "of this crew" in shown) == (True, True)
    assert verify_all().faults == []


@pytest.mark.django_db
def test_a_crew_has_its_own_in_its_versions_and_in_its_file(row):
    version = row.crew_version
    files = team_file_text(version), team_file_markdown(version)
    assert [parse_team_file(one).held["customs"] for one in files] == ["Be brief."] * 2
    version.crew.revise(name="Two", author=None, agents=version.agents, customs="")
    assert "customs" not in Crew.objects.with_content().get(pk=version.crew_id).current.held()
    assert verify_all().faults == []
