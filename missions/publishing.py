"""Publishing branches, through a bare repository of our own for each mission.

A mission that began with a repository publishes the commits of its crew; any other, one commit on its first files.

Outside the sandbox git never runs in a workspace. Commits of a crew come out of the sandbox as objects
(`repositories/commits.py`); other commits are made from the bytes of the files. So hooks, filters, attributes and
configuration of a workspace have no effect.

Why so: missions/DESIGN.md, What leaves a mission.
"""

import fcntl
import json
import re
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from operator import itemgetter
from pathlib import Path
from uuid import UUID

from django.conf import settings
from django.urls import reverse

from engine.llm.providers import clean_storable_text
from engine.plurals import counted

from . import workspace
from .repositories import commits, git
from .repositories.checkout import beginning, first_blobs
from .repositories.commits import DIFF, BranchCommits, CommitsRefused
from .repositories.contents import EMPTY, blobs
from .repositories.git import NAME, GitFailed, without_password
from .workspace_files import FIRST, MAX_TEXT_BYTES, FileChange, FileProblem, digest_of, text_of

READABLE = 1_000_000  # characters of a gate's text; a longer difference is not published
BEGINNING = 10_000  # bytes; if the first files have more, the gate shows only their names
FILES, TOGETHER = 5_000, 100_000_000
BRANCH = re.compile(
    r"[A-Za-z0-9](?:[\w.-]|/(?=[A-Za-z0-9])){0,99}", re.ASCII
)  # ASCII, so that no letter looks like another
COMMIT = NAME
HEADS = "refs/heads/"
TARGETS = "targets"  # folder in a repository: the branch's commit at the target, in a file for each publishing step
EXISTS = (
    "branch_exists: {to} has a branch {branch} at {there}, which this commit does not hold: the push would be refused. "
    "Publish under another name."
)
END = "end"  # the key of the commit with the final state
BUNDLE = "application/x-git-bundle"
MAILBOX = "application/mbox"
BUNDLE_OF_MISSION = "the bundle of this mission"  # the target if MAGI_PUBLISH_TO is not set
COMMIT_AUTHOR = "MAGI <magi@localhost>"


class NotPublished(Exception):
    """The text is a sentence for the agent, and often begins with a code such as "branch_exists:"."""


@dataclass(frozen=True)
class PreparedCommit:
    """A commit that is ready to be published, as the gate shows it.

    files: number of files that differ from the beginning
    difference: one line for each file of the branch, then the diff
    digest: SHA-256 (hex) of the lines of files
    left_out: number of files that are not shown completely
    base, commits: commit of the repository, and those of the crew on it, if the mission began with one
    merged: commits of other branches of the repository that are published with it
    """

    commit: str
    files: int
    difference: str
    digest: str
    left_out: int
    base: str = ""
    commits: Sequence[str] = ()
    merged: Sequence[str] = ()


@dataclass(frozen=True)
class PublishTarget:
    """The target of a branch.

    there: the commit that the branch has there now; empty if it does not exist
    effect: a sentence that says what the push does
    """

    there: str
    effect: str


def repository(mission: UUID | str) -> Path:
    return workspace.missions_folder() / "published" / f"{mission}.git"


def bundle(mission: UUID | str) -> Path:
    """The path of the git bundle with all published branches of the mission."""
    return repository(mission).with_suffix(".bundle")


def read_bundle(mission: UUID | str) -> bytes | None:
    """The bundle; None if nothing was published, or on another machine."""
    try:
        return bundle(mission).read_bytes()
    except OSError:
        return None


def publish_target() -> str:
    """The address of the target without password; empty if branches are only put into the bundle."""
    return without_password(settings.PUBLISH_TO or "")


def branch_problem(branch: str) -> str:
    odd = branch == "HEAD" or ".." in branch or branch.endswith((".lock", ".", "/")) or "/." in branch or "//" in branch
    if odd or not BRANCH.fullmatch(branch):
        return f"{branch[:100]!r} is no name of a branch: letters, digits and - _ . / in between."
    return ""


