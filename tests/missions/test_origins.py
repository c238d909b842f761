"""A workspace comes out of an archive or a repository: its texts alone, and nothing that leads out or swells."""

import asyncio
import gzip
import io
import json
import shutil
import stat
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from engine.audit.full_verification import verify_all
from missions import archive_reader, workspace, workspace_sources
from missions.forms import submit_values
from missions.models import Mission, MissionMessage
from missions.repositories import cloning
from missions.workspace_sources import RepositoryRefused
from tests.callers import API, ApiCaller, fields, problem
from tests.conftest import ScriptedModels, need, perform
from tests.missions.scenes import finishes, mission

TEXTS = {"src/a.py": b"a = 1\n", "README": b"Hello.\n"}


def zipped(names=TEXTS, **about):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in names.items():
            info = zipfile.ZipInfo(name)
            for key, value in about.items():
                setattr(info, key, value)
            archive.writestr(info, data, zipfile.ZIP_DEFLATED)
    return made.getvalue()


def tarred(names=TEXTS, mode="w:gz", **about):
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode=mode) as archive:
        for name, data in names.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            for key, value in about.items():
                setattr(info, key, value)
            archive.addfile(info, io.BytesIO(data))
    return made.getvalue()


@pytest.mark.parametrize("data", [zipped(), tarred(), *(tarred(mode=f"w:{one}") for one in ("", "bz2", "xz"))])
def test_the_texts_of_an_archive_are_taken(data):
    assert dict(workspace_sources.source_from_archive(data).files) == {
        path: text.decode() for path, text in TEXTS.items()
    }


def test_what_is_no_text_is_named_and_what_is_of_git_is_not_looked_at():
    found = workspace_sources.source_from_archive(
        zipped({"./a": b"x", ".git/config": b"y", "b.png": b"\x89\0", "big": b"x" * 400_001})
    )
    assert list(found.files) == [("a", "x")]
    assert found.note == "Left out of the workspace, for they are no texts in UTF-8, or too long: b.png, big."


LINK = {"type": tarfile.SYMTYPE, "linkname": "/etc/passwd"}
# made when they are wanted: together they take a second of every process that collects the tests
UNTAKEN = {
    "up": (lambda: zipped({"../a": b"x"}), "'../a' is no path within a folder."),
    "absolute": (lambda: tarred({"/etc/cron.d/a": b"x"}), "'/etc/cron.d/a' is no path within a folder."),
    "backwards": (lambda: zipped({"a\\..\\b": b"x"}), "is no path within a folder."),
    "link alone": (lambda: tarred({"a": b""}, **LINK), "There is no text in it."),
    "twice": (lambda: tarred({"a": b"x", "./a": b"y"}), "a is in it twice."),
    "file as folder": (lambda: tarred({"a": b"x", "a/b": b"y"}), "a/b lies in what is a file."),
    "many": (lambda: zipped({str(number): b"x" for number in range(2_001)}), "more than 2,000 texts"),
    "many empty": (
        lambda: tarred({f"{n}/": b"" for n in range(20_001)}, type=tarfile.DIRTYPE),
        "more than 20,000 entries",
    ),
    "much": (lambda: zipped({str(number): b"x" * 400_000 for number in range(51)}), "more than 20 MB of them"),
    "swells": (lambda: gzip.compress(bytes(150_000_000)), "more than 100 MB once it is unpacked"),
    "nothing": (lambda: zipped({"a.png": b"\0"}), "There is no text in it."),
    "broken": (lambda: zipped()[:-30], "neither zip nor tar"),
    "no archive": (lambda: b"Hello.", "neither zip nor tar"),
}


@pytest.mark.parametrize("name", UNTAKEN)
def test_what_leads_out_or_swells_is_refused_as_a_whole(name):
    made, why = UNTAKEN[name]
    with pytest.raises(RepositoryRefused, match=why.replace(".", r"\.")):
        workspace_sources.source_from_archive(made())


ODD = (
    lambda: tarred({"a": b""}, **LINK),
    lambda: tarred({"a": b""}, type=tarfile.LNKTYPE, linkname="b"),
    lambda: tarred({"a": b""}, type=tarfile.CHRTYPE),
    lambda: tarred({"b\udcff": b"x"}),
    lambda: zipped({"a": b"/etc"}, external_attr=(stat.S_IFLNK | 0o777) << 16),
)


@pytest.mark.parametrize("odd", ODD)
def test_an_odd_entry_of_an_archive_is_left_out_by_its_name(odd):
    found = archive_reader.read_archive(odd())
    assert (found["files"], found["no_files"][0] in ("a", "b\\udcff")) == ([], True)


def test_a_locked_archive_and_a_large_one_are_refused():
    locked = zipped().replace(b"PK\x01\x02\x14\x03\x14\x00\x00\x00", b"PK\x01\x02\x14\x03\x14\x00\x01\x00")
    with pytest.raises(archive_reader.InvalidArchive, match="password"):
        archive_reader.read_archive(locked)
    with pytest.raises(RepositoryRefused, match="more than 20 MB"):
        workspace_sources.source_from_archive(bytes(20_000_001))


