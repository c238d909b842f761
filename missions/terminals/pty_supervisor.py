"""The supervisor, which owns the terminal of one command and outlives the engine, the site and the launcher.

    python3 -I -S pty_supervisor.py SPOOL < request

This is a program that uses only the standard library. The request comes from `missions/sandbox/bwrap.py`; the files in
its folder and its socket are described in `missions/terminals/output_spool.py`.

Why so: missions/DESIGN.md, Terminals.
"""

import base64
import contextlib
import ctypes
import errno
import fcntl
import hashlib
import json
import os
import resource
import selectors
import signal
import socket
import struct
import sys
import termios
import time
from pathlib import Path
from typing import Any, NoReturn

HEAD, RING = 256 * 1024, 1024 * 1024  # bytes of the stored output: its beginning, and a ring buffer of its end
COUNT_BYTES = 8  # bytes at the beginning of `out` with the length of the whole output
CHUNK = 65_536
MAX_BYTES_PER_SECOND = 16 * 1024 * 1024  # a flood of output slows the program down and not the machine
MAX_INDEX = 20_000
ROWS, COLUMNS = 40, 120  # initial size
LEAST_ROWS, LEAST_COLUMNS, MOST_ROWS, MOST_COLUMNS = 5, 20, 100, 250
SIZES, MOST_SIZES = "sizes", 1_000  # file with changes of size, and their maximum
LOOK, SOONEST = 0.25, 0.02  # longest and shortest seconds between measurements; shorter if a limit is near
SHARE = 3  # the pause after a measurement is at least this many times as long as it
NO_SPACE, MANY_FILES, MUCH_MEMORY = "no_space", "too_many_files", "too_much_memory"  # reasons for killing
NEW_USER = 0x10000000  # CLONE_NEWUSER
GONE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)  # removed or replaced meanwhile
IDLE_SECONDS = 15 * 60  # without any request the command is ended
LONGEST_REQUEST = 65_536
INTERRUPTED, ASKED = 3.0, 5.0  # seconds from SIGINT until SIGTERM, and until SIGKILL
# the supervisor ends when its command does; bwrap inherits this, so that keys end only the command
IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
NO_NEW_PRIVILEGES = 38  # PR_SET_NO_NEW_PRIVS of prctl
ALREADY_CLAIMED = 3  # exit status: this command was started before


class TerminalOutput:
    """Stores the output: its beginning, its end, its length and times."""

    def __init__(self) -> None:
        self.total, self._digest = 0, hashlib.sha256()
        self._file = os.open("out", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o640)
        self._times = os.open("times", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o640)
        self._noted, self._began = 0, time.monotonic()
        os.pwrite(self._file, struct.pack("<Q", 0), 0)

    def add(self, data: bytes) -> None:
        self._digest.update(data)
        place = self.total
        for piece in _pieces(data, place):
            os.pwrite(self._file, piece, COUNT_BYTES + ring_offset(place))
            place += len(piece)
        self.total = place
        os.pwrite(self._file, struct.pack("<Q", place), 0)
        if self._noted < MAX_INDEX:
            self._noted += 1
            os.write(self._times, b"%.3f %d\n" % (time.monotonic() - self._began, place))

    @property
    def digest(self) -> str:
        return self._digest.hexdigest()

    def sync(self) -> None:
        os.fsync(self._file)


def ring_offset(number: int) -> int:
    """The offset at which a byte of the output is stored, without COUNT_BYTES."""
    return number if number < HEAD else HEAD + (number - HEAD) % RING


def _pieces(data: bytes, place: int) -> list[bytes]:
    """Cut data at the end of the head and of the ring."""
    pieces = []
    while data:
        room = HEAD - place if place < HEAD else RING - (place - HEAD) % RING
        pieces.append(data[:room])
        place, data = place + len(pieces[-1]), data[room:]
    return pieces


