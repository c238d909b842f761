"""A long queue survives a restart of the engine, which begins at once and whose memory does not grow with it.

python -m tests.load.long_queue --judgements 10000 --database postgres
"""

import argparse
import re
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.acceptance.site import EngineProcess
from tests.endpoint import ScriptedEndpoint
from tests.stage import DATABASES, Stage, stage

SHORT = 100  # so many wait in the queue that the long one is compared with
LATEST_START = 5.0
LARGEST_GROWTH = 16.0  # MB more than with the short queue; all that waits would be more than that
CONTENT = "Shall the bridge be closed tonight? " * 500  # 18 kB, close to the longest


@dataclass
class Life:
    """Of one engine process, from its start to its end."""

    first: float  # seconds until it had begun the first judgement, without those that it waited for a processor
    megabytes: float  # at most
    status: int

    def __str__(self) -> str:
        return f"first judgement after {self.first:.1f} s, {self.megabytes:.0f} MB, exit status {self.status}"


def submit(number: int) -> None:
    from django.db import transaction

    from judgements.models import Judgement
    from tests.conftest import agents

    with transaction.atomic():
        for _ in range(number):
            Judgement.objects.submit(owner=None, content=CONTENT, agents=agents("openai/a", "openai/b", "openai/c"))


def live(place: Stage, concurrency: int, seconds: float) -> Life:
    """Start an engine, let it work for so long, stop it."""
    options = ("--concurrency", str(concurrency))
    begun, megabytes = time.monotonic(), 0.0
    with EngineProcess(place.env, place.folder / "log", *options, everything=True) as engine:
        wait_until(lambda: of_status("running") > 0)
        at_work = time.monotonic()
        first = at_work - begun - waited(engine.process.pid)
        while time.monotonic() < at_work + seconds:
            megabytes = max(megabytes, resident(engine.process.pid))
            time.sleep(0.1)
        return Life(first, megabytes, engine.stop())


def resident(pid: int) -> float:
    return int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1]) / 1024


def waited(pid: int) -> float:
    """Seconds in which a process could have gone on, had the machine not been busy with others."""
    threads = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(thread.read_text().split()[1]) for thread in threads) / 1e9


def wait_until(happened: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not happened():
        if time.monotonic() > end:
            raise RuntimeError("the engine begins nothing")
        time.sleep(0.02)


def of_status(status: str) -> int:
    from engine.models import Run

    return Run.objects.filter(status=status).count()


def problems(lives: list[Life], judgements: int) -> list[str]:
    short, *long = lives
    found = [f"began only after {life.first:.1f} s" for life in lives if life.first > LATEST_START]
    found += [f"ended with {life.status}" for life in lives if life.status]
    growth = max(life.megabytes for life in long) - short.megabytes
    if growth > LARGEST_GROWTH:
        found.append(f"needed {growth:.0f} MB more for the long queue")
    left, done = of_status("queued"), of_status("finished")
    if left + done != judgements or not done:
        found.append(f"of {judgements} judgements {left} wait and {done} are finished")
    return found


def main(options: argparse.Namespace) -> int:
    with ScriptedEndpoint() as endpoint, stage(options.database, OPENAI_BASE_URL=endpoint.base_url) as place:
        endpoint.script(delay=0.05, ledger=str(place.folder / "ledger"))
        lives = []
        for number in (SHORT, options.judgements - SHORT, 0):
            submit(number)
            lives.append(live(place, options.concurrency, options.seconds))
            print(f"{of_status('queued'):>6} wait, {of_status('finished')} are finished: {lives[-1]}", flush=True)
        found = problems(lives, options.judgements)
    print("\n".join(found) or "ok")
    return 1 if found else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Restart an engine before a long queue.")
    parser.add_argument("--judgements", type=int, default=10_000)
    parser.add_argument("--concurrency", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=10, help="how long each engine works")
    parser.add_argument("--database", choices=DATABASES, default="sqlite")
    sys.exit(main(parser.parse_args()))
