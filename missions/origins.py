"""Where a workspace comes from, beside files that are sent one by one: an archive, or a repository of git that whoever
runs the installation has allowed.

Why so: docs/decisions.md, Missions.
"""

import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings

from toolbox import child

from . import unpacking
from .publishing import GIT, LONGEST, NOTHING_OF_OURS, SAFE

ENDS = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
LARGEST = 20_000_000  # bytes, packed
BOUNDS = child.Bounds(seconds=20.0, memory=512 * 2**20, output=4 * unpacking.TOGETHER)
NAMED = 20
FROM_COMMIT = "The workspace is commit {commit} of {address}."


class Unusable(Exception):
    """Why nothing of it is taken, in a sentence."""


@dataclass(frozen=True)
class Origin:
    """`note`: what the crew should know of it."""

    files: Sequence[tuple[str, str]]
    note: str = ""


def is_archive(name: str) -> bool:
    return name.lower().endswith(ENDS)


def of_archive(data: bytes) -> Origin:
    """Its texts; what is none is named. Unusable."""
    if len(data) > LARGEST:
        raise Unusable(f"It has more than {LARGEST // 1_000_000} MB.")
    try:
        found = json.loads(child.run(Path(unpacking.__file__), data, BOUNDS))
    except child.NoPlace as error:
        raise Unusable("Others are being unpacked. Try it again in a moment.") from error
    except (child.Stopped, ValueError) as error:
        raise Unusable("It takes more time or memory than an archive may, or is broken.") from error
    if "wrong" in found:
        raise Unusable(found["wrong"])
    if not found["files"]:
        raise Unusable("There is no text in it.")
    return Origin([(path, text) for path, text in found["files"]], _note(found["left_out"]))


def _note(left_out: Sequence[str]) -> str:
    if not left_out:
        return ""
    more = f" and {len(left_out) - NAMED} more" if len(left_out) > NAMED else ""
    return (
        f"Left out of the workspace, for they are no texts in UTF-8, or too long: {', '.join(left_out[:NAMED])}{more}."
    )


def allowed() -> Sequence[str]:
    return tuple(settings.WORKSPACES_FROM)


def of_git(address: str) -> Origin:
    """What its newest commit holds. It is fetched into a repository of our own first, so no hook, filter or setting of
    the other one takes part. Unusable."""
    if address not in allowed():
        known = ", ".join(allowed()) or "none"
        raise Unusable(f"Nobody has allowed {address[:200]}. Allowed: {known}.")
    with tempfile.TemporaryDirectory(prefix="magi-git-") as folder:
        own = f"{folder}/own.git"
        _git("clone", "--quiet", "--bare", "--depth=1", "--no-tags", "--template=", *_source(address), own)
        commit = _git(f"--git-dir={own}", "rev-parse", "--verify", "HEAD").decode().strip()
        packed = _git(f"--git-dir={own}", "archive", "--format=tar", commit)
    origin = of_archive(packed)
    said = FROM_COMMIT.format(commit=commit, address=address)
    return Origin(origin.files, f"{said} {origin.note}".strip())


def _source(address: str) -> tuple[str, ...]:
    """A bundle is one file; of a repository nothing is shared but what is sent."""
    return (address,) if Path(address).is_file() else ("--no-local", address)


def _git(*words: str) -> bytes:
    options = [part for one in (*SAFE, "protocol.file.allow=always") for part in ("-c", one)]
    about: dict[str, Any] = {"env": {"PATH": "/usr/bin:/bin", **NOTHING_OF_OURS}, "cwd": "/"}
    try:
        done = subprocess.run([GIT, *options, *words], capture_output=True, timeout=LONGEST, check=False, **about)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unusable(f"git: {error}") from error
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()
        raise Unusable(f"git: {os.linesep.join(said.splitlines()[-3:])[-500:] or done.returncode}")
    return done.stdout
