"""A mission goes on from a step of another one: files, memory and messages are as they were then."""

import asyncio
import shutil

import pytest
from django.core.management import call_command

from engine.audit.full_verification import verify_all
from engine.audit.verification import verify_one
from engine.llm.prompt_blocks import run_boundary
from engine.llm.streaming import ModelReply
from engine.models import AuditEntry, Fork
from missions import comments, contents, publishing, workspace
from missions.forms import submit_values
from missions.models import Mission
from missions.models.forks import in_order
from missions.repositories import commits
from missions.repositories.git import text
from missions.workspace_files import digest_of
from runs.forking import ForkRefused, fork, preview
from runs.record.document import record_line
from runs.record.redaction import redact_run
from tests.columns import turned
from tests.conftest import ScriptedModels, need, perform
from tests.databases import tampering
from tests.missions.repositories import python_package
from tests.missions.scenes import MODEL, finishes, mission, runs, step
from tests.tools.offline import verified_forks

pytestmark = pytest.mark.django_db

BYTES = "printf '\\000\\377{0}' > data.bin; printf '#!/bin/sh\\n# {0}' > go.sh; chmod +x go.sh"


@pytest.fixture(autouse=True)
def held():
    need("sandbox", not workspace.missing_programs(), workspace.missing_programs())


SUMMARY = '{"summary": "Files were written.", "facts": []}'


class Summing(ScriptedModels):
    """Summaries are no steps: what is written is not for them."""

    async def ask(self, model, messages, form, *more):
        if form.name == "mission-summary":
            return ModelReply(text=SUMMARY, finish="stop", model=model)
        return await super().ask(model, messages, form, *more)


class Watching(Summing):
    """Sees the workspace whenever a model is asked: as it is after the step before."""

    def __init__(self):
        super().__init__()
        self.states, self.watched = [], None

    async def ask(self, model, messages, form, *more):
        if form.name != "mission-summary":
            self.states.append(self.watched and files_in(self.watched))
        return await super().ask(model, messages, form, *more)


def files_in(pk):
    place = workspace.workspace(pk)
    return {one.path: (digest_of(place.data(one.path)), one.runs) for one in place.files()}


def played(mira, models, *answers, **asked):
    made = mission(mira, *answers, models=models, **asked)
    models.watched = made.pk
    asyncio.run(perform(made.pk, models))
    return whole(made.pk)


def whole(pk):
    return Mission.objects.with_agents().get(pk=pk)


def performed(forks):
    """Each is asked for one step, and finishes."""
    models = Summing()
    models.will(MODEL, *[finishes()] * len(forks))
    models.will("test/Tester", *[step(reasoning="I have nothing more.")] * len(forks))
    for one in forks:
        asyncio.run(perform(one.pk, models))
    return models


def twenty():
    """Steps of Ada, beside the two of the tester: files that come, change and go, some of them no text; notes,
    messages, and a command that lives on."""
    for number in range(9):
        yield step("write_to_file", path=f"part{number % 4}.txt", content=f"Text {number}\n")
        if number % 3 == 2:
            yield step("remember", text=f"Note {number}.")
    yield runs(BYTES.format("first"))
    yield step("send_message", recipient="Tester", message="Look at part1.txt.")
    yield runs("sleep 300", timeout=0)
    yield runs(f"rm part2.txt; {BYTES.format('second')}")
    yield step("edit_file", path="part1.txt", target_text="Text 5", replacement_text="Text V")
    yield finishes()


def test_a_mission_of_twenty_steps_is_rewound_to_each_of_them(mira):
    models = Watching()
    models.will("test/Tester", step(reasoning="I wait for work."), step(reasoning="It is in order."))
    row = played(mira, models, *twenty(), crew=("Ada", "Tester"), limits={"at_once": 1})
    count = len(row.steps.all())
    assert count == 20
    forks = [fork(row, number, owner=mira) for number in range(1, count + 1)]
    asked = performed(forks)
    states, prompts = [*models.states, files_in(row.pk)], [*models.asked, ("", [])]
    for number, one in enumerate(forks, 1):
        after = asked_by(row, number)
        if after is None:
            continue  # another step was under way then, and is undone
        name, prompt = prompts[after]
        assert files_in(one.pk) == states[after]
        if name == MODEL:
            [again] = [said for who, said in asked.asked if who == MODEL and run_boundary(one.pk) in str(said)]
            *before, note, _ = again
            assert "This mission goes on from another one" in note["content"]
            if has_summary(again) == has_summary(prompt):  # its note may make one due a step earlier
                assert plain(before, one.pk) == plain(prompt[:-1], row.pk)
            assert memory_in(again, one.pk) == memory_in(prompt, row.pk)
    assert verify_all().faults == []