def prepare(mission: UUID, key: str, message: str, by: str, first: Mapping[str, bytes], moment: int) -> PreparedCommit:
    """Make the commit that step `key` publishes. A repeated call returns the same commit, even if files changed.

    If the mission began with a repository, it is the crew's newest commit, or a new one with uncommitted changes.

    first: the files at the beginning, by path
    moment: Unix time of the commit, in seconds

    Raises NotPublished.
    """
    with _alone(mission):
        name = f"refs/magi/{key}"
        commit = _git(mission, "rev-parse", "--verify", "--quiet", name, fails=True).strip()
        if not commit and beginning(repository(mission)):
            commit = _saved(mission, key, message)
            _git(mission, "update-ref", name, commit)
        elif not commit:
            _import(mission, key, message, by, first, moment)
            commit = _git(mission, "rev-parse", "--verify", name).strip()
            _git(mission, "fsck", "--strict", "--no-dangling")
        made = _described(mission, commit)
    if not made.files:
        raise NotPublished("nothing: no file is otherwise than at the beginning.")
    if len(made.difference) > READABLE:
        size, most = f"{len(made.difference):,}", f"{READABLE:,}"
        raise NotPublished(f"too_much: names and lines have {size} characters, and {most} are read. Publish less.")
    return made


def _saved(mission: UUID, key: str, message: str) -> str:
    try:
        return commits.save(mission, repository(mission), key, message)
    except CommitsRefused as error:
        raise NotPublished(str(error)) from error


def target(mission: UUID, key: str, branch: str, commit: str) -> PublishTarget:
    """What the push of step `key` would do.

    The target is looked up once for each step, so that the push does what the gate has shown. Raises NotPublished if
    the target would refuse the push, or it would change nothing.
    """
    kept = repository(mission) / TARGETS / key
    with _alone(mission):
        where, _, there = kept.read_text().partition("\n") if kept.exists() else ("", "", "")
        if not kept.exists() or where != publish_target():
            there = _there(mission, branch)
        if not there:
            found = PublishTarget("", "The branch is not there yet: it is made.")
        elif _is_ancestor(mission, there, commit):
            found = PublishTarget(there, f"The branch is there, at {there}, and moves on from that: a fast-forward.")
        elif publish_target():
            raise NotPublished(EXISTS.format(branch=branch, to=publish_target(), there=there))
        else:
            found = PublishTarget(
                there, f"The branch is there, at {there}, which this one does not hold: it is replaced."
            )
        if there == commit:
            raise NotPublished(f"nothing: {branch} is that commit already where it would go.")
        kept.parent.mkdir(exist_ok=True)
        kept.write_text(f"{publish_target()}\n{there}")
    return found


def _there(mission: UUID, branch: str) -> str:
    """The commit of this branch at the target; empty if there is none.

    Raises NotPublished, also if git cannot have the branch beside an existing one (`a` and `a/b`).
    """
    name = HEADS + branch
    above = [HEADS + "/".join(branch.split("/")[:depth]) for depth in range(1, branch.count("/") + 1)]
    listed = _listed(mission, name, f"{name}/*", *above)
    found = {ref: commit for commit, _, ref in (line.partition("\t") for line in listed.splitlines())}
    if in_the_way := [ref for ref in found if ref in above or ref.startswith(f"{name}/")]:
        other = in_the_way[0].removeprefix(HEADS)
        where = publish_target() or BUNDLE_OF_MISSION
        raise NotPublished(f"branch_exists: {where} has a branch {other}, beside which none can be named {branch}.")
    return found.get(name, "")


