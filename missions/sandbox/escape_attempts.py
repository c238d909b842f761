"""Escape attempts: what a hostile program inside the sandbox would try first.

    python3 -I -S escape_attempts.py '{"port": 8000, "secret": "...", ...}'

This is a program that uses only the standard library. It prints for each attempt whether it was contained. It refuses
to run outside of a user namespace, where its attempts would succeed on the machine itself. It connects to loopback
only, and the resources that it takes are limited.

Why so: missions/DESIGN.md, The sandbox.
"""

import contextlib
import ctypes
import json
import mmap
import os
import resource
import signal
import socket
import stat
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

ATTEMPT_TIMEOUT = 5  # seconds
MIB = 1 << 20
HOST_UID_MAP = "0 0 4294967295"  # the map outside of user namespaces
FORKS, MEMORY, FILE, TEMPORARY, SHARED = 400, 3 << 30, 1200 * MIB, 600 * MIB, 100 * MIB
VSOCK, PACKET, NETLINK, AUDIT = 40, 17, 16, 9
LIBC = ctypes.CDLL(None, use_errno=True)

Attempt = Callable[[dict[str, Any]], bool]
ATTEMPTS: dict[str, Attempt] = {}


def run_attempt(name: str) -> Callable[[Attempt], Attempt]:
    def kept(tried: Attempt) -> Attempt:
        ATTEMPTS[name] = tried
        return tried

    return kept


def run_syscall(number: int, *arguments: int | bytes | None) -> bool:
    """Whether the system call succeeds."""
    return bool(LIBC.syscall(number, *arguments) >= 0)


def can_connect(family: int, address: Any) -> bool:
    with socket.socket(family) as client:
        client.settimeout(1)
        client.connect(address)
    return True


def read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read(4096)


def written(path: str) -> bool:
    with open(path, "wb"):
        return True


# ---- the network ------------------------------------------------------------------------------------------------


@run_attempt("the engine on loopback")
def _loopback(told: dict[str, Any]) -> bool:
    return can_connect(socket.AF_INET, ("127.0.0.1", told["port"]))


@run_attempt("PostgreSQL on loopback")
def _postgresql(told: dict[str, Any]) -> bool:
    return can_connect(socket.AF_INET, ("127.0.0.1", 5432))


@run_attempt("Redis on loopback")
def _redis(told: dict[str, Any]) -> bool:
    return can_connect(socket.AF_INET, ("127.0.0.1", 6379))


@run_attempt("a network card")
def _card(told: dict[str, Any]) -> bool:
    return [name for _, name in socket.if_nameindex()] != ["lo"]


@run_attempt("a route outward")
def _route(told: dict[str, Any]) -> bool:
    return len(read("/proc/net/route").splitlines()) > 1


@run_attempt("an abstract socket")
def _abstract(told: dict[str, Any]) -> bool:
    return can_connect(socket.AF_UNIX, "\0" + told["abstract"])


@run_attempt("a socket in a folder")
def _path(told: dict[str, Any]) -> bool:
    return can_connect(socket.AF_UNIX, told["socket"])


@run_attempt("the container engine's socket")
def _docker(told: dict[str, Any]) -> bool:
    return can_connect(socket.AF_UNIX, "/var/run/docker.sock")


def _opens(family: int, kind: int, told: dict[str, Any]) -> bool:
    return bool(socket.socket(family, kind))


run_attempt("a socket for vsock")(partial(_opens, VSOCK, socket.SOCK_STREAM))
run_attempt("a socket for vsock datagrams")(partial(_opens, VSOCK, socket.SOCK_DGRAM))
run_attempt("a socket for raw packets")(partial(_opens, PACKET, socket.SOCK_RAW))


@run_attempt("the kernel's audit")
def _audit(told: dict[str, Any]) -> bool:
    return bool(socket.socket(NETLINK, socket.SOCK_RAW, AUDIT))


# ---- files ------------------------------------------------------------------------------------------------------


def _reads(path: str, told: dict[str, Any]) -> bool:
    return bool(os.listdir(path) if os.path.isdir(path) else read(path))


def _finds(name: str, told: dict[str, Any]) -> bool:
    return os.path.lexists(told[name])


def _writes(path: str, told: dict[str, Any]) -> bool:
    return written(path)


for _name, _place in (("passwords", "/etc/shadow"), ("root's folder", "/root"), ("users", "/etc/passwd")):
    run_attempt(f"reading {_name}")(partial(_reads, _place))

for _name in ("database", "checkout", "outside"):
    run_attempt(f"reading the {_name}")(partial(_finds, _name))

for _name, _place in (
    ("/usr", "/usr/bin/magi"),
    ("/etc", "/etc/magi"),
    ("the root", "/magi"),
    ("the kernel's settings", "/proc/sys/kernel/core_pattern"),
):
    run_attempt(f"writing to {_name}")(partial(_writes, _place))


