"""A mission begins with a repository as people have it, and what it publishes is merged there: its commits alone change
what its crew changed."""

import asyncio
import subprocess
from pathlib import Path

import pytest
from django.urls import reverse

from engine.audit.full_verification import verify_all
from engine.audit.verification import verify_one
from engine.models import Gate
from missions import publishing, workspace
from missions.forms import submit_values
from missions.models import Mission
from missions.pull_requests import patch_for
from missions.repositories.cloning import Cloned
from missions.workspace_sources import of_folder
from tests.columns import turned
from tests.conftest import need, perform
from tests.databases import tampering
from tests.missions.repositories import SAMPLES, commit, elsewhere, git, one_commit, put
from tests.missions.scenes import finishes, mission, runs, step
from tests.read_gates import steer_as_read

PERSON = {"who": "person", "hours": 24, "expiry": "return"}
PUBLISHES = step("publish", branch="fix/it", message="As it was wanted")
BY_DAY = ("python package", "binaries and modes", "links that lead out")
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def held():
    need("sandbox", not workspace.missing_programs(), workspace.missing_programs())


def tree(place: Path, name: str) -> dict[str, tuple[str, str]]:
    """Mode and object of each entry, by paths."""
    lines = git(place, "ls-tree", "-r", "-z", "--full-tree", name).split("\0")
    return {path: (head.split()[0], head.split()[2]) for head, _, path in (one.partition("\t") for one in lines if one)}


def stored(place: Path, path: str) -> bytes:
    return subprocess.run(["git", "-C", place, "cat-file", "blob", f"HEAD:{path}"], capture_output=True).stdout


def mailed(place: Path, row: Mission, mailbox: bytes) -> dict[str, tuple[str, str]]:
    """What comes of the mailbox of the whole mission, where its branch was merged before."""
    assert mailbox == patch_for(row)
    patch = place.with_name("house.patch")
    patch.write_bytes(mailbox)
    git(place, "checkout", "--quiet", "-b", "mailed", "HEAD^1")
    git(place, "am", "--quiet", "--keep-cr", str(patch))
    return tree(place, "HEAD")


def begun(user, models, place, sample, settings):
    settings.WORKSPACES_FROM = [str(place)]
    values, problems = submit_values({"goal": "Correct it.", "git": str(place)})
    assert problems == []
    own = {name: values[name] for name in ("files", "note", "repository")}
    acts = [runs(one, timeout=120) for one in sample.does]
    policy = {"publish": PERSON}
    return mission(user, *acts, PUBLISHES, finishes(), models=models, check=sample.check, policy=policy, **own)


def test_a_change_of_any_column_of_a_repository_is_noticed(mira, models):
    cloned = Cloned("0" * 32, "/srv/house.git", "1" * 40, "main", 3, 99, False, [("out", "a link that leads out")])
    row = mission(mira, models=models, repository=cloned).repository
    unseen = []
    with tampering():
        for column, change in turned(row):
            if column not in ("made", "staged") and verify_one(row.mission_id)[2] == []:
                unseen.append(f"{column}: {change}")
    assert unseen == []


HOOK = "mkdir hooks && printf '#!/bin/sh\nexit 1\n' > hooks/pre-commit && chmod +x hooks/pre-commit"
ASKS = (
    "git config filter.ask.clean 'read line < /dev/tty; read line; cat' && echo '* filter=ask' > .git/info/attributes"
)
OWN = "$(git branch --list 'magi/*' --format='%(refname:short)')"
MERGES = "git merge -q --no-edit origin/other"
TRIES = (
    ("ln -s /etc/passwd out", "link: out links to a place outside of the repository."),
    (
        "git reset -q --hard HEAD~1; git init -q inner; git -C inner -c user.name=a -c user.email=a@example.org "
        "commit -q --allow-empty -m Inner",
        "submodule: inner is a repository of its own",
    ),
    (
        "git reset -q --soft HEAD~1; rm -rf inner; git checkout -q --orphan alone; git commit -qm Alone",
        "git: this branch has no commit of the repository in its history.",
    ),
    (f"git checkout -qf {OWN}; rm -rf .git/magi/out; ln -s /tmp .git/magi/out", "git: outside: "),
    (f"{MERGES}; rm .git/magi/out; {HOOK}; git config core.hooksPath hooks; {ASKS}; echo two >> plain.txt", ""),
)


