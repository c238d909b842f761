"""The workspace of a mission that begins with a repository: a clone whose files are written in the sandbox.

Its folder .git is created from plain files before anything else; git runs in it only inside the sandbox.
"""

import json
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from uuid import UUID

from .. import workspace
from ..sandbox.bwrap import shell_command
from ..terminals.launcher import LaunchRefused
from ..workspace_files import IGNORED_NAMES
from .cloning import HEADS, TAGS, staged
from .contents import (
    LINK,
    OF_GIT,
    SUBMODULE,
    UNMADE,
    TreeEntry,
    entries,
    keep_blob,
    keep_commit,
    left_out,
    with_entries,
)
from .git import git, text

ABOUT = "mission.json"  # file in a repository with its Beginning
OWN = ".git/magi"  # folder in a workspace for input and output of our git commands
WRITES = "write-workspace"  # name of the command that writes the files
WRITES_WITHIN = 300.0  # seconds
BY = "MAGI <magi@localhost>"
BROUGHT = "Files that came with the goal"
CONFIG = """[core]
	repositoryformatversion = 0
	bare = false
	filemode = true
	symlinks = true
	autocrlf = false
	quotePath = false
	pager = cat
[user]
	name = {name}
	email = crew@localhost
[gc]
	auto = 0
"""
# git stores the bytes of files unchanged: no conversion of line ends, keywords or filters of the repository
ATTRIBUTES = "* -text -ident -filter -working-tree-encoding\n"
WRITE = f"""cd /workspace || exit 1
git update-index -z --index-info < {OWN}/index || exit 2
git update-index -z --skip-worktree --stdin < {OWN}/left-out || exit 3
git checkout-index -a -u -q -f
git ls-files -z --deleted > {OWN}/unmade && git update-index -z --skip-worktree --stdin < {OWN}/unmade
"""


@dataclass(frozen=True)
class Beginning:
    """Where the crew begins: `commit` is of the repository, `start` adds the goal's files; `branch` is the crew's."""

    commit: str
    start: str
    branch: str


def beginning(repository: Path) -> Beginning | None:
    """The beginning; None if there is no repository, or its mission began with files only."""
    try:
        return Beginning(**json.loads((repository / ABOUT).read_text()))
    except FileNotFoundError:
        return None


def take(repository: Path, name: str) -> bool:
    """Move the staged clone of this name to the mission's repository. False if neither is on this machine."""
    if not repository.exists():
        if not staged(name).exists():
            return False
        repository.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        staged(name).rename(repository)
    return True


def begin(repository: Path, commit: str, start: str, branch: str, files: Mapping[str, bytes], moment: int) -> Beginning:
    """Commit the files that came with the goal on top of `start`, and save the beginning.

    `moment` is the Unix time of the commit. A repeated call makes the same commit.
    """
    held, without = entries(repository, start), {path.encode(): data for path, data in files.items()}
    odd = {path: held[path].mode for path in without.keys() & held.keys()}
    brought = {path: TreeEntry(odd.get(path, b"100644"), keep_blob(repository, data)) for path, data in without.items()}
    if brought:
        tree = with_entries(repository, start, brought)
        who = f"{BY} {moment} +0000"
        said = f"tree {tree}\nparent {start}\nauthor {who}\ncommitter {who}\n\n{BROUGHT}\n"
        start = keep_commit(repository, said.encode())
    git(repository, "update-ref", "refs/magi/start", start)
    found = Beginning(commit, start, branch)
    temporary = repository / f"{ABOUT}.new"
    temporary.write_text(json.dumps(asdict(found)))
    temporary.rename(repository / ABOUT)
    return found


def first_blobs(repository: Path) -> Mapping[str, str]:
    """Names of the blobs of the workspace's first files, by path; without links and files that are left out."""
    found = beginning(repository)
    return _first(repository, found.start) if found else {}


@lru_cache(maxsize=4)
def _first(repository: Path, start: str) -> Mapping[str, str]:
    held = entries(repository, start)
    without = left_out(repository, held)
    plain = {path: one for path, one in held.items() if one.mode not in (LINK, SUBMODULE) and path not in without}
    return {path.decode(): one.name for path, one in plain.items()}


# ---- the workspace ----------------------------------------------------------------------------------------------


def fill(mission: UUID | str, repository: Path, crew: str, folder: Path) -> None:
    """Write the repository's files into the workspace. Raises LaunchRefused."""
    found = beginning(repository)
    if found is None:
        raise LaunchRefused("Its repository is not here.")
    workspace.forget_command(mission, WRITES)
    for one in folder.iterdir():  # left by an attempt that did not finish
        shutil.rmtree(one) if one.is_dir() and not one.is_symlink() else one.unlink()
    _lay_down(repository, found, crew, folder / ".git")
    workspace.hand_over(folder)
    done = workspace.run_to_end(mission, WRITES, shell_command(WRITE), WRITES_WITHIN)
    if done.code:
        raise LaunchRefused(f"git could not write the workspace: {done.said}")
    (repository / UNMADE).write_bytes(workspace.workspace(mission).read(f"{OWN}/unmade"))
    _first.cache_clear()


def _lay_down(repository: Path, found: Beginning, crew: str, place: Path) -> None:
    for name in ("refs/heads", "refs/tags", "info", "magi"):
        (place / name).mkdir(parents=True)
    shutil.copytree(repository / "objects", place / "objects")
    if (repository / "shallow").exists():
        shutil.copy(repository / "shallow", place / "shallow")
    (place / "HEAD").write_text(f"ref: refs/heads/{found.branch}\n")
    (place / "config").write_text(CONFIG.format(name=plain_name(crew)))
    (place / "packed-refs").write_text("".join(sorted(_references(repository, found), key=_name)))
    (place / "info" / "attributes").write_text(ATTRIBUTES)
    (place / "info" / "exclude").write_text("".join(f"{one}/\n" for one in sorted(IGNORED_NAMES - {".git"})))
    held = entries(repository, found.start)
    without = left_out(repository, held)
    known = {
        path: one for path, one in held.items() if without.get(path) != OF_GIT
    }  # git refuses these names in its index
    lines = (b"%s %s\t%s\0" % (one.mode, one.name.encode(), path) for path, one in known.items())
    (place / "magi" / "index").write_bytes(b"".join(lines))
    (place / "magi" / "left-out").write_bytes(b"".join(b"%s\0" % path for path in without if path in known))


def plain_name(crew: str) -> str:
    return "".join(sign for sign in crew if sign.isalnum() or sign in " .-_").strip() or "crew"


def _references(repository: Path, found: Beginning) -> Iterable[str]:
    """Lines of packed-refs: the crew's branch, the repository's branches as those of `origin`, and its tags."""
    yield f"{found.start} refs/heads/{found.branch}\n"
    listed = text(repository, "for-each-ref", "--format=%(objectname) %(refname)", HEADS, TAGS).split(
        "\n"
    )  # no other end of a line
    for name, _, reference in (line.partition(" ") for line in listed if line):
        yield f"{name} {reference.replace(HEADS, 'refs/remotes/origin/').replace(TAGS, 'refs/tags/')}\n"


def _name(line: str) -> str:
    return line.partition(" ")[2]
