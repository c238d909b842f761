"""The folder that a keeper leaves its command's output in, read and spoken to from outside; what came of a command.

    started   who began it: there once and for ever, before there is a process
    out       how much was said in all, the beginning of it, and a ring of its end
    times     when how much had been said
    sizes     which size its terminal has had from which byte on, where it was changed
    sock      where a living keeper is spoken to
    end       how it ended
    net       where a proxy listens, if it was given a network; connections: what it reached

Why so: docs/decisions.md, Terminals.
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

ANSWER_TIMEOUT = 2.0  # a keeper answers at once; one that does not is looked for by its number


class SpoolState(StrEnum):
    NEW = "new"  # nobody began it
    LIVES = "lives"
    ENDED = "ended"
    CUT = "cut"  # begun, and whoever kept it is gone: never begun again
    REFUSED = "refused"  # somebody saw to it that it never begins


class SupervisorSilent(Exception):
    """The keeper cannot be reached: it has ended, or not yet begun to listen."""


@dataclass(frozen=True)
class SupervisorReply:
    """A part of the output: from the byte `start` on, of `total`; `lost` bytes before it are kept no more."""

    start: int
    data: bytes
    total: int
    lost: int = 0


@dataclass(frozen=True)
class OutputSpool:
    folder: Path

    # ---- how it stands --------------------------------------------------------------------------------------

    @property
    def state(self) -> SpoolState:
        if self.end is not None:
            return SpoolState.ENDED
        started = self._read("started")
        if started is None:
            return SpoolState.NEW
        if started.get("refused"):
            return SpoolState.REFUSED
        # it may have ended between the two looks
        return SpoolState.LIVES if _lives(started) else SpoolState.ENDED if self.end is not None else SpoolState.CUT

    @property
    def end(self) -> dict[str, Any] | None:
        """`code`, `reason` (empty where it ended by itself), `seconds`, `total`, `digest`, `inputs`."""
        return self._read("end")

    def _read(self, name: str) -> dict[str, Any] | None:
        try:
            found = json.loads((self.folder / name).read_bytes() or b"{}")
        except FileNotFoundError:
            return None
        except ValueError:
            return {}  # begun this moment: what it says is not yet written
        return found if isinstance(found, dict) else {}

    def refuse(self) -> bool:
        """See to it that it never begins, whoever tries later. False where it has begun already."""
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            taken = os.open(self.folder / "started", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o640)
        except FileExistsError:
            return False
        with open(taken, "w") as file:
            json.dump({"refused": time.time()}, file)
        return True

    # ---- what it said ---------------------------------------------------------------------------------------

    def said(self, start: int = 0, most: int = HEAD + RING) -> SupervisorReply:
        """From the byte `start` on, as far as it is kept; a negative one counts from the end."""
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
        """From which byte on the terminal had which rows and columns; before that it had those that it begins with."""
        try:
            lines = (self.folder / SIZES).read_text().splitlines()
        except OSError:
            return []
        said = [line.split() for line in lines]
        return [(int(one[0]), int(one[1]), int(one[2])) for one in said if len(one) == 4]

    @property
    def changed(self) -> datetime | None:
        """When it said something last."""
        try:
            return datetime.fromtimestamp((self.folder / "out").stat().st_mtime, UTC)
        except OSError:
            return None

    @property
    def connections(self) -> list[dict[str, Any]]:
        """What a command with a network has reached, or tried to: see `terminals/proxy.py`."""
        try:
            lines = (self.folder / LINES).read_text().splitlines()
        except OSError:
            return []
        return [json.loads(line) for line in lines[:MOST_IN_ALL] if line.endswith("}")]

    # ---- what it is told ------------------------------------------------------------------------------------

    def status(self) -> dict[str, Any]:
        return self._ask(verb="status")

    def type(self, number: int, data: bytes) -> bool:
        """Whether these bytes have been typed, now or before; False where a number before is missing."""
        return bool(self._ask(verb="input", number=number, bytes=base64.b64encode(data).decode())["taken"])

    def resize(self, rows: int, columns: int) -> bool:
        """False where it is no size that may be, or was changed too often."""
        return bool(self._ask(verb="resize", rows=rows, columns=columns)["resized"])

    def stop(self, reason: str) -> None:
        """It is interrupted, then told harder, then killed."""
        with contextlib.suppress(SupervisorSilent):
            self._ask(verb="end", reason=reason)

    def _ask(self, **said: Any) -> dict[str, Any]:
        """Raises Silent."""
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
    """The address of its socket by way of a descriptor: an address may have 107 bytes, and a folder more."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{descriptor}/sock"
    finally:
        os.close(descriptor)


def _lives(started: dict[str, Any]) -> bool:
    """Of this boot of this machine, and the very process: numbers are given again."""
    try:
        return process_identity(int(started["pid"])) == {name: started[name] for name in ("pid", "since", "boot")}
    except KeyError:
        return True  # begun this moment
    except OSError:
        return False


def _total(file: int) -> int:
    return int(struct.unpack("<Q", os.pread(file, COUNT_BYTES, 0).ljust(COUNT_BYTES, b"\0"))[0])


def _kept(file: int, start: int, total: int, most: int) -> tuple[int, bytes]:
    """What is kept from this byte on, and the first that it begins at: some before it may be lost."""
    if start < HEAD:
        stop = min(start + most, total)
        head = os.pread(file, min(stop, HEAD) - start, COUNT_BYTES + start)
        if stop <= HEAD or _oldest(file) > HEAD:
            return start, head  # what lies behind a gap is asked for by itself
        return start, head + _of_ring(file, HEAD, stop)
    first = min(max(start, _oldest(file)), total)
    found = _of_ring(file, first, min(first + most, total))
    written_over = min(max(_oldest(file) - first, 0), len(found))  # while it was read
    return first + written_over, found[written_over:]


def _oldest(file: int) -> int:
    """The first byte of the ring that is whole, whatever is being written."""
    return max(HEAD, _total(file) + CHUNK - RING)


def _of_ring(file: int, start: int, stop: int) -> bytes:
    found = []
    while start < stop:
        place = ring_offset(start)
        room = min(stop - start, HEAD + RING - place)
        found.append(os.pread(file, room, COUNT_BYTES + place))
        start += room
    return b"".join(found)
