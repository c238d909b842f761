"""Engine processes to start, kill, pause and continue.

Python and Django need most of a second to start. So one process loads them, and every worker is a fork of it that
goes on as `manage.py runengine`: a start takes some hundredths of a second. It forks before it has a thread, a
connection or an event loop, so that nothing is shared but code. `Workers` is the other side of its pipes.
"""

import ctypes
import gc
import os
import signal
import subprocess
import sys
import time
import traceback
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, Self

from tests.acceptance.site import ROOT, can_stop, state_of

if TYPE_CHECKING:
    from tests.stage import Stage

DIES_WITH_PARENT = 1  # PR_SET_PDEATHSIG of prctl


@dataclass(eq=False)
class Worker:
    pid: int
    folder: Path
    started: float = field(default_factory=time.monotonic)

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    @property
    def state(self) -> str:
        return state_of(self.pid)

    @property
    def can_stop(self) -> bool:
        return can_stop(self.pid)

    @property
    def name(self) -> str:
        """What its engine calls itself in the rows; empty until it has come so far."""
        file = self.folder / f"{self.pid}.name"
        return file.read_text() if file.exists() else ""


class Workers:
    """The engine processes of one database. Use as a context manager: at its end none is left."""

    def __init__(self, env: dict[str, str], folder: Path, concurrency: int) -> None:
        self.env, self.folder, self.concurrency = env, folder, concurrency
        self.alive: list[Worker] = []

    def __enter__(self) -> Self:
        self.folder.mkdir()
        command = [sys.executable, "-m", "tests.chaos_worker", str(self.folder), str(self.concurrency)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        # a session of its own: an interrupt from the keyboard is the play's to handle
        self._nursery = subprocess.Popen(command, cwd=ROOT, env=self.env, start_new_session=True, **pipes)
        self._reply()
        return self

    def __exit__(self, *_: object) -> None:
        with self._nursery:
            self._nursery.stdin.close()  # the other side kills its children, waits for them and ends
            self._nursery.wait()

    def start(self) -> Worker:
        worker = Worker(int(self._ask("start")), self.folder)
        self.alive.append(worker)
        return worker

    def kill(self, worker: Worker, number: signal.Signals = signal.SIGKILL) -> int:
        """End it, wait for that, and give its status as `os.waitpid` does, but as one number: -9 for SIGKILL."""
        self.alive.remove(worker)
        return int(self._ask(f"end {worker.pid} {number.value}"))

    def fallen(self) -> list[Worker]:
        """Those that have ended although nobody asked them to."""
        return [worker for worker in self.alive if worker.state == "Z"]

    def log(self) -> str:
        return (self.folder / "workers.log").read_text(errors="replace")

    def _ask(self, line: str) -> str:
        self._nursery.stdin.write(f"{line}\n")
        self._nursery.stdin.flush()
        return self._reply()

    def _reply(self) -> str:
        if not (line := self._nursery.stdout.readline()):
            raise RuntimeError("The process that starts the workers has ended.")
        return line.strip()


class Crew:
    """Workers of this place, gone at its end."""

    def __init__(self, place: "Stage", concurrency: int, **more: str) -> None:
        self._stack, self._place, self._concurrency, self._more = ExitStack(), place, concurrency, more

    def __enter__(self) -> "Crew":
        number = len(list(self._place.folder.glob("crew*")))
        folder = self._place.folder / f"crew{number}"
        self._workers = self._stack.enter_context(Workers(self._place.env | self._more, folder, self._concurrency))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def start(self) -> Worker:
        return self._workers.start()

    def kill(self, worker: Worker) -> None:
        self._workers.kill(worker)


# ---- the other side --------------------------------------------------------------------------------------------


def main(folder: Path, concurrency: str) -> None:
    load()
    gc.freeze()  # what is loaded is shared with the children and never looked at again
    print("ready", flush=True)
    children: set[int] = set()
    try:
        for line in sys.stdin:
            print(obey(line.split(), folder, concurrency, children), flush=True)
    finally:
        for child in children:
            end(child, signal.SIGKILL)


def obey(words: list[str], folder: Path, concurrency: str, children: set[int]) -> int:
    match words:
        case ["start"]:
            child = start(folder, concurrency)
            children.add(child)
            return child
        case ["end", pid, number]:
            children.remove(int(pid))
            return end(int(pid), int(number))
    raise ValueError(f"not understood: {words}")


def end(pid: int, number: int) -> int:
    os.kill(pid, number)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def load() -> None:
    """Everything that a worker needs, as far as it can be had without a thread or a connection."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "magi_site.settings")
    import django

    django.setup()
    import engine.management.commands.runengine  # noqa: F401
    import judgements.procedure  # noqa: F401


def start(folder: Path, concurrency: str) -> int:
    if len(os.listdir("/proc/self/task")) > 1:
        raise RuntimeError("A thread is running: a fork could inherit a lock that nobody opens.")
    return os.fork() or live(folder, concurrency)


def live(folder: Path, concurrency: str) -> NoReturn:
    """In the child: `manage.py runengine`, until it ends."""
    status = 1
    try:
        die_with_parent()
        log = os.open(folder / "workers.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        for number, file in enumerate((os.open(os.devnull, os.O_RDONLY), log, log)):
            os.dup2(file, number)
        os.environ["PGAPPNAME"] = f"worker {os.getpid()}"
        tell_name(folder / f"{os.getpid()}.name")
        perform_instead(os.environ.get("MAGI_TEST_PROCEDURE", ""))
        from django.core.management import execute_from_command_line

        execute_from_command_line(["manage.py", "runengine", "--concurrency", concurrency])
        status = 0
    except SystemExit as left:
        status = left.code if isinstance(left.code, int) else 1
    except BaseException:  # noqa: BLE001 - whatever ends a worker has to be read in its log
        traceback.print_exc()
    finally:
        os._exit(status)


def die_with_parent() -> None:
    ctypes.CDLL(None).prctl(DIES_WITH_PARENT, signal.SIGKILL)


def tell_name(file: Path) -> None:
    """The one thing added: the engine writes down what it calls itself, so that a kill can be found in the rows."""
    from engine.worker import Engine

    begin = Engine.__init__

    def begin_and_tell(engine: Engine, *args: object, **options: object) -> None:
        begin(engine, *args, **options)
        file.write_text(engine.worker)

    Engine.__init__ = begin_and_tell


def perform_instead(procedure: str) -> None:
    """Where a test names a procedure of its own, judgements are performed by that."""
    from django.conf import settings

    if procedure:
        settings.PROCEDURES = {**settings.PROCEDURES, "judgement": procedure}


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