class PtySupervisor:
    def __init__(self, asked: dict[str, Any], server: socket.socket) -> None:
        self._asked, self._server = asked, server
        self._output, self._inputs, self._resized = TerminalOutput(), 0, 0
        self._reason, self._told, self._harder = "", 0.0, 0
        self._began = self._last_asked = self._looked = time.monotonic()
        self._read_in_second, self._second, self._pause = 0, 0, SOONEST
        self._unwritten = b""
        self._taken = left_in(asked["folder"])
        limits = {NO_SPACE: asked["disk"], MANY_FILES: asked["entries"], MUCH_MEMORY: asked["memory"]}
        # if earlier commands left more than the limit, this one may still run, to delete files
        self._limits = {name: max(most, self._taken[name]) for name, most in limits.items()}
        self._pid, self._terminal = start_command(asked)
        self._ended = os.pidfd_open(self._pid)

    def run(self) -> None:
        """Run until the command has ended and all of its output is stored."""
        with selectors.DefaultSelector() as self._waiting:
            for one, do in ((self._terminal, self._read), (self._server, self._accept), (self._ended, self._stop)):
                self._waiting.register(one, selectors.EVENT_READ, do)
            self._goes_on = True
            while self._goes_on:
                for key, mask in self._waiting.select(self._pause):
                    key.data(mask)
                self._look()
        self._finish()

    # ---- output ---------------------------------------------------------------------------------------------

    def _read(self, mask: int) -> None:
        if mask & selectors.EVENT_WRITE:
            self._write()
        if mask & selectors.EVENT_READ and not self._too_fast():
            self._take()

    def _take(self) -> bool:
        try:
            data = os.read(self._terminal, CHUNK)
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.EIO):  # EIO: no process has the terminal open
                return False
            raise
        self._output.add(data)
        self._read_in_second += len(data)
        if self._output.total > self._asked["output"]:
            self._end("too_much_output", 2)
        return bool(data)

    def _too_fast(self) -> bool:
        second = int(time.monotonic())
        if second != self._second:
            self._second, self._read_in_second = second, 0
        if self._read_in_second < MAX_BYTES_PER_SECOND:
            return False
        time.sleep(0.02)
        return True

    # ---- requests -------------------------------------------------------------------------------------------

    def _accept(self, _: int) -> None:
        """Answer one request. Slow clients are dropped."""
        try:
            with self._server.accept()[0] as client:
                client.settimeout(1)
                asked = json.loads(client.makefile("rb").readline(LONGEST_REQUEST))
                self._last_asked = time.monotonic()
                client.sendall(json.dumps(self._answer(asked)).encode() + b"\n")
        except (OSError, ValueError, KeyError, TypeError):
            pass  # the client has gone or the request is invalid, which does not concern the command

    def _answer(self, asked: dict[str, Any]) -> dict[str, Any]:
        match asked["verb"]:
            case "status":
                return {"total": self._output.total, "inputs": self._inputs, **wait_state(self._terminal)}
            case "input":
                return self._input(int(asked["number"]), base64.b64decode(asked["bytes"]))
            case "resize":
                return {"resized": self._resize(int(asked["rows"]), int(asked["columns"]))}
            case "end":
                self._end(str(asked.get("reason", "ended")), 0)
                return {}
            case verb:
                return {"error": f"There is no verb {verb!r}."}

    def _input(self, number: int, data: bytes) -> dict[str, Any]:
        """Type the input with this number, once, however often it is sent."""
        if number != self._inputs + 1:
            return {"taken": number <= self._inputs, "inputs": self._inputs}
        self._inputs = number
        self._unwritten += data
        self._write()
        return {"taken": True, "inputs": number}

    def _resize(self, rows: int, columns: int) -> bool:
        """Change the size, and record from which byte of the output on it applies."""
        fits = LEAST_ROWS <= rows <= MOST_ROWS and LEAST_COLUMNS <= columns <= MOST_COLUMNS
        if self._resized >= MOST_SIZES or not fits:
            return False
        self._take()
        self._resized += 1
        with open(os.open(SIZES, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o640), "w") as file:
            file.write(f"{self._output.total} {rows} {columns} .\n")  # the point marks a complete line
        set_size(self._terminal, rows, columns)
        return True

    def _write(self) -> None:
        with contextlib.suppress(BlockingIOError):
            written = os.write(self._terminal, self._unwritten) if self._unwritten else 0
            self._unwritten = self._unwritten[written:]
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if self._unwritten else 0)
        self._waiting.modify(self._terminal, wanted, self._read)

    # ---- limits and end -------------------------------------------------------------------------------------

    def _look(self) -> None:
        now = time.monotonic()
        if (since := now - self._looked) < self._pause:
            return
        self._looked = now
        if self._told:
            self._tell_harder(now - self._told)
        elif now - self._began > self._asked["seconds"]:
            self._end("timeout", 0)
        elif now - self._last_asked > IDLE_SECONDS:
            self._end("nobody_asked", 0)
        elif reason := self._exceeded(since):
            self._end(reason, 2)

    def _exceeded(self, since: float) -> str:
        """The exceeded limit, or empty. Sets the next pause so that at the present rate no limit is passed before."""
        began, before = time.monotonic(), self._taken
        self._taken = self._measure()
        left = min(
            (self._limits[name] - size) * since / max(size - before[name], 1) for name, size in self._taken.items()
        )
        cost = time.monotonic() - began
        self._pause = max(min(LOOK, 2 * self._pause, max(SOONEST, left / 4)), SHARE * cost)
        return next((name for name, size in self._taken.items() if size > self._limits[name]), "")

    def _measure(self) -> dict[str, int]:
        inside = inside_of(self._pid)
        folder, most = self._asked["folder"], (self._limits[NO_SPACE], self._limits[MANY_FILES])
        size, entries = taken_of(folder, *most, inside[:1])
        in_memory = self._asked["in_memory"].items() if inside else ()
        entries += sum(entries_at(f"/proc/{inside[0]}/root{place}", size) for place, size in in_memory)
        return {NO_SPACE: size, MANY_FILES: entries, MUCH_MEMORY: self._memory(inside)}

    def _memory(self, inside: list[int]) -> int:
        most = self._limits[MUCH_MEMORY]
        if group := self._asked["group"]:  # the kernel enforces the limit and reports only kills
            return (most + 1) * killed_in(group)
        return memory_of(inside, most) + (socket_bytes(inside[0]) if inside else 0)

    def _end(self, reason: str, how_hard: int) -> None:
        if not self._told:
            self._reason, self._told, self._harder = reason, time.monotonic(), how_hard
            self._tell()

    def _tell_harder(self, since: float) -> None:
        due = 2 if since > ASKED else 1 if since > INTERRUPTED else 0
        if due > self._harder:
            self._harder = due
            self._tell()

    def _tell(self) -> None:
        """Signal the foreground process group, or in the end kill bwrap and so the whole sandbox."""
        with contextlib.suppress(OSError):
            if self._harder == 2:
                os.kill(self._pid, signal.SIGKILL)
            else:
                os.killpg(os.tcgetpgrp(self._terminal), (signal.SIGINT, signal.SIGTERM)[self._harder])

    def _stop(self, _: int) -> None:
        while self._take():  # the rest of the output
            pass
        self._goes_on = False

    def _finish(self) -> None:
        code = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
        self._output.sync()
        seconds = round(time.monotonic() - self._began, 3)
        said = {"total": self._output.total, "digest": self._output.digest, "inputs": self._inputs}
        said["grouped"] = bool(self._asked["group"])
        save_state("end", {"code": code, "reason": self._reason, "seconds": seconds, "ended": time.time(), **said})


