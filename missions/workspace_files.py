"""Files of a workspace, read and written by descriptors: no path leads out of it, and nothing is looked at first and
opened later.

Why so: docs/decisions.md, Missions.
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

FIRST = "F"  # the change of what was there before any
OPENAT2 = 437  # on every machine that has it
NO_MAGIC_LINKS, NO_LINKS, BENEATH = 0x02, 0x04, 0x08
LONGEST = 400_000  # bytes of a text that is read, written or kept
MOST_FILES, MOST_CHANGES = 100_000, 5_000  # that are looked at for changes, and that are told at once
MAX_TEXT_BYTES = (
    50_000_000  # of changed files that are told at once, so that no crew decides how much memory that needs
)
SETTLED = 50_000_000  # nanoseconds: what was written just before may be written again without another time
KNOWN_PLACES = 4  # workspaces of whose files is known what stood in them
IGNORED_NAMES = frozenset({".git", "__pycache__", "node_modules", ".venv", ".pytest_cache", ".ruff_cache"})
PREFIX = "/workspace/"
_libc = ctypes.CDLL(None, use_errno=True)


class FileProblem(Exception):
    """It was not done: a word for programs, and a sentence."""

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
    runs: bool = False  # whether it is a program
    mark: tuple[int, ...] = ()  # that is another one once it was written to; the last is when that was


@dataclass(frozen=True)
class FileChange:
    """`text` is empty of what is no text, or longer than is kept."""

    path: str
    change: str  # A, M or D; F of what was there first, before its first change
    digest: str
    size: int
    text: str

    @property
    def text_bytes(self) -> int:
        return self.size if self.text else 0


def digest_of(data: bytes) -> str:
    return sha256(data).hexdigest()


def blob_name(data: bytes) -> str:
    """As git names what stands in a file."""
    return sha1(b"blob %d\0%b" % (len(data), data), usedforsecurity=False).hexdigest()


@dataclass(frozen=True)
class _Digests:
    """Of what stood in a file as long as it had this mark."""

    mark: tuple[int, ...]
    digest: str
    blob: str


_known: OrderedDict[Path, dict[str, _Digests]] = OrderedDict()  # in this process, of the workspaces looked at last


def relative_path(path: str) -> str:
    """As from the workspace: what stands in front of it in commands is taken off. FileProblem."""
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
        """FileProblem."""
        return self.data(relative_path(path), most)

    def data(self, path: str, most: int = LONGEST * 8) -> bytes:
        """Of one that was found, whatever its name is. FileProblem."""
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
        """A file, to be read by another program. FileProblem."""
        with self._opened(relative_path(path), os.O_RDONLY | os.O_NONBLOCK) as found:
            about = os.fstat(found)
            if not stat.S_ISREG(about.st_mode):
                raise FileProblem("not_found", f"{path} is no file.")
            if about.st_size > most:
                raise FileProblem("too_large", f"{path} has more than {most:,} bytes.")
            with os.fdopen(os.dup(found), "rb") as file:
                yield file

    def write(self, path: str, data: bytes) -> None:
        """Whole or not at all. Folders that are missing are made. FileProblem."""
        path = relative_path(path)
        folder, name = os.path.split(path)
        if name in ("", ".", ".."):
            raise FileProblem("outside", f"{path} is no name of a file.")
        self._make(folder)
        with self._at(folder or ".", os.O_PATH | os.O_DIRECTORY) as at:
            self._replace(at, name, data, path)

    def remove(self, path: str) -> None:
        """A file, and no folder. FileProblem."""
        folder, name = os.path.split(relative_path(path))
        with self._at(folder or ".", os.O_PATH | os.O_DIRECTORY) as at:
            try:
                os.unlink(name, dir_fd=at)
            except OSError as error:
                raise FileProblem("not_written", f"{path}: {error.strerror}.") from error

    def is_executable(self, path: str) -> bool:
        """Whether it is a program. FileProblem."""
        with self._opened(path, os.O_PATH) as found:
            return bool(os.fstat(found).st_mode & 0o100)

    def make_executable(self, path: str) -> None:
        """FileProblem."""
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
            with suppress(OSError):  # a command may have taken it away, or closed the folder
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
        """To whoever commands run as, where that is somebody else."""
        owner = os.stat(self._root)
        if os.geteuid() == 0 and owner.st_uid != 0:
            os.fchown(descriptor, owner.st_uid, owner.st_gid)

    def listed(self, path: str = ".", depth: int = 1, most: int = 500) -> tuple[list[FoundFile], int]:
        """In their order, and how many were left out. Links are shown and never followed. FileProblem."""
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
                with suppress(FileProblem):  # what lives beside has taken it away meanwhile
                    yield from self._walk(path, depth - 1)

    def changes(self, known: Mapping[str, str], first: Mapping[str, str] | None = None) -> list[FileChange]:
        """What is otherwise than `known`, digests by paths, and than `first`, names of blobs by paths that are not in
        it; in the order of paths. Of the first files alone, where there are too many or their texts are too long: once
        these are known, the next call returns others."""
        first, room = first or {}, MAX_TEXT_BYTES
        found = list[FileChange]()
        there = set[str]()
        before, now = self._known(), dict[str, _Digests]()
        for one in self.files():
            path = os.fsencode(one.path).decode(errors="replace")  # no row holds the bytes of a name that is no text
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
                continue  # it has gone meanwhile, or is too large to be looked at
            seen = _Digests(one.mark, digest_of(data), blob_name(data))
            if one.mark[-1] < time.time_ns() - SETTLED:
                now[one.path] = seen
            if seen.digest != known.get(path) and (path in known or seen.blob != first.get(path)):
                change = "M" if path in known or path in first else "A"
                found.append(FileChange(path, change, seen.digest, len(data), text_of(data)))
                room -= found[-1].text_bytes
        _known[self._root] = now
        left = [path for path in (*known, *first) if path not in there]  # what is not looked at need not have gone
        gone = [FileChange(path, "D", "", 0, "") for path in left if not self._is_file(path)]
        return sorted([*found, *gone], key=lambda one: one.path)[:MOST_CHANGES]

    def _known(self) -> Mapping[str, _Digests]:
        found = _known.pop(self._root, {})
        while len(_known) >= KNOWN_PLACES:
            _known.popitem(last=False)
        return found

    def lacks_folder(self, path: str) -> bool:
        """Where a link stands in the way nobody can say so but who follows it."""
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
        """All that are looked at."""
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
    """Without those that a command has taken away since they were listed."""
    for one in entries:
        with suppress(FileNotFoundError):
            yield one.name, one.stat(follow_symlinks=False)


def _kind_of(mode: int) -> str:
    kinds = {stat.S_IFREG: "file", stat.S_IFDIR: "folder", stat.S_IFLNK: "link"}
    return kinds.get(stat.S_IFMT(mode), "other")


def text_of(data: bytes) -> str:
    """Empty where it is no text, or too long to be kept."""
    if len(data) > LONGEST or b"\0" in data:
        return ""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return ""
