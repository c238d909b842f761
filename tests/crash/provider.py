"""A model server is killed in the midst of ten judgements and comes back: `python -m tests.crash.provider [SECONDS]`.

All of them go on and end as they would have, and the record is intact. Exit status 0 if so. The server is away for 20
seconds where nothing else is said; what was asked while it was away is told apart from what failed.
"""

import argparse
import asyncio
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from tests.acceptance.site import free_port
from tests.stage import stage

RUNS = 10
ROOT = Path(__file__).parents[2]
LONGEST = 900.0  # seconds for all that comes after its return


class ProviderServer:
    """The scripted endpoint at a port of its own, so that it comes back where it was. It answers slowly."""

    def __init__(self) -> None:
        self.port = free_port()
        self.base_url = f"http://127.0.0.1:{self.port}/v1"

    def start(self) -> None:
        words = [sys.executable, "-m", "tests.endpoint", "--port", str(self.port)]
        self._process = subprocess.Popen(words, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdout
        self._process.stdout.readline()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


async def play(server: ProviderServer, away: float) -> tuple[Counter[str], Counter[str], list[Any]]:
    from asgiref.sync import sync_to_async

    from engine.audit.full_verification import verify_all
    from engine.models import ModelCall, Run
    from engine.queue.worker import Worker
    from judgements.models import Judgement

    trio = [{"name": name, "model": "openai/a", "criteria": "Approve what names a time."} for name in ("A", "B", "C")]
    for number in range(RUNS):
        await sync_to_async(Judgement.objects.submit)(owner=None, content=f"Release {number} at 16:00.", agents=trio)
    engine = Worker()
    performing = asyncio.create_task(engine.run())
    while await ModelCall.objects.filter(status="answered").acount() < 2 * RUNS:
        await asyncio.sleep(0.05)
    server.kill()
    await asyncio.sleep(away)
    waiting = await ModelCall.objects.filter(error_code="away").acount()
    print(f"Away for {away:g} s: {waiting} requests found nobody.", flush=True)
    server.start()
    back = time.monotonic()
    while await Run.objects.filter(status__in=("queued", "running")).aexists() and time.monotonic() - back < LONGEST:
        await asyncio.sleep(0.2)
    print(f"All were over {time.monotonic() - back:.1f} s after its return.", flush=True)
    await engine.stop(grace=0)
    await performing
    ends = Counter([f"{run.status} {run.outcome}" async for run in Run.objects.all()])
    calls = Counter([call.error_code or call.status async for call in ModelCall.objects.all()])
    return ends, calls, await sync_to_async(lambda: list(verify_all().faults))()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seconds", type=float, nargs="?", default=20.0)
    away = parser.parse_args().seconds
    server = ProviderServer()
    with stage("sqlite", OPENAI_BASE_URL=server.base_url):
        server.start()
        try:
            ends, calls, faults = asyncio.run(play(server, away))
        finally:
            server.kill()
    print(f"Runs: {dict(ends)}. Calls: {dict(calls)}. Faults of the record: {faults}.")
    return int(ends != Counter({"finished approved": RUNS}) or bool(faults))


if __name__ == "__main__":
    sys.exit(main())
