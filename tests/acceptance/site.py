"""The product as its users start it: real processes, a data folder of their own, nothing else in the environment.

Most of them are forks of one that has loaded what is not ours (`tests.nursery`); some tests start all of it anew.
"""

import contextlib
import fcntl
import functools
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import cached_property
from hashlib import sha256
from http.cookiejar import CookieJar
from pathlib import Path
from typing import IO, Self
from urllib.request import HTTPCookieProcessor, build_opener

from tests import nursery

ROOT = Path(__file__).resolve().parents[2]
APPS = ("debates", "inquiries", "engine", "judgements", "magi_site", "missions", "office", "plans", "runs", "toolbox")


def environment(data: Path, *, empty: bool = False, **more: str) -> dict[str, str]:
    """What a process is told. Its folder has a migrated database, as 3 s of work before, unless it is to be `empty`."""
    bare = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
    if not (empty or "DATABASE_URL" in more or (data / "magi.sqlite3").exists()):
        shutil.copy(migrated(), data / "magi.sqlite3")
    # commands of missions run as somebody else, who may not pass the folders of others
    missions = Path(tempfile.gettempdir()) / f"magi-missions-{os.getuid()}"
    own = {"MAGI_DATA_DIR": str(data), "MAGI_MISSIONS_DIR": str(missions), "MAGI_WORKSPACES_FROM": "/srv/invoices.git"}
    return bare | own | more


@functools.cache
def digest(*more: str) -> str:
    """Of all lines of the product, of which libraries it uses, and of further files and folders."""
    found, places = sha256(), [ROOT / place for place in ("requirements.txt", *APPS, *more)]
    for file in sorted(file for place in places for file in ([place] if place.is_file() else place.rglob("*.py"))):
        found.update(str(file.relative_to(ROOT)).encode() + b"\0" + file.read_bytes() + b"\0")
    return found.hexdigest()[:16]


def kept_file(kind: str, *more: str) -> Path:
    """Where a database is kept for as long as no such line changes."""
    return ROOT / ".pytest_cache" / kind / f"{digest(*more)}.sqlite3"


def put_out_stale(kept: Path) -> None:
    """All but this file and the two before it, which may be asked for again where branches are changed."""
    with contextlib.suppress(FileNotFoundError):  # another process is at it, too
        for stale in sorted(kept.parent.glob("*.sqlite3"), key=lambda file: file.stat().st_mtime)[:-3]:
            stale.unlink()
            stale.with_suffix(".lock").unlink(missing_ok=True)


@contextlib.contextmanager
def making(kept: Path) -> Iterator[bool]:
    """Whether it has to be made. Who else asks for it meanwhile waits: to make it takes 7 s of a processor."""
    kept.parent.mkdir(parents=True, exist_ok=True)
    with kept.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield not kept.exists()


@functools.cache
def migrated() -> Path:
    """A new installation's database."""
    kept = kept_file("migrated", "tests/nursery.py")
    with making(kept) as wanted:
        if wanted:
            with tempfile.TemporaryDirectory(dir=kept.parent) as folder:
                done = manage("migrate", "--verbosity", "0", env=environment(Path(folder), empty=True))
                assert done.returncode == 0, done.stderr
                (Path(folder) / "magi.sqlite3").rename(kept)  # whole or not at all
            put_out_stale(kept)
    return kept


def manage(*words: str, env: dict[str, str], text: str = "", wait: float = 180) -> subprocess.CompletedProcess[str]:
    return python("manage.py", *words, env=env, text=text, wait=wait)


def python(*words: str, env: dict[str, str], text: str = "", wait: float = 180) -> subprocess.CompletedProcess[str]:
    if any(name.startswith("PYTHON") for name in env):  # what is read before anything is loaded
        command = [sys.executable, *words]
        return subprocess.run(command, cwd=ROOT, env=env, input=text, capture_output=True, text=True, timeout=wait)
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(tempfile.TemporaryFile("w+")) for _ in range(3)]
        files[0].write(text)
        files[0].seek(0)
        child = nursery.start(words, env, ROOT, *files)
        stack.callback(child.kill)
        status = child.wait(wait)
        said, complained = (read_again(file) for file in files[1:])
    return subprocess.CompletedProcess(words, status, said, complained)


def read_again(file: IO[str]) -> str:
    file.seek(0)
    return file.read()