@run_attempt("a link out of the workspace")
def _link(told: dict[str, Any]) -> bool:
    with contextlib.suppress(FileExistsError):
        os.symlink(told["outside"], "link-out")
    try:
        return bool(read("link-out"))
    finally:
        os.unlink("link-out")


@run_attempt("a device")
def _device(told: dict[str, Any]) -> bool:
    os.mknod("/tmp/device", stat.S_IFBLK | 0o600, os.makedev(8, 0))  # noqa: S108 - inside
    return True


@run_attempt("the disk")
def _disk(told: dict[str, Any]) -> bool:
    return any(os.path.exists(f"/dev/{name}") for name in ("sda", "vda", "nvme0n1", "mem", "kmsg"))


@run_attempt("sysrq")
def _sysrq(told: dict[str, Any]) -> bool:
    return written("/proc/sysrq-trigger")


@run_attempt("control groups")
def _cgroup(told: dict[str, Any]) -> bool:
    return any(os.access(folder, os.W_OK) for folder, _, _ in os.walk("/sys/fs/cgroup"))


@run_attempt("descriptors that were left open")
def _descriptors(told: dict[str, Any]) -> bool:
    return any(map(_leads_out, range(256)))


def _leads_out(descriptor: int) -> bool:
    try:
        mode = os.fstat(descriptor).st_mode
    except OSError:
        return False
    return stat.S_ISREG(mode) or stat.S_ISSOCK(mode) or stat.S_ISDIR(mode)


# ---- secrets and other processes --------------------------------------------------------------------------------


@run_attempt("the secret in its own environment")
def _own(told: dict[str, Any]) -> bool:
    return told["secret"] in json.dumps(dict(os.environ))


@run_attempt("the secret in anybody's environment")
def _anybody(told: dict[str, Any]) -> bool:
    return any(told["secret"].encode() in _of_process(pid, "environ") for pid in _processes())


@run_attempt("the secret in anybody's command line")
def _lines(told: dict[str, Any]) -> bool:
    # passed backwards, because our own arguments are in a command line
    return any(told["backwards"][::-1].encode() in _of_process(pid, "cmdline") for pid in _processes())


def _processes() -> set[int]:
    return {int(name) for name in os.listdir("/proc") if name.isdigit()}


def _of_process(pid: int, what: str) -> bytes:
    try:
        return read(f"/proc/{pid}/{what}")
    except OSError:
        return b""


@run_attempt("seeing the machine's processes")
def _sees(told: dict[str, Any]) -> bool:
    return told["pid"] in _processes() or len(_processes()) > 20


@run_attempt("a signal to the engine")
def _signals(told: dict[str, Any]) -> bool:
    os.kill(told["pid"], 0)
    return True


@run_attempt("tracing another process")
def _traces(told: dict[str, Any]) -> bool:
    child = _sleeping()
    try:
        return run_syscall(101, 16, child, None, None)  # PTRACE_ATTACH
    finally:
        os.kill(child, signal.SIGKILL)


@run_attempt("reading another process's memory")
def _memory_of(told: dict[str, Any]) -> bool:
    buffer = ctypes.create_string_buffer(16)
    place = (ctypes.c_ulong * 2)(ctypes.addressof(buffer), 16)
    return bool(LIBC.syscall(310, os.getppid(), place, 1, place, 1, 0) >= 0)


def _sleeping() -> int:
    pid = os.fork()
    if pid == 0:
        time.sleep(ATTEMPT_TIMEOUT)
        os._exit(0)
    return pid


# ---- rights -----------------------------------------------------------------------------------------------------


@run_attempt("being root")
def _root(told: dict[str, Any]) -> bool:
    os.setuid(0)
    return True


@run_attempt("root outside")
def _root_outside(told: dict[str, Any]) -> bool:
    # a file of the real root appears as owned by us if we are mapped to it
    return os.stat("/proc/sys/kernel/core_pattern").st_uid == os.getuid() or os.getuid() == 0


@run_attempt("capabilities")
def _capabilities(told: dict[str, Any]) -> bool:
    told_of = dict(line.split(":\t", 1) for line in read("/proc/self/status").decode().splitlines() if ":\t" in line)
    return any(int(told_of[name], 16) for name in ("CapEff", "CapPrm", "CapBnd", "CapAmb"))


@run_attempt("rights by a program of root's")
def _setuid(told: dict[str, Any]) -> bool:
    return b"NoNewPrivs:\t1" not in read("/proc/self/status")


def _calls(number: int, arguments: tuple[Any, ...], told: dict[str, Any]) -> bool:
    return run_syscall(number, *arguments)