def _listed(mission: UUID, *names: str) -> str:
    """Lines of commit, tab and reference at the target, with at least these references. Raises NotPublished."""
    if not settings.PUBLISH_TO:
        return _git(mission, "for-each-ref", "--format=%(objectname)\t%(refname)", HEADS)
    try:
        return _git(mission, "ls-remote", settings.PUBLISH_TO, *names, outward=True)
    except NotPublished as error:
        raise NotPublished(
            f"not_reached: nobody can see whether {publish_target()} has this branch already: {error}"
        ) from error


def _is_ancestor(mission: UUID, there: str, commit: str) -> bool:
    """Whether `there` is an ancestor of the commit. A commit that is not in our repository cannot be one."""
    known = _git(mission, "cat-file", "-t", there, fails=True).strip() == "commit"
    return known and _git(mission, "merge-base", there, commit, fails=True).strip() == there


def publish(mission: UUID, branch: str, commit: str, shown: str, there: str = "") -> str:
    """Push the commit to the target, if there is one, and add it to the bundle. Return the target's name.

    shown: the difference that was approved
    there: the commit that the branch had at the target then

    Raises NotPublished, also if either is different by now.
    """
    with _alone(mission):
        if not beginning(repository(mission)):  # objects of a crew were checked when they were taken
            _git(mission, "fsck", "--strict", "--no-dangling")
        if _described(mission, commit).difference != shown:
            raise NotPublished(f"changed: the files of commit {commit} are not those that were shown. Publish again.")
        if (now := _there(mission, branch)) != there:
            before, after = (one or "not there" for one in (there, now))
            raise NotPublished(
                f"changed: {branch} was {before} when it was decided, and is {after} by now. Publish again."
            )
        if settings.PUBLISH_TO:
            _push(mission, branch, commit, there)
        _git(mission, "update-ref", HEADS + branch, commit)
        _git(mission, "bundle", "create", "--quiet", str(bundle(mission)), "--branches", *_without(mission))
    return publish_target() or BUNDLE_OF_MISSION


def _push(mission: UUID, branch: str, commit: str, there: str) -> None:
    """Push with a lease: the target compares and updates the branch in one step."""
    if there and not _is_ancestor(mission, there, commit):
        raise NotPublished(EXISTS.format(branch=branch, to=publish_target(), there=there))
    lease = f"--force-with-lease={HEADS}{branch}:{there}"
    _git(
        mission, "push", "--quiet", "--no-verify", lease, settings.PUBLISH_TO, f"{commit}:{HEADS}{branch}", outward=True
    )


def bundled_commit(mission: UUID, commit: str) -> bytes | None:
    """A git bundle with a prepared commit, published or not; None if it is not on this machine."""
    if not (COMMIT.fullmatch(commit) and (repository(mission) / "HEAD").exists()):
        return None
    with _alone(mission):
        made = f"--points-at={commit}"
        names = _git(mission, "for-each-ref", "--format=%(refname)", made, "refs/magi/", fails=True).split()
        bundling = ("bundle", "create", "--quiet", "-")
        return _git_bytes(mission, *bundling, names[0], *_without(mission)) if names else None


def _without(mission: UUID) -> tuple[str, ...]:
    """Arguments that leave out the commits of the repository with which the mission began."""
    return ("--not", commits.ORIGIN) if beginning(repository(mission)) else ()


def changes(mission: UUID, known: Mapping[str, str], paths: Collection[str]) -> list[FileChange]:
    """Changes of the workspace since `known`, digests by path.

    The first change of a file of the repository is preceded by its original; `paths` are those that have a stored
    version already. If all texts together are too long, only the first changes are returned: once they are saved, the
    next call returns others.
    """
    place = repository(mission)
    first = {path: name for path, name in first_blobs(place).items() if path not in paths}
    found = workspace.changes(mission, known, first)
    before = blobs(place, [first[one.path] for one in found if one.path in first])
    told, room = list[FileChange](), MAX_TEXT_BYTES
    for one in found:
        if room <= 0:
            break
        if one.path in first:
            data = next(before)
            told.append(FileChange(one.path, FIRST, digest_of(data), len(data), text_of(data)))
            room -= told[-1].text_bytes
        told.append(one)
    return told


