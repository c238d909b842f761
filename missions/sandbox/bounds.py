"""What all processes of a command take together, tried with small limits: each program passes one of them, and has to
be ended for it. What one process alone may not do stands in `attempts.py`.

Why so: docs/decisions.md, The sandbox.
"""

from dataclasses import dataclass, field

from .bwrap import MIB, PYTHON

SECONDS = 20  # so long the program goes on by itself, if nothing ends it


@dataclass(frozen=True)
class SandboxBound:
    """`reason`: how the keeper says that it ended the command for this."""

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
