"""A patch is applied whole or not at all, a person is asked and heard, and a picture stays unseen in so many words."""

import asyncio
import json
import re
from hashlib import sha256

import pytest
from django.contrib.auth.models import User

from engine.audit.full_verification import verify_all
from engine.models import Gate, ToolCall
from engine.tools import ToolUse
from missions import patches, workspace
from missions.models import Mission, MissionMessage
from missions.tools import apply_patch
from missions.tools.apply_patch import settle
from missions.tools.files import WriteFileArguments, write_file
from missions.workspace_files import FileProblem, Workspace
from runs import run_actions
from runs.procedure.spec import spec_of_run
from tests.conftest import ScriptedModels, need, perform
from tests.missions.scenes import finishes, mission, runs, step

POEM = "one\ntwo\nthree\nfour\nfive\n"
PATCH = """\
diff --git a/poem b/poem
--- a/poem
+++ b/poem
@@ -1,3 +1,3 @@
 one
-two
+zwei
 three
@@ -5 +5,2 @@
 five
+six
--- /dev/null
+++ b/new/said
@@ -0,0 +1 @@
+hello
--- a/old
+++ /dev/null
@@ -1 +0,0 @@
-gone
"""
FILES = [("poem", POEM), ("old", "gone\n")]
DONE = {"poem": "one\nzwei\nthree\nfour\nfive\nsix\n", "new/said": "hello\n", "old": None}


# ---- on paper -------------------------------------------------------------------------------------------------


def after(patch, **texts):
    found = patches.parse_patch(patch)
    return patches.apply_patch(found, {one.path: texts.get(one.path) for one in found})


def test_files_are_changed_made_and_taken_away():
    assert after(PATCH, **dict(FILES)) == DONE


@pytest.mark.parametrize(
    ("hunk", "came_to"),
    [
        ("@@ -4 +4 @@\n-two\n+zwei\n", "one\nzwei\nthree\nfour\nfive\n"),
        ("@@ -2,3 +2,2 @@\n two\n-three\n four\n", "one\ntwo\nfour\nfive\n"),
        ("@@ -5 +5 @@\n-five\n+five\n\\ No newline at end of file\n", "one\ntwo\nthree\nfour\nfive"),
        ("@@ -0,0 +1 @@\n+nought\n", f"nought\n{POEM}"),
        ("@@ -5,0 +6 @@\n+six\n", f"{POEM}six\n"),
    ],
)
def test_a_hunk_goes_where_its_lines_stand(hunk, came_to):
    assert after(f"--- a/poem\n+++ b/poem\n{hunk}", poem=POEM) == {"poem": came_to}


@pytest.mark.parametrize(
    ("patch", "code"),
    [
        ("Change two to zwei.", "no_patch"),
        ("--- a/poem\n+++ b/poem\n", "no_patch"),
        ("--- a/poem\n+++ b/poem\n@@ -1 +1 @@\n*one\n", "no_patch"),
        ("--- a/poem\n+++ b/song\n@@ -1 +1 @@\n-one\n+eins\n", "not_taken"),
        ("diff --git a/x b/x\nGIT binary patch\n", "not_taken"),
        ("--- a/poem\n+++ b/poem\n@@ -1 +1 @@\n-one\n+eins\n" * 51, "too_many"),  # and looked at no further
        ("--- a/poem\n+++ b/poem\n@@ -1 +1 @@\n-oen\n+eins\n", "no_match"),
        ("--- a/song\n+++ b/song\n@@ -1 +1 @@\n-one\n+eins\n", "not_found"),
        ("--- /dev/null\n+++ b/poem\n@@ -0,0 +1 @@\n+one\n", "changed_meanwhile"),
        ("--- a/twice\n+++ b/twice\n@@ -9 +9 @@\n-same\n+other\n", "several"),
    ],
)
def test_what_is_no_patch_or_does_not_fit_is_said(patch, code):
    with pytest.raises(FileProblem) as problem:
        after(patch, poem=POEM, twice="same\nsame\n")
    assert problem.value.code == code


