"""Files of a workspace, accessed through descriptors, so that no path leads out of it and nothing is checked before it
is opened (no TOCTOU).

Why so: missions/DESIGN.md, Missions.
"""

import ctypes
import errno
import os
import secrets
import stat
import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha1, sha256
from pathlib import Path
from typing import IO

FIRST = "F"  # the kind of change of an original
OPENAT2 = 437  # the same number on all architectures
NO_MAGIC_LINKS, NO_LINKS, BENEATH = 0x02, 0x04, 0x08
LONGEST = 400_000  # bytes of one text
MOST_FILES, MOST_CHANGES = 100_000, 5_000  # files that are checked for changes, and changes returned at once
MAX_TEXT_BYTES = 50_000_000  # of all changes returned at once, which bounds the engine's memory
SETTLED = 50_000_000  # nanoseconds: a younger file may be written again without a new timestamp
KNOWN_PLACES = 4  # workspaces whose digests are cached
IGNORED_NAMES = frozenset({".git", "__pycache__", "node_modules", ".venv", ".pytest_cache", ".ruff_cache"})
PREFIX = "/workspace/"
_libc = ctypes.CDLL(None, use_errno=True)


class FileProblem(Exception):
    """The operation failed. `code` is a word for programs, `say` a sentence."""

    def __init__(self, code: str, say: str) -> None:
        super().__init__(f"{code}: {say}")
        self.code, self.say = code, say


