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

GIT, SHELL = "/usr/bin/git", "/bin/sh"
LONGEST = 120.0  # seconds for one call of git
ANSWERS_WITHIN = 20  # seconds for a host to begin to speak
MEMORY = 2 * 2**30  # bytes of address space of one process: objects of strangers name sizes as they like
NO_MEMORY = re.compile("out of memory|cannot allocate memory|unable to create (async )?thread", re.IGNORECASE)
# kB; where less is allowed already that holds. By a shell: nothing of Python may run between a fork and its program
BOUNDED = 'ulimit -v "$0" 2>/dev/null; exec "$@"'
BEHIND_THE_REASON = ("Please make sure you have the correct access rights", "and the repository exists.")
MOST_SAID = 1_000_000_000  # bytes that one says: a tree of a few bytes can name more files than there is memory
PIECE = 1_000_000
NOTHING_OF_OURS = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}
# nobody is there who could answer: no terminal, no window and no helper is asked for a password
NOTHING_OF_OURS |= {"GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "", "SSH_ASKPASS": "", "SSH_ASKPASS_REQUIRE": "never"}
# what is read under a name is what is pushed under it, and nothing that is missing is asked of somebody else
NOTHING_OF_OURS |= {"GIT_NO_REPLACE_OBJECTS": "1", "GIT_NO_LAZY_FETCH": "1", "GIT_LITERAL_PATHSPECS": "1"}
NOTHING_OF_OURS |= {"MALLOC_ARENA_MAX": "1"}  # each thread would take 128 MB of addresses for nothing
SSH = f"ssh -oBatchMode=yes -oConnectTimeout={ANSWERS_WITHIN}"
SAFE = (
    *("core.hooksPath=/dev/null", "core.attributesFile=/dev/null", "core.quotePath=false", "core.fsmonitor=false"),
    *("gc.auto=0", "protocol.allow=never", "fetch.unpackLimit=1", "core.logAllRefUpdates=false"),
    *("credential.helper=", "core.packedGitWindowSize=32m", "core.packedGitLimit=256m", "core.bigFileThreshold=128m"),
    *("pack.threads=2", "pack.windowMemory=64m"),
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
    more = {"GIT_SSH_COMMAND": SSH} if outward else {}
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
            with subprocess.Popen([SHELL, "-c", BOUNDED, str(MEMORY // 1024), GIT, *words], **about) as process:  # noqa: S603
                said = _heard(process, most)
        except OSError as error:
            raise GitFailed(str(error)) from error
        errors.seek(0)
        if process.returncode and (process.returncode < 0 or not fails):
            raise GitFailed(_why(errors.read(PIECE)) or f"it ended with {process.returncode}.")
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


def _why(errors: bytes) -> str:
    told = errors.decode(errors="replace").strip()
    if NO_MEMORY.search(told):
        return f"it needs more than {MEMORY // 2**20:,} MB of memory, which is more than one call of it may have."
    lines = [line for line in told.splitlines() if line and line not in BEHIND_THE_REASON]
    return without_password("\n".join(lines[-3:]))[-500:]


def without_password(text: str) -> str:
    """Of addresses in it."""
    return re.sub(r"//[^/@\s]*@", "//", text)
