"""The pages of a mission: what stands on them, and what people do there."""

import asyncio
import io
import re
import tarfile

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from engine.audit.full_verification import verify_all
from engine.models import Run
from judgements.models import Council, CouncilVersion, Judgement
from missions import egress_policy, memory_review, workspace
from missions.display import display_of
from missions.egress_policy import COUNCIL
from missions.examples import EXAMPLES
from missions.memory_files import MemoryFile
from missions.models import Crew, FileVersion, Mission, Terminal, TerminalInput
from missions.presets import agent_row
from missions.procedure import submit
from missions.responses import mission_fields, output_fields
from runs.live.related_runs import readable_through
from runs.presets import NameReserved
from runs.procedure.spec import snapshot_of
from tests.conftest import ScriptedModels, need, perform, some_of
from tests.databases import tampering
from tests.missions.scenes import finishes, mission, runs, step, until_over

JUDGE = {"model": "rehearsal/instant", "criteria": "Is it so?", "fallback": ""}
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def held():
    need("sandbox", not workspace.missing_programs(), workspace.missing_programs())


@pytest.fixture
def models():
    return ScriptedModels()


@pytest.fixture
def mine(mira: User, client: Client):
    client.force_login(mira)
    return client


def played(mira, models, *answers, **asked):
    made = mission(mira, *answers, models=models, **asked)
    asyncio.run(perform(made.pk, models))
    return Mission.objects.with_agents().get(pk=made.pk)


def page(client, name, *args, **asked):
    return client.get(reverse(f"mission-{name}", args=args), asked).content.decode()


def test_a_live_page_shows_the_agent_that_its_address_names(mira: User, models, mine):
    row = played(mira, models, runs("true"), finishes(), crew=("Ada", "Ben"))
    assert 'data-focus="2"' in page(mine, "live", row.pk, focus=2)
    assert 'data-focus="1"' in page(mine, "live", row.pk, focus=9)


def test_a_difference_marks_the_words_that_are_otherwise(mira: User, models, mine):
    edit = step("edit_file", path="a.txt", target_text="one two", replacement_text="one three")
    row = played(mira, models, edit, finishes(), files=[("a.txt", "one two four\n")])
    shown = page(mine, "files", row.pk)
    assert "<b>two</b>" in shown
    assert "<b>three</b>" in shown


def test_an_archive_holds_the_files_as_they_are(mira: User, models, mine):
    row = played(mira, models, runs("echo hello > said"), finishes())
    data = mine.get(reverse("mission-archive", args=[row.pk])).content
    with tarfile.open(fileobj=io.BytesIO(data)) as packed:
        assert {one.name.partition("/")[2]: packed.extractfile(one).read() for one in packed} == {"said": b"hello\n"}


def test_what_came_of_it_is_judged_by_one_button_and_each_leads_to_the_other(mira: User, models, mine):
    Council.objects.create_first(name="Three", owner=mira, agents=[{"name": one, **JUDGE} for one in "ABC"])
    row = played(mira, models, runs("echo hello > said"), finishes())
    begun = mine.post(reverse("mission-judge", args=[row.pk]))
    judgement = Judgement.objects.get()
    assert begun["Location"] == reverse("live", args=[judgement.pk])
    assert "Say hello." in judgement.content
    assert "+hello" in judgement.content
    link = f'About what came of <a href="{reverse("mission-live", args=[row.pk])}">'
    assert link in mine.get(begun["Location"]).content.decode()
    assert begun["Location"] in page(mine, "live", row.pk)
    assert [one.address for one in readable_through(row.run, mira)] == [begun["Location"]]
    assert verify_all().faults == []


def test_of_what_is_judged_each_file_is_named_and_what_has_no_room_is_counted(mira: User, models, mine):
    Council.objects.create_first(name="Three", owner=mira, agents=[{"name": one, **JUDGE} for one in "ABC"])
    many = "for n in $(seq 40); do yes line$n | head -200 > f$n; done; printf 'a\\0b' > picture; echo evil > zz"
    row = played(mira, models, runs(many), finishes())
    mine.post(reverse("mission-judge", args=[row.pk]))
    content, files = Judgement.objects.get().content, FileVersion.objects.filter(mission=row.pk)
    assert len(content) <= 20_000
    assert [one for one in files if f'"{one.path}", {one.size:,} bytes, sha256 {one.digest}' not in content] == []
    assert re.search(
        rf"… [\d,]+ more lines of it are not in this text. All lines: .*/missions/{row.pk}/patch/", content
    )
    assert 'added: "picture", 3 bytes, sha256 ' in content.lower()
    assert "no text or too long: its lines are not in the difference" in content