# ---- git --------------------------------------------------------------------------------------------------------


def git(folder, *words):
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    return subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True, text=True).stdout


def head(folder):
    return git(folder, "rev-parse", "HEAD").strip()


@pytest.fixture
def repository(tmp_path):
    place = tmp_path / "house"
    place.mkdir()
    git(place, "init", "--quiet")
    (place / "a").write_text("one\n")
    git(place, "add", ".")
    git(place, "commit", "--quiet", "-m", "One")
    (place / "a").write_text("not committed\n")
    git(place, "bundle", "create", str(tmp_path / "house.bundle"), "HEAD", "--all")
    return place


@pytest.mark.parametrize("name", ["house", "house.bundle"])
def test_a_repository_that_is_allowed_gives_its_newest_commit(repository, settings, name):
    address = str(repository.parent / name)
    settings.WORKSPACES_FROM = [address]
    found = workspace_sources.source_from_git(address).repository
    assert (found.files, found.commit) == (1, head(repository))
    assert found.note.startswith(f"The workspace is a clone of {address} at commit {found.commit} of ")


@pytest.mark.parametrize("address", ["/etc", "https://example.org/a.git", "--upload-pack=touch /tmp/never"])
def test_what_nobody_has_allowed_is_not_looked_at(settings, address):
    settings.WORKSPACES_FROM = ["/srv/house.git"]
    with pytest.raises(RepositoryRefused, match=r"Nobody has allowed .* Allowed: /srv/house\.git\."):
        workspace_sources.source_from_git(address)


def test_a_password_in_an_allowed_address_is_told_to_nobody(settings):
    settings.WORKSPACES_FROM = ["https://user:secret@127.0.0.1:9/house.git"]
    assert workspace_sources.allowed_repositories() == ("https://127.0.0.1:9/house.git",)
    with pytest.raises(RepositoryRefused, match="git: ") as refused:
        workspace_sources.source_from_git("https://127.0.0.1:9/house.git")
    assert "secret" not in str(refused.value)


def test_of_a_folder_its_repository_is_cloned_where_it_has_one(repository, tmp_path):
    git(repository, "checkout", "--quiet", "a")
    found = workspace_sources.of_folder(repository).repository
    assert (found.commit, found.address, found.start) == (head(repository), str(repository), "")
    assert workspace_sources.of_folder(tmp_path) is None


def test_what_is_not_committed_in_a_folder_comes_along_as_a_commit_that_says_so(repository, tmp_path, monkeypatch):
    mark, home = tmp_path / "touched", tmp_path / "home"
    inner = repository / "inner"
    inner.mkdir()
    git(inner, "init", "--quiet")
    git(inner, "-c", "user.name=a", "commit", "--quiet", "--allow-empty", "-m", "Inner")
    (repository / "art.psd").write_text("large")
    (repository / ".gitattributes").write_text("*.psd filter=large\n")
    git(repository, "add", "inner", ".gitattributes")
    git(repository, "commit", "--quiet", "-m", "Two")
    for name in ("new", "ignored", "secret", "mine"):
        (repository / name).write_text(name)
    (repository / ".gitignore").write_text("ignored\n")
    (repository / ".git" / "info" / "exclude").write_text("secret\n")
    home.mkdir()
    (home / ".gitconfig").write_text("[core]\nexcludesFile = ~/ignore\n")
    (home / "ignore").write_text("mine\n")
    monkeypatch.setenv("HOME", str(home))
    runs = f'[core]\nfsmonitor = touch {mark}\n[filter "large"]\nclean = touch {mark}\n'
    for place in (repository, inner):
        with open(place / ".git" / "config", "a") as config:
            config.write(runs)
    found = workspace_sources.of_folder(repository).repository
    place = cloning.staged(found.staged)
    assert (found.uncommitted, found.not_taken, mark.exists()) == ([".gitignore", "a", "new"], ["art.psd"], False)
    assert git(place, "log", "-2", "--format=%s", found.start) == "What was not committed in house\nTwo\n"
    assert git(place, "show", f"{found.start}:a") == "not committed\n"
    assert git(place, "ls-tree", "--name-only", found.start).split() == [
        ".gitattributes",
        ".gitignore",
        "a",
        "inner",
        "new",
    ]


def test_more_than_a_workspace_takes_that_is_not_committed_is_refused_with_what_to_do(
    repository, monkeypatch, settings
):
    settings.MISSIONS_DIR = repository.parent / "missions"
    monkeypatch.setattr(cloning, "LARGEST", 5)
    with pytest.raises(
        RepositoryRefused, match=r"1 files with 0 MB are not committed there, .*Commit them, or have git"
    ):
        workspace_sources.of_folder(repository)
    assert not list((workspace.missions_folder() / cloning.STAGED).iterdir())


