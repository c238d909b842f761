"""Processes of MAGI that need not load Python, Django and all modules: that is a second of each and more.

One process has loaded them. What is to run `manage.py`, or a module of the tests, is a fork of it, made before it has a
thread, a connection or an event loop, and goes on as that script with an environment, a folder and files of its own.
Settings it has none: those that the modules were loaded with are forgotten before, and the script reads its own.
`Nursery` is the other side of its socket; all that it started ends with it.

Why so: tests/DESIGN.md, The tests.
"""

import array
import atexit
import ctypes
import gc
import importlib
import io
import json
import os
import pkgutil
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, NoReturn, Self

DIES_WITH_PARENT = 1  # PR_SET_PDEATHSIG of prctl
LONGEST_REQUEST = 65_536
NOT_OURS = """
aiohttp channels.auth channels.routing channels_redis.pubsub daphne.access daphne.ws_protocol
django.contrib.sessions.backends.db django.contrib.staticfiles.handlers django.core.management.commands.migrate
django.core.management.commands.runserver django.test.client openai openai.types.chat psycopg psycopg_pool
redis.asyncio sqlite3 tenacity twisted.web.http whitenoise.middleware
""".split()
OURS = "automation_api debates engine inquiries judgements magi_site missions office plans runs toolbox".split()
# what makes an event loop or reads settings as it is loaded (as all `urls` do), or takes long and is seldom used
LATER = "magi_site.settings magi_site.asgi magi_site.management.commands.serve engine.mcp toolbox.pdf_text".split()


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
    def __init__(self, ours: socket.socket) -> None:
        self._lock = threading.Lock()
        self._socket = ours

    def start(
        self, words: Sequence[str], env: dict[str, str], cwd: Path, *files: IO[Any], nursing: bool = False
    ) -> Child:
        """What `python` is told; `files` are what it reads and the two that it writes.

        `nursing`: it will start others, by a nursery that is a fork, too.
        """
        request = {"start": list(words), "env": env, "cwd": str(cwd), "nursing": nursing}
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


def _new(settings: str) -> Nursery:
    ours, theirs = socket.socketpair()
    command = [sys.executable, "-m", "tests.nursery", settings, str(theirs.fileno())]
    bare = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
    root = Path(__file__).parent.parent
    # a session of its own: an interrupt from the keyboard is the tests' to handle
    process = subprocess.Popen(command, cwd=root, env=bare, pass_fds=[theirs.fileno()], start_new_session=True)
    theirs.close()
    atexit.register(process.wait)
    atexit.register(ours.close)  # the other side ends, and its children with it
    return Nursery(ours)


USUAL = "magi_site.settings"
LIKE_USUAL = ("tests.acting.beside_plans", "tests.missions.beside")  # its apps, so what was loaded for it serves these
WITHOUT_PAGES = ("tests.acting.settings",)  # what shows and answers is not loaded
_there: dict[str, Nursery] = {}  # one for each module of settings, which say what there is to load


def start(words: Sequence[str], env: dict[str, str], cwd: Path, *files: IO[Any], nursing: bool = False) -> Child:
    """In the nursery of this process that has loaded what these settings name."""
    settings = loaded_for(env)
    with _making:
        if settings not in _there:
            _there[settings] = _new(settings)
    return _there[settings].start(words, env, cwd, *files, nursing=nursing)


def loaded_for(env: dict[str, str]) -> str:
    settings = env.get("DJANGO_SETTINGS_MODULE", USUAL)
    return USUAL if settings in LIKE_USUAL else settings


_making = threading.Lock()

# ---- the other side --------------------------------------------------------------------------------------------


def main(settings: str, number: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"MAGI_DATA_DIR": folder, "DJANGO_SETTINGS_MODULE": settings}
        load()
    forget_settings()
    if len(os.listdir("/proc/self/task")) > 1:
        raise RuntimeError("A thread is running: a fork could inherit a lock that nobody opens.")
    gc.freeze()  # what is loaded is shared with the children and never looked at again
    serve(socket.socket(fileno=number))


