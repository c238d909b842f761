"""Running git, only on bare repositories of our own, so that no foreign hook, filter, attribute or setting applies.

Why so: missions/DESIGN.md, What leaves a mission.
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
LONGEST = 120.0  # seconds of one call
ANSWERS_WITHIN = 20  # seconds until an SSH host must answer
MEMORY = 2 * 2**30  # bytes of address space of one process: untrusted objects may state any size
NO_MEMORY = re.compile("out of memory|cannot allocate memory|unable to create (async )?thread", re.IGNORECASE)
# in kB; a lower limit stays. Set by a shell, because a preexec_fn is not safe in a process with threads
BOUNDED = 'ulimit -v "$0" 2>/dev/null; exec "$@"'
BEHIND_THE_REASON = ("Please make sure you have the correct access rights", "and the repository exists.")
MOST_SAID = 1_000_000_000  # bytes of output: a tree of a few bytes can name more files than there is memory for
PIECE = 1_000_000
NOTHING_OF_OURS = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}
# no prompt for passwords by terminal, window or helper: nobody could answer
NOTHING_OF_OURS |= {"GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "", "SSH_ASKPASS": "", "SSH_ASKPASS_REQUIRE": "never"}
# objects are read under their real names (no replace refs), and missing ones are not fetched
NOTHING_OF_OURS |= {"GIT_NO_REPLACE_OBJECTS": "1", "GIT_NO_LAZY_FETCH": "1", "GIT_LITERAL_PATHSPECS": "1"}
NOTHING_OF_OURS |= {"MALLOC_ARENA_MAX": "1"}  # each arena of a thread would take 128 MB of the address space
SSH = f"ssh -oBatchMode=yes -oConnectTimeout={ANSWERS_WITHIN}"
SAFE = (
    *("core.hooksPath=/dev/null", "core.attributesFile=/dev/null", "core.quotePath=false", "core.fsmonitor=false"),
    *("gc.auto=0", "protocol.allow=never", "fetch.unpackLimit=1", "core.logAllRefUpdates=false"),
    *("credential.helper=", "core.packedGitWindowSize=32m", "core.packedGitLimit=256m", "core.bigFileThreshold=128m"),
    *("pack.threads=2", "pack.windowMemory=64m"),
)
OUTWARD = ("https", "ssh", "file")
NO_BRANCH = "_none"  # HEAD's branch, from which git may read attributes; no branch of a mission has this name
NAME = re.compile(r"[0-9a-f]{40}")


class GitFailed(Exception):
    """The text is git's error message, without passwords."""


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
    """Run git and return its output.

    given, file: standard input, as bytes or as an open file
    fails: a non-zero exit code is no error
    outward: allow other repositories by network and file, with the keys of this user, which no sandbox has
    most: maximum of output in bytes

    Raises GitFailed.
    """
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
                said = _read_output(process, most)
        except OSError as error:
            raise GitFailed(str(error)) from error
        errors.seek(0)
        if process.returncode and (process.returncode < 0 or not fails):
            raise GitFailed(_why(errors.read(PIECE)) or f"it ended with {process.returncode}.")
    return said


def _read_output(process: "subprocess.Popen[bytes]", most: int) -> bytes:
    """Raises GitFailed if the output is too long, or the process takes longer than LONGEST."""
    assert process.stdout  # noqa: S101 - for the type checker
    late, found, size = list[bool](), list[bytes](), 0

    def end(too_late: bool = True) -> None:
        late.append(too_late)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # with its children, which hold the pipe open

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
    """The text without user names and passwords in addresses."""
    return re.sub(r"//[^/@\s]*@", "//", text)