class _OpenHow(ctypes.Structure):
    _fields_ = [("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64)]


@dataclass(frozen=True)
class FoundFile:
    path: str
    kind: str  # file, folder, link, other
    size: int
    runs: bool = False  # executable
    mark: tuple[int, ...] = ()  # inode, size, mtime and ctime, which change when it is written


@dataclass(frozen=True)
class FileChange:
    """A changed file; `text` is empty for binary files and for those that are too long."""

    path: str
    change: str  # A, M or D; F for an original before its first change
    digest: str
    size: int
    text: str

    @property
    def text_bytes(self) -> int:
        return self.size if self.text else 0


def digest_of(data: bytes) -> str:
    return sha256(data).hexdigest()


def blob_name(data: bytes) -> str:
    """The git object name of a blob with this data."""
    return sha1(b"blob %d\0%b" % (len(data), data), usedforsecurity=False).hexdigest()


@dataclass(frozen=True)
class _Digests:
    """Digests of a file's content while it had this mark."""

    mark: tuple[int, ...]
    digest: str
    blob: str


_known: OrderedDict[Path, dict[str, _Digests]] = OrderedDict()  # cache of this process, least recently used first


def relative_path(path: str) -> str:
    """The path relative to the workspace; /workspace/ is removed. Raises FileProblem."""
    path = path.strip()
    if path in ("/workspace", PREFIX):
        return "."
    path = path.removeprefix(PREFIX)
    if not path or path.startswith("/") or "\0" in path or len(os.fsencode(path)) > 4_000:
        raise FileProblem("outside", f"{path[:200]!r} is no path in the workspace.")
    return os.path.normpath(path) if ".." not in Path(path).parts else path


class Workspace:
    def __init__(self, root: Path) -> None:
        self._root = root

    def read(self, path: str, most: int = LONGEST * 8) -> bytes:
        """The content of a file of at most `most` bytes. Raises FileProblem."""
        return self.data(relative_path(path), most)

    def data(self, path: str, most: int = LONGEST * 8) -> bytes:
        """The content of a file whose path came from a listing, whatever its name. Raises FileProblem."""
        with self._opened(path, os.O_RDONLY | os.O_NONBLOCK) as found:
            kind = os.fstat(found).st_mode
            if stat.S_ISDIR(kind):
                raise FileProblem("is_directory", f"{path} is a folder.")
            if not stat.S_ISREG(kind):
                raise FileProblem("not_found", f"{path} is no file.")
            with os.fdopen(os.dup(found), "rb") as file:
                data = file.read(most + 1)
        if len(data) > most:
            raise FileProblem("too_large", f"{path} has more than {most:,} bytes: look at a part of it by a command.")
        return data

    @contextmanager
    def opened(self, path: str, most: int) -> Iterator[IO[bytes]]:
        """Open a file for another program. Raises FileProblem."""
        with self._opened(relative_path(path), os.O_RDONLY | os.O_NONBLOCK) as found:
            about = os.fstat(found)
            if not stat.S_ISREG(about.st_mode):
                raise FileProblem("not_found", f"{path} is no file.")
            if about.st_size > most:
                raise FileProblem("too_large", f"{path} has more than {most:,} bytes.")
            with os.fdopen(os.dup(found), "rb") as file:
                yield file

    def write(self, path: str, data: bytes) -> None:
        """Write a file atomically and create missing folders. Raises FileProblem."""
        path = relative_path(path)
        folder, name = os.path.split(path)
        if name in ("", ".", ".."):
            raise FileProblem("outside", f"{path} is no name of a file.")
        self._make(folder)
        with self._at(folder or ".", os.O_PATH | os.O_DIRECTORY) as at:
            self._replace(at, name, data, path)

    def remove(self, path: str) -> None:
        """Remove a file; folders are refused. Raises FileProblem."""
        folder, name = os.path.split(relative_path(path))
        with self._at(folder or ".", os.O_PATH | os.O_DIRECTORY) as at:
            try:
                os.unlink(name, dir_fd=at)
            except OSError as error:
                raise FileProblem("not_written", f"{path}: {error.strerror}.") from error

    def is_executable(self, path: str) -> bool:
        """Raises FileProblem."""
        with self._opened(path, os.O_PATH) as found:
            return bool(os.fstat(found).st_mode & 0o100)

    def make_executable(self, path: str) -> None:
        """Raises FileProblem."""
        with self._opened(relative_path(path), os.O_RDONLY | os.O_NONBLOCK) as found:
            os.fchmod(found, stat.S_IMODE(os.fstat(found).st_mode) & 0o777 | 0o111)

    def _replace(self, at: int, name: str, data: bytes, path: str) -> None:
        mode, temporary = self._mode_of(at, name, path), f".{secrets.token_hex(8)}.new"
        try:
            made = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode, dir_fd=at)
            with open(made, "wb") as file:
                file.write(data)
                self._hand_over(file.fileno())
                os.fchmod(file.fileno(), mode)
            os.replace(temporary, name, src_dir_fd=at, dst_dir_fd=at)
        except OSError as error:
            with suppress(OSError):  # a command may have removed it or closed the folder
                os.unlink(temporary, dir_fd=at)
            raise FileProblem("not_written", f"{path}: {error.strerror}.") from error

    def _mode_of(self, at: int, name: str, path: str) -> int:
        try:
            found = os.stat(name, dir_fd=at, follow_symlinks=False)
        except FileNotFoundError:
            return 0o644
        if not stat.S_ISREG(found.st_mode):
            raise FileProblem("is_directory", f"{path} is no file that can be written.")
        return stat.S_IMODE(found.st_mode) & 0o777

    def _make(self, folder: str) -> None:
        parts = Path(folder).parts
        for depth, name in enumerate(parts):
            with self._at(os.path.join(*parts[:depth]) if depth else ".", os.O_PATH | os.O_DIRECTORY) as at:
                try:
                    os.mkdir(name, 0o755, dir_fd=at)
                except FileExistsError:
                    continue
                except OSError as error:
                    raise FileProblem("not_written", f"{folder}: {error.strerror}.") from error
            with self._at(os.path.join(*parts[: depth + 1]), os.O_RDONLY | os.O_DIRECTORY) as made:
                self._hand_over(made)

    def _hand_over(self, descriptor: int) -> None:
        """Give the file to the user of commands, if that is another one."""
        owner = os.stat(self._root)
        if os.geteuid() == 0 and owner.st_uid != 0:
            os.fchown(descriptor, owner.st_uid, owner.st_gid)

    def listed(self, path: str = ".", depth: int = 1, most: int = 500) -> tuple[list[FoundFile], int]:
        """Sorted entries, and the number of those beyond `most`. Links are listed and never followed.

        Raises FileProblem.
        """
        found, more = list[FoundFile](), 0
        for one in self._walk(relative_path(path) if path != "." else ".", depth):
            if len(found) < most:
                found.append(one)
            else:
                more += 1
        return found, more

    def _walk(self, folder: str, depth: int) -> Iterator[FoundFile]:
        with self._opened(folder, os.O_RDONLY | os.O_DIRECTORY) as at, os.scandir(at) as entries:
            here = sorted(_standing(entries))
        for name, about in here:
            path = os.path.normpath(os.path.join(folder, name))
            kind = _kind_of(about.st_mode)
            mark = (about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns)
            yield FoundFile(path, kind, about.st_size, bool(about.st_mode & 0o100), mark)
            if kind == "folder" and depth > 1 and name not in IGNORED_NAMES:
                with suppress(FileProblem):  # a running command has removed it meanwhile
                    yield from self._walk(path, depth - 1)

    def changes(self, known: Mapping[str, str], first: Mapping[str, str] | None = None) -> list[FileChange]:
        """Changes since `known`, digests by path, and `first`, git blob names of files without a stored version.

        They are sorted by path. If there are too many, or their texts are too long, only the first ones are returned:
        once they are saved, the next call returns others.
        """
        first, room = first or {}, MAX_TEXT_BYTES
        found = list[FileChange]()
        there = set[str]()
        before, now = self._known(), dict[str, _Digests]()
        for one in self.files():
            path = os.fsencode(one.path).decode(errors="replace")  # rows cannot store a name that is not UTF-8
            there.add(path)
            seen = before.get(one.path)
            if seen and seen.mark == one.mark:
                now[one.path] = seen
                if seen.digest == known.get(path) or (path not in known and seen.blob == first.get(path)):
                    continue
            if room <= 0 or len(found) >= MOST_CHANGES:
                continue
            try:
                data = self.data(one.path)
            except FileProblem:
                continue  # removed meanwhile, or too large
            seen = _Digests(one.mark, digest_of(data), blob_name(data))
            if one.mark[-1] < time.time_ns() - SETTLED:
                now[one.path] = seen
            if seen.digest != known.get(path) and (path in known or seen.blob != first.get(path)):
                change = "M" if path in known or path in first else "A"
                found.append(FileChange(path, change, seen.digest, len(data), text_of(data)))
                room -= found[-1].text_bytes
        _known[self._root] = now
        left = [
            path for path in (*known, *first) if path not in there
        ]  # files beyond MOST_FILES are not removed, so each is checked
        gone = [FileChange(path, "D", "", 0, "") for path in left if not self._is_file(path)]
        return sorted([*found, *gone], key=lambda one: one.path)[:MOST_CHANGES]

    def _known(self) -> Mapping[str, _Digests]:
        found = _known.pop(self._root, {})
        while len(_known) >= KNOWN_PLACES:
            _known.popitem(last=False)
        return found

    def lacks_folder(self, path: str) -> bool:
        """Whether there is no folder at the path. False for a path over a link, which only a command can follow."""
        try:
            with self._at(path, os.O_PATH) as found:
                return not stat.S_ISDIR(os.fstat(found).st_mode)
        except FileProblem as problem:
            return problem.code == "not_found"

    def _is_file(self, path: str) -> bool:
        try:
            with self._opened(path, os.O_PATH) as found:
                return stat.S_ISREG(os.fstat(found).st_mode)
        except FileProblem:
            return False

    def files(self) -> Iterator[FoundFile]:
        """The first MOST_FILES files."""
        count = 0
        for one in self._walk(".", 64):
            if one.kind == "file":
                count += 1
                if count > MOST_FILES:
                    return
                yield one

    def _at(self, path: str, flags: int) -> AbstractContextManager[int]:
        return self._opened(relative_path(path) if path != "." else ".", flags)

    @contextmanager
    def _opened(self, path: str, flags: int) -> Iterator[int]:
        root = os.open(self._root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            found = _beneath(root, path, flags | os.O_CLOEXEC)
        finally:
            os.close(root)
        try:
            yield found
        finally:
            os.close(found)


PROBLEM_TEXT = {
    errno.ENOENT: ("not_found", "There is nothing at {path}."),
    errno.ENOTDIR: ("not_found", "There is no folder on the way to {path}."),
    errno.EXDEV: ("outside", "{path} leads out of the workspace."),
    errno.ELOOP: ("outside", "{path} is a link, or leads over one."),
}


def _beneath(root: int, path: str, flags: int) -> int:
    how = _OpenHow(flags, 0, BENEATH | NO_LINKS | NO_MAGIC_LINKS)
    found = _libc.syscall(OPENAT2, root, os.fsencode(path), ctypes.byref(how), ctypes.sizeof(how))
    if found >= 0:
        return int(found)
    number = ctypes.get_errno()
    code, say = PROBLEM_TEXT.get(number, ("not_found", f"{{path}}: {os.strerror(number)}."))
    raise FileProblem(code, say.format(path=path))


def _standing(entries: Iterable[os.DirEntry[str]]) -> Iterator[tuple[str, os.stat_result]]:
    """Names and stat results, without entries that were removed since they were listed."""
    for one in entries:
        with suppress(FileNotFoundError):
            yield one.name, one.stat(follow_symlinks=False)


def _kind_of(mode: int) -> str:
    kinds = {stat.S_IFREG: "file", stat.S_IFDIR: "folder", stat.S_IFLNK: "link"}
    return kinds.get(stat.S_IFMT(mode), "other")


def text_of(data: bytes) -> str:
    """The text; empty if it is binary or too long to be stored."""
    if len(data) > LONGEST or b"\0" in data:
        return ""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return ""
