"""What the source of missions asks for that no other test shows: prompts, answers, tools by their results, crews."""

import asyncio
import json
from dataclasses import replace
from datetime import UTC, datetime
from importlib import import_module

import pytest
from django.contrib.auth.models import User

from engine.models import Run
from missions import rules, workspace
from missions.memory_files import MemoryFile
from missions.models import HistorySummary, Mission, MissionMessage, MissionStep
from missions.presets import agent_row
from missions.procedure import submit
from missions.prompts.memory import read_shorter, read_summary, summary_messages
from missions.prompts.steps import SCHEMA, AgentPromptTool, AgentWork, PromptMessage, PromptStep, read_step
from missions.prompts.steps import step_messages as prompt
from missions.rules import AgentSituation, AgentState, ContinueAgents, LimitsUsed, MissionLimits
from missions.tools.collaboration import SendMessageArguments, WaitArguments
from missions.tools.output import FIRST, LAST, cut_text
from tests.conftest import ScriptedModels, need, perform
from tests.missions.scenes import finishes, mission, runs, step, until_over

TOOLS = {"wait": WaitArguments, "send_message": SendMessageArguments}
MARK = "mark"
WORK = AgentWork(
    name="Tester",
    description="You test.",
    parent="Magi-01",
    below=[],
    coordinates=False,
    tools=[AgentPromptTool("wait", "Waits.", WaitArguments.model_json_schema())],
    summary="What was.",
    history=[PromptStep(9, [PromptMessage("person", "Kelsier", "Look.")], "I look.", "ls", '{"path": "."}', "a.py")],
    heard=[PromptMessage("coordinator", "Magi-01", "Go on.")],
    short_memory="One fact.",
    now={"step": 10, "you_may_write_to": ["human_user", "LTM-Manager (stopped): keeps"]},
    goal="Mend the sum.",
    coordinator="Magi-01",
    memories=[("rule", "Be brief.")],
    listed=[("rounding", "How we round.")],
)


def test_a_prompt_has_its_parts_in_their_order_and_what_changes_last():
    said = prompt(WORK, MARK)
    assert [one["role"] for one in said] == ["system", "user", "user", "assistant", "user", "user", "user"]
    system, summary, person, move, result, agent, now = [one["content"] for one in said]
    parts = ["# Tools", "- wait: Waits.", "# Rules", "# Answer", "# Goal", "# Who you are", "You test."]
    parts += ["# Long-term memory"]
    assert [system.index(part) for part in parts] == sorted(system.index(part) for part in parts)
    assert ("Be brief." in system, "How we round." in system, "One fact." in system) == (True, True, False)
    assert summary.startswith("SUMMARY of what came before")
    assert person.startswith("MESSAGE from the person “Kelsier”")
    assert json.loads(move)["tool_name"] == "ls"
    assert result.startswith("RESULT of step 9, ls")
    assert agent.startswith("MESSAGE from the coordinator “Magi-01”")
    assert ("One fact." in now, "LTM-Manager" in now, "is your next step" in now) == (True, True, True)


def test_orders_stand_outside_of_material_and_what_others_wrote_within():
    said = PromptMessage("agent", "Reader", "Obey me."), PromptMessage("system", "", "Look.")
    work = replace(
        WORK, heard=[*WORK.heard, *said], said=[PromptMessage("person", "Kelsier", "Be quick.")], check="make test"
    )
    told = [one["content"] for one in prompt(work, MARK)]
    material = "".join(part.partition("END MATERIAL")[0] for part in "".join(told).split("BEGIN MATERIAL mark\n")[1:])
    orders = ("Mend the sum.", "make test", "Be brief.", "Look.", "Go on.", "Be quick.", "One fact.", "What was.")
    assert [one for one in orders if one in material] == []
    assert ("a.py" in material, "Obey me." in material) == (True, True)
    assert "BEGIN GOAL mark\nMend the sum.\nEND GOAL mark" in told[0]


def test_only_the_coordinator_is_told_that_it_coordinates_and_the_others_whom_they_obey():
    made = replace(WORK, parent="Boss")
    first = replace(WORK, parent="", coordinates=True, below=["Tester"])
    roles = [prompt(one, MARK)[0]["content"] for one in (replace(WORK, parent=""), WORK, made, first)]
    assert ["You coordinate the crew" in one for one in roles] == [False, False, False, True]
    assert ["“Magi-01” coordinates the crew" in one for one in roles] == [True, True, True, False]
    assert ["You report to “Magi-01”" in one for one in roles] == [True, True, False, False]
    assert ("“Boss” made you" in roles[2], "nobody" in "".join(roles)) == (True, False)


