"""Read the text files of an archive.

This file runs as a program in the child process of `toolbox.limited_process`, so it imports only the standard library.
It writes nothing to the disk, so names of entries cannot escape a folder.

Why so: missions/DESIGN.md, Missions.
"""

import bz2
import io
import json
import lzma
import stat
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

ENTRIES, FILES = 20_000, 2_000
LONGEST, TOGETHER, UNPACKED = 400_000, 20_000_000, 100_000_000  # bytes
MEMORY = 64_000_000  # bytes, limit of the xz decoder
GIT_FOLDER = ".git"


class InvalidArchive(Exception):
    """The archive is refused as a whole. The message is a sentence for people."""


@dataclass(frozen=True)
class ArchiveFile:
    name: str
    read: Callable[[int], bytes] | None  # takes the maximum of bytes; None for what is no regular file


def read_archive(data: bytes) -> dict[str, Any]:
    """Return the content of the archive as JSON values. Raises InvalidArchive.

    files: pairs of path and text
    left_out: paths of files that are not UTF-8 or too long
    no_files: names of links, devices, and entries whose names are not UTF-8
    """
    files, left_out, no_files, together, seen = dict[str, str](), list[str](), list[str](), 0, 0
    for member in _members(data):
        if member.read is None:
            no_files.append(member.name.encode(errors="backslashreplace").decode()[:200])
            continue
        path = _path(member.name)
        if GIT_FOLDER in path.split("/"):
            continue
        if path in files or path in left_out:
            raise InvalidArchive(f"{path[:200]} is in it twice.")
        found = member.read(LONGEST + 1)
        seen += len(found)
        if (text := _text(found)) is None:
            left_out.append(path)
        else:
            files[path], together = text, together + len(found)
        if len(files) > FILES or together > TOGETHER or seen > UNPACKED:
            raise InvalidArchive(f"It has more than {FILES:,} texts, or more than {TOGETHER // 1_000_000} MB of them.")
    _refuse_files_as_folders(files)
    return {"files": list(files.items()), "left_out": left_out, "no_files": no_files}


def has_repository(data: bytes) -> bool:
    """Whether the archive contains a .git folder; `repositories.opening` then opens it, with other limits."""
    try:
        if data[:2] == b"PK":
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                return any(_is_head(name) for name in archive.namelist())
        with tarfile.open(fileobj=io.BytesIO(data), mode="r|*") as packed:
            return any(_is_head(member.name) for member in packed)
    except (zipfile.BadZipFile, tarfile.TarError, EOFError, OSError, ValueError, zlib.error, lzma.LZMAError):
        return False


def _is_head(name: str) -> bool:
    return f"/{name}".endswith(f"/{GIT_FOLDER}/HEAD")


def _text(data: bytes) -> str | None:
    if len(data) > LONGEST or b"\0" in data:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _path(name: str) -> str:
    """The normalised path within the workspace. Raises InvalidArchive for one that leads out of it."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    odd = "\\" in name or "\0" in name or any(0xD800 <= ord(one) <= 0xDFFF for one in name)
    if not parts or name.startswith("/") or ".." in parts or odd or len(name) > 1_000:
        raise InvalidArchive(f"{name[:200]!a} is no path within a folder.")
    return "/".join(parts)


def _refuse_files_as_folders(files: dict[str, str]) -> None:
    for path in files:
        parts = path.split("/")
        if any("/".join(parts[:depth]) in files for depth in range(1, len(parts))):
            raise InvalidArchive(f"{path[:200]} lies in what is a file.")


def _members(data: bytes) -> Iterator[ArchiveFile]:
    if zipfile.is_zipfile(io.BytesIO(data)) and data[:2] == b"PK":
        yield from _of_zip(data)
    else:
        yield from _of_tar(_decompressed(data))


def _of_zip(data: bytes) -> Iterator[ArchiveFile]:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            infos = archive.infolist()
            _refuse_too_many(len(infos))
            for info in infos:
                kind = stat.S_IFMT(info.external_attr >> 16)
                if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
                    yield ArchiveFile(info.filename, None)
                    continue
                if info.flag_bits & 1:
                    raise InvalidArchive("It is locked by a password.")
                if not info.is_dir():
                    yield ArchiveFile(info.filename, lambda most, info=info: _read(archive.open(info), most))  # type: ignore[misc]
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, lzma.LZMAError, OSError) as error:
        raise InvalidArchive(f"It cannot be read: {error}") from error


def _of_tar(data: bytes) -> Iterator[ArchiveFile]:
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
            for number, info in enumerate(archive, 1):
                _refuse_too_many(number)
                if info.isdir():
                    continue
                if not info.isreg() or any(0xD800 <= ord(one) <= 0xDFFF for one in info.name):
                    yield ArchiveFile(info.name, None)
                    continue
                yield ArchiveFile(info.name, lambda most, info=info: _read(archive.extractfile(info), most))  # type: ignore[misc]
    except (tarfile.TarError, EOFError, OSError, ValueError) as error:
        raise InvalidArchive("It is neither zip nor tar, or it is broken.") from error


def _read(opened: Any, most: int) -> bytes:
    with opened as file:
        data: bytes = file.read(most)
        return data


def _refuse_too_many(count: int) -> None:
    if count > ENTRIES:
        raise InvalidArchive(f"It has more than {ENTRIES:,} entries.")


def _decompressed(data: bytes) -> bytes:
    """The decompressed data, with a bound on memory: archives may expand to any size."""
    try:
        if data.startswith(b"\x1f\x8b"):
            found = zlib.decompressobj(31).decompress(data, UNPACKED + 1)
        elif data.startswith(b"BZh"):
            found = bz2.BZ2Decompressor().decompress(data, UNPACKED + 1)
        elif data.startswith(b"\xfd7zXZ\0"):
            found = lzma.LZMADecompressor(memlimit=MEMORY).decompress(data, UNPACKED + 1)
        else:
            found = data
    except (zlib.error, OSError, lzma.LZMAError, EOFError) as error:
        raise InvalidArchive(f"It cannot be unpacked: {error}") from error
    if len(found) > UNPACKED:
        raise InvalidArchive(f"It has more than {UNPACKED // 1_000_000} MB once it is unpacked.")
    return found


def _main() -> None:
    try:
        data = sys.stdin.buffer.read()
        result = {"git": True} if has_repository(data) else read_archive(data)
    except InvalidArchive as error:
        result = {"wrong": str(error)}
    json.dump(result, sys.stdout)


if __name__ == "__main__":
    _main()