# ---- start --------------------------------------------------------------------------------------------------


def start_command(asked: dict[str, Any]) -> tuple[int, int]:
    """Start bwrap as leader of a new session; return its process id and the terminal's master side."""
    master, slave = os.openpty()
    set_size(slave, ROWS, COLUMNS)
    pid = os.fork()
    if pid == 0:
        become_session_leader(asked, slave)
    os.close(slave)
    os.set_blocking(master, False)
    return pid, master


def set_size(terminal: int, rows: int, columns: int) -> None:
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def become_session_leader(asked: dict[str, Any], slave: int) -> NoReturn:
    """Never returns: after an exception the child must not continue as a second supervisor."""
    try:
        os.setsid()
        for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores these
            signal.signal(number, signal.SIG_DFL)
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
        for descriptor in (0, 1, 2):
            os.dup2(slave, descriptor)
        for name, most in asked["resources"].items():
            resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (most, most))
        Path("/proc/self/oom_score_adj").write_text("1000")  # killed first when memory is short
        ctypes.CDLL(None).prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        rules, words = in_memory(base64.b64decode(asked["filter"])), in_memory(_as_read(asked["arguments"]))
        # by a descriptor, because its command line can be read inside
        command = [*asked["arguments"][asked["arguments"].index("--") :]]
        os.execve(asked["program"], ["bwrap", "--args", str(words), "--seccomp", str(rules), *command], {})  # noqa: S606
    except BaseException as error:  # noqa: BLE001 - the only boundary of this process
        os.write(2, f"The sandbox could not be made: {error}\r\n".encode())
    os._exit(126)


