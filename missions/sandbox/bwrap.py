"""The bubblewrap sandbox of a command: what it sees, and its limits. It is started without a shell.

Why so: missions/DESIGN.md, The sandbox.
"""

import base64
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from . import seccomp

MIB = 1 << 20
# all namespaces are its own, it cannot create more, and it ends with the process that started it
NAMESPACE_FLAGS = """--unshare-user --unshare-ipc --unshare-pid --unshare-net --unshare-uts --unshare-cgroup-try
--disable-userns --die-with-parent --uid 1000 --gid 1000 --cap-drop ALL --hostname workspace --clearenv""".split()
SYSTEM_PATHS = """--ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/sbin /sbin --symlink usr/lib /lib
--symlink usr/lib64 /lib64 --ro-bind-try /etc/alternatives /etc/alternatives
--ro-bind-try /etc/ld.so.cache /etc/ld.so.cache --ro-bind-try /etc/ssl /etc/ssl --proc /proc --dev /dev""".split()
LIMIT_NAMES = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/home/agent",
    "TERM": "xterm-256color",
    "LANG": "C.UTF-8",
}
# Python would use a stale .pyc for a source that is changed within one second to the same length
LIMIT_NAMES |= {"PYTHONDONTWRITEBYTECODE": "1"}
WORKSPACE, MEMORY = "/workspace", "/memory"
NETWORK, PORT = "/run/network", 3128  # folder with the proxy's socket, and the proxy's port on loopback
PROXIES = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY")
SHELL = ("/bin/bash", "-c")
PYTHON = "/usr/bin/python3"  # as it is found inside


ALL_MEMORY = min(4096 * MIB, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2)


@dataclass(frozen=True)
class SandboxLimits:
    """Limits of one command, in bytes where the name or comment says nothing else."""

    processes: int = 256
    file: int = 1024 * MIB
    memory: int = 2048 * MIB  # of each process
    all_memory: int = ALL_MEMORY  # of all processes together, beside their files in memory
    descriptors: int = 1024
    disk: int = 1024 * MIB  # of the whole workspace
    entries: int = 100_000  # files, folders and links, of the workspace and of the folders in memory together
    temporary: int = 512 * MIB
    home: int = 64 * MIB
    shared: int = 64 * MIB  # in /dev/shm
    output: int = 1024 * MIB
    seconds: int = 3600


@dataclass(frozen=True)
class BubblewrapSandbox:
    """The sandbox of one command.

    folder: the workspace
    program: program with arguments
    memory: folder of readable memories
    network: folder with the socket of a proxy, the only way out
    """

    folder: Path
    program: tuple[str, ...]
    cwd: str = "."
    memory: Path | None = None
    limits: SandboxLimits = SandboxLimits()
    network: Path | None = None

    def request(self) -> dict[str, Any]:
        """The request to `missions/terminals/pty_supervisor.py`, as JSON values."""
        limits = self.limits
        return {
            "program": shutil.which("bwrap") or "/usr/bin/bwrap",
            "arguments": list(self._arguments()),
            "filter": base64.b64encode(seccomp.filter_bytes()).decode(),
            # set before bwrap starts; the limit of processes is set inside, where only the sandbox's own count
            "resources": {"FSIZE": limits.file, "DATA": limits.memory, "NOFILE": limits.descriptors, "CORE": 0},
            "folder": str(self.folder),
            "disk": limits.disk,
            "entries": limits.entries,
            "memory": limits.all_memory,
            "in_memory": self._in_memory,
            "group": "",  # path of the control group's events, if the launcher could make one
            "output": limits.output,
            "seconds": limits.seconds,
        }

    def _arguments(self) -> Iterator[str]:
        limits, bound = self.limits, ["--bind", str(self.folder), WORKSPACE]
        memory = ["--ro-bind", str(self.memory), MEMORY] if self.memory else []
        sizes = chain.from_iterable(("--size", str(size), "--tmpfs", place) for place, size in self._in_memory.items())
        network = ["--ro-bind", str(self.network), NETWORK] if self.network else []
        said = LIMIT_NAMES | (dict.fromkeys(PROXIES, f"http://127.0.0.1:{PORT}") if self.network else {})
        words = chain.from_iterable(("--setenv", name, value) for name, value in said.items())
        # /dev is a tmpfs without a size limit
        there = ["--chdir", f"{WORKSPACE}/{self.cwd}", "--remount-ro", "/dev", "--remount-ro", "/"]
        yield from (*NAMESPACE_FLAGS, *words, *SYSTEM_PATHS, *memory, *network, *sizes, *bound, *there)
        # bwrap ignores these signals, and its children would inherit that
        yield from ("--", "/usr/bin/env", "--default-signal=INT,TERM,HUP")
        yield from ("/usr/bin/prlimit", f"--nproc={limits.processes}:{limits.processes}", "--", *self._wrapped)

    @property
    def _in_memory(self) -> dict[str, int]:
        """The tmpfs folders, with their sizes in bytes."""
        limits = self.limits
        return {"/tmp": limits.temporary, LIMIT_NAMES["HOME"]: limits.home, "/dev/shm": limits.shared}  # noqa: S108 - inside

    @property
    def group_memory(self) -> int:
        """The memory limit of a control group, in bytes: of the processes and their tmpfs folders."""
        return self.limits.all_memory + sum(self._in_memory.values())

    @property
    def _wrapped(self) -> tuple[str, ...]:
        if not self.network:
            return self.program
        source = (Path(__file__).parent / "port_forward.py").read_text()
        return (PYTHON, "-I", "-S", "-c", source, str(PORT), f"{NETWORK}/sock", *self.program)


def shell_command(command: str) -> tuple[str, ...]:
    return (*SHELL, command)


def available() -> str:
    """Empty if commands can be sandboxed on this machine, otherwise a sentence with what is missing."""
    if not seccomp.available():
        return "The filter of calls is written for x86-64 alone."
    missing = [name for name in ("bwrap", "prlimit") if not shutil.which(name)]
    return f"Install {' and '.join(missing)} (Debian: bubblewrap, util-linux)." if missing else ""