def first_text(mission: UUID, path: str) -> str | None:
    """The text of a file as the repository had it; None if it is not there, empty if it is binary."""
    place = repository(mission)
    name = first_blobs(place).get(path)
    return text_of(b"".join(blobs(place, [name]))) if name else None


def branching(mission: UUID, commit: str) -> BranchCommits | None:
    """The crew's commits up to this one; None if they are not on this machine."""
    if not (COMMIT.fullmatch(commit) and beginning(repository(mission))):
        return None
    try:
        return commits.read(repository(mission), commit)
    except CommitsRefused:
        return None


def ended_with(mission: UUID) -> str:
    """The commit with the final state; empty if the mission began without a repository or is on another machine."""
    if not beginning(repository(mission)):
        return ""
    return _git(mission, "rev-parse", "--verify", "--quiet", f"refs/magi/{END}", fails=True).strip()


def keep_end(mission: UUID, message: str) -> str:
    """Commit the final state, once, and return the commit. Raises NotPublished."""
    if not beginning(repository(mission)):
        raise NotPublished("not_here: the repository of this mission is on another machine.")
    with _alone(mission):
        name = f"refs/magi/{END}"
        commit = _git(mission, "rev-parse", "--verify", "--quiet", name, fails=True).strip()
        if not commit:
            commit = _saved(mission, END, message)
            _git(mission, "update-ref", name, commit)
        return commit


def keep_head(mission: UUID, key: str) -> None:
    """Save the crew's HEAD after this step, for forks. Does nothing without a repository on this machine."""
    if beginning(repository(mission)):
        with _alone(mission):
            commits.keep_head(mission, repository(mission), key)


def newest_made(mission: UUID) -> str:
    """The commit that was prepared last; empty if there is none.

    It is found by the time of its reference: a crew can write any date into a commit.
    """
    place = repository(mission)
    if not beginning(place):
        return ""
    made = [one for one in (place / "refs" / "magi").rglob("*") if one.is_file() and one.name != "start"]
    newest = max(made, key=lambda one: one.stat().st_mtime_ns, default=None)
    return newest.read_text().strip() if newest else ""


def mailed(mission: UUID, commit: str) -> bytes | None:
    """The crew's commits up to this one as a mailbox for git am; None if they are not on this machine."""
    if not (COMMIT.fullmatch(commit) and beginning(repository(mission))):
        return None
    try:
        return commits.mailed(repository(mission), commit)
    except (CommitsRefused, GitFailed):
        return None


def is_published(mission: UUID, branch: str, commit: str) -> bool:
    """Whether the target has the commit; asked after a crash. Raises NotPublished."""
    return _there(mission, branch) == commit


def remove(mission: UUID | str) -> None:
    shutil.rmtree(repository(mission), ignore_errors=True)
    bundle(mission).unlink(missing_ok=True)


# ---- commits ----------------------------------------------------------------------------------------------------


def _import(mission: UUID, key: str, message: str, by: str, first: Mapping[str, bytes], moment: int) -> None:
    ours, theirs = f"{COMMIT_AUTHOR} {moment} +0000", f"{_plain(by)} <agent@localhost> {moment} +0000"
    began = _commit(f"refs/magi/{key}", 1, ours, theirs=ours, message="As the mission began", parent="")
    now = _commit(f"refs/magi/{key}", 2, ours, theirs=theirs, message=message, parent="from :1\n")
    before = b"".join(_file(path, data, False) for path, data in sorted(first.items()))
    stream = began + before + b"\n" + now + b"deleteall\n" + b"".join(_files(mission)) + b"\ndone\n"
    _git(mission, "fast-import", "--quiet", "--done", "--force", given=stream)


