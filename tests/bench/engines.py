"""How many judgements at once some engines get done: `python -m tests.bench.engines --engines 2 --number 1000`.

All are there before the engines may take one on, and the endpoint takes a second, so that three are ideal.
"""

import argparse
import os
import subprocess
import sys
import time
from contextlib import ExitStack

from asgiref.sync import async_to_sync

from tests.acceptance.site import EngineProcess
from tests.bench.__main__ import PLAYS, environment
from tests.bench.push import ELSEWHERE
from tests.bench.work import CONTENT, CRITERIA, SEATS
from tests.stage import DATABASES, stage

PLAY = PLAYS["1,000 at 1 s"]
IDEAL = 3 * PLAY.delay / 1000  # seconds: three rounds
LONGEST = 600


def submit(number: int) -> None:
    """Judgements that nobody takes on yet."""
    from django.db import transaction

    from engine.models import Run
    from judgements.models import Judgement

    model = f"{PLAY.provider}/gpt-5-mini"
    agents = [{"name": seat, "model": model, "criteria": CRITERIA, "fallback": ""} for seat in SEATS]
    with transaction.atomic():
        for _ in range(number):
            Judgement.objects.submit(owner=None, content=CONTENT, agents=agents)
        Run.objects.filter(status=Run.Status.QUEUED).update(host=ELSEWHERE)


def performed() -> float:
    """Seconds from when they are anybody's until the last is over."""
    from engine.models import Run
    from engine.pubsub import wake_workers

    waiting = Run.objects.exclude(status=Run.Status.FINISHED)
    began = time.monotonic()
    waiting.update(host="")
    async_to_sync(wake_workers)()
    while waiting.exists():
        if time.monotonic() > began + LONGEST or waiting.filter(status=Run.Status.FAILED).exists():
            raise SystemExit(f"{waiting.count()} are not finished.")
        time.sleep(0.1)
    return time.monotonic() - began


def main(options: argparse.Namespace) -> None:
    with ExitStack() as stack:
        command = [sys.executable, "-m", "tests.bench.endpoint"]
        endpoint = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        stack.callback(endpoint.terminate)
        place = stack.enter_context(stage(options.database, **environment(int(endpoint.stdout.readline()))))
        for number in range(options.engines):
            stack.enter_context(EngineProcess(place.env, place.folder / f"engine{number}"))
        submit(10 * options.engines)  # what is loaded at first is loaded
        performed()
        submit(options.number)
        took = performed()
    done = f"{options.number:,} in {took:.1f} s, {100 * IDEAL / took:.0f} % of ideal"
    print(f"{options.engines} engines, {options.database}: {done}, load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.bench.engines", description=__doc__)
    parser.add_argument("--engines", type=int, default=2)
    parser.add_argument("--number", type=int, default=1000)
    parser.add_argument("--database", choices=DATABASES, default="postgres")
    main(parser.parse_args())
