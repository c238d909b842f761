"""What is asked about a branch: the text names each file of it and shows their lines, and exactly that is pushed."""

import asyncio
import json
import re
import subprocess
from hashlib import sha256
from uuid import uuid4

import pytest
from django.urls import reverse
from django.utils.html import escape

from engine import gate_decisions
from engine.audit.full_verification import verify_all
from engine.models import Gate
from judgements.models import Council
from missions import publishing
from missions import workspace as workshop
from missions.publishing import NotPublished
from tests.conftest import agents, need, perform
from tests.missions.scenes import finishes, mission, runs, step

PERSON = {"who": "person", "hours": 24, "expiry": "return"}
COUNCIL = {"who": "council", "council": "Trio"}
PUBLISHES = step("publish", branch="fix/sum", message="Count from the first.")
# 60 files with 200 kB, and what nobody should miss is the last line of the last one
MANY = """python3 -c "
for n in range(60): open(f'm{n:02}.py', 'w').write(''.join(f'a = {n} + {k}  # of many lines\\n' for k in range(130)))
open('zz_last.py', 'w').write('import os; os.system(chr(114) * 9)\\n')
" """


@pytest.fixture
def workspace(settings, tmp_path):
    """A mission and its folder."""
    settings.MISSIONS_DIR = tmp_path / "missions"
    pk = uuid4()
    folder = workshop.mission_folder(pk) / "workspace"
    folder.mkdir(parents=True)
    return pk, folder


def prepared(pk, first=()):
    return publishing.prepare(pk, "1.1", "A change", "Ada", dict(first), 1)


def git(repository, *words):
    return subprocess.run(["git", f"--git-dir={repository}", *words], capture_output=True, check=True).stdout


def tree(repository, commit):
    """Path, size and SHA-256 of each file of a commit."""
    paths = git(repository, "ls-tree", "-r", "-z", "--name-only", commit).decode().split("\0")[:-1]
    data = {path: git(repository, "cat-file", "blob", f"{commit}:{path}") for path in paths}
    return {(path, len(one), sha256(one).hexdigest()) for path, one in data.items()}


def named(text):
    """The same, as the text has it."""
    lines = re.findall(r'^(?:added|changed|as it began): (".*"), ([\d,]+) bytes, sha256 (\w{64})', text, re.MULTILINE)
    return {(json.loads(path), int(size.replace(",", "")), digest) for path, size, digest in lines}


def asked(row, models):
    run = asyncio.run(perform(row.pk, models))
    return run, Gate.objects.with_decisions().get(run=row.pk, state="pending")


@pytest.fixture
def sandbox():
    need("sandbox", not workshop.missing_programs(), workshop.missing_programs())


@pytest.mark.django_db
def test_all_of_60_files_is_read_and_exactly_that_is_pushed(sandbox, mira, models, settings, tmp_path, client):
    there = tmp_path / "there.git"
    subprocess.run(["git", "init", "-q", "--bare", str(there)], check=True)
    settings.PUBLISH_TO = str(there)
    Council.objects.create_first(name="Trio", owner=mira, agents=agents("test/a", "test/b", "test/c"))
    row = mission(mira, runs(MANY), PUBLISHES, finishes(), models=models, policy={"publish": COUNCIL})
    _, gate = asked(row, models)
    assert len(gate.text) > 200_000
    assert '\neffect: "The branch is not there yet: it is made."\n' in gate.text
    assert (gate.council, gate.cut, gate.needs_people) == (None, False, True)
    assert "A council judges texts of 1 to 20,000 characters" in gate.decisions.all()[0].text
    client.force_login(mira)
    shown = client.get(reverse("gate", args=[gate.pk])).content.decode()
    assert [line for line in gate.text.splitlines() if escape(line) not in shown] == []
    gate_decisions.decide(gate.pk, mira, "approve", choice="allow", digest=gate.digest)
    assert asyncio.run(perform(row.pk, models)).outcome == "done"
    assert len(tree(there, "fix/sum")) == 61
    assert tree(there, "fix/sum") == named(gate.text)
    assert verify_all().faults == []