# ---- missions ---------------------------------------------------------------------------------------------------


@pytest.fixture
def models():
    need("sandbox", not workspace.missing_programs(), workspace.missing_programs())
    return ScriptedModels()


@pytest.mark.django_db
def test_a_mission_begins_with_a_repository_and_its_crew_knows_which(mira: User, models, repository, settings):
    settings.WORKSPACES_FROM = [str(repository)]
    values, problems = submit_values({"goal": "Look.", "git": str(repository)})
    assert problems == []
    own = {name: values[name] for name in ("files", "note", "repository")}
    row = mission(mira, finishes(), models=models, check="grep -x one a && git log --format=%s | grep -x One", **own)
    assert asyncio.run(perform(row.pk, models)).outcome == "done"
    assert "The workspace is a clone of " in MissionMessage.objects.get(mission=row).text
    assert "MESSAGE from the mission itself" in str(models.asked[0][1])
    assert verify_all().faults == []


@pytest.mark.django_db
@pytest.mark.parametrize("kind", ["zip", "tar", "bundle"])
def test_an_uploaded_repository_is_opened_in_a_sandbox_whatever_its_settings_run(kind, models, repository, tmp_path):
    mark = tmp_path / "touched"
    (repository / ".git" / "config").write_text(f"[core]\nfsmonitor = touch {mark}\n[include]\npath = {mark}\n")
    (repository / ".git" / "hooks" / "post-checkout").write_text(f"#!/bin/sh\ntouch {mark}\n")
    if kind == "bundle":
        data = (tmp_path / "house.bundle").read_bytes()
    else:
        data = Path(shutil.make_archive(str(tmp_path / "packed"), kind, tmp_path, "house")).read_bytes()
    found = workspace_sources.source_from_archive(data, "house").repository
    assert (found.files, found.address, mark.exists()) == (1, "house", False)
    assert stored(found.staged) == "One"


def stored(name):
    place = cloning.staged(name)
    return git(place, "log", "-1", "--format=%s", "refs/origin/HEAD").strip()


@pytest.mark.django_db
def test_an_archive_is_chosen_on_the_page(client, mira: User, models):
    client.force_login(mira)
    for data, status in ((zipped({"a": b"x", "b": b"\0"}), 302), (zipped({"../a": b"x"}), 200)):
        packed = SimpleUploadedFile("house.zip", data)
        page = client.post(reverse("mission-new"), {"goal": "Look.", "uploads": packed})
        assert page.status_code == status
    assert "house.zip: &#x27;../a&#x27; is no path within a folder." in page.content.decode()
    made = Mission.objects.get()
    assert [one.path for one in made.files.all()] == ["a"]
    assert made.messages.get().text == "Left out of the workspace, for they are no texts in UTF-8, or too long: b."


def submitted(caller, *files, headers=None, **asked):
    fields = {"mission": json.dumps({"goal": "Look.", **asked}), "files": list(files)}
    return caller.client.post(f"{API}/missions", fields, headers=headers)


@pytest.mark.django_db
def test_a_program_begins_a_mission_with_an_uploaded_repository_once_for_each_key(mira_calls, models, repository):
    bundle = (repository.parent / "house.bundle").read_bytes()
    once = {"Idempotency-Key": "once"}
    sent = [SimpleUploadedFile("house.bundle", bundle) for _ in range(3)]
    texts = [SimpleUploadedFile("notes.md", one) for one in (b"One", b"One", b"Other")]
    made, again, other = (submitted(mira_calls, *both, headers=once) for both in zip(sent, texts, strict=True))
    assert (made.status_code, made.json()["id"], other.status_code) == (202, again.json()["id"], 422)
    row = Mission.objects.get()
    assert (row.repository.address, row.repository.base) == ("house.bundle", head(repository))
    assert [(one.path, one.text) for one in row.files.all()] == [("notes.md", "One")]


@pytest.mark.django_db
def test_a_program_reads_why_uploaded_files_are_refused_and_nothing_begins(mira_calls, mira: User, repository):
    bundle = (repository.parent / "house.bundle").read_bytes()
    two = [SimpleUploadedFile(name, bundle) for name in ("a.bundle", "b.bundle")]
    bad = SimpleUploadedFile("bad.zip", zipped({"../a": b"x"}))
    for files, why in (
        (two, "b.bundle: A mission begins with one repository, and files come on top of it."),
        ([bad], "bad.zip: '../a' is no path within a folder."),
        (
            [SimpleUploadedFile("a.png", b"\x89")],
            "a.png is no text in UTF-8 of at most 400,000 bytes. Save it as one, ",
        ),
    ):
        assert fields(submitted(mira_calls, *files))["files"].startswith(why)
    assert problem(submitted(ApiCaller(mira, scopes=[]), bad), 403)
    assert not Mission.objects.exists()
