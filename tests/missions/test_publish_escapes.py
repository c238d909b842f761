"""What a hostile workspace tries when it is published: ten ways to run something, to read outside, or to write another
thing than is shown. None of them does, and the commit holds plain files of the workspace alone."""

import os
import subprocess
from pathlib import Path
from uuid import uuid4

import pytest

from missions import publishing, workspace

MARK = "touched"
STREAM = "x\ndone\ncommit refs/heads/main\ncommitter a <a> 1 +0000\ndata 0\n"


@pytest.fixture
def place(settings, tmp_path):
    """A mission, its workspace, and a file outside that nobody inside may read or make."""
    settings.MISSIONS_DIR = tmp_path / "missions"
    mission = uuid4()
    folder = workspace.mission_folder(mission) / "workspace"
    folder.mkdir(parents=True)
    (tmp_path / "secret").write_text("a secret")
    return mission, folder, tmp_path


def published(mission, message="A change", by="Ada"):
    """The commit and what it holds, by paths."""
    made = publishing.prepare(mission, "1.1", message, by, {}, 1)
    return made, git(mission, "ls-tree", "-r", "-z", "--format=%(objectmode) %(path)", made.commit).split("\0")[:-1]


def git(mission, *words):
    command = ["git", f"--git-dir={publishing.repository(mission)}", *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def hooks(folder: Path, outside: Path) -> None:
    (folder / ".git" / "hooks").mkdir(parents=True)
    for name in ("pre-commit", "reference-transaction", "post-update", "pre-push"):
        hook = folder / ".git" / "hooks" / name
        hook.write_text(f"#!/bin/sh\ntouch {outside / MARK}\n")
        hook.chmod(0o755)


def config(folder: Path, outside: Path) -> None:
    (folder / ".git").mkdir()
    (folder / ".git" / "config").write_text(
        f"[core]\nfsmonitor = touch {outside / MARK}\npager = touch {outside / MARK}\n"
    )


def filters(folder: Path, outside: Path) -> None:
    (folder / ".gitattributes").write_text("* filter=evil diff=evil textconv=evil export-subst\n")
    config(folder, outside)


def diff_programs(folder: Path, outside: Path) -> None:
    (folder / ".gitattributes").write_text("* diff=evil\n")
    (folder / ".gitconfig").write_text(f'[diff "evil"]\ncommand = touch {outside / MARK}\n')


def modules(folder: Path, outside: Path) -> None:
    (folder / ".gitmodules").write_text(
        f'[submodule "a"]\npath = a\nurl = {outside}\nupdate = !touch {outside / MARK}\n'
    )


def names_of_git(folder: Path, outside: Path) -> None:
    for name in (".GIT", "git~1", ".git ", ".g\u200cit"):
        (folder / name).mkdir()
        (folder / name / "config").write_text("evil")


def links(folder: Path, outside: Path) -> None:
    (folder / "link").symlink_to(outside / "secret")
    (folder / "folder").symlink_to(outside)


def no_files(folder: Path, outside: Path) -> None:
    os.mkfifo(folder / "pipe")


def paths(folder: Path, outside: Path) -> None:
    (folder / 'a"\nM 100755 inline evil').write_text("plain")


def contents(folder: Path, outside: Path) -> None:
    (folder / "stream").write_text(STREAM)


WAYS = (hooks, config, filters, diff_programs, modules, names_of_git, links, no_files, paths, contents)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_nothing_of_a_hostile_workspace_runs_or_is_read_from_outside(way, place):
    mission, folder, outside = place
    (folder / "plain").write_text("plain")
    way(folder, outside)
    made, there = published(mission)
    assert not (outside / MARK).exists()
    assert "a secret" not in made.difference
    assert "100644 plain" in there
    assert not [one for one in there if one.startswith(("120000", "160000", "040000")) or "git/" in one.casefold()]
    assert git(mission, "rev-list", "--count", made.commit).strip() == "2"


def test_neither_a_message_nor_a_name_writes_more_than_itself(place):
    mission, folder, _ = place
    (folder / "plain").write_text("plain")
    made, there = published(mission, message=STREAM, by="Ada <a@b>\nM 100644 inline evil")
    assert there == ["100644 plain"]
    assert git(mission, "log", "--all", "--format=%an", "-1", made.commit) == "Ada abM 100644 inline evil\n"
    assert git(mission, "for-each-ref", "--format=%(refname)").split() == ["refs/magi/1.1"]
