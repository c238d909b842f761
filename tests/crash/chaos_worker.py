"""Engine processes to start, kill, pause and continue.

Each is a fork of the nursery, so that a start takes some hundredths of a second, and does as `manage.py runengine`.
"""

import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Self

from tests import nursery
from tests.acceptance.site import ROOT, can_stop, state_of

if TYPE_CHECKING:
    from tests.stage import Stage


@dataclass(eq=False)
class ChaosWorker:
    process: "nursery.Child | subprocess.Popen[bytes]"
    folder: Path
    started: float = field(default_factory=time.monotonic)

    @property
    def pid(self) -> int:
        return self.process.pid

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
        self.alive: list[ChaosWorker] = []

    def __enter__(self) -> Self:
        self.folder.mkdir()
        return self

    def __exit__(self, *_: object) -> None:
        for worker in list(self.alive):
            self.kill(worker)

    def start(self) -> ChaosWorker:
        words = ["-m", "tests.crash.chaos_worker", str(self.folder), str(self.concurrency)]
        with (self.folder / "workers.log").open("ab") as log, open(os.devnull) as nothing:
            worker = ChaosWorker(nursery.start(words, self.env, ROOT, nothing, log, log), self.folder)
        self.alive.append(worker)
        return worker

    def kill(self, worker: ChaosWorker, number: signal.Signals = signal.SIGKILL) -> int:
        """End it, wait for that, and give its status as `os.waitpid` does, but as one number: -9 for SIGKILL."""
        self.alive.remove(worker)
        worker.signal(number)
        return worker.process.wait()

    def fallen(self) -> list[ChaosWorker]:
        """Those that have ended although nobody asked them to."""
        return [worker for worker in self.alive if worker.state == "Z"]

    def log(self) -> str:
        return (self.folder / "workers.log").read_text(errors="replace")


class ChaosCrew:
    """Workers of this place, gone at its end."""

    def __init__(self, place: "Stage", concurrency: int, **more: str) -> None:
        self._stack, self._place, self._concurrency, self._more = ExitStack(), place, concurrency, more

    def __enter__(self) -> "ChaosCrew":
        number = len(list(self._place.folder.glob("crew*")))
        folder = self._place.folder / f"crew{number}"
        self._workers = self._stack.enter_context(Workers(self._place.env | self._more, folder, self._concurrency))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def start(self) -> ChaosWorker:
        return self._workers.start()

    def kill(self, worker: ChaosWorker) -> None:
        self._workers.kill(worker)


# ---- the worker itself ------------------------------------------------------------------------------------------


def work(folder: Path, concurrency: str) -> None:
    os.environ["PGAPPNAME"] = f"worker {os.getpid()}"
    tell_name(folder / f"{os.getpid()}.name")
    perform_instead(os.environ.get("MAGI_TEST_PROCEDURE", ""))
    from django.core.management import execute_from_command_line

    execute_from_command_line(["manage.py", "runengine", "--concurrency", concurrency])


def tell_name(file: Path) -> None:
    """The one thing added: the engine writes down what it calls itself, so that a kill can be found in the rows."""
    from engine.queue.worker import Worker

    begin = Worker.__init__

    def begin_and_tell(engine: Worker, *args: object, **options: object) -> None:
        begin(engine, *args, **options)
        file.write_text(engine.worker)

    Worker.__init__ = begin_and_tell


def perform_instead(procedure: str) -> None:
    """Where a test names a procedure of its own, judgements are performed by that."""
    from django.conf import settings

    if procedure:
        settings.PROCEDURES = {**settings.PROCEDURES, "judgement": procedure}


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "magi_site.settings")
    work(Path(sys.argv[1]), sys.argv[2])
