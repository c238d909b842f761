"""What plays of the small goals share: an endpoint that is told what to say, and who dies beside it."""

import ctypes
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from tests.acceptance.site import ROOT
from tests.missions.goals import PATIENCE

ADOPTS = 36  # PR_SET_CHILD_SUBREAPER of prctl
Message = dict[str, Any]
Said = Message | Callable[[], Message]
Says = dict[str, list[tuple[str, Said]]]


@dataclass
class PeerPlayed:
    """`calls`: as the endpoint has written them down. `start`: seconds of the processor before the first question."""

    goal: str
    reached: bool
    calls: list[dict[str, Any]]
    rows: int = 0
    kept: int = 0
    start: float = 0.0
    private: list[str] = field(default_factory=list)


class Family:
    """All that is begun from here, also what its parents left behind: it comes to this process, which counts it."""

    def __init__(self) -> None:
        ctypes.CDLL(None).prctl(ADOPTS, 1)
        self.cpu, self.ended = 0.0, dict[int, int]()

    def collect(self) -> None:
        while True:
            try:
                pid, status, used = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            self.ended[pid] = os.waitstatus_to_exitcode(status)
            self.cpu += used.ru_utime + used.ru_stime

    def over(self, process: "subprocess.Popen[Any]") -> bool:
        self.collect()
        process.returncode = self.ended.get(process.pid)
        return process.returncode is not None

    def kill(self, process: "subprocess.Popen[Any]") -> None:
        process.kill()
        wait(lambda: self.over(process))


class Models:
    """The endpoint, in a process of its own."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "tests.missions.peer_endpoint"]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self._process = subprocess.Popen(command, cwd=ROOT, **pipes)
        self.url = f"http://127.0.0.1:{int(self._process.stdout.readline())}/v1"  # type: ignore[union-attr]
        self._acts: list[Callable[[], Message]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()

    def _order(self, **order: Any) -> Any:
        self._process.stdin.write(json.dumps(order) + "\n")  # type: ignore[union-attr]
        self._process.stdin.flush()  # type: ignore[union-attr]
        return json.loads(self._process.stdout.readline())  # type: ignore[union-attr]

    def play(self, says: Says, nothing: Message, hold: int = 0) -> None:
        """What is no message is done when it comes to that, and gives one."""
        self._acts = [said for answers in says.values() for _, said in answers if callable(said)]
        sent = {who: [(label, None if callable(said) else said) for label, said in of] for who, of in says.items()}
        self._order(do="play", says=sent, nothing=nothing, hold=hold)

    def until(self, over: Callable[[int], bool]) -> None:
        """It is over, as is told from how many answers are left; meanwhile what has to be done is done."""

        def come() -> bool:
            return over(self._looked()["left"])

        wait(come)

    def until_held(self) -> None:
        wait(lambda: self._looked()["held"] == "hold")

    def _looked(self) -> dict[str, Any]:
        standing: dict[str, Any] = self._order(do="look")
        if standing["held"] == "act":
            self._order(do="go", message=self._acts.pop(0)())
        return standing

    def drop(self) -> None:
        """What was held is never answered: whoever asked is dead."""
        self._order(do="go", message=None)

    @property
    def calls(self) -> list[dict[str, Any]]:
        return self._order(do="told")


def wait(come: Callable[[], object], longest: float = PATIENCE) -> None:
    end = time.monotonic() + longest
    while not come():
        if time.monotonic() > end:
            raise SystemExit("it does not come to that")
        time.sleep(0.02)


def half(calls: int) -> int:
    return calls // 2 + 1


def percentile(values: Sequence[float], of: int) -> float:
    """By the nearest rank."""
    found = sorted(values)
    return found[-(-len(found) * of // 100) - 1] if found else 0.0
