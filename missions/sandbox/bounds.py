"""Programs that exceed a limit of all processes of a command together; the sandbox must kill each of them.

Attempts of a single process are in `escape_attempts.py`.

Why so: missions/DESIGN.md, The sandbox.
"""

from dataclasses import dataclass, field

from .bwrap import MIB, PYTHON

SECONDS = 20  # until a program ends by itself


@dataclass(frozen=True)
class SandboxBound:
    """A program with small limits. `reason` is the supervisor's code for killing it because of this limit."""

    name: str
    source: str
    limits: dict[str, int] = field(hash=False)
    reason: str

    @property
    def program(self) -> tuple[str, ...]:
        return (PYTHON, "-I", "-S", "-c", self.source)


MEMORY = f"""
import mmap, os, time
for _ in range(4):
    if os.fork() == 0:
        taken = mmap.mmap(-1, {32 * MIB})  # shared, which no limit of a process counts
        taken.write(b"x" * {32 * MIB})
        time.sleep({SECONDS})
        os._exit(0)
time.sleep({SECONDS})
"""
FILES = f"""
import os, time
for number in range(1200):
    for folder in ("/workspace", "/tmp", "/dev/shm"):
        open(f"{{folder}}/{{number}}", "w").close()
time.sleep({SECONDS})
"""
BOUNDS = (
    SandboxBound(
        "memory of all processes",
        MEMORY,
        {"all_memory": 64 * MIB, "temporary": MIB, "home": MIB, "shared": MIB},
        "too_much_memory",
    ),
    SandboxBound("number of files", FILES, {"entries": 2_000}, "too_many_files"),
)
