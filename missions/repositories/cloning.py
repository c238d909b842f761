"""Cloning a repository into one of our own, with history, branches and tags and nothing else.

Git runs only in our own repositories. Uploaded ones are opened in a sandbox, where their settings can do no harm, and
only their objects are taken.

Why so: missions/DESIGN.md, Missions.
"""

import json
import os
import secrets
import shutil
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from .. import workspace
from ..sandbox.bwrap import PYTHON
from ..terminals.launcher import Launcher, LaunchRefused
from ..workspace_files import FileProblem, Workspace
from . import opening
from .contents import LARGEST, LEFT_OUT_SHOWN, entries, keep_commit, left_out, shown
from .git import NAME, GitFailed, git, make, run, text, without_password

STAGED = "origins"  # folder of clones whose missions have not begun
OPENED = "origin-"  # prefix of the folders in which uploads are opened
DAY = 24 * 3600.0  # seconds
MOST_ENTRIES, MOST_BYTES = 80_000, 800_000_000  # leave room in the workspace for the crew's own files
LARGEST_UPLOAD = 200_000_000  # bytes
OPENS_WITHIN = 120.0  # seconds
USUAL = ("main", "master", "trunk", "develop")
HEADS, TAGS, HEAD = "refs/origin/heads/", "refs/origin/tags/", "refs/origin/HEAD"


class RepositoryRefused(Exception):
    """The repository cannot be used. The text is a sentence for people."""


@dataclass(frozen=True)
class Cloned:
    """A clone that waits for its mission.

    staged: name for `staged()`
    start: commit with which the workspace begins, if it is not `commit`
    files, size: number and bytes of the workspace's files
    left_out: pairs of path and reason
    """

    staged: str
    address: str
    commit: str
    branch: str
    files: int
    size: int
    shallow: bool
    left_out: Sequence[tuple[str, str]]
    start: str = ""
    uncommitted: Sequence[str] = ()  # paths that were not committed in the folder it is from: they are in `start`
    not_taken: Sequence[str] = ()  # others there that are not committed

    @property
    def note(self) -> str:
        """The message to the coordinator about the clone."""
        said = f"The workspace is a clone of {self.address} at commit {self.commit}{self._branch}."
        said += " Its history ends early, for it is shallow." if self.shallow else ""
        said += f" {self.uncommitted_note}" if self.uncommitted_note else ""
        said += " git is there, on a branch of your own: commit what belongs together; publish publishes your commits."
        if not self.left_out:
            return said
        names = _some([f"{path} ({why})" for path, why in self.left_out])
        return f"{said} Left out of the workspace: {names}. They stay in git."

    @property
    def uncommitted_note(self) -> str:
        """What was done with changes of a folder that are not committed there; empty where there are none."""
        taken = f"Commit {self.start} on top of it has what was not committed there: {_some(self.uncommitted)}."
        filtered = f"Not taken, for a filter of git would have to run on them: {_some(self.not_taken)}."
        return " ".join([taken] * bool(self.uncommitted) + [filtered] * bool(self.not_taken))

    @property
    def _branch(self) -> str:
        return f" of {self.branch}" if self.branch else ""


def _some(names: Sequence[str]) -> str:
    more = len(names) - LEFT_OUT_SHOWN
    return ", ".join(names[:LEFT_OUT_SHOWN]) + (f" and {more} more" if more > 0 else "")


def staged(name: str) -> Path:
    return workspace.missions_folder() / STAGED / f"{name}.git"


def _new() -> tuple[str, Path]:
    name = secrets.token_hex(16)
    place = staged(name)
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    make(place)
    return name, place


def sweep() -> bool:
    """Delete clones older than a day: no mission has begun with them. Returns False, as a chore without more to do."""
    folder = workspace.missions_folder() / STAGED
    for one in folder.iterdir() if folder.is_dir() else ():
        if time.time() - one.stat().st_mtime > DAY:
            shutil.rmtree(one, ignore_errors=True)
    return False