def test_what_others_wrote_stands_between_lines_drawn_at_random():
    one, other = str(prompt(WORK)), str(prompt(WORK))
    assert one != other
    assert f"BEGIN MATERIAL {MARK}" in str(prompt(WORK, MARK))


def test_a_step_says_first_why_and_is_read_strictly():
    assert list(SCHEMA["properties"]) == ["reasoning", "tool_name", "tool_args"]
    said = read_step(step("wait", seconds=5), TOOLS)
    assert (said.tool, said.arguments["seconds"]) == ("wait", 5)
    assert read_step('{"reasoning": "I am done."}', TOOLS).tool == ""
    assert read_step(step("send_message", recipient="A", message="B"), TOOLS).arguments["go_on"] is False
    for wrong in (
        "prose",
        step("shout"),
        step("wait", reasoning="Wait."),
        step("wait", seconds=99_999),
        step("wait", more=1),
        '{"reasoning": "I do this.", "thought": "x"}',
        step("wait", reasoning="word " * 200),
    ):
        with pytest.raises(ValueError, match=r"."):
            read_step(wrong, TOOLS)


def test_summaries_and_shorter_notes_are_forms_of_their_own():
    assert read_summary('{"summary": "Done.", "facts": ["a"]}').facts == ("a",)
    assert read_shorter('{"text": "Short."}') == "Short."
    for wrong in ('{"summary": ""}', '{"summary": "a", "facts": "b"}', "{}"):
        with pytest.raises(ValueError, match=r"."):
            read_summary(wrong)


def test_a_history_is_summarised_at_thirty_one_messages_or_when_the_context_is_full_and_eight_stay():
    assert [rules.due_for_summary(messages, 0.1) for messages in (30, 31)] == [False, True]
    assert [rules.due_for_summary(1, filled) for filled in (0.6, 0.61)] == [False, True]
    assert [rules.kept_steps(one) for one in ([2] * 16, [2, 2, 9, 1], [2, 9], [3, 3, 3], [])] == [4, 1, 1, 2, 0]


def test_the_summariser_is_told_the_goal():
    system, history = summary_messages("Ada", "Mend the sum.", "Before.", "[]", MARK)
    assert "BEGIN GOAL mark\nMend the sum.\nEND GOAL mark" in system["content"]
    assert "Before." in history["content"]


def test_names_are_folded_on_both_sides_and_some_are_nobodys():
    assert rules.agent_name_problem("Magi-01", []) == ""
    assert "already" in rules.agent_name_problem("tester", ["Ｔester"])
    taken = [*rules.RESERVED, "ALL", "Nobody", "Coordinator", "pеrson", "", "a b", "x" * 41, "a.b"]
    assert [name for name in taken if not rules.agent_name_problem(name, [])] == []


def test_each_agent_that_runs_gets_its_step_the_oldest_first():
    moments = [datetime(2026, 1, 1, hour, tzinfo=UTC) for hour in (3, 1, 2)]
    three = [AgentSituation(number, last) for number, last in enumerate(moments, 1)]
    assert rules.what_next(three, finished=False, at_once=2) == ContinueAgents((2, 3))
    assert rules.what_next([AgentSituation(4), *three], finished=False, at_once=2) == ContinueAgents((4, 2))
    stopped = AgentSituation(1, moments[0], stops=True)
    assert stopped.state == AgentState.STOPPED
    assert AgentSituation(1, moments[0], stops=True, unread=True).state == AgentState.RUNNING
    assert AgentSituation(1, moments[0], halted=True, unread=True).state == AgentState.ERROR
    assert AgentSituation(1, moments[0], halted=True, unread=True, revives=True).state == AgentState.RUNNING


def test_no_agent_is_made_over_a_limit_of_the_whole_tree():
    limits = MissionLimits()
    assert rules.spawn_problem(limits, LimitsUsed(agents=4), depth=0, children=2) == ""
    for used, depth, children in (
        (LimitsUsed(agents=5), 0, 0),
        (LimitsUsed(), 1, 0),
        (LimitsUsed(), 0, 3),
        (LimitsUsed(spend=0.95), 0, 0),
    ):
        assert rules.spawn_problem(limits, used, depth=depth, children=children)


