"""Work that may run away, in a child process with an end: of time, of memory, of what it says.

The child has none of our environment, so none of our keys, and makes no file. It is this very file that starts there:
it sets the limits to itself before anything of the program is read.

Why so: docs/decisions.md, Documents.
"""

import math
import os
import resource
import runpy
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import astuple, dataclass
from pathlib import Path

MAX_PROCESSES = 2  # children of one process: what they may take counts for each
PATIENCE = 10.0  # seconds for which a child waits until it may begin
NO_MEMORY = 3  # the exit status of a child that had not enough


@dataclass(frozen=True)
class ProcessLimits:
    seconds: float = 10.0
    memory: int = 256 * 2**20  # bytes of address space
    output: int = 8 * 2**20  # bytes


class ProcessStopped(Exception):
    """The child gave nothing. It never began, was still at work when its time was over, or ended without a result."""


class NoProcessSlot(ProcessStopped): ...


class ProcessTimedOut(ProcessStopped): ...


class ProcessOutOfMemory(ProcessStopped): ...


class ProcessFailed(ProcessStopped): ...


_places = threading.BoundedSemaphore(MAX_PROCESSES)


@contextmanager
def _place(patience: float) -> Iterator[None]:
    if not _places.acquire(timeout=patience):
        raise NoProcessSlot
    try:
        yield
    finally:
        _places.release()


def run_limited(
    program: Path, data: bytes, bounds: ProcessLimits | None = None, patience: float = PATIENCE, until: float = math.inf
) -> bytes:
    """What this program says, to which `data` is its standard input. Stopped where it comes to no end within bounds or
    `until` then by `time.monotonic`, or others are at work for so many seconds."""
    bounds = bounds or ProcessLimits()
    limits = [str(limit) for limit in astuple(bounds)]
    # a file: the system itself then ends what says too much
    with _place(_left(patience, until)), tempfile.TemporaryFile() as said:
        command = [sys.executable, "-IB", __file__, str(program), *limits]
        try:
            done = subprocess.run(  # noqa: S603 - our own file
                command,
                input=data,
                stdout=said,
                stderr=subprocess.DEVNULL,
                env={},
                timeout=_left(bounds.seconds, until),
            )
        except subprocess.TimeoutExpired as error:
            raise ProcessTimedOut from error
        if done.returncode:
            raise ProcessOutOfMemory if done.returncode == NO_MEMORY else ProcessFailed
        said.seek(0)
        return said.read()


def _left(seconds: float, until: float) -> float:
    return max(0.0, min(seconds, until - time.monotonic()))


# ---- in the child -----------------------------------------------------------------------------------------


def _limit(bounds: ProcessLimits) -> None:
    processor = int(bounds.seconds) + 1  # for a child whose parent is gone
    limits = {
        resource.RLIMIT_CPU: processor,
        resource.RLIMIT_AS: bounds.memory,
        resource.RLIMIT_FSIZE: bounds.output,
        resource.RLIMIT_CORE: 0,
    }
    for which, most in limits.items():
        with suppress(ValueError, OSError):  # macOS knows no limit of the address space: its time ends all the same
            resource.setrlimit(which, (most, most))


def _main(program: str, seconds: str, memory: str, output: str) -> None:
    _limit(ProcessLimits(float(seconds), int(memory), int(output)))
    sys.path.append(str(Path(__file__).parents[1]))  # behind all else: a program may have parts
    try:
        runpy.run_path(program, run_name="__main__")
        sys.stdout.flush()
    except MemoryError:
        os._exit(NO_MEMORY)


if __name__ == "__main__":
    _main(*sys.argv[1:])