def play(*words: str, data: Path, wait: float = 400, **more: str) -> subprocess.CompletedProcess[str]:
    """A rough test as its own command, `python -m tests.…`. It is told to end, not killed, when it takes too long.

    Where it has settings of its own, `more` names them, too: they say what is loaded.
    """
    with tempfile.TemporaryFile("w+") as said, open(os.devnull) as nothing:
        env = environment(data, **more)
        child = nursery.start(["-m", *words], env, ROOT, nothing, said, said, nursing=True)
        try:
            child.wait(wait)
        finally:
            child.terminate()
        return subprocess.CompletedProcess(words, child.wait(), read_again(said))


def judge(*words: str, env: dict[str, str], text: str = "") -> tuple[int, dict]:
    """`manage.py judge --json`: its exit status and the judgement."""
    done = manage("judge", "--json", *words, env=env, text=text)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def state_of(pid: int) -> str:
    """The kernel's letter: R and S for a process at work, T for a stopped one, Z for one that has ended."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]


def can_stop(pid: int) -> bool:
    """Whether a process has come so far that it handles SIGTERM; before, it would simply die of it."""
    caught = re.search(r"SigCgt:\s+(\w+)", Path(f"/proc/{pid}/status").read_text())
    return bool(caught and int(caught[1], 16) >> (signal.SIGTERM - 1) & 1)


class EngineProcess:
    """`manage.py runengine` in a process of its own; killed at the end if it still runs.

    Where its start is measured, it loads `everything` itself.
    """

    def __init__(self, env: dict[str, str], log: Path, *options: str, everything: bool = False) -> None:
        self.env, self.log, self.options, self.everything = env, log, options, everything

    def __enter__(self) -> Self:
        with self.log.open("ab") as log, open(os.devnull) as nothing:
            words, files = ["manage.py", "runengine", *self.options], (nothing, log, log)
            if self.everything:
                streams = dict(zip(("stdin", "stdout", "stderr"), files, strict=True))
                self.process = subprocess.Popen([sys.executable, *words], cwd=ROOT, env=self.env, **streams)
            else:
                self.process = nursery.start(words, self.env, ROOT, *files)
        return self

    def __exit__(self, *_: object) -> None:
        with self.process:
            self.process.kill()

    def stop(self) -> int:
        """Ask it to end, as soon as it listens; its exit status."""
        while self.process.poll() is None and not can_stop(self.process.pid):
            time.sleep(0.02)
        self.process.terminate()
        return self.process.wait(60)

    @property
    def state(self) -> str:
        return state_of(self.process.pid)


def free_port() -> int:
    """Below the range out of which systems serve outgoing connections: those would take it before the site does."""
    while True:
        port = random.randint(20_000, 32_000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


class ServedSite:
    """`manage.py serve` in a process of its own."""

    def __init__(self, data: Path, *options: str, **env: str) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.env = environment(data, **env)
        self.log = data / "serve.log"
        self.options = options

    longest_start = 120.0

    def start(self, log: IO[bytes]) -> "nursery.Child | subprocess.Popen[bytes]":
        with open(os.devnull) as nothing:
            words = ["manage.py", "serve", "--port", str(self.port), *self.options]
            return nursery.start(words, self.env, ROOT, nothing, log, log)

    def __enter__(self) -> Self:
        with self.log.open("ab") as log:
            self.process = self.start(log)
        self.wait_until_up()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> int:
        if self.process.poll() is None:
            self.process.terminate()
        return self.process.wait(60)

    def wait_until_up(self) -> None:
        end = time.monotonic() + self.longest_start
        while self.process.poll() is None and time.monotonic() < end:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.05)
        raise AssertionError(f"the site did not start:\n{self.log.read_text()}")

    @property
    def link(self) -> str:
        """The newest one-time sign-in link that was printed."""
        return re.findall(r"http://\S+/accounts/enter/\S+", self.log.read_text())[-1]

    @cached_property
    def visitor_session(self) -> str:
        """The session cookie of somebody who came in through the link."""
        jar = CookieJar()
        with build_opener(HTTPCookieProcessor(jar)).open(self.link, timeout=60):
            return next(cookie.value or "" for cookie in jar if cookie.name == "sessionid")


class Newcomer(ServedSite):
    """A fresh clone in an empty folder, an empty environment, and the README's first command."""

    longest_start = 300.0

    def __init__(self, folder: Path) -> None:
        self.root = folder / "magi"
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(self.root)], check=True)
        super().__init__(folder)
        del self.env["MAGI_DATA_DIR"]

    def start(self, log: IO[bytes]) -> "subprocess.Popen[bytes]":
        command = ["make", "serve", f"PORT={self.port}"]
        return subprocess.Popen(command, cwd=self.root, env=self.env, stdout=log, stderr=log)

    def stop(self) -> int:
        # make passes a signal on only from a terminal
        subprocess.run(["pkill", "-TERM", "-P", str(self.process.pid)], check=False)
        return self.process.wait(60)
