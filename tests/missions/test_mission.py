"""A mission, performed: commands, files, messages, memory, agents that make agents, and how it ends."""

import asyncio
import json
import shutil

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.core.management import call_command

from engine import run_control
from engine.audit.full_verification import verify_all
from engine.models import Gate, Run, ToolCall
from engine.queue.worker import Worker
from engine.tools import ToolUse
from missions import comments, procedure, workspace, workspace_files
from missions.models import Mission, MissionMessage, MissionStep
from missions.models.files import patch_text
from missions.terminals.output_spool import SpoolState
from missions.tools.commands import settle_input
from missions.tools.files import settle_edit
from runs import run_actions
from runs.record import redaction
from tests.conftest import ScriptedModels, need, perform
from tests.engine.test_blame import fail_after_five_deaths
from tests.missions.panes import missing
from tests.missions.scenes import finishes, mission, runs, step, until_over
from tests.missions.test_offline import exported, verified
from tests.waiting import until, wait_until

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def held():
    need("sandbox", not workspace.missing_programs(), workspace.missing_programs())


@pytest.fixture
def models():
    return ScriptedModels()


def played(mira, models, *answers, **asked):
    made = mission(mira, *answers, models=models, **asked)
    asyncio.run(perform(made.pk, models))
    return Mission.objects.with_agents().get(pk=made.pk)


def results(row):
    return {one.key: one.result for one in row.steps.all()}


def types(text="", key=None, **more):
    return step("send_command_input", command_id=1, input=text, key=key, **{"wait": 15, **more})


def test_a_check_is_told_that_nobody_is_there_to_answer(mira: User, models):
    told = """[ "$GIT_TERMINAL_PROMPT $GIT_EDITOR $PAGER" = "0 true cat" ]"""
    asks_nobody = f'{told} && echo "$GIT_SSH_COMMAND" | grep BatchMode=yes'
    row = played(mira, models, finishes(), check=asks_nobody)
    assert (row.run.outcome, row.final_check.exit_code) == ("done", 0)


def test_files_that_are_too_much_at_once_are_all_kept_before_a_mission_ends(mira: User, models, monkeypatch):
    monkeypatch.setattr(workspace_files, "MAX_TEXT_BYTES", 5)
    row = played(mira, models, runs("for name in a b c d e f; do echo $name > $name; done"), finishes())
    assert [one.path for one in row.files.all()] == list("abcdef")
    assert [one.step_id for one in row.files.all()][-2:] == [row.finish.pk] * 2
    assert verify_all().faults == []


def test_commands_run_in_the_workspace_and_its_check_shows_that_it_is_done(mira: User, models):
    row = played(mira, models, runs("echo hello > said"), finishes(), check="grep hello said")
    assert (row.run.outcome, row.final_check.exit_code, row.result) == ("done", 0, "It is so.")
    assert '"exit_code": 0' in results(row)["1.1"]
    assert patch_text(row.files.all()) == "--- /dev/null\n+++ b/said\n@@ -0,0 +1 @@\n+hello\n"
    assert verify_all().faults == []


def test_what_is_only_said_to_be_done_is_unproven(mira: User, models):
    row = played(mira, models, finishes(), check="grep hello said")
    assert (row.run.outcome, row.unproven) == ("unproven", "The check ended with 2.")
    assert verify_all().faults == []


def test_a_check_that_asks_is_ended_and_says_what_to_do(mira: User, models, monkeypatch):
    monkeypatch.setattr("missions.tools.fresh_check.ASKS_FOR", 0.3)
    monkeypatch.setattr("missions.tools.fresh_check.LOOK", 0.1)
    row = played(mira, models, finishes(), check='trap "exit 0" INT; read -p "Go on? [y/N] " a')
    assert (row.run.outcome, row.final_check.exit_code, row.final_check.reason) == ("unproven", None, "asks")
    assert row.unproven.startswith("The check could not be run: it waited for somebody to type something")
    assert "--yes" in row.unproven
    assert verify_all().faults == []


def test_a_check_sees_a_copy_and_nothing_that_lives(mira: User, models):
    row = played(mira, models, runs("sleep 600", timeout=0), finishes(), check="touch more; ! pgrep -x sleep")
    assert row.run.outcome == "done"
    assert [(one.reason, one.ended is None) for one in row.terminals.all()] == [("finished", False)]
    assert not (workspace.mission_folder(row.pk) / "workspace" / "more").exists()