_CALLS: tuple[tuple[str, int, tuple[Any, ...]], ...] = (
    ("a new user namespace", 272, (0x10000000,)),
    ("a new mount namespace", 272, (0x20000,)),
    ("another's namespace", 308, (0, 0)),
    ("a mount", 165, (b"none", b"/tmp", b"tmpfs", 0, None)),
    ("an unmount", 166, (b"/proc", 2)),
    ("another root", 161, (b"/tmp",)),
    ("the kernel's keys", 250, (0, -3, 1)),
    ("io_uring", 425, (4, ctypes.create_string_buffer(120))),
    ("programs in the kernel", 321, (0, ctypes.create_string_buffer(128), 128)),
    ("performance counters", 298, (ctypes.create_string_buffer(128), 0, -1, -1, 0)),
    ("page faults by hand", 323, (0,)),
    ("files by their handles", 304, (-100, ctypes.create_string_buffer(16), 0)),
    ("the kernel's log", 103, (10, None, 0)),
    ("a module", 175, (None, 0, b"")),
    ("another name of the machine", 170, (b"magi", 4)),
    ("x32 calls", 0x40000000 + 39, ()),
)
for _name, _number, _arguments in _CALLS:
    run_attempt(_name)(partial(_calls, _number, _arguments))


@run_attempt("a namespace by cloning")
def _clones(told: dict[str, Any]) -> bool:
    pid = LIBC.syscall(56, 0x10000000 | signal.SIGCHLD, None, None, None, None)
    if pid == 0:
        os._exit(0)
    return bool(pid > 0)


@run_attempt("words in the terminal's mouth")
def _types(told: dict[str, Any]) -> bool:
    return bool(LIBC.ioctl(0, 0x5412, b"x") == 0)


# ---- resources --------------------------------------------------------------------------------------------------


@run_attempt("400 processes")
def _forks(told: dict[str, Any]) -> bool:
    made = []
    try:
        made = [_sleeping() for _ in range(FORKS)]
    except BlockingIOError:
        return False
    finally:
        for pid in made:
            os.kill(pid, signal.SIGKILL)
    return True


@run_attempt("3 GB of memory")
def _takes_memory(told: dict[str, Any]) -> bool:
    mmap.mmap(-1, MEMORY, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
    return True


@run_attempt("a file of 1.2 GB")
def _takes_disk(told: dict[str, Any]) -> bool:
    with open("large", "wb") as file:
        try:
            file.truncate(FILE)  # sparse, so it takes no space
        finally:
            os.unlink("large")
    return True


@run_attempt("600 MB in /tmp")
def _takes_temporary(told: dict[str, Any]) -> bool:
    found = os.statvfs("/tmp")  # noqa: S108 - inside
    return found.f_blocks * found.f_frsize > TEMPORARY


@run_attempt("100 MB in /dev/shm")
def _takes_shared(told: dict[str, Any]) -> bool:
    found = os.statvfs("/dev/shm")  # noqa: S108 - inside
    return found.f_blocks * found.f_frsize > SHARED


@run_attempt("a file in /dev")
def _writes_devices(told: dict[str, Any]) -> bool:
    return written("/dev/magi")


@run_attempt("a file of no folder")
def _anonymous_file(told: dict[str, Any]) -> bool:
    os.close(os.memfd_create("magi"))
    return True


# System V shared memory, semaphores and queues: IPC_PRIVATE, size, mode for the owner
for _name, _number, _arguments in (
    ("a shared segment of 1 MB", 29, (0, MIB, 0o600)),
    ("a shared segment of 16 EB", 29, (0, ctypes.c_uint64((1 << 63) + 1), 0o600)),
    ("a thousand semaphores", 64, (0, 1000, 0o600)),
    ("a queue of messages", 68, (0, 0o600)),
):
    run_attempt(_name)(partial(_calls, _number, _arguments))


@run_attempt("a longer buffer of a socket")
def _longer_buffer(told: dict[str, Any]) -> bool:
    one, _ = socket.socketpair()
    before = one.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
    one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 * before)
    return one.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) > before


@run_attempt("a dump of its memory")
def _dumps(told: dict[str, Any]) -> bool:
    return resource.getrlimit(resource.RLIMIT_CORE)[1] != 0


# ---- all of them ------------------------------------------------------------------------------------------------


def is_contained(tried: Attempt, told: dict[str, Any]) -> bool:
    """Run one attempt in a child process, which the kernel may kill. Anything but success counts as contained."""
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        signal.alarm(ATTEMPT_TIMEOUT)
        outcome = 0
        with contextlib.suppress(Exception):
            outcome = int(bool(tried(told)))
        os._exit(outcome)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) != 1


def main(told: dict[str, Any]) -> int:
    with open("/proc/self/uid_map") as file:
        if " ".join(file.read().split()) == HOST_UID_MAP:
            sys.stderr.write("These attempts run inside a sandbox alone: here they would succeed on the machine.\n")
            return 64
    for name, tried in ATTEMPTS.items():
        print(json.dumps({"attempt": name, "kept": is_contained(tried, told)}))
    return 0


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))