def _as_read(arguments: list[str]) -> bytes:
    return b"".join(one.encode() + b"\0" for one in arguments[: arguments.index("--")])


def in_memory(data: bytes) -> int:
    """An inheritable descriptor with this data."""
    made = os.memfd_create("magi", 0)
    os.write(made, data)
    os.lseek(made, 0, os.SEEK_SET)
    return made


# ---- what it waits for, according to the kernel -------------------------------------------------------------


def wait_state(terminal: int) -> dict[str, Any]:
    """The terminal's modes, and the foreground processes and their children with the calls in which they block.

    Text on the screen is not considered: a program can print anything.
    """
    local = termios.tcgetattr(terminal)[3]
    try:
        group = os.tcgetpgrp(terminal)
    except OSError:
        group = 0
    found = in_front(group) if group > 0 else []
    calls = [one["call"] for one in found if one["group"] == group]
    modes = {"echo": bool(local & termios.ECHO), "lines": bool(local & termios.ICANON)}
    return {**modes, "calls": calls, "processes": found}


def in_front(group: int) -> list[dict[str, Any]]:
    """The processes of this group without bwrap, and their children in any group."""
    known = [one for one in map(_process, filter(str.isdigit, os.listdir("/proc"))) if one]
    front = {one["pid"] for one in known if one["group"] == group and one["name"] != "bwrap"}
    found = [one for one in known if one["pid"] in front or one["parent"] in front]
    return [{**one, "call": _blocked_in(one["pid"])} for one in found]


def _process(pid: str) -> dict[str, Any]:
    """The process from /proc; empty if it has ended. Its name may be any bytes."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes().decode(errors="replace")
    except OSError:
        return {}
    name, _, rest = stat.partition("(")[2].rpartition(")")
    state, parent, group, *more = rest.split()
    about = {"parent": int(parent), "group": int(group), "threads": int(more[14])}
    return {"pid": int(pid), "name": name, "state": state, **about}


def _blocked_in(pid: int) -> list[str]:
    """The system call with arguments, and the kernel function in which it waits; empty if not permitted."""
    try:
        return [Path(f"/proc/{pid}/syscall").read_text().strip(), Path(f"/proc/{pid}/wchan").read_text().strip()]
    except OSError:
        return ["", ""]


# ---- resources ----------------------------------------------------------------------------------------------


def left_in(folder: str) -> dict[str, int]:
    """What earlier commands have left. Folders too deep to count do not raise the limit."""
    size, entries = taken_of(folder, sys.maxsize, sys.maxsize, [])
    return {NO_SPACE: size, MANY_FILES: entries if entries <= sys.maxsize else 0, MUCH_MEMORY: 0}


def taken_of(folder: str, size: int, entries: int, inside: list[int]) -> tuple[int, int]:
    """Bytes and entries of a workspace. Counting stops soon after one of the limits.

    `inside` is a process of the sandbox, with whose rights folders are opened that their owner has closed.
    """
    try:
        return _counted(folder, size, entries)
    except PermissionError:
        return _counted_by_other(folder, size, entries, inside[0]) if inside else (0, 0)


def _counted(folder: str, size: int, entries: int) -> tuple[int, int]:
    """Raises PermissionError for a closed folder. Paths that are too long count as too many entries."""
    total, number, todo = 0, 0, [folder]
    while todo and total <= size and number <= entries:
        try:
            with os.scandir(todo.pop()) as found:
                for entry in found:
                    number += 1
                    with contextlib.suppress(FileNotFoundError):
                        total += entry.stat(follow_symlinks=False).st_blocks * 512
                        if entry.is_dir(follow_symlinks=False):
                            todo.append(entry.path)
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                return total, entries + 1
            if error.errno not in GONE:
                raise
    return total, number


def _counted_by_other(folder: str, size: int, entries: int, inside: int) -> tuple[int, int]:
    """Count in a child that joins the sandbox's user namespace, in which its creator has all rights."""
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        with contextlib.suppress(OSError):
            users = os.open(f"/proc/{inside}/ns/user", os.O_RDONLY)
            if ctypes.CDLL(None, use_errno=True).setns(users, NEW_USER) == 0:
                os.write(theirs, struct.pack("=QQ", *_counted(folder, size, entries)))
        os._exit(0)
    os.close(theirs)
    said = os.read(ours, 16)
    os.close(ours)
    os.waitpid(pid, 0)
    return struct.unpack("=QQ", said) if said else (0, entries + 1)


