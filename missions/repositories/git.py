"""Git, run on bare repositories of our own alone: no hook, filter, attribute or setting of another one takes part.

    GitFailed

Why so: docs/decisions.md, What leaves a mission.
"""

import os
import re
import signal
import subprocess
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from threading import Timer
from typing import IO, Any

GIT = "/usr/bin/git"
LONGEST = 120.0  # seconds for one call of git
MOST_SAID = 1_000_000_000  # bytes that one says: a tree of a few bytes can name more files than there is memory
PIECE = 1_000_000
NOTHING_OF_OURS = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_TERMINAL_PROMPT": "0"}
# what is read under a name is what is pushed under it, and nothing that is missing is asked of somebody else
NOTHING_OF_OURS |= {"GIT_NO_REPLACE_OBJECTS": "1", "GIT_NO_LAZY_FETCH": "1", "GIT_LITERAL_PATHSPECS": "1"}
SAFE = (
    *("core.hooksPath=/dev/null", "core.attributesFile=/dev/null", "core.quotePath=false", "core.fsmonitor=false"),
    *("gc.auto=0", "protocol.allow=never", "fetch.unpackLimit=1", "core.logAllRefUpdates=false"),
)
OUTWARD = ("https", "ssh", "file")
NO_BRANCH = "_none"  # that HEAD names, of which git may read attributes: no branch of a mission is called so
NAME = re.compile(r"[0-9a-f]{40}")


class GitFailed(Exception):
    """In git's own words, without passwords."""


def make(repository: Path) -> None:
    run(["init", "--quiet", "--bare", "--template=", f"--initial-branch={NO_BRANCH}", str(repository)])


def git(
    repository: Path,
    *words: str,
    given: bytes | None = None,
    file: IO[bytes] | None = None,
    fails: bool = False,
    outward: bool = False,
    most: int = MOST_SAID,
) -> bytes:
    """What it says. `file` is read in place of `given`; `outward`: it may reach other repositories, with this user's
    own keys, which enter no sandbox. GitFailed."""
    said = [*SAFE, *(f"protocol.{name}.allow=always" for name in OUTWARD if outward)]
    options = [f"--git-dir={repository}", *(part for one in said for part in ("-c", one))]
    own = {name: os.environ[name] for name in ("HOME", "SSH_AUTH_SOCK") if outward and name in os.environ}
    more = {"GIT_SSH_COMMAND": "ssh -oBatchMode=yes"} if outward else {}
    return run([*options, *words], own | more, given=given, file=file, fails=fails, most=most)


def text(repository: Path, *words: str, **more: Any) -> str:
    return git(repository, *words, **more).decode(errors="replace").strip()


def run(
    words: Iterable[str],
    env: Mapping[str, str] = NOTHING_OF_OURS,
    *,
    given: bytes | None = None,
    file: IO[bytes] | None = None,
    fails: bool = False,
    most: int = MOST_SAID,
) -> bytes:
    about: dict[str, Any] = {"env": {"PATH": "/usr/bin:/bin", **NOTHING_OF_OURS, **env}, "cwd": "/"}
    with TemporaryFile() as wanted, TemporaryFile() as errors:
        wanted.write(given or b"")
        wanted.seek(0)
        about |= {"stdin": file or wanted, "stdout": subprocess.PIPE, "stderr": errors, "start_new_session": True}
        try:
            with subprocess.Popen([GIT, *words], **about) as process:  # noqa: S603
                said = _heard(process, most)
        except OSError as error:
            raise GitFailed(str(error)) from error
        errors.seek(0)
        if process.returncode and (process.returncode < 0 or not fails):
            raise GitFailed(_said(errors.read(PIECE)) or str(process.returncode))
    return said


def _heard(process: "subprocess.Popen[bytes]", most: int) -> bytes:
    """GitFailed where it says too much, or takes too long."""
    assert process.stdout  # noqa: S101 - for the type checker
    late, found, size = list[bool](), list[bytes](), 0

    def end(too_late: bool = True) -> None:
        late.append(too_late)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # with those that it has begun, which hold its pipe

    timer = Timer(LONGEST, end)
    timer.start()
    try:
        while size <= most and (piece := process.stdout.read(PIECE)):
            found.append(piece)
            size += len(piece)
        if size > most:
            end(too_late=False)
            raise GitFailed(f"it says more than {most:,} bytes, which is more than is looked at.")
        process.wait()
    finally:
        timer.cancel()
    if late:
        raise GitFailed(f"it took longer than {LONGEST:.0f} seconds.")
    return b"".join(found)


def _said(errors: bytes) -> str:
    lines = errors.decode(errors="replace").strip().splitlines()
    return without_password("\n".join(lines[-3:]))[-500:]


def without_password(text: str) -> str:
    """Of addresses in it."""
    return re.sub(r"//[^/@\s]*@", "//", text)