def _commit(ref: str, mark: int, ours: str, *, theirs: str, message: str, parent: str) -> bytes:
    text = message.encode()
    head = f"commit {ref}\nmark :{mark}\nauthor {theirs}\ncommitter {ours}\ndata {len(text)}\n"
    return head.encode() + text + b"\n" + parent.encode()


def _plain(name: str) -> str:
    return re.sub(r"[^\w .-]", "", name) or "agent"


def _files(mission: UUID) -> Iterator[bytes]:
    """The files of the workspace for git fast-import, without links and without git's own folders."""
    place, count, size = workspace.workspace(mission), 0, 0
    for one in place.files():
        if any(_is_of_git(part) for part in Path(one.path).parts):
            continue
        try:
            data = place.data(one.path, most=TOGETHER)
        except FileProblem:
            continue
        count, size = count + 1, size + len(data)
        if count > FILES or size > TOGETHER:
            raise NotPublished(f"too_much: more than {FILES:,} files, or {TOGETHER:,} bytes.")
        yield _file(one.path, data, one.runs)


def _is_of_git(part: str) -> bool:
    """Whether some file system may read the name as .git or .gitmodules: case, NTFS short names, ignored signs."""
    plain = re.sub(r"[^a-z0-9.~]", "", part.casefold())
    return plain.rstrip(".") in (".git", "git~1") or plain == ".gitmodules"


def _file(path: str, data: bytes, runs: bool) -> bytes:
    quoted = path.encode(errors="surrogateescape").replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
    return b'M %s inline "%s"\ndata %d\n%s\n' % (b"100755" if runs else b"100644", quoted, len(data), data)


# ---- the text of the gate ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Blob:
    size: int
    digest: str
    is_text: bool


@dataclass(frozen=True)
class _Entry:
    """A file of a commit; `runs`: it is executable."""

    blob: _Blob
    runs: bool


def _described(mission: UUID, commit: str) -> PreparedCommit:
    """Describe a commit from the repository, not from the workspace. Raises NotPublished if it is not there."""
    if beginning(repository(mission)):
        return _described_commits(mission, commit)
    before, now = f"{commit}~1", commit
    first, last = _entries(mission, before), _entries(mission, now)
    same = [path for path in last if first.get(path) == last[path]]
    other = sorted((first.keys() | last.keys()) - set(same))
    lines = [*(_line(path, first.get(path), last.get(path)) for path in other)]
    lines += [_line(path, first[path], last[path]) for path in same]
    bytes_at_first = sum(one.blob.size for one in first.values())
    began = _patch(mission, EMPTY, before) if first and bytes_at_first <= BEGINNING else ""
    no_text = {path for path in last if not last[path].blob.is_text}
    as_before = set() if began else first.keys() & last.keys()
    parts = [
        f"{len(other):,} files of this branch are otherwise than at the beginning, and {len(same):,} are not.",
        *_left_out(mission, commit, len(no_text), len(as_before)),
        *lines,
        "",
        _patch(mission, before, now) + (f"\nAs the mission began:\n{began}" if began else ""),
    ]
    digest = sha256("\n".join(lines).encode()).hexdigest()
    return PreparedCommit(commit, len(other), clean_storable_text("\n".join(parts)), digest, len(no_text | as_before))


def _described_commits(mission: UUID, commit: str) -> PreparedCommit:
    try:
        found = commits.read(repository(mission), commit)
        text = commits.described(repository(mission), found)
    except (CommitsRefused, GitFailed) as error:
        raise NotPublished(str(error)) from error
    changed = [*found.files, *(one for each in found.commits for one in each.files)]
    no_text = {one.path for one in changed if not one.is_text}
    counts, _, rest = text.partition("\n")
    left_out = [*_left_out(mission, commit, len(no_text), 0), *_along(found)]
    told = "\n".join([counts, *left_out, rest])
    names = [*(one.name for one in found.merged), *(one.name for one in found.commits)]
    digest = sha256("\n".join([one.line for one in found.files] + names).encode())
    about = (commit, len(found.files), clean_storable_text(told), digest.hexdigest(), len(no_text))
    own, merged = [one.line for one in found.commits], [one.line for one in found.merged]
    return PreparedCommit(*about, base=found.base, commits=own, merged=merged)


