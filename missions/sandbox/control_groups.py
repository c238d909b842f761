"""Control groups, which limit the memory of all processes of a command together.

Where this user may not create one, the command's supervisor measures it (`missions/terminals/pty_supervisor.py`).

Why so: missions/DESIGN.md, The sandbox.
"""

import contextlib
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PREFIX = "magi-"
KEPT_SECONDS = 60  # age from which on an empty group counts as left behind
EVENTS = {"cgroup2": "memory.events", "cgroup": "memory.oom_control"}  # files with a line `oom_kill`
LIMITS = {"cgroup2": ("memory.max", "memory.swap.max"), "cgroup": ("memory.limit_in_bytes", "memory.swappiness")}


@dataclass(frozen=True)
class ControlGroup:
    folder: Path
    version: str

    @property
    def events(self) -> Path:
        return self.folder / EVENTS[self.version]

    def add(self, pid: int) -> None:
        """Move a process into the group; its later children follow. Raises OSError."""
        (self.folder / "cgroup.procs").write_text(str(pid))


def create_group(memory: int) -> ControlGroup | None:
    """A group with a limit of `memory` bytes and no swap; None if this user may not create one."""
    for version, base in _bases():
        with contextlib.suppress(OSError):
            return _created(version, base, memory)
    return None


def _created(version: str, base: Path, memory: int) -> ControlGroup:
    _remove_empty(base)
    if version == "cgroup2" and "memory" not in (base / "cgroup.subtree_control").read_text().split():
        (base / "cgroup.subtree_control").write_text("+memory")
    folder = base / f"{PREFIX}{secrets.token_hex(6)}"
    folder.mkdir()
    try:
        for file, value in zip(LIMITS[version], (memory, 0), strict=True):
            (folder / file).write_text(str(value))
    except OSError:
        folder.rmdir()
        raise
    return ControlGroup(folder, version)


def _remove_empty(base: Path) -> None:
    """Remove old groups; the kernel refuses those that still have processes."""
    for folder in base.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            if time.time() - folder.stat().st_mtime > KEPT_SECONDS:
                folder.rmdir()


def _bases() -> Iterator[tuple[str, Path]]:
    """Folders in which a group may be created: our own group and, for version 2, its parent.

    Version 2 allows no groups with controllers beneath a group that has processes.
    """
    for version, mounted in _mounts():
        path = _own_path(version)
        own = mounted / path.lstrip("/")
        own = own if path and own.is_dir() else mounted  # a container sees its own group as the root
        yield version, own
        if version == "cgroup2" and own != mounted:
            yield version, own.parent


def _mounts() -> list[tuple[str, Path]]:
    """Mounted hierarchies with the memory controller, the newer version first."""
    found = []
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        version, _, options = after.split(" ", 2)
        if version == "cgroup2" or (version == "cgroup" and "memory" in options.split(",")):
            found.append((version, Path(before.split()[4])))
    return sorted(found, reverse=True)


def _own_path(version: str) -> str:
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        number, controllers, path = line.split(":", 2)
        if (number == "0") == (version == "cgroup2") and (version == "cgroup2" or "memory" in controllers.split(",")):
            return path
    return ""
