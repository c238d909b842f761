"""Git, run on bare repositories of our own alone: no hook, filter, attribute or setting of another one takes part.

    GitFailed

Why so: docs/decisions.md, What leaves a mission.
"""

import os
import re
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, Any

GIT = "/usr/bin/git"
LONGEST = 120.0  # seconds for one call of git
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
) -> bytes:
    """What it says. `file` is read in place of `given`; `outward`: it may reach other repositories, with this user's
    own keys, which enter no sandbox. GitFailed."""
    said = [*SAFE, *(f"protocol.{name}.allow=always" for name in OUTWARD if outward)]
    options = [f"--git-dir={repository}", *(part for one in said for part in ("-c", one))]
    own = {name: os.environ[name] for name in ("HOME", "SSH_AUTH_SOCK") if outward and name in os.environ}
    more = {"GIT_SSH_COMMAND": "ssh -oBatchMode=yes"} if outward else {}
    return run([*options, *words], own | more, given=given, file=file, fails=fails)


def text(repository: Path, *words: str, **more: Any) -> str:
    return git(repository, *words, **more).decode(errors="replace").strip()


def run(
    words: Iterable[str],
    env: Mapping[str, str] = NOTHING_OF_OURS,
    *,
    given: bytes | None = None,
    file: IO[bytes] | None = None,
    fails: bool = False,
) -> bytes:
    about: dict[str, Any] = {"env": {"PATH": "/usr/bin:/bin", **NOTHING_OF_OURS, **env}, "cwd": "/"}
    about |= {"stdin": file} if file else {"input": given or b""}
    try:
        done = subprocess.run([GIT, *words], capture_output=True, timeout=LONGEST, check=False, **about)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired) as error:
        raise GitFailed(str(error)) from error
    if done.returncode and not fails:
        raise GitFailed(_said(done.stderr) or str(done.returncode))
    return done.stdout


def _said(errors: bytes) -> str:
    lines = errors.decode(errors="replace").strip().splitlines()
    return without_password("\n".join(lines[-3:]))[-500:]


def without_password(text: str) -> str:
    """Of addresses in it."""
    return re.sub(r"//[^/@\s]*@", "//", text)