def test_files_are_written_read_and_edited_where_they_lie_and_nowhere_else(mira: User, models):
    row = played(
        mira,
        models,
        step("edit_file", path="a/b.txt", target_text="one", replacement_text="two"),
        step("read_file", path="/workspace/a/b.txt"),
        step("read_file", path="../../etc/passwd"),
        step("write_to_file", path="/etc/cron.d/x", content="no"),
        step("grep", pattern="two"),
        finishes(),
        files=[("a/b.txt", "one\n")],
    )
    said = results(row)
    assert "    1 two" in said["1.2"]
    assert said["1.3"].startswith("outside: ")
    assert said["1.4"].startswith("outside: ")
    assert "a/b.txt:1:two" in said["1.5"]


def test_a_command_that_asks_is_answered_once(mira: User, models):
    command = "read -p 'Name? ' name; echo $name > said"
    typed = step("send_command_input", command_id=1, input="Ada\n", wait=5)
    row = played(mira, models, runs(command), typed, finishes(), check="grep -x Ada said")
    assert '"state": "asks"' in results(row)["1.1"]
    assert row.run.outcome == "done"


def test_a_password_is_typed_by_nobody(mira: User, models):
    typed = types("secret\n"), types(key="ctrl-c")
    row = played(mira, models, runs("read -s -p 'Word? ' word"), *typed, finishes())
    assert results(row)["1.2"].startswith("wants_password")
    assert '"state": "ended"' in results(row)["1.3"]  # and whatever comes after it is typed


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "typed", "came"),
    [
        (
            "vi -u NONE a",
            (types("ihello", "esc"), types(":wq", "enter")),
            ("full_screen", '"cursor"', '"exit_code": 0'),
        ),
        ("seq 1 500 | less", (types(key="page-down"), types("q")), ("full_screen", "\n50\n", '"exit_code": 0')),
        (
            *("top -d 0.5", (types(rows=20, columns=80), types(key="ctrl-c"))),
            ("load average", '"rows": 20, "columns": 80', '"state": "ended"'),
        ),
        ("python3 -q -i", (types("6 * 7\n"), types(key="ctrl-d")), ("asks", "\n42\n>>>", '"exit_code": 0')),
    ],
)
def test_an_agent_works_in_what_draws_a_screen(mira: User, models, command, typed, came):
    need("screens", not missing("vi", "less", "top"), missing("vi", "less", "top"))
    row = played(mira, models, runs(command), *typed, finishes())
    said = results(row)
    assert [key for key, text in zip(("1.1", "1.2", "1.3"), came, strict=True) if text not in said[key]] == []
    assert row.files.filter(path="a").exists() == command.startswith("vi")


def test_an_agent_makes_another_which_reports_and_a_third_is_refused_below_it(mira: User, models):
    models.will("test/one", step("make_new_agent", name="Tester", description="Report.", tools=["send_message"]))
    models.will("test/one", step("wait"), step("send_message", recipient="Tester", message="Go."), step("wait"))
    row = mission(mira)
    answers = [step("send_message", recipient="Ada", message="Seen."), step()]
    models.will("test/one", *answers)
    run = asyncio.run(perform(row.pk, models))
    found = Mission.objects.with_agents().get(pk=row.pk)
    assert [(one.name, one.parent) for one in found.crew_list] == [("Ada", 0), ("Tester", 1)]
    assert "make_new_agent" not in found.agent(2).tools
    assert not run.outcome


def test_each_of_a_crew_has_its_turn_however_long_another_goes_on(mira: User, models):
    row = mission(mira, *[step("ls"), step("list_commands")] * 3, finishes(), models=models, crew=("Ada", "Bo", "Cy"))
    for name in ("Bo", "Cy"):
        models.will(f"test/{name}", step("list_commands"), step("ls"), step("wait"))
    asyncio.run(perform(row.pk, models))
    order = MissionStep.objects.filter(mission=row).order_by("pk").values_list("agent__name", flat=True)
    assert [{*order[n : n + 3]} for n in (0, 3, 6)] == [{"Ada", "Bo", "Cy"}] * 3


