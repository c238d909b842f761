"""Sources of workspaces: archives, uploaded git repositories, and repositories that MAGI_WORKSPACES_FROM allows.

Why so: missions/DESIGN.md, Missions.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings

from toolbox import limited_process

from . import archive_reader
from .repositories import cloning
from .repositories.cloning import LARGEST_UPLOAD, Cloned, RepositoryRefused
from .repositories.git import without_password

__all__ = [
    "LARGEST_UPLOAD",
    "RepositoryRefused",
    "WorkspaceSource",
    "allowed_repositories",
    "is_archive",
    "of_folder",
    "source_from_archive",
    "source_from_git",
]
BUNDLE_ENDS = ".bundle"
ENDS = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", BUNDLE_ENDS)
LARGEST = 20_000_000  # bytes of an archive without a repository
BOUNDS = limited_process.ProcessLimits(seconds=20.0, memory=768 * 2**20, output=4 * archive_reader.TOGETHER)
NAMED = 20


@dataclass(frozen=True)
class WorkspaceSource:
    """`note` is for the crew, for example which files were left out."""

    files: Sequence[tuple[str, str]]
    note: str = ""
    repository: Cloned | None = None


def is_archive(name: str) -> bool:
    return name.lower().endswith(ENDS)


def source_from_archive(data: bytes, name: str = "an archive") -> WorkspaceSource:
    """The repository in the archive, or else its texts, with a note about other files. Raises RepositoryRefused."""
    if len(data) > LARGEST_UPLOAD:
        raise RepositoryRefused(f"It has more than {LARGEST_UPLOAD // 1_000_000} MB.")
    if data.startswith(b"# v"):
        return WorkspaceSource((), repository=cloning.from_upload(data, name))
    try:
        found = json.loads(limited_process.run_limited(Path(archive_reader.__file__), data, BOUNDS))
    except limited_process.NoProcessSlot as error:
        raise RepositoryRefused("Others are being unpacked. Try it again in a moment.") from error
    except (limited_process.ProcessStopped, ValueError) as error:
        raise RepositoryRefused("It takes more time or memory than an archive may, or is broken.") from error
    if found.get("git"):
        return WorkspaceSource((), repository=cloning.from_upload(data, name))
    return _of_texts(found, len(data))


def _of_texts(found: Mapping[str, Any], size: int) -> WorkspaceSource:
    if size > LARGEST:
        raise RepositoryRefused(f"It has more than {LARGEST // 1_000_000} MB.")
    if "wrong" in found:
        raise RepositoryRefused(found["wrong"])
    if not found["files"]:
        raise RepositoryRefused("There is no text in it.")
    note = " ".join(_notes(found["left_out"], found["no_files"]))
    return WorkspaceSource([(path, text) for path, text in found["files"]], note)


def _notes(no_texts: Sequence[str], no_files: Sequence[str]) -> Iterator[str]:
    for left_out, why in ((no_texts, "no texts in UTF-8, or too long"), (no_files, "links or devices")):
        if left_out:
            more = f" and {len(left_out) - NAMED} more" if len(left_out) > NAMED else ""
            yield f"Left out of the workspace, for they are {why}: {', '.join(left_out[:NAMED])}{more}."


def allowed_repositories() -> Sequence[str]:
    """The allowed addresses without passwords: everybody who may start a mission sees them."""
    return tuple(map(without_password, settings.WORKSPACES_FROM))


def source_from_git(address: str) -> WorkspaceSource:
    """Clone an allowed repository. Raises RepositoryRefused."""
    address = without_password(address)
    found = [one for one in settings.WORKSPACES_FROM if without_password(one) == address]
    if not found:
        known = ", ".join(allowed_repositories()) or "none"
        raise RepositoryRefused(f"Nobody has allowed {address[:200]}. Allowed: {known}.")
    return WorkspaceSource((), repository=cloning.from_address(found[0]))


def of_folder(folder: Path) -> WorkspaceSource | None:
    """Clone the repository in a local folder with its uncommitted changes; None if it has none.

    Raises RepositoryRefused.
    """
    return WorkspaceSource((), repository=cloning.from_folder(folder)) if (folder / ".git").exists() else None
