"""What leaves a mission as a branch, in a bare repository of our own: the commits of its crew, where it began with a
repository, else one commit on what the workspace held at first.

No git runs in a workspace from outside. Of a repository the sandbox gives objects (`repositories/commits.py`), else
the files are read by descriptors, and the commits are made of their bytes. So no hook, filter, attribute or
configuration of a workspace takes part.

Why so: docs/decisions.md, What leaves a mission.
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

READABLE = 1_000_000  # characters that somebody can be asked to read: what is longer is not published
BEGINNING = 10_000  # bytes of what the mission began with that are shown, too; of more the names are
FILES, TOGETHER = 5_000, 100_000_000
BRANCH = re.compile(r"[A-Za-z0-9](?:[\w.-]|/(?=[A-Za-z0-9])){0,99}", re.ASCII)  # no letter that looks like another
COMMIT = NAME
HEADS = "refs/heads/"
TARGETS = "targets"  # in a repository: which commit a branch had where it goes, by the steps that would publish it
EXISTS = (
    "branch_exists: {to} has a branch {branch} at {there}, which this commit does not hold: the push would be refused. "
    "Publish under another name."
)
END = "end"  # the key of what all of it is at the end
BUNDLE = "application/x-git-bundle"
MAILBOX = "application/mbox"
BUNDLE_OF_MISSION = "the bundle of this mission"  # where branches go that go nowhere else
COMMIT_AUTHOR = "MAGI <magi@localhost>"


class NotPublished(Exception):
    """In a sentence."""


@dataclass(frozen=True)
class PreparedCommit:
    """`difference`: a line for each file of the branch, then all lines that are shown of them. `digest`: SHA-256 of the
    lines of files. `files`: how many are otherwise than at the beginning; `left_out`: of how many not all is shown.
    `base` and `commits`: of a mission that began with a repository, its commit and those of the crew; `merged`: those
    of other branches of the repository, which go along."""

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
    """What is where a branch goes. `there`: the commit that it has now, empty where it is new; `effect`: what the push
    does, in a sentence."""

    there: str
    effect: str


def repository(mission: UUID | str) -> Path:
    return workspace.missions_folder() / "published" / f"{mission}.git"


def bundle(mission: UUID | str) -> Path:
    """All that was published of it, as one file that git reads."""
    return repository(mission).with_suffix(".bundle")


def read_bundle(mission: UUID | str) -> bytes | None:
    """None where nothing was published of it, or on another machine."""
    try:
        return bundle(mission).read_bytes()
    except OSError:
        return None


def publish_target() -> str:
    """Where branches go, without what stands there of passwords; empty where they stay here."""
    return without_password(settings.PUBLISH_TO or "")


def branch_problem(branch: str) -> str:
    odd = branch == "HEAD" or ".." in branch or branch.endswith((".lock", ".", "/")) or "/." in branch or "//" in branch
    if odd or not BRANCH.fullmatch(branch):
        return f"{branch[:100]!r} is no name of a branch: letters, digits and - _ . / in between."
    return ""


def prepare(mission: UUID, key: str, message: str, by: str, first: Mapping[str, bytes], moment: int) -> PreparedCommit:
    """The commit of this step: made once, and found again whatever the files have become since. Where the mission began
    with a repository it is the newest of its crew, and the last one where something was not committed. NotPublished."""
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
    """What the push of this step would do. It is looked up once, so that the gate shows what is then done.
    NotPublished where it would be refused there, or change nothing."""
    kept = repository(mission) / TARGETS / key
    with _alone(mission):
        where, _, there = kept.read_text().partition("\n") if kept.exists() else ("", "", "")
        if not kept.exists() or where != publish_target():
            there = _there(mission, branch)
        if not there:
            found = PublishTarget("", "The branch is not there yet: it is made.")
        elif _goes_on(mission, there, commit):
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
    """The commit of this branch where it goes; empty where there is none. NotPublished, also where another branch is in
    its way."""
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
    """Commits and branches of where branches go, among them all of these names. NotPublished."""
    if not settings.PUBLISH_TO:
        return _git(mission, "for-each-ref", "--format=%(objectname)\t%(refname)", HEADS)
    try:
        return _git(mission, "ls-remote", settings.PUBLISH_TO, *names, outward=True)
    except NotPublished as error:
        raise NotPublished(
            f"not_reached: nobody can see whether {publish_target()} has this branch already: {error}"
        ) from error


def _goes_on(mission: UUID, there: str, commit: str) -> bool:
    """Whether the commit holds this one, which it can only where this one lies here."""
    known = _git(mission, "cat-file", "-t", there, fails=True).strip() == "commit"
    return known and _git(mission, "merge-base", there, commit, fails=True).strip() == there


def publish(mission: UUID, branch: str, commit: str, shown: str, there: str = "") -> str:
    """Push it where branches go, if that is said; besides it is in the bundle. Where it is now. `shown`, `there`: the
    difference that was decided about, and the commit that the branch had then. NotPublished, also where either is
    another by now."""
    with _alone(mission):
        if not beginning(repository(mission)):  # else each object was looked at when it came
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
    """Where the branch is still what it was: that is looked at and written there in one."""
    if there and not _goes_on(mission, there, commit):
        raise NotPublished(EXISTS.format(branch=branch, to=publish_target(), there=there))
    lease = f"--force-with-lease={HEADS}{branch}:{there}"
    _git(
        mission, "push", "--quiet", "--no-verify", lease, settings.PUBLISH_TO, f"{commit}:{HEADS}{branch}", outward=True
    )


def bundled_commit(mission: UUID, commit: str) -> bytes | None:
    """One that was made and perhaps not published, as a file that git reads; None where it is not here."""
    if not (COMMIT.fullmatch(commit) and (repository(mission) / "HEAD").exists()):
        return None
    with _alone(mission):
        made = f"--points-at={commit}"
        names = _git(mission, "for-each-ref", "--format=%(refname)", made, "refs/magi/", fails=True).split()
        bundling = ("bundle", "create", "--quiet", "-")
        return _git_bytes(mission, *bundling, names[0], *_without(mission)) if names else None


def _without(mission: UUID) -> tuple[str, ...]:
    """What a bundle leaves out: what the repository has, with which the mission began."""
    return ("--not", commits.ORIGIN) if beginning(repository(mission)) else ()


def changes(mission: UUID, known: Mapping[str, str], paths: Collection[str]) -> list[FileChange]:
    """What is otherwise in the workspace than `known`, digests by paths. Before the first change of a file of the
    repository stands what it was; `paths`: of which anything is kept. Of the first files alone, where their texts
    together are too long: once these are known, the next call returns others."""
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
    """Of a file of the repository at first; None where it has none there, empty where it is no text."""
    place = repository(mission)
    name = first_blobs(place).get(path)
    return text_of(b"".join(blobs(place, [name]))) if name else None


def branching(mission: UUID, commit: str) -> BranchCommits | None:
    """What a commit of the crew has beside the repository that it began with; None where it is not here."""
    if not (COMMIT.fullmatch(commit) and beginning(repository(mission))):
        return None
    try:
        return commits.read(repository(mission), commit)
    except CommitsRefused:
        return None


def ended_with(mission: UUID) -> str:
    """The commit that all of it was at the end; empty where it did not begin with a repository, or is not here."""
    if not beginning(repository(mission)):
        return ""
    return _git(mission, "rev-parse", "--verify", "--quiet", f"refs/magi/{END}", fails=True).strip()


def keep_end(mission: UUID, message: str) -> str:
    """All of it as it is now, once, as a commit. NotPublished."""
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
    """The commits on which the crew stands after this step, where its mission began with a repository that is here."""
    if beginning(repository(mission)):
        with _alone(mission):
            commits.keep_head(mission, repository(mission), key)


def newest_made(mission: UUID) -> str:
    """The commit that was last made to be published, by when it was made here: its own date is what a crew says; empty
    where there is none."""
    place = repository(mission)
    if not beginning(place):
        return ""
    made = [one for one in (place / "refs" / "magi").rglob("*") if one.is_file() and one.name != "start"]
    newest = max(made, key=lambda one: one.stat().st_mtime_ns, default=None)
    return newest.read_text().strip() if newest else ""


def mailed(mission: UUID, commit: str) -> bytes | None:
    """The commits of the crew up to this one, as git am takes them; None where they are not here."""
    if not (COMMIT.fullmatch(commit) and beginning(repository(mission))):
        return None
    try:
        return commits.mailed(repository(mission), commit)
    except (CommitsRefused, GitFailed):
        return None


def is_published(mission: UUID, branch: str, commit: str) -> bool:
    """Whether it was, as whoever comes after a crash finds it. NotPublished."""
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
    """Of the workspace as it is now, without links and without what lies in a folder of git's."""
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
    """In whatever way a file system of others may read it."""
    plain = re.sub(r"[^a-z0-9.~]", "", part.casefold())
    return plain.rstrip(".") in (".git", "git~1") or plain == ".gitmodules"


def _file(path: str, data: bytes, runs: bool) -> bytes:
    quoted = path.encode(errors="surrogateescape").replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
    return b'M %s inline "%s"\ndata %d\n%s\n' % (b"100755" if runs else b"100644", quoted, len(data), data)


# ---- what is shown ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Blob:
    size: int
    digest: str
    is_text: bool


@dataclass(frozen=True)
class _Entry:
    """A file of a commit: what it holds, and whether it is a program."""

    blob: _Blob
    runs: bool


def _described(mission: UUID, commit: str) -> PreparedCommit:
    """By what is in the repository alone. NotPublished where the commit is not there."""
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
    """What is not in the text, and where it is read."""
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
    """What is no UTF-8 in it is written as \\xNN."""
    return _git_bytes(mission, *DIFF, before, now).decode(errors="backslashreplace")


def _entries(mission: UUID, commit: str) -> dict[bytes, _Entry]:
    """The files of a commit by their paths, in the order of these."""
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
