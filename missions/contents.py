"""What no row holds of the files that a mission has changed: the bytes of those that are no text, and which of them are
programs. A fork of an earlier step needs both.

They lie beside the workspace by their digests, on the machine that the mission works on, and go with its texts.

Why so: docs/decisions.md, Forks.
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

RUNS = "runs-"  # begins the name of what says that a file is a program


class StoredContents(Protocol):
    """A version of a file, as its row says."""

    path: str
    digest: str
    size: int
    text: str


def has_no_text(version: "StoredContents | FileChange") -> bool:
    return bool(version.size and not version.text)


def folder(mission: UUID | str) -> Path:
    return workspace.mission_folder(f"{mission}-{workspace.CONTENTS}")


def keep(mission: UUID, changes: Iterable[FileChange]) -> None:
    """Of what these say of the workspace, as long as it is so: what is otherwise by now comes with the next ones."""
    place = workspace.workspace(mission)
    for one in changes:
        if one.change == "D":
            continue
        with suppress(FileProblem, OSError):  # then that step cannot be forked, and says so
            if place.runs(one.path):
                _put(folder(mission) / _program(one.path, one.digest), b"")
            if has_no_text(one) and digest_of(data := place.data(one.path)) == one.digest:
                _put(folder(mission) / one.digest, data)


def _program(path: str, digest: str) -> str:
    return RUNS + sha256(f"{path}\0{digest}".encode()).hexdigest()


def _put(path: Path, data: bytes) -> None:
    """Whole or not at all, and once."""
    if path.exists():
        return
    path.parent.mkdir(mode=0o700, exist_ok=True)
    temporary = path.with_name(f".{secrets.token_hex(8)}.new")
    temporary.write_bytes(data)
    temporary.rename(path)


def missing(mission: UUID, versions: Iterable[StoredContents]) -> list[str]:
    """The paths of those whose bytes are not there (any more), in their order."""
    here = folder(mission)
    return sorted(one.path for one in versions if has_no_text(one) and not (here / one.digest).exists())


def copy(origin: UUID, mission: UUID, versions: Iterable[StoredContents]) -> None:
    """Give the mission what it needs of these. OSError where something is not there, or cannot be written."""
    source, target = folder(origin), folder(mission)
    for one in versions:
        names = [one.digest] if has_no_text(one) else []
        if (source / _program(one.path, one.digest)).exists():
            names.append(_program(one.path, one.digest))
        for name in names:
            _put(target / name, (source / name).read_bytes())


def read(mission: UUID, versions: Mapping[str, StoredContents]) -> dict[str, bytes]:
    """Of what is no text, as far as it is here."""
    here = folder(mission)
    found = {path: here / one.digest for path, one in versions.items() if has_no_text(one)}
    return {path: place.read_bytes() for path, place in found.items() if place.exists()}


def mark_programs(mission: UUID, versions: Mapping[str, StoredContents]) -> None:
    """In a workspace that was just made."""
    here, place = folder(mission), workspace.workspace(mission)
    for path, one in versions.items():
        if (here / _program(path, one.digest)).exists():
            place.let_run(path)