# ---- from an address --------------------------------------------------------------------------------------------


def from_address(address: str) -> Cloned:
    """Clone all branches and tags. The caller has checked that the address is allowed. Raises RepositoryRefused."""
    name, place = _new()
    try:
        with _removed_on_failure(place):
            listed = _listed(place, address)
            branch, commit = _newest(listed)
            wanted = [f"+refs/heads/*:{HEADS}*", f"+refs/tags/*:{TAGS}*", *([] if branch else [f"+HEAD:{HEAD}"])]
            fetch = ("fetch", "--quiet", "--no-tags", "--update-shallow", "--no-write-fetch-head", "--no-auto-gc")
            git(place, *fetch, "--no-recurse-submodules", address, *wanted, outward=True)
            commit = text(place, "rev-parse", "--verify", f"{HEADS}{branch}^{{commit}}" if branch else HEAD)
            return _described(name, place, without_password(address), commit, branch)
    except GitFailed as error:
        raise RepositoryRefused(f"git: {error}") from error


@contextmanager
def _removed_on_failure(place: Path) -> Iterator[None]:
    """Remove the folder if the block raises anything, also where it is cancelled."""
    with ExitStack() as undo:
        undo.callback(shutil.rmtree, place, ignore_errors=True)
        yield
        undo.pop_all()


def _listed(place: Path, address: str) -> dict[str, str]:
    """Object names by reference; "HEAD is" has the reference to which HEAD points."""
    lines = text(place, "ls-remote", "--symref", address, outward=True).split("\n")
    pairs = [line.partition("\t") for line in lines]
    return {("HEAD is" if left.startswith("ref: ") else name): left.removeprefix("ref: ") for left, _, name in pairs}


def _newest(listed: dict[str, str]) -> tuple[str, str]:
    """The default branch and its commit; the branch is empty if HEAD is detached. Raises RepositoryRefused."""
    heads = {one.removeprefix("refs/heads/"): name for one, name in listed.items() if one.startswith("refs/heads/")}
    first, head = listed.get("HEAD is", "").removeprefix("refs/heads/"), listed.get("HEAD", "")
    same = [one for one in heads if heads[one] == head]
    found = [one for one in (first, *USUAL, *sorted(heads)) if one in (same if head else heads)]
    if found:
        return found[0], heads[found[0]]
    if not NAME.fullmatch(head):
        raise RepositoryRefused("There is no commit in it.")
    return "", head


def _described(name: str, place: Path, address: str, commit: str, branch: str) -> Cloned:
    if not NAME.fullmatch(commit):
        raise RepositoryRefused("Its objects have names of SHA-256, which are not taken.")
    held = entries(place, commit)
    without = left_out(place, held)
    kept = [one for path, one in held.items() if path not in without]
    size = sum(one.size for one in kept) + sum(one.stat().st_size for one in place.rglob("*") if one.is_file())
    if len(kept) > MOST_ENTRIES or size > MOST_BYTES:
        most = f"{MOST_ENTRIES:,} files and {MOST_BYTES // 1_000_000:,} MB"
        raise RepositoryRefused(
            f"It has {len(kept):,} files and {size // 1_000_000:,} MB with its history, and {most} are taken."
        )
    told = [(shown(path), why) for path, why in sorted(without.items())]
    shallow = (place / "shallow").exists()
    return Cloned(name, address, commit, branch, len(kept), sum(one.size for one in kept), shallow, told)


# ---- from a folder ----------------------------------------------------------------------------------------------


