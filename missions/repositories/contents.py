"""The content of commits, and which entries a workspace leaves out, so that one odd entry refuses no repository."""

import os
import posixpath
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..workspace_files import LONGEST, text_of
from .git import git

EMPTY = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"  # the tree without files
LINK, SUBMODULE, FOLDER = b"120000", b"160000", b"040000"
LARGEST = 100_000_000  # bytes of one file of a workspace
LONGEST_NAME, LONGEST_PATH = 255, 3_000  # bytes
MOST_LISTED = 100_000_000  # bytes of a listing, more than any workspace needs
LEFT_OUT_SHOWN = 20
UNMADE = "unmade"  # file in a repository: paths that could not be written into its workspace
OUT, MODULE, LARGE = "a link that leads out", "a submodule", f"more than {LARGEST:,} bytes"
NO_TEXT, LONG, OF_GIT = "its name is no UTF-8", "its name is too long", "a name that git keeps for itself"
PORTION_BLOBS, PORTION_BYTES = 1_000, 16_000_000  # read at once
NOT_MADE, LONG_TARGET = "it could not be written", "a link to a name that is too long"


@dataclass(frozen=True)
class TreeEntry:
    """An entry of a tree; `size` is in bytes, 0 for submodules."""

    mode: bytes
    name: str  # of the object
    size: int = 0

    @property
    def is_link(self) -> bool:
        return self.mode == LINK

    @property
    def is_submodule(self) -> bool:
        return self.mode == SUBMODULE


def entries(repository: Path, commit: str, paths: Sequence[str] = ()) -> dict[bytes, TreeEntry]:
    """The entries of a commit by path: all, or those at these paths."""
    found = {}
    listed = git(repository, "ls-tree", "-r", "-z", "-l", "--full-tree", commit, "--", *paths, most=MOST_LISTED)
    for line in listed.split(b"\0")[:-1]:
        head, _, path = line.partition(b"\t")
        mode, _, name, size = head.split()
        found[path] = TreeEntry(mode, name.decode(), int(size) if size != b"-" else 0)
    return found


def texts_at(repository: Path, commit: str, paths: Sequence[str]) -> dict[str, str]:
    """The texts at these paths that are text files."""
    held = entries(repository, commit, paths)
    files = [path for path, one in held.items() if not (one.is_link or one.is_submodule) and one.size <= LONGEST]
    found = blobs(repository, [held[path].name for path in files], {held[path].name: held[path].size for path in files})
    return {shown(path): text_of(data) for path, data in zip(files, found, strict=True)}


def left_out(repository: Path, held: Mapping[bytes, TreeEntry]) -> dict[bytes, str]:
    """Reasons by path of the entries that the workspace leaves out. Commits of the crew never remove them."""
    links = {one.name: one.size for one in held.values() if one.is_link and one.size <= LONGEST_PATH}
    targets = dict(zip(links, blobs(repository, list(links), links), strict=True))
    try:
        unmade = set((repository / UNMADE).read_bytes().split(b"\0"))
    except FileNotFoundError:
        unmade = set()
    found = {path: _why_not(path, one, targets.get(one.name)) for path, one in held.items()}
    found |= {path: found[path] or NOT_MADE for path in unmade & held.keys()}
    return {path: why for path, why in found.items() if why}


def _why_not(path: bytes, one: TreeEntry, target: bytes | None) -> str:
    if one.is_submodule:
        return MODULE
    if one.is_link and (target is None or leads_out(path, target)):
        return OUT if target is not None else LONG_TARGET
    if one.size > LARGEST:
        return LARGE
    parts = path.split(b"/")
    if any(is_of_git(os.fsdecode(part)) for part in parts):
        return OF_GIT
    if len(path) > LONGEST_PATH or any(len(part) > LONGEST_NAME for part in parts):
        return LONG
    try:
        path.decode()
    except UnicodeDecodeError:
        return NO_TEXT
    return ""


