"""Judgements at a free tier: `python -m tests.load.free_tier [RUNS] [--calls 3] [--seconds 60] [--wait 20]`.

A real endpoint in another process takes so many calls in so many seconds, and answers each one more with 429 and
Retry-After. All judgements end as they would have, and the record is intact. Exit status 0 if so.
"""

import argparse
import asyncio
import sys
import time
from typing import Any

from tests.endpoint import ScriptedEndpoint
from tests.stage import stage

LONGEST = 3_600.0  # seconds for all of it


async def play(runs: int) -> dict[str, Any]:
    from asgiref.sync import sync_to_async
    from django.db.models import Count, Sum

    from engine.audit.full_verification import verify_all
    from engine.models import ModelCall, Run
    from engine.queue.worker import Worker
    from judgements.models import Judgement

    trio = [{"name": name, "model": "openai/a", "criteria": "Approve what names a time."} for name in ("A", "B", "C")]
    for number in range(runs):
        await sync_to_async(Judgement.objects.submit)(owner=None, content=f"Release {number} at 16:00.", agents=trio)
    engine, began = Worker(), time.monotonic()
    performing = asyncio.create_task(engine.run())
    while await Run.objects.filter(status__in=("queued", "running")).aexists() and time.monotonic() - began < LONGEST:
        await asyncio.sleep(0.1)
    took = time.monotonic() - began
    await engine.stop(grace=0)
    await performing
    rows = await ModelCall.objects.aaggregate(number=Count("pk"), looks=Sum("looks"))
    most = ModelCall.objects.values("run", "step").annotate(number=Count("pk")).order_by("-number")
    return {
        "approved": await Run.objects.filter(outcome="approved").acount(),
        "seconds": round(took),
        "rows": rows["number"],
        "looks in vain": rows["looks"],
        "rows of one question at most": (await most.afirst())["number"],
        "faults of the record": await sync_to_async(lambda: list(verify_all().faults))(),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=int, nargs="?", default=1)
    parser.add_argument("--calls", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--wait", type=float, default=20.0)
    asked = parser.parse_args()
    with ScriptedEndpoint() as endpoint, stage("sqlite", OPENAI_BASE_URL=endpoint.base_url):
        endpoint.script(tier={"calls": asked.calls, "seconds": asked.seconds, "wait": asked.wait})
        found = asyncio.run(play(asked.runs))
        counts = endpoint.counts()
    print(f"Requests: {counts['received']}, of which {counts.get('status', 0)} were answered 429.")
    print(", ".join(f"{name}: {value}" for name, value in found.items()))
    return int(found["approved"] != asked.runs or bool(found["faults of the record"]))


if __name__ == "__main__":
    sys.exit(main())
