"""Long-term memories in missions: who has them in prompts, who proposes them, and what a person accepts."""

import asyncio
import json

import pytest
from django.contrib.auth.models import User

from engine.audit.full_verification import verify_all
from engine.tools import own_tools
from missions import memory_review, workspace
from missions.forms import submit_values
from missions.memory_files import MemoryFile
from missions.models import HistorySummary, MemoryUse, MemoryVersion, Mission, ShortTermMemory
from missions.models.flags import MissionFlag
from missions.procedure import submit
from runs.models import SearchText
from tests.conftest import ScriptedModels, need, perform
from tests.missions.scenes import finishes, mission, runs, step

pytestmark = pytest.mark.django_db

RULE = MemoryFile("rounding", "How we round.", "Half to even.", visible_to=("all",), except_for=("Reader",))
NEW = "---\nname: money\ndescription: ''\nvisible_to: all\n---\nCents.\n"


@pytest.fixture(autouse=True)
def held():
    need("sandbox", not workspace.missing_programs(), workspace.missing_programs())


def played(mira, models, *answers, **asked):
    made = mission(mira, *answers, models=models, **asked)
    asyncio.run(perform(made.pk, models))
    return Mission.objects.with_agents().get(pk=made.pk)


def results(row):
    return {one.key: one.result for one in row.steps.all()}


def kept(said, **more):
    return memory_review.propose(MemoryFile(**{**vars(said), **more}), "mira", accepted=True)


def test_a_memory_is_brought_into_the_prompts_of_one_agent_in_one_mission(mira: User, models):
    first = kept(RULE)
    bring = [
        step("active_ltm", name=" ＲOUNDING"),
        step("active_ltm", name="rounding"),
        step("active_ltm", name="none"),
    ]
    row = played(mira, models, *bring, step("active_ltm", name="rounding", active=False), finishes())
    systems = [messages[0]["content"] for _, messages in models.asked]
    assert ["Half to even." in one for one in systems] == [False, True, True, True, False]
    said = results(row)
    assert [said[key].partition(":")[0] for key in ("1.2", "1.3")] == ["already", "not_found"]
    assert list(MemoryUse.objects.values_list("version", "on")) == [(first.pk, True), (first.pk, False)]
    assert MemoryVersion.objects.count() == 1
    assert verify_all().faults == []


def test_who_is_excepted_is_told_the_same_as_of_one_that_is_not_there(mira: User, models):
    kept(RULE)
    row = played(mira, models, step("active_ltm", name="rounding"), runs("ls /memory"), finishes(), crew=("Reader",))
    assert results(row)["1.1"] == "not_found: there is no memory rounding."
    assert "rounding" not in str(models.asked[0][1])
    assert "rounding" not in results(row)["1.2"]


def test_the_folder_of_memories_is_read_by_commands_and_tools_and_written_by_nobody(mira: User, models):
    kept(RULE)
    row = played(
        mira,
        models,
        runs("cat /memory/rounding.md; echo x > /memory/rounding.md"),
        step("read_file", path="/memory/rounding.md"),
        step("ls", path="/memory"),
        step("write_to_file", path="/memory/money.md", content=NEW),
        step("edit_file", path="/memory/rounding.md", target_text="even", replacement_text="odd"),
        step("write_to_file", path="/memory/money.txt", content="no front"),
        finishes(),
    )
    said = results(row)
    assert "Half to even." in said["1.1"]
    assert "Read-only file system" in said["1.1"]
    assert "Half to even." in said["1.2"]
    assert "rounding.md" in said["1.3"]
    assert "It holds once a person has accepted it" in said["1.4"]
    assert said["1.6"].startswith("not_proposed: It does not begin with front matter")
    waits = {one.memory.file: one for one in MemoryVersion.objects.proposed()}
    assert {name: (one.text, one.mission_id) for name, one in waits.items()} == {
        "money.md": ("Cents.\n", row.pk),
        "rounding.md": ("Half to odd.", row.pk),
    }
    assert verify_all().faults == []


def test_a_proposal_has_whole_lists_and_its_version(mira: User, models):
    kept(RULE)
    said = {"name": "rounding", "description": "How.", "content": "Down."}
    late = step("propose_memory", **said, base_version=7)
    row = played(mira, models, late, step("propose_memory", **said, active_for=["Ada"], base_version=1), finishes())
    assert results(row)["1.1"].startswith("changed_meanwhile: “rounding” has version 1 by now, not 7")
    [one] = MemoryVersion.objects.proposed()
    assert (one.active_for, one.visible_to, one.except_for) == (["Ada"], ["all"], ["Reader"])


def test_what_was_accepted_meanwhile_is_in_the_next_prompt_and_what_was_hidden_is_not(mira: User):
    kept(RULE, active_for=("all",), visible_to=())
    kept(RULE, name="old", text="Old.", active_for=("all",))
    models = Meanwhile()
    row = mission(mira, runs("true"), runs("true # 2"), finishes(), models=models)
    asyncio.run(perform(row.pk, models))
    systems, last = [one[0]["content"] for _, one in models.asked], [one[-1]["content"] for _, one in models.asked]
    assert [("Half to even." in one, "Up." in one, "Old." in one) for one in systems] == [
        (True, False, True),
        (False, True, False),
        (False, True, False),
    ]
    assert ["memories_that_have_changed" in one for one in last] == [False, True, False]
    assert verify_all().faults == []