def test_a_timer_holds_though_another_waits_at_a_gate(mira: User, models):
    row = mission(mira, step("wait", seconds=900), models=models, crew=("Ada", "Bo"))
    models.will("test/Bo", runs("true", network=["example.org:443"]))
    run = asyncio.run(perform(row.pk, models))
    assert run.status == "waiting"
    assert (run.wakes_at - run.created).total_seconds() < 1_000


def test_whoever_finishes_waits_for_nobody_at_a_gate(mira: User, models):
    asks = runs("true", network=["example.org:443"])
    row = mission(mira, step("ls"), step("ls"), step("ls"), finishes(), models=models, crew=("Ada", "Bo"))
    models.will("test/Bo", asks)
    assert asyncio.run(perform(row.pk, models)).outcome == "done"
    assert [one.state for one in Gate.objects.filter(run=row.pk)] == ["void"]


def test_whoever_can_wake_nobody_is_told_once_and_then_a_person_is_asked(mira: User, models):
    row = mission(mira, step(reasoning="I am done."), step(reasoning="Nothing to add."), finishes(), models=models)
    run = asyncio.run(perform(row.pk, models))
    gate = Gate.objects.get(run=run)
    assert (run.status, gate.kind) == ("waiting", "question")
    run_actions.decide(gate.pk, mira, "answer", choice="go_on", text="Finish it.")
    assert asyncio.run(perform(row.pk, models)).outcome == "done"
    assert [one.text for one in MissionMessage.objects.filter(mission=row, by_name="mira")] == ["Finish it."]
    assert verify_all().faults == []


def test_words_to_the_crew_answer_what_a_person_was_asked(mira: User, models):
    row = mission(mira, step(reasoning="I am done."), step(reasoning="Nothing to add."), finishes(), models=models)
    asyncio.run(perform(row.pk, models))
    comments.post_message(row.pk, mira, "Finish it.")
    assert Gate.objects.get().state == "void"
    assert asyncio.run(perform(row.pk, models)).outcome == "done"
    assert verify_all().faults == []


def test_words_that_come_just_before_a_person_is_asked_answer_that_too(mira: User, models, monkeypatch):
    row = mission(mira, step(reasoning="I am done."), step(reasoning="Nothing to add."), finishes(), models=models)
    stuck = procedure._stuck

    async def words_first(run, seen, told):
        if told:
            await sync_to_async(comments.post_message)(row.pk, mira, "Finish it.")
        await stuck(run, seen, told)

    monkeypatch.setattr(procedure, "_stuck", words_first)
    assert asyncio.run(perform(row.pk, models)).outcome == "done"
    assert not Gate.objects.exists()


def test_a_command_that_ends_wakes_who_waits_for_it(mira: User, models):
    row = mission(mira, runs("sleep 0.7; echo slow", timeout=0), step("wait"), finishes(), models=models)
    assert until_over(row, models).outcome == "done"
    assert Mission.objects.with_agents().get(pk=row.pk).terminals.get().output == "slow\n"


@pytest.mark.parametrize("timeout", [0, 5])  # nobody, or its own step, has noticed its end
def test_a_wait_for_a_command_that_has_ended_is_over_at_once(mira: User, models, timeout):
    waits = step("wait", for_command=1, seconds=900)
    row = mission(mira, runs("sleep 0.3", timeout=timeout), waits, waits, finishes(), models=models)
    assert until_over(row, models).outcome == "done"
    steps = Mission.objects.with_agents().get(pk=row.pk).steps.all()
    assert [one.ok for one in steps] == [True] * 4
    assert "Command 1 has ended. Look at it with command_status." in steps[2].result


def test_a_person_pauses_it_says_something_and_lets_it_go_on(mira: User, models):
    row = mission(mira, finishes(), models=models)
    comments.pause(row.pk, mira, True)
    assert asyncio.run(perform(row.pk, models)).why == "Paused by mira"
    comments.post_message(row.pk, mira, "Only now.")
    comments.pause(row.pk, mira, False)
    assert asyncio.run(perform(row.pk, models)).outcome == "done"
    prompt = str(models.asked[0][1])
    assert "MESSAGE from the person “mira”" in prompt
    assert "Only now." in prompt