@pytest.mark.django_db
def test_what_is_not_in_the_text_is_named_and_no_council_alone_lets_it_out(sandbox, mira, models, client):
    Council.objects.create_first(name="Trio", owner=mira, agents=agents("test/a", "test/b", "test/c"))
    files = [("kept.py", "secret = 1\n" * 2_000), ("sum.py", "n[1:]\n")]
    edits = step("edit_file", path="sum.py", target_text="n[1:]", replacement_text="n")
    row = mission(mira, edits, PUBLISHES, finishes(), models=models, files=files, policy={"publish": COUNCIL})
    _, gate = asked(row, models)
    assert (gate.cut, gate.policy["who"], gate.council.judgement.content) == (True, "both", gate.text)
    assert f'as it began: "kept.py", 22,000 bytes, sha256 {sha256(files[0][1].encode()).hexdigest()}' in gate.text
    client.force_login(mira)
    [way] = re.findall(r"They are at (\S+)", gate.text)
    assert client.get(way).content.decode().count("secret = 1") == 2_000
    assert "This text does not show everything." in client.get(reverse("gate", args=[gate.pk])).content.decode()
    council = asyncio.run(perform(gate.council_id, models))
    assert (council.outcome, Gate.objects.get(pk=gate.pk).state) == ("approved", "pending")
    assert gate_decisions.decide(gate.pk, mira, "approve", choice="allow", digest=gate.digest).state == "approved"


def test_each_file_is_named_with_size_and_digest_however_many_there_are(workspace):
    pk, folder = workspace
    for number in range(700):
        (folder / f"{number:03}.py").write_text(f"a = {number}\n" * 9)
    (folder / 'z"\nadded: "x", 1 bytes').write_text("z")
    gone = b"gone\n"
    made = prepared(pk, {"gone.py": gone})
    assert tree(publishing.repository(pk), made.commit) == named(made.difference)
    assert f'removed: "gone.py", 5 bytes, sha256 {sha256(gone).hexdigest()}' in made.difference
    assert [n for n in range(700) if f"+a = {n}\n" not in made.difference] == []
    assert (made.files, made.left_out) == (702, 0)


def test_a_file_that_is_no_text_is_named_and_makes_the_text_cut(workspace):
    pk, folder = workspace
    (folder / "picture").write_bytes(b"\x89PNG\0" * 99)
    (folder / "late").write_bytes(b"a\n" * 9_000 + b"\0")
    (folder / "latin").write_bytes(b"caf\xe9\n")
    made = prepared(pk)
    assert (made.left_out, made.difference.count(", no text\n")) == (3, 3)
    assert "+caf\\xe9\n" in made.difference
    assert f"the bytes of 3 files without text. They are in the git bundle at /missions/{pk}/commits/" in (
        made.difference
    )
    assert publishing.bundled_commit(pk, made.commit).startswith(b"# v2 git bundle\n")
    assert [publishing.bundled_commit(pk, one) for one in ("0" * 40, "--all", "")] == [None] * 3


def test_files_of_a_small_beginning_are_shown_and_of_a_large_one_named(workspace):
    pk, folder = workspace
    (folder / "a").write_text("same\n")
    (folder / "b").write_text("new\n")
    made = prepared(pk, {"a": b"same\n"})
    assert (made.left_out, "\nAs the mission began:\ndiff --git a/a b/a\n" in made.difference) == (0, True)
    large = publishing.prepare(pk, "1.2", "A change", "Ada", {"a": b"same\n", "c": b"line\n" * 4_000}, 1)
    assert (large.left_out, "As the mission began:" in large.difference) == (1, False)
    assert "lines that are as in 1 file that the mission began with" in large.difference


def test_more_than_anybody_can_read_is_not_published(workspace):
    pk, folder = workspace
    for number in range(4):
        (folder / f"{number}").write_text("many lines\n" * 30_000)
    with pytest.raises(NotPublished, match=r"too_much: names and lines have 1,\d+,\d+ characters, and 1,000,000"):
        prepared(pk)


def test_a_commit_that_is_not_what_was_shown_is_not_pushed(workspace, settings):
    pk, folder = workspace
    settings.PUBLISH_TO = ""
    (folder / "a").write_text("shown\n")
    shown = prepared(pk)
    (folder / "a").write_text("another\n")
    other = publishing.prepare(pk, "1.2", "A change", "Ada", {}, 1)
    with pytest.raises(NotPublished, match="are not those that were shown"):
        publishing.publish(pk, "b", other.commit, shown.difference)
    git(publishing.repository(pk), "replace", shown.commit, other.commit)
    publishing.publish(pk, "b", shown.commit, shown.difference)
    assert publishing.read_bundle(pk)
    assert git(publishing.repository(pk), "--no-replace-objects", "show", "b:a") == b"shown\n"


def test_attributes_in_a_branch_hide_no_line_of_another(workspace, settings):
    pk, folder = workspace
    settings.PUBLISH_TO = ""
    (folder / ".gitattributes").write_text("* -diff\n")
    first = prepared(pk)
    publishing.publish(pk, "master", first.commit, first.difference)
    (folder / "a").write_text("evil\n")
    assert "+evil\n" in publishing.prepare(pk, "1.2", "A change", "Ada", {}, 1).difference