def asked_by(row, number):
    """How many models had been asked when so many steps had come to their ends."""
    settled = in_order(row)[number - 1].settled
    if any(one.made <= settled < one.settled for one in row.steps.all()):
        return None
    return sum(one.started <= settled and "summary" not in one.step for one in row.run.calls.all())


def has_summary(prompt):
    return any(one["content"].startswith("SUMMARY") for one in prompt)


def plain(prompt, pk):
    return [one["content"].replace(run_boundary(pk), "MARK") for one in prompt]


def memory_in(prompt, pk):
    said = prompt[-1]["content"].replace(run_boundary(pk), "MARK")
    return said.partition("Your short-term memory")[2].partition("\n\nNow\n")[0]


# ---- doors and refusals ---------------------------------------------------------------------------------------


@pytest.fixture
def noted(mira, models):
    """A mission of three steps that is over."""
    return played(mira, models, step("remember", text="Odd."), runs("echo one > a.txt"), finishes("It is odd."))


def test_a_page_shows_what_is_left_behind_and_starts_the_fork(noted, page):
    live = page.get(f"/missions/{noted.pk}/").content.decode()
    assert f"/missions/{noted.pk}/fork/?step=3" in live
    shown = page.get(f"/missions/{noted.pk}/fork/?step=1").content.decode()
    assert all(one in shown for one in ("a.txt", "Ada 3: I do this now.", "No message came after it."))
    began = page.post(f"/missions/{noted.pk}/fork/", {"step": "1", "words": "Do it in b.txt."})
    [made] = Fork.objects.all()
    assert (began.url, made.number, made.origin_id) == (f"/missions/{made.pk}/", 1, noted.pk)
    assert "Do it in b.txt." in [one.text for one in whole(made.pk).messages_in_order]
    for one, other in ((noted.pk, made.pk), (made.pk, noted.pk)):
        assert f"/missions/{other}/" in page.get(f"/missions/{one}/").content.decode()
    assert f"{noted.pk}, after step 1 (entry" in page.get(f"/missions/{made.pk}/record/").content.decode()


def test_programs_fork_once_for_each_key(noted, mira_calls):
    address = f"/missions/{noted.pk}/fork"
    told = mira_calls.get(address, step=2).json()
    assert (told["place"], [one["title"] for one in told["undone"]]) == ("step 2 of Ada", ["Steps"])
    made, again = (mira_calls.post(address, {"step": 2}, idempotency_key="once") for _ in range(2))
    assert (made.status_code, made.json()["id"]) == (202, again.json()["id"])
    facts = made.json()["forked"]
    assert (facts["run"], facts["number"]) == (str(noted.pk), 2)
    assert made.headers["Location"].endswith(f"/api/v1/missions/{made.json()['id']}")
    assert mira_calls.post(address, {"step": 9}).status_code == 422


def test_a_fork_is_forked_again_and_its_steps_are_counted_on(noted, mira, models):
    first = fork(noted, 1, owner=mira)
    models.will(MODEL, step("remember", text="Even."), runs("echo two > b.txt"), finishes())
    asyncio.run(perform(first.pk, models))
    second = fork(whole(first.pk), 2, words="Go on.", owner=mira)
    asked = performed([second])
    history = [one["content"] for one in asked.asked[-1][1]]
    results = [one.split(",")[0] for one in history if one.startswith("RESULT")]
    assert results == ["RESULT of step 1", "RESULT of step 2", "RESULT of step 3"]
    kept = memory_in(asked.asked[-1][1], second.pk)
    assert ("Odd." in kept, "Even." in kept) == (True, True)
    assert files_in(second.pk).keys() == {"b.txt"}
    assert [one.origin_id for one in Fork.objects.order_by("made")] == [noted.pk, first.pk]
    assert verify_all().faults == []


