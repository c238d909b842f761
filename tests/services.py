"""PostgreSQL and Redis of one's own: private servers in a folder of their own, that a test may stop, crash and lose.

They end with the process that started them, however that ends.
"""

import os
import random
import shutil
import signal
import socket
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

import psycopg

LONGEST_START = 30.0


def postgres_programs() -> Path | None:
    """Where the newest PostgreSQL of this machine is; Debian puts its server programs on no path."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    here = shutil.which("initdb")
    return found[-1].parent if found else Path(here).parent if here else None


def available() -> bool:
    """Whether both servers, and what ties them to this process, are installed."""
    return bool(postgres_programs() and shutil.which("redis-server") and shutil.which("setpriv"))


def quiet_port() -> int:
    """A free port below those that outgoing connections are given: it is still free after a restart."""
    while True:
        port = random.randint(15_000, 30_000)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


class ServerProcess:
    """A server process that listens on a port of its own."""

    name = ""
    at_once = signal.SIGKILL  # ends it, and all that belongs to it, without tidying up

    def __init__(self, folder: Path) -> None:
        self.folder, self.port, self.restarts = folder / self.name, quiet_port(), 0
        self.folder.mkdir()
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop(self.at_once)

    def command(self) -> list[str]:
        raise NotImplementedError

    def answers(self) -> bool:
        raise NotImplementedError

    def start(self) -> None:
        with (self.folder.parent / f"{self.name}.log").open("ab") as log:
            # setpriv: the kernel ends the server when the process that started it is gone
            command = ["setpriv", "--pdeathsig", "KILL", *self.command()]
            self._process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        end = time.monotonic() + LONGEST_START
        while not self.answers():
            if self._process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"{self.name} did not start:\n{Path(log.name).read_text()[-2000:]}")
            time.sleep(0.02)

    def stop(self, number: signal.Signals) -> None:
        if self._process:
            with self._process as process:
                process.send_signal(number)
            self._process = None

    def restart(self, number: signal.Signals) -> None:
        self.stop(number)
        self.start()
        self.restarts += 1


class RedisServer(ServerProcess):
    name = "redis"

    def command(self) -> list[str]:
        # nothing is saved: what a layer holds is allowed to be lost
        place = ["--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder)]
        return ["redis-server", *place, "--save", "", "--appendonly", "no"]

    def answers(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"


class Postgres(ServerProcess):
    name = "postgres"
    at_once = signal.SIGQUIT
    SETTINGS = {
        "listen_addresses": "127.0.0.1",
        "unix_socket_directories": "",
        "max_connections": "200",
        # what a crash of the server can lose stays as it is; only a crash of the machine could lose more
        "fsync": "off",
    }

    def __init__(self, folder: Path, kept: Path | None = None) -> None:
        """New and empty; or, where one was `kept` there, just as that was."""
        super().__init__(folder)
        programs = postgres_programs()
        if programs is None:
            raise RuntimeError("PostgreSQL is not installed")
        self.programs = programs
        # PostgreSQL refuses to run as root
        root = os.geteuid() == 0
        self._as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"] if root else []
        if root:
            shutil.chown(self.folder, "postgres", "postgres")
        if kept and kept.exists():
            _copy(kept, self.folder)
        else:
            self._make()

    def _make(self) -> None:
        options = [
            "-D",
            str(self.folder),
            "-U",
            "postgres",
            "-A",
            "trust",
            "-E",
            "UTF8",
            "--locale=C.UTF-8",
            "--no-sync",
        ]
        initdb = [*self._as_user, str(self.programs / "initdb"), *options]
        done = subprocess.run(initdb, cwd="/", capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"initdb failed:\n{done.stderr}")

    def keep(self, kept: Path) -> None:
        """Another may begin as this one is now."""
        kept.parent.mkdir(parents=True, exist_ok=True)
        self.stop(signal.SIGINT)  # in good order
        with TemporaryDirectory(dir=kept.parent) as folder, suppress(OSError):  # others may be at it, too
            whole = Path(folder) / kept.name
            whole.mkdir()
            _copy(self.folder, whole)
            whole.rename(kept)
        self.start()

    def command(self) -> list[str]:
        settings = [word for name, value in self.SETTINGS.items() for word in ("-c", f"{name}={value}")]
        tied = [
            "setpriv",
            "--pdeathsig",
            self.at_once.name.removeprefix("SIG"),
        ]  # again, after the change of user has undone it
        server = [str(self.programs / "postgres"), "-D", str(self.folder), "-p", str(self.port)]
        return [*self._as_user, *tied, *server, *settings]

    def answers(self) -> bool:
        with suppress(psycopg.OperationalError), psycopg.connect(self.url("postgres"), connect_timeout=5):
            return True
        return False

    def url(self, database: str) -> str:
        return f"postgres://postgres@127.0.0.1:{self.port}/{database}"

    def create(self, database: str, template: str = "template0") -> str:
        """A new database; its address."""
        with psycopg.connect(self.url("postgres"), autocommit=True) as server:
            server.execute(f'CREATE DATABASE "{database}" TEMPLATE "{template}"')
        return self.url(database)


def _copy(one: Path, other: Path) -> None:
    """Owners and all, which PostgreSQL looks at."""
    subprocess.run(["cp", "--archive", "--reflink=auto", f"{one}/.", str(other)], check=True)