def from_folder(folder: Path) -> Cloned:
    """Clone the repository of a folder of this machine. Its uncommitted changes become one commit, without files that
    git ignores. Raises RepositoryRefused.

    Git reads the files from our own repository, so no hook, filter, attribute or setting of theirs runs.
    """
    folder = folder.resolve()
    found = from_address(str(folder))
    place = staged(found.staged)
    try:
        with _removed_on_failure(place):
            tree, paths, not_taken = _tree_of_folder(place, folder, found.commit)
            if not paths:
                return replace(found, not_taken=not_taken)
            start = _commit_uncommitted(place, found.commit, tree, folder.name)
            made = _described(found.staged, place, found.address, start, found.branch)
            return replace(made, commit=found.commit, start=start, uncommitted=paths, not_taken=not_taken)
    except (GitFailed, OSError) as error:
        raise RepositoryRefused(f"The uncommitted changes cannot be taken: {error}") from error


def _tree_of_folder(place: Path, folder: Path, commit: str) -> tuple[str, list[str], list[str]]:
    """The tree with what is not committed, its paths, and those that are not taken. RepositoryRefused."""
    there = f"--work-tree={folder}"
    git(place, "read-tree", commit)
    try:
        # a submodule has settings of its own, so git must not look into it: it stays as it was committed
        modules = [path for path, one in entries(place, commit).items() if one.is_submodule]
        git(place, there, "update-index", "--force-remove", "-z", "--stdin", given=_ended(modules))
        listed = git(place, there, "ls-files", "-z", "--modified", "--deleted", "--others", *_excludes(folder))
        paths = sorted({one for one in listed.split(b"\0") if one and not one.endswith(b"/")} - set(modules))
        filtered = _filtered(place, there, paths)
        paths = [path for path in paths if path not in filtered]
        size = sum(_size(folder / os.fsdecode(path)) for path in paths)
        if size > LARGEST:
            raise RepositoryRefused(
                f"{len(paths):,} files with {size // 1_000_000:,} MB are not committed there, and "
                f"{LARGEST // 1_000_000} MB are taken. Commit them, or have git ignore them."
            )
        git(place, there, "update-index", "--add", "--remove", "-z", "--stdin", given=_ended(paths))
        held = entries(place, commit)
        lines = (b"%s %s\t%s\0" % (held[path].mode, held[path].name.encode(), path) for path in modules)
        git(place, there, "update-index", "-z", "--index-info", given=b"".join(lines))
        return text(place, "write-tree"), [shown(path) for path in paths], [shown(path) for path in sorted(filtered)]
    finally:
        (place / "index").unlink(missing_ok=True)


def _ended(paths: Iterable[bytes]) -> bytes:
    return b"".join(b"%s\0" % path for path in paths)


def _size(path: Path) -> int:
    return path.lstat().st_size if os.path.lexists(path) else 0


def _excludes(folder: Path) -> Iterator[str]:
    """What git ignores there: by files of the repository, and by those that its owner has set up."""
    yield "--exclude-standard"
    settings = (Path.home() / ".gitconfig", Path.home() / ".config/git/config", folder / ".git/config")
    asks = ("--type=path", "core.excludesFile")
    named = [run(["config", f"--file={one}", *asks], {"HOME": str(Path.home())}, fails=True) for one in settings]
    usual = (Path.home() / ".config/git/ignore", folder / ".git/info/exclude")
    for path in (*(Path(os.fsdecode(one.strip())) for one in named if one.strip()), *usual):
        if path.is_file():
            yield f"--exclude-from={path}"


def _filtered(place: Path, there: str, paths: Sequence[bytes]) -> set[bytes]:
    """Those that a filter makes into what git keeps, as of large files. It does not run here, so they stay as they were
    committed."""
    said = git(place, there, "check-attr", "-z", "--stdin", "filter", given=_ended(paths)).split(b"\0")
    return {path for path, value in zip(said[::3], said[2::3], strict=False) if value not in (b"unspecified", b"unset")}


def _commit_uncommitted(place: Path, commit: str, tree: str, name: str) -> str:
    who = f"MAGI <magi@localhost> {int(time.time())} +0000"
    message = f"What was not committed in {name}"
    said = f"tree {tree}\nparent {commit}\nauthor {who}\ncommitter {who}\n\n{message}\n"
    return keep_commit(place, said.encode())