def test_where_nobody_is_offered_to_judge_somebody_is_chosen_on_the_next_page(mira: User, models, mine):
    row = played(mira, models, finishes())
    asked = mine.post(reverse("mission-judge", args=[row.pk]))
    assert ("Choose who judges" in asked.content.decode(), Judgement.objects.count()) == (True, 0)


@pytest.mark.parametrize(
    ("said", "kept"), [({}, "both"), ({"publish": "council"}, "council"), ({"publish": "never"}, "")]
)
def test_who_decides_about_what_leaves_is_said_where_it_begins(said, kept, mine):
    Council.objects.create_first(name=COUNCIL, owner=None, agents=[{"name": one, **JUDGE} for one in "ABC"])
    mine.post(reverse("mission-new"), {"goal": "Do it.", "network": "never", **said})
    policy = Mission.objects.get().policy
    assert (policy["network"], policy["publish"] if not kept else policy["publish"]["who"]) == (
        "never",
        kept or "never",
    )


def test_what_leaves_is_judged_by_the_ready_made_council_however_it_is_called_now(mine):
    agents = [{"name": one, **JUDGE} for one in "ABC"]
    review = Council.objects.create_first(name=COUNCIL, owner=None, agents=agents)
    review.revise(name="Our review", author=None, agents=[{"fallback": "", **one} for one in agents])
    with pytest.raises(NameReserved, match="missions, before something leaves the sandbox"):
        Council.objects.create_first(name=COUNCIL, owner=None, agents=agents)
    mine.post(reverse("mission-new"), {"goal": "Do it."})
    published = Mission.objects.get().policy["publish"]
    assert (published["council"], published["council_id"]) == ("Our review", review.pk)


def test_where_another_has_had_its_name_no_council_is_meant_and_a_person_is_asked(mine):
    for name in (COUNCIL, "Another"):
        Council.objects.create_first(name=name, owner=None, agents=[{"name": one, **JUDGE} for one in "ABC"])
    with tampering():
        CouncilVersion.objects.update(name=COUNCIL)
    mine.post(reverse("mission-new"), {"goal": "Do it."})
    published = Mission.objects.get().policy["publish"]
    assert (published["who"], published["council_id"]) == ("both", None)


def test_what_is_unproven_is_nowhere_shown_as_done(mira: User, models):
    row = played(mira, models, finishes(), check="false")
    display = display_of(snapshot_of(row.run))
    assert (display.state, display.word, display.ending.check.state) == ("reject", "Unproven", "reject")


def test_what_was_erased_is_neither_tried_again_nor_judged_nor_gone_on_with(mira: User):
    row = submit(owner=mira, goal="Do it.", agents=[agent_row({"name": "Ada"}, "test/one")])
    with tampering():
        gone = {"status": "failed", "error": {"code": "internal"}, "ended": timezone.now(), "redacted": timezone.now()}
        Run.objects.filter(pk=row.pk).update(**gone)
    display = display_of(snapshot_of(Run.objects.get(pk=row.pk)))
    assert (display.is_ended, display.is_final, display.is_followable) == (True, True, False)


def test_beside_a_result_stands_what_tools_really_did(mira: User, models):
    said = played(mira, models, finishes("The tests were run and the branch was published."))
    done = played(mira, models, runs("echo hello > said"), finishes())
    shown = [display_of(snapshot_of(row.run)).ending.figures for row in (said, done)]
    assert shown == [mission_fields(said)["figures"], mission_fields(done)["figures"]]
    assert shown == [
        "No command run, no file changed, no branch published.",
        "1 command run, 1 file changed, no branch published.",
    ]


def test_a_line_of_a_person_is_typed_once_and_stays_in_the_record(mira: User, models, mine):
    asks = runs("read -p 'Name? ' name; echo $name > said", timeout=15)
    row = mission(mira, asks, step("wait", seconds=900), models=models)
    asyncio.run(perform(row.pk, models))
    sent = mine.post(reverse("mission-answer", args=[row.pk, 1]), {"text": "Ada"})
    assert (sent.status_code, TerminalInput.objects.get().text) == (302, "Ada\n")
    models.will("test/one", finishes())
    until_over(row, models)
    assert "Ada" in Mission.objects.with_agents().get(pk=row.pk).files.get(path="said").text
    assert verify_all().faults == []


def test_a_key_is_typed_into_an_editor_and_the_page_shows_its_screen(mira: User, models, mine):
    draws = runs(r"printf '\033[?1049h\033[?1hmenu'; read -rsn3 key; printf '%q' \"$key\" > key", timeout=15)
    row = mission(mira, draws, step("wait", seconds=900), models=models)
    asyncio.run(perform(row.pk, models))
    shown = page(mine, "live", row.pk)
    assert ('term__screen--drawn" tabindex="0"' in shown, 'menu<span class="c-cursor"' in shown) == (True, True)
    said = output_fields(Terminal.objects.get())
    assert (said["text"], said["screen"]["text"]) == ("", "menu")
    mine.post(reverse("mission-answer", args=[row.pk, 1]), {"text": "", "key": "up"})
    assert TerminalInput.objects.get().text == "\x1bOA"


