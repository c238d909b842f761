"""What leaves a mission as a branch: one commit on what the workspace held at first, in a bare repository of our own.

No git runs in a workspace from outside, and nothing of its `.git` is read: the files are read by descriptors, and the
commits are made of their bytes. So no hook, filter, attribute or configuration of a workspace takes part.

Why so: docs/decisions.md, What leaves a mission.
"""

import fcntl
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from operator import itemgetter
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings
from django.urls import reverse

from engine.llm.providers import storable
from engine.plurals import counted

from . import workshop
from .files import FileProblem

GIT = "/usr/bin/git"
LONGEST = 120.0  # seconds for one call of git
READABLE = 1_000_000  # characters that somebody can be asked to read: what is longer is not published
BEGINNING = 10_000  # bytes of what the mission began with that are shown, too; of more the names are
FILES, TOGETHER = 5_000, 100_000_000
BRANCH = re.compile(r"[A-Za-z0-9](?:[\w.-]|/(?=[A-Za-z0-9])){0,99}")
NOTHING_OF_OURS = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_TERMINAL_PROMPT": "0"}
NOTHING_OF_OURS |= {"GIT_NO_REPLACE_OBJECTS": "1"}  # what is read under a name is what is pushed under it
SAFE = (
    *("core.hooksPath=/dev/null", "core.attributesFile=/dev/null", "core.quotePath=false"),
    *("gc.auto=0", "protocol.allow=never"),
)
OUTWARD = tuple(f"protocol.{name}.allow=always" for name in ("https", "ssh", "file"))
COMMIT = re.compile(r"[0-9a-f]{40}")
NO_BRANCH = "_none"  # that HEAD names, of which git may read attributes: no branch of a mission is called so
EMPTY = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"  # the tree without files
DIFF = ("diff", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "--full-index")
BUNDLE = "application/x-git-bundle"
BY = "MAGI <magi@localhost>"


class NotPublished(Exception):
    """In a sentence."""


@dataclass(frozen=True)
class Prepared:
    """`difference`: a line for each file of the branch, then all lines that are shown of them. `digest`: SHA-256 of the
    lines of files. `files`: how many are otherwise than at the beginning; `left_out`: of how many not all is shown."""

    commit: str
    files: int
    difference: str
    digest: str
    left_out: int


def repository(mission: UUID | str) -> Path:
    return workshop.home() / "published" / f"{mission}.git"


def bundle(mission: UUID | str) -> Path:
    """All that was published of it, as one file that git reads."""
    return repository(mission).with_suffix(".bundle")


def bundled(mission: UUID | str) -> bytes | None:
    """None where nothing was published of it, or on another machine."""
    try:
        return bundle(mission).read_bytes()
    except OSError:
        return None


def to() -> str:
    """Where branches go, without what stands there of passwords; empty where they stay here."""
    return re.sub(r"//[^/@]*@", "//", settings.PUBLISH_TO or "")


def branch_complaint(branch: str) -> str:
    odd = ".." in branch or branch.endswith((".lock", ".", "/")) or "/." in branch or "//" in branch
    if odd or not BRANCH.fullmatch(branch):
        return f"{branch[:100]!r} is no name of a branch: letters, digits and - _ . / in between."
    return ""


def prepare(mission: UUID, key: str, message: str, by: str, first: Mapping[str, bytes], moment: int) -> Prepared:
    """The commit of this step: made once, and found again whatever the files have become since. NotPublished."""
    with _alone(mission):
        name = f"refs/magi/{key}"
        commit = _git(mission, "rev-parse", "--verify", "--quiet", name, fails=True).strip()
        if not commit:
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