def test_what_is_no_digest_is_refused_with_the_one_that_is_wanted_there(tmp_path):
    digest = sha256(POEM.encode()).hexdigest()
    (tmp_path / "poem").write_text(POEM)
    told = f"the digest of poem is wanted there, which is “{digest[:16]}”, or leave it out."
    refused = {
        "poem": f"no_digest: “expect” is “poem”: {told}",
        "": f"no_digest: “expect” is “”: {told}",
        "0" * 16: "changed_meanwhile: poem is not as you have read it: read it again.",
        "new": "changed_meanwhile: poem is there already.",
    }
    for expect, said in refused.items():
        with pytest.raises(FileProblem, match=re.escape(said)):
            write_file(WriteFileArguments(path="poem", content="nought", expect=expect), Workspace(tmp_path))
    with pytest.raises(FileProblem, match="not_found: song is not there: write it without “expect”, or with “new”"):
        write_file(WriteFileArguments(path="song", content="la", expect=digest), Workspace(tmp_path))
    assert write_file(
        WriteFileArguments(path="poem", content="nought", expect=digest[:16].upper()), Workspace(tmp_path)
    )


# ---- in a mission ---------------------------------------------------------------------------------------------


@pytest.fixture
def models():
    need("sandbox", not workspace.missing_programs(), workspace.missing_programs())
    return ScriptedModels()


def played(mira, models, *answers, **asked):
    made = mission(mira, *answers, models=models, **asked)
    asyncio.run(perform(made.pk, models))
    return Mission.objects.with_agents().get(pk=made.pk)


@pytest.mark.django_db
def test_of_a_patch_that_fits_one_file_alone_nothing_is_done(mira: User, models):
    bad = PATCH.replace("-gone", "-here")
    row = played(
        mira, models, step("apply_patch", patch=bad), step("apply_patch", patch=PATCH), finishes(), files=FILES
    )
    refused, done, _ = row.steps.all()
    assert refused.result.startswith("no_match: Hunk 1 of old fits nowhere.")
    assert (refused.ok, done.ok) == (False, True)
    assert done.result.splitlines()[1].startswith("M poem ")
    assert [one.change for one in row.files.filter(step=done)] == ["A", "D", "M"]
    assert verify_all().faults == []


@pytest.mark.django_db
@pytest.mark.parametrize("written", [0, 1, 3])
def test_a_patch_that_an_engine_died_in_is_done_once(mira: User, models, written):
    row = mission(mira, models=models, files=FILES)
    workspace.prepare(row.pk, [(path, text.encode()) for path, text in FILES])
    place = workspace.workspace(row.pk)
    for path, text in list(DONE.items())[:written]:
        apply_patch._put(place, path, text)
    call = ToolCall(run=row.run, step="1.1", arguments=json.dumps({"patch": PATCH}))
    assert asyncio.run(settle(call, ToolUse(row.run, "1.1", "key")))
    assert {path: apply_patch._text(place, path) for path in DONE} == DONE


@pytest.mark.django_db
def test_a_person_is_asked_with_choices_and_heard_as_a_person(mira: User, models):
    asks = step("ask_person", question="Which format?", choices=["CSV", "JSON"])
    row = mission(mira, asks, finishes(), models=models)
    assert asyncio.run(perform(row.pk, models)).status == "waiting"
    gate = Gate.objects.get(run=row.pk)
    assert (gate.kind, gate.title, gate.text) == ("question", "Ada asks: Say hello.", "Which format?")
    assert spec_of_run(gate.run).heading(gate) == "Ada asks: Which format?"
    assert [one["sentence"] for one in gate.choices] == ["CSV", "JSON", "Something else, in these words"]
    run_actions.decide(gate.pk, mira, "answer", choice="2", text="With line ends.")
    assert asyncio.run(perform(row.pk, models)).outcome == "done"
    assert [one.text for one in MissionMessage.objects.filter(mission=row, by_name="mira")] == ["JSON\nWith line ends."]
    assert "MESSAGE from the person “mira”" in str(models.asked[-1][1])
    assert verify_all().faults == []


@pytest.mark.django_db
def test_a_picture_is_not_shown_to_who_reads_text_alone(mira: User, models):
    looks = [step("view_image", path=path) for path in ("a.png", "poem", "no.png", "../../etc/passwd")]
    makes = runs(r"printf '\x89PNG\r\n\x1a\n' > a.png")
    row = played(mira, models, makes, *looks, finishes(), files=FILES)
    said = [one.result.partition(":")[0] for one in row.steps.all()[1:5]]
    assert said == ["no_pictures", "no_picture", "not_found", "outside"]
    assert "a.png (png, 8 bytes)" in row.steps.get(number=2).result