def entries_at(place: str, size: int) -> int:
    """Entries of the tmpfs of this size there; 0 if the sandbox is not mounted yet."""
    try:
        found = os.statvfs(place)
    except OSError:
        return 0
    return found.f_files - found.f_ffree - 1 if found.f_blocks * found.f_frsize == size else 0


def inside_of(holder: int) -> list[int]:
    """All descendants of bwrap, parents first."""
    parents = {pid: _parent_of(pid) for pid in map(int, filter(str.isdigit, os.listdir("/proc")))}
    found = [holder]
    for pid in found:
        found += [child for child, parent in parents.items() if parent == pid]
    return found[1:]


def _parent_of(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def memory_of(processes: list[int], enough: int) -> int:
    """Memory of these processes in bytes, with shared memory counted once.

    That is expensive to read, so a cheaper sum that counts it for each process is returned if it is at most `enough`.
    """
    at_most = sum(_kilobytes(pid, "status", ("RssAnon:", "RssShmem:", "VmSwap:")) for pid in processes) * 1024
    if at_most <= enough:
        return at_most
    return sum(_kilobytes(pid, "smaps_rollup", ("Pss_Anon:", "Pss_Shmem:", "SwapPss:")) for pid in processes) * 1024


def socket_bytes(pid: int) -> int:
    """The most that the Unix sockets in this process's network namespace can hold, in bytes.

    The kernel does not say what they hold; the seccomp filter keeps buffers at their default size.
    """
    try:
        lines = Path(f"/proc/{pid}/net/protocols").read_text().splitlines()
        each = int(Path("/proc/sys/net/core/wmem_default").read_text())
    except OSError:
        return 0
    return each * sum(int(line.split()[2]) for line in lines if line.startswith("UNIX"))


def _kilobytes(pid: int, file: str, names: tuple[str, ...]) -> int:
    try:
        lines = Path(f"/proc/{pid}/{file}").read_text().splitlines()
    except OSError:
        return 0  # it has ended
    return sum(int(line.split()[1]) for line in lines if line.startswith(names))


def killed_in(group: str) -> int:
    """How many processes the kernel has killed because the group exceeded its limit."""
    try:
        lines = Path(group).read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("oom_kill "))


# ---- the spool ----------------------------------------------------------------------------------------------


def save_state(name: str, said: dict[str, Any]) -> None:
    """Write a file atomically, so that it survives a crash of the machine."""
    made = os.open(f".{name}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o640)
    with open(made, "w") as file:
        json.dump(said, file)
        file.flush()
        os.fsync(made)
    os.rename(f".{name}", name)
    sync_folder()


def claim_request(asked: dict[str, Any]) -> bool:
    """Claim the command. Only the first of all supervisors gets True, for ever."""
    try:
        made = os.open("started", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o640)
    except FileExistsError:
        return False
    command = hashlib.sha256(json.dumps(asked["arguments"]).encode()).hexdigest()
    with open(made, "w") as file:
        json.dump({**process_identity(os.getpid()), "command": command, "started": time.time()}, file)
        file.flush()
        os.fsync(made)
    sync_folder()
    return True


def process_identity(pid: int) -> dict[str, Any]:
    """Identify a process uniquely: by id, start time and boot, since ids are reused. Raises OSError if it has ended."""
    stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    if stat[0] in "ZX":
        raise ProcessLookupError(f"{pid} has died, and nobody has asked how")
    return {"pid": pid, "since": int(stat[19]), "boot": Path("/proc/sys/kernel/random/boot_id").read_text().strip()}


def sync_folder() -> None:
    folder = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
    os.fsync(folder)
    os.close(folder)


def main(spool: str) -> int:
    os.closerange(3, 1024)  # no open descriptor may reach the sandbox
    asked = json.load(sys.stdin)
    os.chdir(spool)
    if not claim_request(asked):
        return ALREADY_CLAIMED
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # the launcher ignores it, which is inherited
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("sock")
        server.listen(16)
        PtySupervisor(asked, server).run()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