def test_nobody_but_agents_types_where_the_policy_says_so(mira: User, models, mine):
    never = egress_policy.egress_policy({"typing": "never"})
    row = mission(mira, runs("read x", timeout=15), step("wait", seconds=900), models=models, policy=never)
    asyncio.run(perform(row.pk, models))
    sent = mine.post(reverse("mission-answer", args=[row.pk, 1]), {"text": "Ada"})
    assert (sent.status_code, TerminalInput.objects.count()) == (409, 0)
    assert "data-types" not in page(mine, "live", row.pk)


def test_nobody_types_where_a_password_is_asked_for(mira: User, models, mine):
    row = mission(mira, runs("read -s -p 'Word? ' word", timeout=15), step("wait", seconds=900), models=models)
    asyncio.run(perform(row.pk, models))
    sent = mine.post(reverse("mission-answer", args=[row.pk, 1]), {"text": "secret"})
    assert (sent.status_code, TerminalInput.objects.count()) == (422, 0)


def test_files_that_were_sent_stay_on_a_page_that_has_something_to_correct(mine):
    upload = io.BytesIO(b"one\n")
    upload.name = "sent.txt"
    sent = mine.post(reverse("mission-new"), {"goal": "", "path-1": "a", "content-1": "pasted", "uploads": [upload]})
    shown = sent.content.decode()
    assert "pasted" in shown
    assert 'value="sent.txt"' in shown


@pytest.mark.parametrize("key", some_of(EXAMPLES, 1))
def test_each_example_is_rehearsed_to_a_check_that_passes(key, mira: User, settings):
    example = EXAMPLES[key]
    settings.DEFAULT_MODEL = "rehearsal/instant"
    from missions.forms import submit_values
    from missions.procedure import submit

    if example.crew:  # tests begin without the ready-made ones
        helpers = [{"name": "Magi-01"}, {"name": "Tester"}]
        Crew.objects.create_first(name=example.crew, owner=mira, agents=helpers)
    given = {"goal": example.goal, "check": example.check, "crew": example.crew}
    values, problems = submit_values(given, example.files)
    assert not problems
    row = submit(owner=mira, **values)
    until_over(row, None)
    row = Mission.objects.with_agents().get(pk=row.pk)
    assert (row.run.outcome, row.final_check.exit_code) == ("done", 0)


def test_a_proposal_is_used_once_somebody_accepted_it_on_its_page(admin_client: Client):
    made = memory_review.propose(MemoryFile("rounding", "How", "Half up.", visible_to=("all",)), "LTM-Manager")
    shown = admin_client.get(reverse("memories")).content.decode()
    assert "It is used by nobody yet" in shown
    admin_client.post(reverse("memory-decide", args=[made.pk]), {"do": "accept"})
    tried = admin_client.get(reverse("memory", args=[made.memory_id]), {"try": "Tester"}).content.decode()
    assert "sees name and description" in tried


def test_a_memory_is_downloaded_under_its_name_and_no_header_has_an_encoded_word(admin_client: Client):
    made = memory_review.propose(MemoryFile("日本 ü", "How", "Half up."), "LTM-Manager")
    answer = admin_client.get(reverse("memory-file", args=[made.memory_id]))
    name = answer.headers["Content-Disposition"]
    assert name == "attachment; filename*=utf-8''%E6%97%A5%E6%9C%AC_%C3%BC.md"


def test_a_memory_is_saved_from_the_version_that_was_read_alone(admin_client: Client):
    made = memory_review.propose(MemoryFile("rounding", "How", "Half up."), "mira", accepted=True)
    edit, typed = reverse("memory-edit", args=[made.memory_id]), {"name": "rounding", "text": "Half down.", "base": "1"}
    assert admin_client.post(edit, typed).status_code == 302
    late = admin_client.post(edit, {**typed, "text": "Never."})
    assert (late.status_code, "Never." in late.content.decode()) == (422, True)


def test_who_may_change_no_memory_decides_about_none(mine):
    made = memory_review.propose(MemoryFile("rounding", "How", "Half up."), "LTM-Manager")
    assert mine.post(reverse("memory-decide", args=[made.pk]), {"do": "accept"}).status_code == 403


def test_a_rehearsed_one_says_so_in_the_history(mira: User, mine):
    submit(owner=mira, goal="Say hello.", agents=[agent_row({"name": "Ada"}, "rehearsal/instant")])
    submit(owner=mira, goal="Say more.", agents=[agent_row({"name": "Ada"}, "test/one")])
    assert mine.get(reverse("runs-history")).content.decode().count(">Rehearsal<") == 1