def publish(mission: UUID, branch: str, commit: str, shown: str) -> str:
    """Push it where branches go, if that is said; besides it is in the bundle. Where it is now. `shown`: the difference
    that was decided about. NotPublished, also where the commit is another."""
    with _alone(mission):
        _git(mission, "fsck", "--strict", "--no-dangling")
        if _described(mission, commit).difference != shown:
            raise NotPublished(f"changed: the files of commit {commit} are not those that were shown. Publish again.")
        if settings.PUBLISH_TO:
            refs = f"{commit}:refs/heads/{branch}"
            _git(mission, "push", "--quiet", "--no-verify", settings.PUBLISH_TO, refs, outward=True)
        _git(mission, "update-ref", f"refs/heads/{branch}", commit)
        _git(mission, "bundle", "create", "--quiet", str(bundle(mission)), f"refs/heads/{branch}")
    return to() or "the bundle of this mission"


def bundled_commit(mission: UUID, commit: str) -> bytes | None:
    """One that was made and perhaps not published, as a file that git reads; None where it is not here."""
    if not (COMMIT.fullmatch(commit) and (repository(mission) / "HEAD").exists()):
        return None
    with _alone(mission):
        made = f"--points-at={commit}"
        names = _git(mission, "for-each-ref", "--format=%(refname)", made, "refs/magi/", fails=True).split()
        return _git_bytes(mission, "bundle", "create", "--quiet", "-", names[0]) if names else None


def is_published(mission: UUID, branch: str, commit: str) -> bool:
    """Whether it was, as whoever comes after a crash finds it. NotPublished."""
    name = f"refs/heads/{branch}"
    if not settings.PUBLISH_TO:
        return _git(mission, "rev-parse", "--verify", "--quiet", name, fails=True).strip() == commit
    return _git(mission, "ls-remote", settings.PUBLISH_TO, name, outward=True).partition("\t")[0] == commit


def remove(mission: UUID | str) -> None:
    shutil.rmtree(repository(mission), ignore_errors=True)
    bundle(mission).unlink(missing_ok=True)


# ---- commits ----------------------------------------------------------------------------------------------------


def _import(mission: UUID, key: str, message: str, by: str, first: Mapping[str, bytes], moment: int) -> None:
    ours, theirs = f"{BY} {moment} +0000", f"{_plain(by)} <agent@localhost> {moment} +0000"
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
    place, count, size = workshop.workspace(mission), 0, 0
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


def _described(mission: UUID, commit: str) -> Prepared:
    """By what is in the repository alone. NotPublished where the commit is not there."""
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
    return Prepared(commit, len(other), storable("\n".join(parts)), digest, len(no_text | as_before))


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
            _run(["init", "--quiet", "--bare", "--template=", f"--initial-branch={NO_BRANCH}", str(place)], {})
        yield


def _git(mission: UUID, *words: str, given: bytes | None = None, fails: bool = False, outward: bool = False) -> str:
    return _git_bytes(mission, *words, given=given, fails=fails, outward=outward).decode(errors="replace")


def _git_bytes(
    mission: UUID, *words: str, given: bytes | None = None, fails: bool = False, outward: bool = False
) -> bytes:
    said = [*SAFE, *(OUTWARD if outward else ())]
    options = [f"--git-dir={repository(mission)}", *(part for one in said for part in ("-c", one))]
    # its keys and its way to them are the installation's; they never enter a sandbox
    own = {name: os.environ[name] for name in ("HOME", "SSH_AUTH_SOCK") if outward and name in os.environ}
    more = {"GIT_SSH_COMMAND": "ssh -oBatchMode=yes"} if outward else {}
    return _run([*options, *words], own | more, given, fails)


def _run(words: Iterable[str], env: Mapping[str, str], given: bytes | None = None, fails: bool = False) -> bytes:
    about: dict[str, Any] = {"env": {"PATH": "/usr/bin:/bin", **NOTHING_OF_OURS, **env}, "cwd": "/"}
    try:
        done = subprocess.run([GIT, *words], input=given, capture_output=True, timeout=LONGEST, check=False, **about)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotPublished(f"git: {error}") from error
    if done.returncode and not fails:
        said = done.stderr.decode(errors="replace").strip()[-500:]
        raise NotPublished(f"git: {re.sub(r'//[^/@]*@', '//', said) or done.returncode}")
    return done.stdout