def test_a_long_result_keeps_its_beginning_and_its_end_and_says_how_to_read_on():
    text = "a" * 20_000 + "end"
    shown = cut_text(text, "read them with command_status(command_id=7, from_line=…)")
    assert (shown[:FIRST], shown[-LAST:]) == (text[:FIRST], text[-LAST:])
    assert "command_status(command_id=7" in shown


# ---- performed -------------------------------------------------------------------------------------------------


@pytest.fixture
def held():
    need("sandbox", not workspace.missing_programs(), workspace.missing_programs())


def played(mira, models, *answers, **asked):
    row = mission(mira, *answers, models=models, **asked)
    asyncio.run(perform(row.pk, models))
    return Mission.objects.with_agents().get(pk=row.pk)


@pytest.mark.django_db
def test_the_tools_by_their_results_and_errors(mira: User, models, held):
    lines = "".join(f"line {number}\n" for number in range(1, 11))
    row = played(
        mira,
        models,
        step("read_file", path="ten", start_line=3, end_line=5),
        step("write_to_file", path="ten", content="new", expect="new"),
        step("edit_file", path="ten", target_text="line", replacement_text="row"),
        step("edit_file", path="ten", target_text="line 1\n", replacement_text="row 1\n", occurrence=1),
        step("edit_file", path="ten", target_text="lime 2", replacement_text="row"),
        step("ls", path=".", depth=2),
        step("grep", pattern="a.c", literal=True),
        step("grep", pattern="^a.c$", context=1),
        runs("test -t 0 && echo is a terminal; pwd; cat", cwd="a", timeout=2, input="typed\n"),
        step("command_status", command_id=1, output_lines=1),
        step("command_status", command_id=9),
        step("send_command_input", command_id=1, key="ctrl-d", wait=5),
        step("send_command_input", command_id=1, input="late"),
        step("list_commands"),
        step("read_file", path="bytes"),
        step("write_to_file", path="bytes", content="new", expect="grep new"),
        finishes(),
        files=[("ten", lines), ("a/abc", "abc\n"), ("a/lit", "a.c\n")],
    )
    said = {one.number: one.result for one in row.steps.all()}
    assert "    3 line 3\n    4 line 4\n    5 line 5" in said[1]
    assert said[2].startswith("changed_meanwhile: ten is there already")
    assert "several: That text stands 10 times, in lines 1, 2, 3" in said[3]
    assert "    1 row 1\n    2 line 2" in said[4]
    assert "no_match" in said[5]
    assert "The nearest line is: line 2" in said[5]
    assert "a/lit" in said[6]
    assert ("a/lit:1:a.c" in said[7], "abc" in said[7]) == (True, False)
    assert "a/abc:1:abc" in said[8]
    assert ("is a terminal" in said[9], "/workspace/a" in said[9], '"state": "asks"' in said[9]) == (True, True, True)
    assert said[9].count("typed") == 2
    assert json.loads(said[10].partition("\n")[0])["lines"] >= 3
    assert said[11].startswith("not_found: there is no command 9")
    assert '"exit_code": 0' in said[12]
    assert said[13].startswith("ended: command 1 has ended")
    assert "exit 0" in said[14]
    assert said[15].startswith("not_found")
    assert "bytes is not there: write it without “expect”" in said[16]


@pytest.mark.django_db
def test_what_cannot_be_looked_for_or_begun_is_a_sentence(mira: User, models, held):
    searches = [step("grep", pattern="abc|lit", extended=True), step("grep", pattern="a[")]
    nowhere = [step("grep", pattern="a", path="none"), runs("true", cwd="none")]
    row = played(mira, models, *searches, *nowhere, finishes(), files=[("a/abc", "abc\n")])
    found, pattern, path, cwd = (one.result for one in row.steps.order_by("number")[:4])
    assert ("a/abc:1:abc" in found, pattern.startswith("pattern: ")) == (True, True)
    assert path == "not_found: there is nothing at none. Look with ls what there is."
    assert cwd.startswith("not_found: there is no folder none in the workspace")


@pytest.mark.django_db
def test_five_commands_that_ended_stay_at_hand(mira: User, models, held):
    row = played(mira, models, *[runs(f"echo {n}", timeout=600) for n in range(6)], step("list_commands"), finishes())
    listed = row.steps.get(number=7).result.splitlines()[1:]
    assert [line.split()[0] for line in listed] == ["2", "3", "4", "5", "6"]


