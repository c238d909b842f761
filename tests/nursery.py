"""Processes of MAGI that need not load Python, Django and what else is not ours: that is most of a second of each.

One process has loaded it. Everything that is to run `manage.py` is a fork of it, made before it has a setting, a
thread, a connection or an event loop, and goes on as that script with an environment, a folder and files of its own.
`Nursery` is the other side of its socket; all that it started ends with it.

Why so: docs/decisions.md, The tests.
"""

import array
import atexit
import ctypes
import gc
import importlib
import io
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, NoReturn, Self

DIES_WITH_PARENT = 1  # PR_SET_PDEATHSIG of prctl
LONGEST_REQUEST = 65_536
NOT_OURS = """
aiohttp django.contrib.auth.hashers django.contrib.sessions.backends.db django.contrib.staticfiles.handlers
django.core.management.commands.migrate django.core.management.commands.runserver django.core.signing django.db.models
django.db.backends.sqlite3.base django.forms django.http django.shortcuts django.template.defaulttags django.test
django.test.client django.views.generic openai openai.types.chat psycopg psycopg_pool pydantic_settings redis.asyncio
sqlite3 tenacity twisted.web.http whitenoise.middleware
""".split()


class Child:
    """A process of the nursery, to be used as one of subprocess.Popen."""

    def __init__(self, nursery: "Nursery", pid: int, words: Sequence[str]) -> None:
        self.nursery, self.pid, self.args = nursery, pid, words
        self.returncode: int | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.wait()

    def poll(self) -> int | None:
        if self.returncode is None:
            self.returncode = self.nursery.ask({"poll": self.pid})
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        end = None if timeout is None else time.monotonic() + timeout
        while self.poll() is None:
            if end is not None and time.monotonic() > end:
                raise subprocess.TimeoutExpired(list(self.args), timeout or 0)
            time.sleep(0.01)
        return self.returncode or 0

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)  # the nursery has not waited for it: the number is still its own

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class Nursery:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._socket, theirs = socket.socketpair()
        command = [sys.executable, "-m", "tests.nursery", str(theirs.fileno())]
        bare = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        root = Path(__file__).parent.parent
        # a session of its own: an interrupt from the keyboard is the tests' to handle
        self._process = subprocess.Popen(
            command, cwd=root, env=bare, pass_fds=[theirs.fileno()], start_new_session=True
        )
        theirs.close()
        atexit.register(self.close)

    def close(self) -> None:
        self._socket.close()  # the other side ends, and its children with it
        self._process.wait()

    def start(self, words: Sequence[str], env: dict[str, str], cwd: Path, *files: IO[Any]) -> Child:
        """`manage.py` with these words; `files` are what it reads and the two that it writes."""
        request = {"start": list(words), "env": env, "cwd": str(cwd)}
        return Child(self, self.ask(request, [file.fileno() for file in files]), words)

    def ask(self, request: dict[str, Any], files: Sequence[int] = ()) -> Any:
        sent = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", files))] if files else []
        with self._lock:
            data = json.dumps(request).encode()
            self._socket.sendmsg([len(data).to_bytes(4, "big")], sent)
            self._socket.sendall(data)
            if not (answer := self._socket.recv(100)):
                raise RuntimeError("the nursery has ended")
        return json.loads(answer)


_nursery: list[Nursery] = []


def start(words: Sequence[str], env: dict[str, str], cwd: Path, *files: IO[Any]) -> Child:
    """In the one nursery of this process."""
    with _making:
        if not _nursery:
            _nursery.append(Nursery())
    return _nursery[0].start(words, env, cwd, *files)


_making = threading.Lock()

# ---- the other side --------------------------------------------------------------------------------------------


def main(number: int) -> None:
    for name in NOT_OURS:
        importlib.import_module(name)
    if len(os.listdir("/proc/self/task")) > 1:
        raise RuntimeError("A thread is running: a fork could inherit a lock that nobody opens.")
    gc.freeze()  # what is loaded is shared with the children and never looked at again
    ours = socket.socket(fileno=number)
    while True:
        size, sent, _, _ = ours.recvmsg(4, socket.CMSG_SPACE(3 * array.array("i").itemsize))
        if not size:
            return
        data = ours.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL)
        files = array.array("i")
        for _, _, received in sent:
            files.frombytes(received)
        ours.sendall(json.dumps(obey(json.loads(data), list(files), ours)).encode())
        for file in files:
            os.close(file)


def obey(request: dict[str, Any], files: list[int], ours: socket.socket) -> int | None:
    if "poll" in request:
        pid, status = os.waitpid(request["poll"], os.WNOHANG)
        return os.waitstatus_to_exitcode(status) if pid else None
    if child := os.fork():
        return child
    ours.close()
    live(request, files)


def live(request: dict[str, Any], files: list[int]) -> NoReturn:
    """In the child: `python manage.py …`, until it ends."""
    status = 1
    try:
        ctypes.CDLL(None).prctl(DIES_WITH_PARENT, signal.SIGKILL)
        for number, file in enumerate(files):
            os.dup2(file, number)
            os.close(file)
        os.chdir(request["cwd"])
        os.environ.clear()
        os.environ.update(request["env"])
        open_streams()
        sys.argv = ["manage.py", *request["start"]]
        status = run()
        threading._shutdown()  # type: ignore[attr-defined] - as Python does it: threads may still be at work
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(status)


def open_streams() -> None:
    sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0)), "utf-8")
    sys.stdout = io.TextIOWrapper(io.BufferedWriter(io.FileIO(1, "w")), "utf-8")
    sys.stderr = io.TextIOWrapper(
        io.BufferedWriter(io.FileIO(2, "w")), "utf-8", "backslashreplace", line_buffering=True
    )


def run() -> int:
    try:
        runpy.run_path("manage.py", run_name="__main__")
    except SystemExit as left:
        if left.code is None or isinstance(left.code, int):
            return left.code or 0
        print(left.code, file=sys.stderr)
        return 1
    except BaseException:  # noqa: BLE001 - Python itself would print it
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    main(int(sys.argv[1]))
