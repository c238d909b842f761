"""Runs a program in a child process with limits of time, memory and output.

The child has an empty environment, so none of our keys. It starts with this file, which sets the limits before it
reads anything of the program.

Why so: runs/DESIGN.md, Documents.
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

MAX_PROCESSES = 2  # children at a time, since each may use all of its memory limit
PATIENCE = 10.0  # seconds to wait for a free slot
NO_MEMORY = 3  # exit status of a child that ran out of memory


@dataclass(frozen=True)
class ProcessLimits:
    seconds: float = 10.0
    memory: int = 256 * 2**20  # bytes of address space
    output: int = 8 * 2**20  # bytes


class ProcessStopped(Exception):
    """The child gave no result: it did not start, ran out of time or memory, or failed."""


class NoProcessSlot(ProcessStopped): ...


class ProcessTimedOut(ProcessStopped): ...


class ProcessOutOfMemory(ProcessStopped): ...


class ProcessFailed(ProcessStopped): ...


_slots = threading.BoundedSemaphore(MAX_PROCESSES)


@contextmanager
def _slot(patience: float) -> Iterator[None]:
    if not _slots.acquire(timeout=patience):
        raise NoProcessSlot
    try:
        yield
    finally:
        _slots.release()


def run_limited(
    program: Path, data: bytes, bounds: ProcessLimits | None = None, patience: float = PATIENCE, until: float = math.inf
) -> bytes:
    """Return the standard output of a program; `data` is its standard input.

    `patience`: seconds to wait for a free slot; `until`: deadline by `time.monotonic`. Raises ProcessStopped.
    """
    bounds = bounds or ProcessLimits()
    limits = [str(limit) for limit in astuple(bounds)]
    # output goes to a file, so that RLIMIT_FSIZE limits it
    with _slot(_left(patience, until)), tempfile.TemporaryFile() as output:
        command = [sys.executable, "-IB", __file__, str(program), *limits]
        try:
            done = subprocess.run(  # noqa: S603 - our own file
                command,
                input=data,
                stdout=output,
                stderr=subprocess.DEVNULL,
                env={},
                timeout=_left(bounds.seconds, until),
            )
        except subprocess.TimeoutExpired as error:
            raise ProcessTimedOut from error
        if done.returncode:
            raise ProcessOutOfMemory if done.returncode == NO_MEMORY else ProcessFailed
        output.seek(0)
        return output.read()


def _left(seconds: float, until: float) -> float:
    return max(0.0, min(seconds, until - time.monotonic()))


# ---- in the child -----------------------------------------------------------------------------------------


def _limit(bounds: ProcessLimits) -> None:
    processor = int(bounds.seconds) + 1  # ends a child whose parent has died
    limits = {
        resource.RLIMIT_CPU: processor,
        resource.RLIMIT_AS: bounds.memory,
        resource.RLIMIT_FSIZE: bounds.output,
        resource.RLIMIT_CORE: 0,
    }
    for which, most in limits.items():
        with suppress(ValueError, OSError):  # macOS has no RLIMIT_AS; the time limit still applies
            resource.setrlimit(which, (most, most))


def _main(program: str, seconds: str, memory: str, output: str) -> None:
    _limit(ProcessLimits(float(seconds), int(memory), int(output)))
    sys.path.append(str(Path(__file__).parents[1]))  # last, for programs that import from the project
    try:
        runpy.run_path(program, run_name="__main__")
        sys.stdout.flush()
    except MemoryError:
        os._exit(NO_MEMORY)


if __name__ == "__main__":
    _main(*sys.argv[1:])