class Meanwhile(ScriptedModels):
    """While the first step is thought of, people change what is remembered."""

    async def ask(self, *args):
        if len(self.asked) == 0:
            reply = await super().ask(*args)
            await asyncio.to_thread(self.change)
            return reply
        return await super().ask(*args)

    def change(self):
        from django.db import connection

        kept(RULE, text="Up.", active_for=("all",), visible_to=())
        kept(RULE, name="old", text="Old.", except_for=("all",))
        connection.close()


def test_the_one_who_keeps_memories_finds_all_of_them(mira: User, models):
    kept(RULE, except_for=("LTM-Manager",))
    from missions.presets import agent_row
    from missions.procedure import submit

    agents = [agent_row({"name": "LTM-Manager", "rights": ["library", "tidy"]}, "test/one")]
    models.will("test/one", runs("cat /memory/*.md"), finishes())
    row = submit(owner=mira, goal="Keep.", agents=agents)
    asyncio.run(perform(row.pk, models))
    assert "Half to even." in row.steps.get(number=1).result
    assert "Half to even." not in models.asked[0][1][0]["content"]


def test_a_history_is_summarised_on_demand_with_a_dump_of_the_whole_prompt_before(mira: User, models):
    summary = json.dumps({"summary": "Nine lists.", "facts": ["It is empty."]})
    lists = [step("ls", depth=1 + number % 3) for number in range(9)]
    row = played(mira, models, *lists, step("summarize_history"), summary, finishes())
    [one] = HistorySummary.objects.filter(mission=row)
    dump = json.loads(one.dump)
    assert (one.covers, dump[0]["role"], "# Tools" in dump[0]["content"]) == (6, "system", True)
    assert '"steps": 6' in results(row)["1.10"]
    assert ShortTermMemory.objects.get(mission=row).text == "It is empty."
    assert "Nine lists." in str(models.asked[-1][1])
    assert sum(one["role"] == "assistant" for one in models.asked[-1][1]) == 4
    assert verify_all().faults == []


def test_notes_are_written_shorter_without_what_active_memories_say(mira: User, models):
    kept(RULE, active_for=("all",))
    shorter = json.dumps({"text": "Short."})
    row = played(
        mira, models, step("remember", text="Half to even, and cents."), step("compress_stm"), shorter, finishes()
    )
    assert "Half to even." in models.asked[2][1][1]["content"]
    assert results(row)["1.2"] == '{"ok": true, "tool": "compress_stm", "version": 2, "length_before": 24, "length": 6}'


def test_notes_over_their_length_are_shortened_before_the_next_step_and_not_one_sign_before(mira: User, models):
    played(mira, models, step("remember", text="x" * 1500), finishes())
    assert len(models.asked) == 2
    more = ScriptedModels()
    shorter = json.dumps({"text": "y" * 1500})
    row = played(mira, more, step("remember", text="x" * 1499), step("remember", text="y"), shorter, finishes())
    assert [len(one.text) for one in ShortTermMemory.objects.filter(mission=row)] == [1499, 1501, 1500]


def test_tools_that_stand_in_place_of_others_are_no_agents(db):
    from missions.tools import NAMES

    assert {"write_memory", "edit_memory", "fresh_check"} <= own_tools().keys() - set(NAMES)


def test_what_a_crew_kept_comes_along_where_another_mission_goes_on_from_it(mira: User, models):
    keeps = step("remember", text="This project rounds half up.")
    before = played(mira, models, keeps, runs("echo one > a.txt"), finishes("Half of it is done."))
    models.will("test/one", runs("cat a.txt"), finishes())
    values, problems = submit_values({"goal": "Do the rest."}, follows=str(before.pk))
    assert (problems, [one["name"] for one in values["agents"]]) == ([], ["Ada"])
    row = submit(owner=mira, **values)
    asyncio.run(perform(row.pk, models))
    prompt = str(models.asked[-1][1])
    assert "This project rounds half up." in prompt
    assert "The mission before came to this: Half of it is done." in prompt
    assert SearchText.objects.flags_of([row.pk], list(MissionFlag)) == {row.pk: [MissionFlag.FOLLOWS]}
    assert verify_all().faults == []


def test_nothing_is_accepted_over_a_version_that_is_newer_than_what_it_was_written_from(mira: User):
    kept(RULE)
    up, down = (memory_review.propose(MemoryFile(**{**vars(RULE), "text": text}), "mira") for text in ("Up.", "Down."))
    memory_review.decide_proposal(up.pk, "mira", accept=True)
    with pytest.raises(memory_review.MemoryChanged, match="written from version 1, and version 2 holds"):
        memory_review.decide_proposal(down.pk, "mira", accept=True)