def leads_out(path: bytes, target: bytes) -> bool:
    """Whether a link's target, as written, is outside of the repository. Links on the way do not matter: only commands
    in the sandbox follow links."""
    if target.startswith(b"/") or not target:
        return True
    place = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
    return place == b".." or place.startswith(b"../")


def is_of_git(part: str) -> bool:
    """Whether some file system may read the name as .git (case, NTFS short names, ignored characters)."""
    plain = re.sub(r"[^a-z0-9.~]", "", part.casefold())
    return plain.rstrip(".") in (".git", "git~1")


def shown(path: bytes) -> str:
    return path.decode(errors="backslashreplace")


def blobs(repository: Path, names: Sequence[str], sizes: Mapping[str, int] | None = None) -> Iterator[bytes]:
    """Yield the contents of blobs in their order.

    They are read in portions, so a caller that drops each needs the memory of one portion, or of the largest blob.
    `sizes` are bytes by name, if the caller knows them.
    """
    for portion in _portions(names, blob_sizes(repository, names) if sizes is None else sizes):
        data, at = git(repository, "cat-file", "--batch", given=_lines(portion)), 0
        while at < len(data):
            end = data.index(b"\n", at)
            size = int(data[at:end].split()[2])
            yield data[end + 1 : end + 1 + size]
            at = end + 1 + size + 1


def _portions(names: Sequence[str], sizes: Mapping[str, int]) -> Iterator[Sequence[str]]:
    begin = together = 0
    for at, name in enumerate(names):
        together += sizes[name]
        if at > begin and (together > PORTION_BYTES or at - begin >= PORTION_BLOBS):
            yield names[begin:at]
            begin, together = at, sizes[name]
    if names:
        yield names[begin:]


def blob_sizes(repository: Path, names: Collection[str]) -> dict[str, int]:
    """Sizes in bytes by name; without objects that are missing or no blobs."""
    if not names:
        return {}
    lines = git(repository, "cat-file", "--batch-check", given=_lines(names)).decode().splitlines()
    return {name: int(more[1]) for name, *more in map(str.split, lines) if more[0] == "blob"}


def _lines(names: Iterable[str]) -> bytes:
    return "".join(f"{name}\n" for name in names).encode()


# ---- writing objects --------------------------------------------------------------------------------------------


def with_entries(repository: Path, tree: str, wanted: Mapping[bytes, TreeEntry]) -> str:
    """The tree with these entries added. Raises FileExistsError if a folder of an entry's path is a file there."""
    lines = {}
    for line in git(repository, "ls-tree", "-z", tree).split(b"\0")[:-1]:
        head, _, name = line.partition(b"\t")
        lines[name] = head
    below: dict[bytes, dict[bytes, TreeEntry]] = {}
    for path, one in wanted.items():
        first, _, rest = path.partition(b"/")
        if rest:
            below.setdefault(first, {})[rest] = one
        else:
            lines[first] = b"%s %s %s" % (one.mode, b"commit" if one.is_submodule else b"blob", one.name.encode())
    for first, inner in below.items():
        mode, _, name = (lines[first] if first in lines else b"%s tree %s" % (FOLDER, EMPTY.encode())).split()
        if mode != FOLDER:
            raise FileExistsError(shown(first))
        lines[first] = b"%s tree %s" % (FOLDER, with_entries(repository, name.decode(), inner).encode())
    given = b"".join(b"%s\t%s\0" % (head, name) for name, head in lines.items())
    return git(repository, "mktree", "-z", "--missing", given=given).decode().strip()


def keep_blob(repository: Path, data: bytes) -> str:
    return git(repository, "hash-object", "-w", "--stdin", given=data).decode().strip()


def keep_commit(repository: Path, data: bytes) -> str:
    return git(repository, "hash-object", "-w", "-t", "commit", "--stdin", given=data).decode().strip()
