"""The spool: the folder of one command, through which other processes read its output and talk to its supervisor.

    started       identity of the supervisor; created exclusively before the command, and never removed
    out           bytes in all, the beginning of the output, and a ring buffer with its end
    times         how many bytes there were at which time
    sizes         changes of the terminal's size, by byte
    sock          socket of the running supervisor
    end           how the command ended
    net           folder with the proxy's socket, if the command has network
    connections   the connections of the command

Why so: missions/DESIGN.md, Terminals.
"""

import base64
import contextlib
import json
import os
import socket
import struct
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from .egress_proxy import LINES, MOST_IN_ALL
from .pty_supervisor import CHUNK, COUNT_BYTES, HEAD, RING, SIZES, process_identity, ring_offset

ANSWER_TIMEOUT = 2.0  # seconds; a supervisor answers at once


class SpoolState(StrEnum):
    NEW = "new"  # not started
    LIVES = "lives"
    ENDED = "ended"
    CUT = "cut"  # started, and its supervisor died; never started again
    REFUSED = "refused"  # marked so that it can never start


class SupervisorSilent(Exception):
    """The supervisor cannot be reached: it has ended, or does not listen yet."""


@dataclass(frozen=True)
class SupervisorReply:
    """A part of the output, from byte `start`, of `total` bytes. `lost` bytes before it are no longer stored."""

    start: int
    data: bytes
    total: int
    lost: int = 0


@dataclass(frozen=True)
class OutputSpool:
    folder: Path

    # ---- state ----------------------------------------------------------------------------------------------

    @property
    def state(self) -> SpoolState:
        if self.end is not None:
            return SpoolState.ENDED
        started = self._read("started")
        if started is None:
            return SpoolState.NEW
        if started.get("refused"):
            return SpoolState.REFUSED
        # it may have ended since `end` was read
        return SpoolState.LIVES if _lives(started) else SpoolState.ENDED if self.end is not None else SpoolState.CUT

    @property
    def end(self) -> dict[str, Any] | None:
        """`code`, `reason` (empty if it ended by itself), `seconds`, `total` (bytes), `digest`, `inputs`."""
        return self._read("end")

    def _read(self, name: str) -> dict[str, Any] | None:
        try:
            found = json.loads((self.folder / name).read_bytes() or b"{}")
        except FileNotFoundError:
            return None
        except ValueError:
            return {}  # created, but not written yet
        return found if isinstance(found, dict) else {}

    def refuse(self) -> bool:
        """Prevent the command from ever starting. False if it has started already."""
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            taken = os.open(self.folder / "started", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o640)
        except FileExistsError:
            return False
        with open(taken, "w") as file:
            json.dump({"refused": time.time()}, file)
        return True

    # ---- output ---------------------------------------------------------------------------------------------

    def said(self, start: int = 0, most: int = HEAD + RING) -> SupervisorReply:
        """Stored output from byte `start`, at most `most` bytes; a negative start counts from the end."""
        try:
            file = os.open(self.folder / "out", os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return SupervisorReply(0, b"", 0)
        try:
            total = _total(file)
            start = max(0, total + start) if start < 0 else min(start, total)
            first, found = _kept(file, start, total, most)
            return SupervisorReply(first, found, total, lost=first - start)
        finally:
            os.close(file)

    @property
    def sizes(self) -> list[tuple[int, int, int]]:
        """Changes of size as (byte, rows, columns); before the first one the terminal has its initial size."""
        try:
            lines = (self.folder / SIZES).read_text().splitlines()
        except OSError:
            return []
        said = [line.split() for line in lines]
        return [(int(one[0]), int(one[1]), int(one[2])) for one in said if len(one) == 4]

    @property
    def changed(self) -> datetime | None:
        """When the last output was written."""
        try:
            return datetime.fromtimestamp((self.folder / "out").stat().st_mtime, UTC)
        except OSError:
            return None

    @property
    def connections(self) -> list[dict[str, Any]]:
        """The connections that a command with network made or tried; see `egress_proxy`."""
        try:
            lines = (self.folder / LINES).read_text().splitlines()
        except OSError:
            return []
        return [json.loads(line) for line in lines[:MOST_IN_ALL] if line.endswith("}")]

    # ---- requests -------------------------------------------------------------------------------------------

    def status(self) -> dict[str, Any]:
        return self._ask(verb="status")

    def type(self, number: int, data: bytes) -> bool:
        """Type the input with this number, once. False if an earlier number is missing."""
        return bool(self._ask(verb="input", number=number, bytes=base64.b64encode(data).decode())["taken"])

    def resize(self, rows: int, columns: int) -> bool:
        """False if the size is out of range, or was changed too often."""
        return bool(self._ask(verb="resize", rows=rows, columns=columns)["resized"])

    def stop(self, reason: str) -> None:
        """End the command: SIGINT, then SIGTERM, then SIGKILL."""
        with contextlib.suppress(SupervisorSilent):
            self._ask(verb="end", reason=reason)

    def _ask(self, **said: Any) -> dict[str, Any]:
        """Raises SupervisorSilent."""
        try:
            with _place(self.folder) as address, socket.socket(socket.AF_UNIX) as client:
                client.settimeout(ANSWER_TIMEOUT)
                client.connect(address)
                client.sendall(json.dumps(said).encode() + b"\n")
                answer = json.loads(client.makefile("rb").readline())
        except (OSError, ValueError) as error:
            raise SupervisorSilent(str(error)) from error
        return dict(answer)


@contextlib.contextmanager
def _place(folder: Path) -> Any:
    """The socket's address through a descriptor: addresses have at most 107 bytes, and paths may be longer."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{descriptor}/sock"
    finally:
        os.close(descriptor)


def _lives(started: dict[str, Any]) -> bool:
    """Whether the same process of this boot is running; process ids are reused."""
    try:
        return process_identity(int(started["pid"])) == {name: started[name] for name in ("pid", "since", "boot")}
    except KeyError:
        return True  # started this moment, not written yet
    except OSError:
        return False


def _total(file: int) -> int:
    return int(struct.unpack("<Q", os.pread(file, COUNT_BYTES, 0).ljust(COUNT_BYTES, b"\0"))[0])


def _kept(file: int, start: int, total: int, most: int) -> tuple[int, bytes]:
    """The stored bytes from `start`, and the position of the first one: bytes before it may be lost."""
    if start < HEAD:
        stop = min(start + most, total)
        head = os.pread(file, min(stop, HEAD) - start, COUNT_BYTES + start)
        if stop <= HEAD or _oldest(file) > HEAD:
            return start, head  # the part after a gap must be requested separately
        return start, head + _of_ring(file, HEAD, stop)
    first = min(max(start, _oldest(file)), total)
    found = _of_ring(file, first, min(first + most, total))
    written_over = min(max(_oldest(file) - first, 0), len(found))  # while it was read
    return first + written_over, found[written_over:]


def _oldest(file: int) -> int:
    """The first byte of the ring that a write in progress cannot overwrite."""
    return max(HEAD, _total(file) + CHUNK - RING)


def _of_ring(file: int, start: int, stop: int) -> bytes:
    found = []
    while start < stop:
        place = ring_offset(start)
        room = min(stop - start, HEAD + RING - place)
        found.append(os.pread(file, room, COUNT_BYTES + place))
        start += room
    return b"".join(found)