def test_a_redaction_takes_its_texts_and_its_workspace(mira: User, models, django_capture_on_commit_callbacks):
    row = played(mira, models, runs("echo secret > said"), finishes())
    assert workspace.mission_folder(row.pk).is_dir()
    with django_capture_on_commit_callbacks(execute=True):
        redaction.redact_run(row.pk, "mira", "Asked for it.")
    assert not workspace.mission_folder(row.pk).exists()
    assert verify_all().faults == []


def test_a_command_outlives_its_engine_and_the_next_one_attaches_to_it(mira: User, models):
    command = "echo begun >> count; sleep 3; echo done"
    row = mission(mira, runs(command), finishes(), models=models, check="grep -c begun count | grep -x 1")

    async def left_alone():
        engine = Worker(models=models)
        performing = asyncio.create_task(engine.run())
        await asyncio.to_thread(
            wait_until, lambda: workspace.spool(row.pk, "1-1").state == SpoolState.LIVES, "its command"
        )
        await engine.stop(grace=0)
        await performing

    asyncio.run(left_alone())
    assert ToolCall.objects.get(run=row.pk, tool="run_command").is_open
    assert workspace.spool(row.pk, "1-1").state == SpoolState.LIVES
    assert asyncio.run(perform(row.pk, models)).outcome == "done"
    assert "done" in MissionStep.objects.get(mission=row, number=1).result
    assert verify_all().faults == []


def test_a_command_that_is_refused_was_none_and_no_more_live_than_may(mira: User, models):
    lives, more = runs("sleep 60", timeout=0), runs("true", cwd="/etc")
    row = played(mira, models, more, lives, runs("true"), finishes(), limits={"terminals": 1})
    said = results(row)
    assert [said[key].partition(":")[0] for key in ("1.1", "1.3")] == ["outside", "limit"]
    assert [one.reason for one in row.terminals.all()] == ["refused", "finished", "refused"]


def test_a_secret_in_a_file_comes_into_no_prompt_and_no_row(mira: User, models):
    secret = "ghp_" + "a1B2c3D4" * 4
    row = played(mira, models, runs("cat said"), step("read_file", path="said"), finishes(), files=[("said", secret)])
    assert all("[secret 1]" in one for key, one in results(row).items() if key != "1.3")
    assert secret not in str(models.asked)
    assert secret not in str(list(ToolCall.objects.values_list("output", flat=True)))
    assert secret not in row.terminals.get().output


def test_whoever_waits_beside_a_command_that_asks_is_told_once(mira: User, models):
    typed = step("send_command_input", command_id=1, input="Ada\n", wait=5)
    asks = runs("sleep 1; read -p 'Name? ' name; echo $name", timeout=0)
    row = mission(mira, asks, step("wait", for_command=1), typed, finishes(), models=models)
    assert until_over(row, models).outcome == "done"
    [told] = MissionMessage.objects.filter(mission=row, sender=0)
    assert told.text.startswith("Command 1 waits for input. You are told once")


def test_two_that_only_write_to_one_another_are_told_to_do_something(mira: User, models):
    to = [step("send_message", recipient="Ben", message=f"And {n}?") for n in range(9)]
    fro = [step("send_message", recipient="Ada", message=f"So {n}.") for n in range(9)]
    row = mission(mira, *to, finishes(), models=models, crew=("Ada", "Ben"))
    models.will("test/Ben", *fro)
    asyncio.run(perform(row.pk, models))
    said = [one.result.partition(":")[0] for one in MissionStep.objects.filter(mission=row).order_by("pk")]
    assert said.count("to_and_fro") >= 1
    finish = MissionStep.objects.get(mission=row, tool="finish")  # which is something: the other may write again
    assert MissionMessage.objects.filter(mission=row, made__lt=finish.made).count() == 8


