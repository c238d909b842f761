"""What leaves a mission as a branch: one commit on what the workspace held at first, in a bare repository of our own.

No git runs in a workspace from outside, and nothing of its `.git` is read: the files are read by descriptors, and the
commits are made of their bytes. So no hook, filter, attribute or configuration of a workspace takes part.

Why so: docs/decisions.md, What leaves a mission.
"""

import fcntl
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings

from . import workshop
from .files import FileProblem

GIT = "/usr/bin/git"
LONGEST = 120.0  # seconds for one call of git
SHOWN = 12_000  # characters of the difference that stand in what is decided about
FILES, TOGETHER = 5_000, 100_000_000
BRANCH = re.compile(r"[A-Za-z0-9](?:[\w.-]|/(?=[A-Za-z0-9])){0,99}")
NOTHING_OF_OURS = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_TERMINAL_PROMPT": "0"}
SAFE = ("core.hooksPath=/dev/null", "core.attributesFile=/dev/null", "gc.auto=0", "protocol.allow=never")
OUTWARD = tuple(f"protocol.{name}.allow=always" for name in ("https", "ssh", "file"))
BUNDLE = "application/x-git-bundle"
BY = "MAGI <magi@localhost>"


class NotPublished(Exception):
    """In a sentence."""


@dataclass(frozen=True)
class Prepared:
    """`difference`: what would be published, cut at a length; `digest`: SHA-256 of all of it."""

    commit: str
    difference: str
    digest: str
    cut: bool
    files: int


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
        whole = _git(mission, "diff", "--no-color", "--no-ext-diff", "--no-textconv", f"{commit}~1", commit)
        files = len(_git(mission, "diff", "--name-only", f"{commit}~1", commit).splitlines())
    if not files:
        raise NotPublished("nothing: no file is otherwise than at the beginning.")
    digest = sha256(whole.encode()).hexdigest()
    return Prepared(commit, whole[:SHOWN], digest, len(whole) > SHOWN, files)


def publish(mission: UUID, branch: str, commit: str) -> str:
    """Push it where branches go, if that is said; besides it is in the bundle. Where it is now. NotPublished."""
    with _alone(mission):
        if settings.PUBLISH_TO:
            refs = f"{commit}:refs/heads/{branch}"
            _git(mission, "push", "--quiet", "--no-verify", settings.PUBLISH_TO, refs, outward=True)
        _git(mission, "update-ref", f"refs/heads/{branch}", commit)
        _git(mission, "bundle", "create", "--quiet", str(bundle(mission)), f"refs/heads/{branch}")
    return to() or "the bundle of this mission"


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


# ---- git --------------------------------------------------------------------------------------------------------


@contextmanager
def _alone(mission: UUID) -> Iterator[None]:
    place = repository(mission)
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with open(place.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (place / "HEAD").exists():
            _run(["init", "--quiet", "--bare", "--template=", str(place)], {})
        yield


def _git(mission: UUID, *words: str, given: bytes | None = None, fails: bool = False, outward: bool = False) -> str:
    said = [*SAFE, *(OUTWARD if outward else ())]
    options = [f"--git-dir={repository(mission)}", *(part for one in said for part in ("-c", one))]
    # its keys and its way to them are the installation's; they never enter a sandbox
    own = {name: os.environ[name] for name in ("HOME", "SSH_AUTH_SOCK") if outward and name in os.environ}
    more = {"GIT_SSH_COMMAND": "ssh -oBatchMode=yes"} if outward else {}
    return _run([*options, *words], own | more, given, fails)


def _run(words: Iterable[str], env: Mapping[str, str], given: bytes | None = None, fails: bool = False) -> str:
    about: dict[str, Any] = {"env": {"PATH": "/usr/bin:/bin", **NOTHING_OF_OURS, **env}, "cwd": "/"}
    try:
        done = subprocess.run([GIT, *words], input=given, capture_output=True, timeout=LONGEST, check=False, **about)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotPublished(f"git: {error}") from error
    if done.returncode and not fails:
        said = done.stderr.decode(errors="replace").strip()[-500:]
        raise NotPublished(f"git: {re.sub(r'//[^/@]*@', '//', said) or done.returncode}")
    return done.stdout.decode(errors="replace")