def test_a_paused_mission_is_forked_and_stays_as_it_is(mira, models):
    row = mission(mira, runs("echo one > a.txt"), models=models, limits={"at_once": 1})
    models.will(MODEL, step("ask_person", question="Which one?"))
    asyncio.run(perform(row.pk, models))
    comments.pause(row.pk, mira, True)
    asyncio.run(perform(row.pk, models))
    before = list(AuditEntry.objects.filter(run=row.pk).values_list("hash", flat=True))
    forks = [fork(whole(row.pk), 1, owner=mira) for _ in range(2)]
    with pytest.raises(ForkRefused, match="This step has not come to its end"):
        fork(whole(row.pk), 2, owner=mira)
    performed(forks)
    assert [files_in(one.pk).keys() for one in forks] == [{"a.txt"}] * 2
    assert list(AuditEntry.objects.filter(run=row.pk).values_list("hash", flat=True)) == before


def test_what_is_not_kept_any_more_is_not_forked(mira, models):
    row = played(mira, models, runs(BYTES.format("one")), finishes())
    shutil.rmtree(contents.folder(row.pk))
    with pytest.raises(ForkRefused, match=r"not kept any more \(data\.bin\)"):
        preview(row, 1)
    redact_run(row.pk, "mira", "Over.")
    with pytest.raises(ForkRefused, match="Its texts were erased"):
        fork(whole(row.pk), 1, owner=mira)
    running = mission(mira, models=models)
    with pytest.raises(ForkRefused, match="It is running"):
        fork(whole(running.pk), 1, owner=mira)


def test_the_command_line_shows_and_forks(noted, capsys):
    call_command("fork", str(noted.pk), "--at", "1", "--preview")
    assert "A fork after step 1 of Ada leaves behind:" in capsys.readouterr().out
    call_command("fork", str(noted.pk), "--at", "1")
    assert capsys.readouterr().out.startswith(str(Fork.objects.get().pk))


@pytest.mark.postgresql
def test_an_origin_that_was_changed_is_found_where_it_is_there_and_named_where_not(noted, mira):
    made = fork(noted, 2, owner=mira)
    performed([made])
    lines = [record_line(one.pk) for one in (noted, made)]
    assert (verified_forks(lines), verified_forks(lines[1:])) == (([], 0), ([], 1))
    last = Fork.objects.get().hash
    said = f"It was forked from something else. (record {made.pk}: record {noted.pk})"
    assert said in verified_forks([lines[0].replace(last, "0" * 64), lines[1]])[0]
    with tampering():
        AuditEntry.objects.filter(hash=last).delete()
    assert any("What it was forked from is not what it was then." in str(one) for one in verify_all().faults)


def test_a_repository_is_as_it_was_after_the_step(mira, settings, tmp_path):
    models, place = Watching(), tmp_path / "house"
    python_package(place)
    settings.WORKSPACES_FROM = [str(place)]
    values, problems = submit_values({"goal": "Correct it.", "git": str(place)})
    assert problems == []
    own = {name: values[name] for name in ("files", "note", "repository")}
    first = f"git commit -qam One --allow-empty; rm *.md; git commit -qam Two; {BYTES.format('one')}"
    acts = (runs(first), runs("echo late >> setup.py; rm data.bin; git commit -qam Late"), finishes())
    row = played(mira, models, *acts, **own)
    made = fork(row, 1, owner=mira)
    performed([made])
    begun = f"{commits.head_of(workspace.workspace(made.pk))}~1"  # the end of a mission is a commit of its own
    log = text(publishing.repository(made.pk), "log", "--format=%H %s", begun).split("\n")
    there = commits.head_after(publishing.repository(row.pk), ["1.1"])
    assert (log[0], log[1].endswith(" One")) == (f"{there} Two", True)
    assert files_in(made.pk) == models.states[1]
    assert files_in(row.pk) != models.states[1]
    assert verify_all().faults == []


def test_a_change_of_any_column_of_a_fork_is_noticed(noted, mira):
    made = fork(noted, 2, owner=mira)
    performed([made])
    unseen = []
    with tampering():
        for row in (Fork.objects.get(), made.carried.last()):
            for column, change in turned(row):
                if column != "made" and verify_one(made.pk)[2] == []:
                    unseen.append(f"{row._meta.label}.{column}: {change}")
    assert unseen == []