def test_another_machine_leaves_it_alone_until_somebody_gives_the_first_up(mira: User, models, settings):
    typed = step("send_command_input", command_id=1, input="Ada\n", wait=5)
    asks = runs("echo kept > said; read -p 'Name? ' name")
    row = mission(mira, asks, step("wait", seconds=900), typed, runs("cat said"), finishes(), models=models)
    asyncio.run(perform(row.pk, models))
    here, settings.HOST = settings.HOST, "another"
    run_actions.apply_and_announce(row.pk, lambda: None)
    engine = Worker(models=models)
    assert (Run.objects.get(pk=row.pk).host, engine._queue.waits(engine.worker)) == (here, False)
    workspace.stop_all(row.pk, "away")
    wait_until(lambda: list(workspace.mission_folder(row.pk).glob("spool/*/end")), "the end of its command")
    shutil.rmtree(workspace.mission_folder(row.pk))  # as on a machine that has it not
    call_command("give_up_machine", str(row.pk))
    assert asyncio.run(perform(row.pk, models)).outcome == "done"
    seen = Mission.objects.with_agents().get(pk=row.pk)
    assert ("kept" in results(seen)["1.4"], seen.terminals.all()[0].reason) == (True, "cut")
    assert verify_all().faults == []


async def begin_and_die(row, models):
    """An engine begins the command of the first step and is gone while it lives."""
    engine = Worker(models=models)
    performing = asyncio.create_task(engine.run())
    await until(ToolCall.objects.filter(run=row.pk, status="open").aexists, "the call of its first step")
    await until(sync_to_async(lambda: workspace.spool(row.pk, "1-1").state == SpoolState.LIVES), "its command")
    await engine.stop(grace=0)
    await performing


def failed_and_retried(mira, models, *answers):
    row = mission(mira, runs("echo once >> count; sleep 1; echo over", timeout=60), *answers, models=models)
    asyncio.run(begin_and_die(row, models))
    fail_after_five_deaths(row.run)
    run_control.retry(row.pk)
    return row


def test_a_command_that_was_under_way_when_its_mission_failed_is_found_by_a_retry(mira: User, models):
    row = failed_and_retried(mira, models, finishes())
    assert asyncio.run(perform(row.pk, models)).outcome == "done"
    seen = Mission.objects.with_agents().get(pk=row.pk)
    assert (seen.steps.get(number=1).ok, "over" in results(seen)["1.1"]) == (True, True)
    assert workspace.workspace(row.pk).read("count") == b"once\n"
    assert (verify_all().faults, verified(exported().values())[0]) == ([], [])


def test_a_command_of_a_machine_that_was_given_up_is_not_begun_again_by_a_retry(mira: User, models):
    row = failed_and_retried(mira, models, finishes())
    workspace.stop_all(row.pk, "away")
    wait_until(lambda: list(workspace.mission_folder(row.pk).glob("spool/*/end")), "the end of its command")
    shutil.rmtree(workspace.mission_folder(row.pk))  # as on a machine that has it not
    call_command("give_up_machine", str(row.pk))
    asyncio.run(perform(row.pk, models))
    seen = Mission.objects.with_agents().get(pk=row.pk)
    assert (seen.steps.get(number=1).ok, seen.terminals.get().reason) == (False, "cut")
    assert not list(workspace.mission_folder(row.pk).glob("spool/1-1"))


@pytest.mark.parametrize("done", [False, True])
def test_an_edit_that_an_engine_died_in_is_done_once(mira: User, models, done):
    edits = step("edit_file", path="a", target_text="one", replacement_text="one one")
    row = mission(mira, edits, finishes(), models=models, files=[("a", "one\n")])
    workspace.prepare(row.pk, [("a", b"one one\n" if done else b"one\n")])
    call = ToolCall(run=row.run, step="1.1", arguments=json.dumps({"path": "a", "target_text": "one",
                    "replacement_text": "one one", "occurrence": None}))  # fmt: skip
    said = asyncio.run(settle_edit(call, ToolUse(row.run, "1.1", "key")))
    assert "one one" in said
    assert workspace.workspace(row.pk).read("a") == b"one one\n"


def test_an_input_that_was_taken_by_a_command_that_has_ended_was_typed(mira: User, models):
    typed = step("send_command_input", command_id=1, input="Ada\n", wait=3)
    row = played(mira, models, runs("read -p 'Name? ' name; echo $name"), typed, finishes())
    call = row.steps.get(number=2).tool_call
    said = asyncio.run(settle_input(call, ToolUse(row.run, "1.2", "key")))
    assert ('"exit_code": 0' in said, said.count("Ada")) == (True, 2)