def _along(found: BranchCommits) -> Iterator[str]:
    if found.merged:
        which = counted(len(found.merged), "commit")
        yield f"Not shown here: the lines of each of {which} of other branches of the repository. They stand there."


def _left_out(mission: UUID, commit: str, no_text: int, began: int) -> Iterator[str]:
    """Sentences that say what the text leaves out, and at which address it is."""
    if no_text:
        at = reverse("mission-commit", args=[mission, commit])
        files = counted(no_text, "file")
        yield f"Not shown here: the bytes of {files} without text. They are in the git bundle at {at}"
    if began:
        at = reverse("mission-beginning", args=[mission])
        files = counted(began, "file")
        yield f"Not shown here: lines that are as in {files} that the mission began with. They are at {at}"


def _line(path: bytes, first: _Entry | None, last: _Entry | None) -> str:
    one = last or first
    assert one  # noqa: S101 - for the type checker
    how = "removed" if last is None else "added" if first is None else "as it began" if first == last else "changed"
    name = json.dumps(path.decode(errors="backslashreplace"), ensure_ascii=False)
    marks = (", a program" if one.runs else "") + ("" if one.blob.is_text else ", no text")
    return f"{how}: {name}, {one.blob.size:,} bytes, sha256 {one.blob.digest}{marks}"


def _patch(mission: UUID, before: str, now: str) -> str:
    """The diff; bytes that are not UTF-8 are written as \\xNN."""
    return _git_bytes(mission, *DIFF, before, now).decode(errors="backslashreplace")


def _entries(mission: UUID, commit: str) -> dict[bytes, _Entry]:
    """The files of a commit, sorted by path."""
    listed = [one.partition(b"\t") for one in _git_bytes(mission, "ls-tree", "-r", "-z", commit).split(b"\0")[:-1]]
    heads = [(head.split(), path) for head, _, path in listed]
    blobs = _blobs(mission, {name for (_, _, name), _ in heads})
    return {path: _Entry(blobs[name], mode == b"100755") for (mode, _, name), path in sorted(heads, key=itemgetter(1))}


def _blobs(mission: UUID, names: Iterable[bytes]) -> dict[bytes, _Blob]:
    found: dict[bytes, _Blob] = {}
    data, at = _git_bytes(mission, "cat-file", "--batch", given=b"".join(b"%s\n" % name for name in names)), 0
    while at < len(data):
        end = data.index(b"\n", at)
        name, _, size = data[at:end].split()
        text = data[end + 1 : end + 1 + int(size)]
        found[name] = _Blob(len(text), sha256(text).hexdigest(), _is_text(text))
        at = end + 1 + len(text) + 1
    return found


def _is_text(data: bytes) -> bool:
    try:
        return "\0" not in data.decode()
    except UnicodeDecodeError:
        return False


# ---- git --------------------------------------------------------------------------------------------------------


@contextmanager
def _alone(mission: UUID) -> Iterator[None]:
    place = repository(mission)
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with open(place.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (place / "HEAD").exists():
            git.make(place)
        yield


def _git(mission: UUID, *words: str, given: bytes | None = None, fails: bool = False, outward: bool = False) -> str:
    return _git_bytes(mission, *words, given=given, fails=fails, outward=outward).decode(errors="replace")


def _git_bytes(
    mission: UUID, *words: str, given: bytes | None = None, fails: bool = False, outward: bool = False
) -> bytes:
    try:
        return git.git(repository(mission), *words, given=given, fails=fails, outward=outward)
    except GitFailed as failed:
        raise NotPublished(f"git: {failed}") from failed