def serve(ours: socket.socket) -> None:
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


def load() -> None:
    for name in NOT_OURS:
        importlib.import_module(name)
    import django
    from django.template import engines

    django.setup()
    pages = os.environ["DJANGO_SETTINGS_MODULE"] not in WITHOUT_PAGES
    for room in OURS if pages else ["engine", "office"]:
        load_room(room)
    for file in Path("templates").rglob("*.html"):
        engines["django"].get_template(str(file.relative_to("templates")))


def load_room(name: str) -> None:
    module = importlib.import_module(name)
    for found in pkgutil.iter_modules(getattr(module, "__path__", ()), f"{name}."):
        if found.name not in LATER and not found.name.endswith((".migrations", ".urls")):
            load_room(found.name)


def forget_settings() -> None:
    """No module has kept one (a test looks); who asks next reads them anew, in the environment that there is then."""
    from django.conf import settings
    from django.db import connections
    from django.utils.functional import empty

    for name in [name for name in sys.modules if name.startswith(("magi_site.", "tests."))]:
        if "ROOT_URLCONF" in vars(sys.modules[name]):
            del sys.modules[name]
    settings._wrapped = empty
    for alias in list(connections):
        del connections[alias]
    connections._settings = None
    del connections.settings
    tempfile.tempdir = None


def obey(request: dict[str, Any], files: list[int], ours: socket.socket) -> int | None:
    if "poll" in request:
        pid, status = os.waitpid(request["poll"], os.WNOHANG)
        return os.waitstatus_to_exitcode(status) if pid else None
    if child := os.fork():
        return child
    ours.close()
    live(files, **request)


def live(files: list[int], start: list[str], env: dict[str, str], cwd: str, nursing: bool) -> NoReturn:
    """In the child: what it was started for, until that ends."""
    status = 1
    try:
        die_with_parent()
        os.setpgid(0, 0)  # a group of its own: it can be killed with all that it has begun
        if nursing:
            nurse(files, env)
        for number, file in enumerate(files):
            os.dup2(file, number)
            os.close(file)
        os.chdir(cwd)
        os.environ.clear()
        os.environ.update(env)
        open_streams()
        from engine import fault_injection

        fault_injection.arm_fault(os.environ.get("MAGI_TEST_FAULT", ""))
        status = run(start)
        threading._shutdown()  # type: ignore[attr-defined] - as Python does it: threads may still be at work
        atexit._run_exitfuncs()
        close_files()
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(status)


def close_files() -> None:
    """As Python does it when it ends: what SQLite wrote beside a database comes into its file."""
    from django.conf import settings
    from django.db import connections

    from magi_site.sqlite.base import close_pooled

    if settings.configured:
        connections.close_all()
    close_pooled()


def die_with_parent() -> None:
    ctypes.CDLL(None).prctl(DIES_WITH_PARENT, signal.SIGKILL)


def nurse(files: list[int], env: dict[str, str]) -> None:
    """Leave a nursery for what this process will start, as long as it is nothing but a fork itself."""
    ours, theirs = socket.socketpair()
    if not os.fork():
        die_with_parent()
        for file in (*files, ours.detach()):
            os.close(file)
        try:
            serve(theirs)
        finally:
            os._exit(0)
    theirs.close()
    there = importlib.import_module("tests.nursery")  # this module has another name here
    there._there[loaded_for(env)] = there.Nursery(ours)


def open_streams() -> None:
    sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0)), "utf-8")
    sys.stdout = io.TextIOWrapper(io.BufferedWriter(io.FileIO(1, "w")), "utf-8")
    sys.stderr = io.TextIOWrapper(
        io.BufferedWriter(io.FileIO(2, "w")), "utf-8", "backslashreplace", line_buffering=True
    )


def run(words: list[str]) -> int:
    try:
        if words[0] == "-m":
            sys.argv = words[1:]
            runpy.run_module(words[1], run_name="__main__", alter_sys=True)
        else:
            sys.argv = words
            runpy.run_path(words[0], run_name="__main__")
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
    main(sys.argv[1], int(sys.argv[2]))
