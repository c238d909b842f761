"""Teams as files: what is taken, what is said of the rest, and what is refused."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from plans import team_files
from plans.models import Team
from plans.rules.approval_policy import CAREFUL_POLICY
from plans.team_files import InvalidTeamFile, parse_team_file

ELSEWHERE = {
    "id": "1",
    "name": "Contracts",
    "agents": [
        {"name": "Reader", "system_message": "Read with care.", "deployment_name": "rehearsal/instant", "icon": "book"},
        {"name": "Writer", "description": "Writes.", "tools": ["mail.draft", "fax.send"]},
    ],
    "starting_tasks": [{"id": "t", "name": "Short", "prompt": "Read the lease and list its dates."}],
}


@pytest.fixture
def file(tmp_path):
    def write(given):
        path = tmp_path / "team.json"
        path.write_text(given if isinstance(given, str) else json.dumps(given))
        return str(path)

    return write


def test_a_file_from_elsewhere_is_a_team_and_what_is_not_known_is_said():
    team = parse_team_file(json.dumps(ELSEWHERE))
    reader, writer = team.held["agents"]
    assert (team.name, team.held["examples"]) == ("Contracts", ["Read the lease and list its dates."])
    assert (reader["system"], reader["model"], writer["tools"]) == (
        "Read with care.",
        "rehearsal/instant",
        ["mail.draft"],
    )
    assert team.left_out == (
        "id is not known here.",
        "agents.0.icon is not known here.",
        "agents.1.tools: there is no tool “fax.send” here.",
    )


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"name": " "}, "name"),
        ({"agents": []}, "agents"),
        ({"agents": [{"name": "A"}, {"name": "a"}]}, "agents.1.name"),
        ({"agents": [{"name": "Person"}]}, "agents.0.name"),
        ({"agents": ["A"]}, "agents.0"),
        ({"agents": [{"name": "A", "system": "x" * 12_001}]}, "agents.0.system"),
        ({"starting_tasks": [""]}, "examples.0"),
        ({"policy": {"plan": {"who": "nobody"}}}, "policy"),
        ({"description": 7}, "description"),
    ],
)
def test_what_is_wrong_is_named_by_its_place(change, path):
    with pytest.raises(InvalidTeamFile) as refused:
        parse_team_file(json.dumps(ELSEWHERE | change))
    assert [one for one, _ in refused.value.problems] == [path]


def test_a_tool_that_only_another_kind_of_run_can_use_is_left_out():
    given = ELSEWHERE | {"agents": [{"name": "A", "tools": ["sources.read", "mail.send"]}]}
    team = parse_team_file(json.dumps(given))
    assert team.held["agents"][0]["tools"] == ["mail.send"]
    assert "agents.0.tools: there is no tool “sources.read” here." in team.left_out


@pytest.mark.parametrize("text", ["", "[]", "{", '{"name": "A", "name": "B"}', "[" * 100_000])
def test_what_is_no_object_is_refused_in_a_sentence(text):
    with pytest.raises(InvalidTeamFile, match="The file"):
        parse_team_file(text)


@pytest.mark.django_db
def test_a_council_that_is_not_there_is_said(council):
    demands = CAREFUL_POLICY.as_json() | {"plan": {"who": "council", "council": "Magi"}}
    assert (
        parse_team_file(json.dumps({**ELSEWHERE, "policy": demands})).left_out
        == parse_team_file(json.dumps(ELSEWHERE)).left_out
    )
    demands["plan"] = {"who": "both", "council": "Nobody"}
    said = "policy: No council is called “Nobody” here, or it is archived. Persons are asked in its place."
    assert said in parse_team_file(json.dumps({**ELSEWHERE, "policy": demands})).left_out


OF_AN_AGENT = {"name": "A", "system_message": "Read with care."}
AS_THEY_SHIP = [  # keys and lengths as in the files that ship with the planner that they are made for
    {"agents": [OF_AN_AGENT | {"system_message": "x" * 5_644}]},
    {"agents": [OF_AN_AGENT | {"description": "x" * 248}]},
    {"agents": [OF_AN_AGENT | {"deployment_name": "", "temperature": None, "user_responses": False}]},
    {"agents": [OF_AN_AGENT | {"deployment_name": None, "input_key": "", "type": "", "coding_tools": False}]},
    {"agents": [OF_AN_AGENT | {"system_message": None, "description": None}]},
    {"agents": [OF_AN_AGENT | {"deployment_name": "gpt-4.1-mini", "use_toolbox": True, "toolbox_filter": "hr"}]},
    {"agents": [{**OF_AN_AGENT, "name": f"Agent {n}"} for n in range(8)]},
    {"agents": [OF_AN_AGENT], "status": "visible", "protected": False, "plan": "", "logo": "", "team_id": "t"},
    {"agents": [OF_AN_AGENT], "starting_tasks": []},
    {"agents": [OF_AN_AGENT], "starting_tasks": [{"id": "t", "name": "Only a name"}]},
    {"agents": [OF_AN_AGENT], "starting_tasks": [{"prompt": "x" * 358, "created": "", "creator": "", "logo": ""}]},
]


def test_files_as_they_ship_with_the_known_planner_are_taken():
    refused = {}
    for number, shape in enumerate(AS_THEY_SHIP):
        try:
            parse_team_file(json.dumps({"name": "Team", **shape}))
        except InvalidTeamFile as wrong:
            refused[number] = str(wrong)
    assert refused == {}


@pytest.mark.django_db
def test_a_file_is_taken_with_a_mark_and_as_a_windows_shell_writes_it(tmp_path):
    path = tmp_path / "team.json"
    for encoding in ("utf-8-sig", "utf-16"):
        path.write_text(json.dumps(ELSEWHERE), encoding=encoding)
        call_command("team_import", str(path), stdout=StringIO(), stderr=StringIO())
    path.write_bytes(json.dumps({"name": "Café"}, ensure_ascii=False).encode("latin-1"))
    with pytest.raises(CommandError, match="is not in UTF-8: the byte 0xE9 in line 1"):
        call_command("team_import", str(path))


@pytest.mark.django_db
def test_every_team_comes_back_as_it_was_written(file):
    for team in Team.objects.available().with_content():
        out, version = StringIO(), team.current
        call_command("team_export", team.name, stdout=out)
        call_command("team_import", file(out.getvalue()), stdout=StringIO())
        assert Team.objects.get(pk=team.pk).current_id == version.pk  # nothing differs: no new version


@pytest.mark.django_db
def test_the_command_makes_a_team_and_then_its_next_version(file):
    said, noted = StringIO(), StringIO()
    call_command("team_import", file(ELSEWHERE), stdout=said, stderr=noted)
    call_command("team_import", file(ELSEWHERE | {"description": "Leases."}), stdout=said, stderr=noted)
    assert said.getvalue() == "Contracts, version 1, with 2 agents.\nContracts, version 2, with 2 agents.\n"
    assert "Left out: id is not known here." in noted.getvalue()


@pytest.mark.django_db
@pytest.mark.parametrize("given", ["{", {"name": "A", "agents": []}])
def test_the_command_refuses_and_makes_nothing(file, given):
    before = Team.objects.count()
    with pytest.raises(CommandError):
        call_command("team_import", file(given))
    with pytest.raises(CommandError, match="cannot be read"):
        call_command("team_import", "/nowhere/team.json")
    with pytest.raises(CommandError, match="There is no team"):
        call_command("team_export", "Nobody")
    assert (Team.objects.count(), team_files.MOST_AGENTS) == (before, 8)


def test_a_policy_that_lacks_something_says_what():
    with pytest.raises(InvalidTeamFile) as refused:
        parse_team_file(json.dumps({**ELSEWHERE, "policy": {"plan": {"who": "person"}}}))
    assert ("policy", "It is no policy: steps is missing.") in refused.value.problems