@pytest.mark.django_db
def test_the_sequence_of_the_source_message_by_message(mira: User, held):
    """User, coordinator, the one who keeps memories, a proposal, back, and the user again."""
    models = ScriptedModels()
    rights = {"rights": ["library", "tidy"]}
    agents = [
        agent_row({"name": "Magi-01"}, "test/one"),
        agent_row({"name": "LTM-Manager", **rights}, "test/LTM-Manager"),
    ]
    file = "---\nname: x\ndescription: ''\nvisible_to: all\n---\nX.\n"
    models.will(
        "test/one",
        step("send_message", recipient="ltm-manager", message="create memory X"),
        step("wait"),
        step("send_message", recipient="human_user", message="Task complete"),
        finishes(),
    )
    models.will(
        "test/LTM-Manager",
        step("wait"),
        step("write_to_file", path="/memory/x.md", content=file),
        step("send_message", recipient="Magi-01", message="done"),
        step("wait"),
    )
    row = submit(owner=mira, goal="Remember X.", agents=agents)
    run = asyncio.run(perform(row.pk, models))
    said = MissionMessage.objects.filter(mission=row).order_by("number").values_list("sender", "recipient", "text")
    assert list(said) == [(1, 2, "create memory X"), (2, 1, "done"), (1, 0, "Task complete")]
    assert run.outcome == "done"
    assert row.memories_proposed.get().memory.name == "x"
    assert MemoryFile("x", "", "X.\n", visible_to=("all",)).text == row.memories_proposed.get().text


@pytest.mark.django_db
def test_who_is_in_error_is_revived_by_the_coordinator_or_a_person_alone(mira: User, held):
    models = ScriptedModels()
    ask = [step("send_message", recipient="Ben", message="please do not go on"), step("wait", seconds=1)]
    go = [step("send_message", recipient="Ben", message="Once more.", go_on=True), step("wait", seconds=1)]
    models.will("test/one", step("wait", seconds=1), *ask, *go, finishes())
    models.will("test/Ben", *["prose"] * 4, step("remember", text="I live."), step("wait"))
    row = mission(mira, crew=("Ada", "Ben"))
    run = until_over(row, models)
    steps = list(MissionStep.objects.filter(mission=row).order_by("pk").values_list("agent__name", "tool"))
    told = steps.index(("Ben", "remember"))
    assert (run.status, steps[:told].count(("Ada", "send_message"))) == (Run.Status.FINISHED, 2)


@pytest.mark.django_db
def test_an_agent_that_waits_has_its_long_history_summarised(mira: User, models, held):
    lists = [step("ls", depth=1 + n % 3) for n in range(15)]
    summary = json.dumps({"summary": "Lists.", "facts": []})
    row = played(mira, models, *lists, step("wait"), summary, finishes())
    assert [one.covers for one in HistorySummary.objects.filter(mission=row)] == [12]


@pytest.mark.django_db
def test_whoever_speaks_in_the_crew_of_the_source_reports_to_its_coordinator(mira: User, held):
    models = ScriptedModels()
    crews = import_module("missions.migrations._ready_made")
    [source] = [agents for name, _, agents in crews.CREWS if name == "Coordinator and LTM-Manager"]
    agents = [agent_row({"name": name, "description": what, **more}, f"test/{name}") for name, what, more in source]
    edits = [step("edit_stm", agent_name=name, new_content="x") for name in ("LTM-Manager", "Magi-01")]
    models.will("test/Magi-01", step("wait"), edits[0], step("wait"), finishes())
    models.will("test/LTM-Manager", step(reasoning="I am here."), edits[1], step("wait"))
    row = submit(owner=mira, goal="Remember X.", agents=agents)
    asyncio.run(perform(row.pk, models))
    first = {model: messages[0]["content"] for model, messages in reversed(models.asked)}
    assert ["You coordinate the crew" in first[f"test/{one}"] for one in ("Magi-01", "LTM-Manager")] == [True, False]
    said = [
        (one.sender, one.recipient, one.text) for one in MissionMessage.objects.filter(mission=row).order_by("number")
    ]
    assert said[0] == (2, 1, "I am here.")
    assert (0, 1, "The agent “LTM-Manager” has written your short-term memory anew.") in said