def test_a_mission_goes_on_with_the_commits_of_another_and_publishes_what_is_whole(
    mira, models, settings, tmp_path, client
):
    place = tmp_path / "house"
    one_commit(place)
    git(place, "checkout", "-qb", "other")
    put(place, other=b"other\n")
    commit(place, "On another branch")
    git(place, "checkout", "-q", "main")
    settings.WORKSPACES_FROM = [str(place)]
    values, _ = submit_values({"goal": "Begin.", "git": str(place)})
    acts = runs("echo one > one; git rm -q plain.txt; git commit -qm 'Take it away'; git checkout HEAD~1 plain.txt")
    first = mission(mira, acts, finishes("Begun."), models=models, repository=values["repository"])
    asyncio.run(perform(first.pk, models))
    values, problems = submit_values({"goal": "Go on."}, follows=str(first.pk))
    assert (problems, list(values["files"])) == ([], [])
    steps = [part for command, _ in TRIES for part in (runs(command), PUBLISHES)]
    own = {"follows": first, "repository": values["repository"], "policy": {"publish": PERSON}}
    row = mission(mira, *steps, finishes(), models=models, **own)
    asyncio.run(perform(row.pk, models))
    said = [one.result for one in row.steps.filter(tool="publish", settled__isnull=False)]
    assert [result.startswith(why) for result, (_, why) in zip(said, TRIES, strict=False)] == [True] * 4
    text = Gate.objects.get(run=row.pk, state="pending").text
    assert [text.count(one) for one in ("\nCommit ", "of 4: ", 'removed: "plain.txt"')] == [4, 4, 1]
    assert [text.count(one) for one in ("[merges ", "goes along: ", "\nmerges: ", "Not shown here: ")] == [1] * 4
    client.force_login(mira)
    page = client.get(reverse("mission-files", args=[row.pk])).content.decode()
    assert [one in page for one in ("; merges\n", "On another branch. Mira")] == [True, True]


def test_who_decides_about_a_branch_reads_what_was_not_committed_where_it_began(mira, models, tmp_path, client):
    place = tmp_path / "house"
    one_commit(place)
    put(place, plain_dot_txt=b"one\nof mine\n")
    source = of_folder(place)
    values, problems = submit_values({"goal": "Go on."}, repository=source.repository)
    own = {name: values[name] for name in ("note", "repository")}
    acts = (runs("cat plain.txt && echo two > two.txt"), PUBLISHES)
    row = mission(mira, *acts, models=models, policy={"publish": PERSON}, **own)
    asyncio.run(perform(row.pk, models))
    text = Gate.objects.get(run=row.pk, state="pending").text
    assert (problems, [one in text for one in ("What was not committed in house", "+of mine", "+two")]) == (
        [],
        [True] * 3,
    )
    assert "has what was not committed there: plain.txt." in Mission.objects.get(pk=row.pk).messages.first().text
    client.force_login(mira)
    page = client.get(reverse("mission-beginning", args=[row.pk])).content.decode()
    assert f"Commit <code>{source.repository.start}</code> on top of it has what was not committed there" in page


@pytest.mark.parametrize(
    "name", [one if one in BY_DAY else pytest.param(one, marks=pytest.mark.slow) for one in SAMPLES]
)
def test_what_a_crew_publishes_is_merged_where_it_came_from(name, mira, mira_calls, models, settings, tmp_path, client):
    sample, place = SAMPLES[name], tmp_path / "house"
    sample.make(place)
    row = begun(mira, models, place, sample, settings)
    asyncio.run(perform(row.pk, models))
    gate = Gate.objects.get(run=row.pk, state="pending")
    assert all(f'"{path}"' in gate.text for path in sample.left_out | sample.changed)
    steer_as_read(gate.pk, mira, "approve", choice="allow")
    assert asyncio.run(perform(row.pk, models)).outcome == "done"
    assert {path for path, _ in row.repository.without} == sample.left_out
    there = elsewhere(place)
    before = tree(there, "HEAD")
    git(there, "fetch", "--quiet", str(publishing.bundle(row.pk)), "fix/it:fix/it")
    git(there, "merge", "--quiet", "--no-edit", "fix/it")
    assert subprocess.run(["git", "-C", there, "fsck", "--strict"], capture_output=True).stderr == b""
    after = tree(there, "HEAD")
    assert {path for path in before | after if before.get(path) != after.get(path)} == sample.changed
    assert {path: stored(there, path) for path in sample.holds} == sample.holds
    calls, commit = f"/missions/{row.pk}", mira_calls.get(f"/missions/{row.pk}").json()["branches"][0]["commit"]
    assert mailed(there, row, mira_calls.get(f"{calls}/mailbox").content) == after
    assert mira_calls.get(f"{calls}/commits/{commit}/mailbox").content.startswith(b"From ")
    client.force_login(mira)
    proposed = client.get(reverse("mission-pull-request", args=[row.pk])).content.decode()
    assert proposed.startswith("As it was wanted\n\n## What was done\n\nIt is so.\n\n## Check\n\nIt passed")
    assert Mission.objects.with_agents().get(pk=row.pk).record_hash in proposed
    assert all(path in proposed and path in str(models.asked[0][1]) for path in sample.left_out)
    assert all(path in Mission.objects.get(pk=row.pk).messages.first().text for path in sample.left_out)
    assert verify_all().faults == []
