"""Contents of changed files that are in no row: the bytes of binary files, and which files are executable.

Forks of earlier steps need both. They are stored beside the workspace by their digests, on the machine of the mission,
and are deleted with the mission's texts.

Why so: runs/DESIGN.md, Forks.
"""

import secrets
from collections.abc import Iterable, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Protocol
from uuid import UUID

from . import workspace
from .workspace_files import FileChange, FileProblem, digest_of

EXECUTABLE_PREFIX = "runs-"  # of the names of empty files, each of which marks a version as executable


class StoredContents(Protocol):
    """The columns of a file version that this module reads."""

    path: str
    digest: str
    size: int
    text: str


def has_no_text(version: "StoredContents | FileChange") -> bool:
    return bool(version.size and not version.text)


def folder(mission: UUID | str) -> Path:
    return workspace.mission_folder(f"{mission}-{workspace.CONTENTS}")


def keep(mission: UUID, changes: Iterable[FileChange]) -> None:
    """Store what these changes need, unless the workspace differs by now: then the next changes include it."""
    place = workspace.workspace(mission)
    for one in changes:
        if one.change == "D":
            continue
        with suppress(FileProblem, OSError):  # without it the step cannot be forked, and `missing` reports it
            if place.is_executable(one.path):
                _put(folder(mission) / _executable_mark(one.path, one.digest), b"")
            if has_no_text(one) and digest_of(data := place.data(one.path)) == one.digest:
                _put(folder(mission) / one.digest, data)


def _executable_mark(path: str, digest: str) -> str:
    return EXECUTABLE_PREFIX + sha256(f"{path}\0{digest}".encode()).hexdigest()


def _put(path: Path, data: bytes) -> None:
    """Write the file atomically, unless it exists."""
    if path.exists():
        return
    path.parent.mkdir(mode=0o700, exist_ok=True)
    temporary = path.with_name(f".{secrets.token_hex(8)}.new")
    temporary.write_bytes(data)
    temporary.rename(path)


def missing(mission: UUID, versions: Iterable[StoredContents]) -> list[str]:
    """The sorted paths of binary files whose bytes are not stored, or no longer."""
    here = folder(mission)
    return sorted(one.path for one in versions if has_no_text(one) and not (here / one.digest).exists())


def copy(origin: UUID, mission: UUID, versions: Iterable[StoredContents]) -> None:
    """Copy what these versions need to another mission. Raises OSError if something is missing or cannot be written."""
    source, target = folder(origin), folder(mission)
    for one in versions:
        names = [one.digest] if has_no_text(one) else []
        if (source / (mark := _executable_mark(one.path, one.digest))).exists():
            names.append(mark)
        for name in names:
            _put(target / name, (source / name).read_bytes())


def read(mission: UUID, versions: Mapping[str, StoredContents]) -> dict[str, bytes]:
    """The bytes of the binary files by path, without those that are not stored."""
    here = folder(mission)
    found = {path: here / one.digest for path, one in versions.items() if has_no_text(one)}
    return {path: place.read_bytes() for path, place in found.items() if place.exists()}


def mark_programs(mission: UUID, versions: Mapping[str, StoredContents]) -> None:
    """Make the files executable that were so, in a workspace that was just created."""
    here, place = folder(mission), workspace.workspace(mission)
    for path, one in versions.items():
        if (here / _executable_mark(path, one.digest)).exists():
            place.make_executable(path)