# ---- from another mission ---------------------------------------------------------------------------------------


def from_mission(repository: Path, address: str, commit: str, branch: str, start: str) -> Cloned:
    """Copy the repository of another mission with its crew's commits, for a mission that continues it.

    Raises RepositoryRefused.
    """
    name = secrets.token_hex(16)
    place = staged(name)
    try:
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        shutil.copytree(repository, place)
        for reference in text(place, "for-each-ref", "--format=%(refname)", "refs/heads", "refs/magi").split():
            git(place, "update-ref", "-d", reference)
        git(place, "update-ref", "refs/magi/start", start)
        shutil.rmtree(place / "step-heads", ignore_errors=True)  # they belong to steps of the other mission
        return replace(_described(name, place, address, start, branch), commit=commit, start=start)
    except (OSError, GitFailed) as error:
        shutil.rmtree(place, ignore_errors=True)
        raise RepositoryRefused(f"Its repository cannot be had: {error}") from error


# ---- from an upload ---------------------------------------------------------------------------------------------


def from_upload(data: bytes, called: str) -> Cloned:
    """Clone from an archive with a .git folder, or from a git bundle. Raises RepositoryRefused."""
    if len(data) > LARGEST_UPLOAD:
        raise RepositoryRefused(f"It has more than {LARGEST_UPLOAD // 1_000_000} MB.")
    name, place = _new()
    opened = f"{OPENED}{name}"
    try:
        with _removed_on_failure(place):
            there = _opened(opened, data)
            _take(place, there)
            commit = text(place, "rev-parse", "--verify", f"{HEAD}^{{commit}}")
            found = json.loads(there.read("out/about.json"))
            branch = str(found["branch"])
            known = text(place, "rev-parse", "--verify", "--quiet", f"{HEADS}{branch}", fails=True)
            return _described(name, place, called, commit, branch if known == commit else "")
    except (GitFailed, FileProblem, LaunchRefused, ValueError, KeyError) as error:
        raise RepositoryRefused(f"It gives no whole history: {error}") from error
    finally:
        shutil.rmtree(workspace.mission_folder(opened), ignore_errors=True)


def _opened(name: str, data: bytes) -> Workspace:
    """The workspace in which a sandbox has opened the upload. Raises RepositoryRefused and LaunchRefused."""
    made = Launcher(workspace.missions_folder()).prepare(name)
    there = Workspace(made / "workspace")
    there.write("upload", data)
    program = (PYTHON, "-I", "-S", "-c", Path(opening.__file__).read_text())
    end = workspace.run_to_end(name, "open", program, OPENS_WITHIN)
    if end.code != 0:
        raise RepositoryRefused(end.said or "It cannot be opened.")
    return there


def _take(place: Path, there: Workspace) -> None:
    """Take objects and references, and check every one: the upload is untrusted."""
    with there.opened("out/pack", MOST_BYTES) as pack:
        git(place, "index-pack", "--stdin", file=pack)
    shallow = [one for one in there.read("out/shallow").decode().split() if NAME.fullmatch(one)]
    if shallow:
        (place / "shallow").write_text("".join(f"{one}\n" for one in shallow))
    lines = [line.split(" ") for line in there.read("out/refs").decode(errors="replace").split("\n")]
    named = [(one[1], one[0]) for one in lines if len(one) == 2 and NAME.fullmatch(one[0])]
    found = {_ours(one): name for one, name in named if _ours(one)}
    git(place, "update-ref", "--stdin", given="".join(f"create {one} {name}\n" for one, name in found.items()).encode())
    git(place, "rev-list", "--objects", "--quiet", "--all")


def _ours(reference: str) -> str:
    if reference == "HEAD":
        return HEAD
    for theirs, ours in (("refs/heads/", HEADS), ("refs/tags/", TAGS)):
        if reference.startswith(theirs):
            return ours + reference.removeprefix(theirs)
    return ""
