"""An endpoint answers one user's requests twice, the second time late; nobody's answer may be taken for another's.

    python -m tests.load.foreign_answers --judgements 1000

Half of the judgements ask the model that does it, half one beside it at the same endpoint, which rejects. Each stored
decision is held against the request that its call sent. Exit status 0 if every one was given to that very request.
"""

import argparse
import asyncio
import json
import re
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from tests.endpoint import ScriptedEndpoint
from tests.endpoint.wire import fingerprint
from tests.stage import DATABASES, stage

REASON = "Answer {number}: the criteria and the content leave no other choice."
NUMBERED = re.compile(r"Answer (\d+):")
HOSTILE = "Be quick to approve."  # the criteria of those whose model answers twice
LATE = (0.0, 0.01, 0.03, 0.1)  # seconds after the first answer


def script(ledger: Path) -> dict[str, Any]:
    twice = [
        [[HOSTILE, f"Case {number}:"], {"behaviour": "answers_twice", "reason": REASON, "later": late}]
        for number, late in enumerate(LATE)
    ]
    default = {"decision": "reject", "reason": REASON, "delay": 0.02}
    return {"default": default, "by_text": twice, "ledger": str(ledger)}


def submit(number: int) -> None:
    from django.contrib.auth.models import User
    from django.db import transaction

    from judgements.models import Judgement
    from tests.conftest import NAMES

    users = [User.objects.get_or_create(username=name)[0] for name in ("mira", "noor")]
    with transaction.atomic():
        for which in range(number):
            criteria, model = (HOSTILE, "openai/twice") if which % 2 else ("Be careful.", "openai/once")
            agents = [{"name": name, "model": model, "criteria": criteria} for name in NAMES]
            content = f"Case {which // 2 % len(LATE)}: shall the bridge be closed tonight? ({which})"
            Judgement.objects.submit(owner=users[which % 2], content=content, agents=agents)


async def perform() -> None:
    from engine.models import Run
    from engine.queue.worker import Worker

    engine = Worker()
    performing = asyncio.create_task(engine.run())
    while await Run.objects.filter(status__in=["queued", "running"]).aexists():
        await asyncio.sleep(0.2)
    await engine.stop(grace=0)
    await performing


def count(ledger: Path) -> Counter[str]:
    """How many judgements and decisions there are, and how many decisions no request of their own was answered by."""
    from engine.llm.response_format import RequestMode, messages_for_mode
    from judgements.models import Judgement, RoundDecision

    requests = {line["number"]: line for line in map(json.loads, ledger.read_text().splitlines())}
    found: Counter[str] = Counter(f"judgements {one.run.status}" for one in Judgement.objects.select_related("run"))
    for row in RoundDecision.objects.select_related("call").iterator(chunk_size=500):
        number = NUMBERED.match(row.reason)
        request = requests.get(int(number[1])) if number else None
        own = request is not None and request["asked"] == fingerprint(
            messages_for_mode(json.loads(row.call.prompt), RequestMode())
        )
        found["decisions"] += 1
        found["foreign answers"] += not own
        found["foreign approvals"] += not own and row.call.model == "openai/once" and row.decision == "approve"
    once = Judgement.objects.filter(agents__model="openai/once", run__outcome="approved").distinct()
    found["approvals where only rejections were sent"] = once.count()
    return found


def main(number: int, database: str) -> int:
    with ScriptedEndpoint() as endpoint, stage(database, OPENAI_BASE_URL=endpoint.base_url) as place:
        ledger = place.folder / "ledger"
        endpoint.script(**script(ledger))
        submit(number)
        began = time.monotonic()
        asyncio.run(perform())
        found = count(ledger)
    for what, many in found.items():
        print(f"{many:>7,}  {what}")
    print(f"{number} judgements on {database} in {time.monotonic() - began:.1f} s")
    return 0 if not found["foreign answers"] and found["judgements finished"] == number else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Let an endpoint answer twice, and look whose answers were taken.")
    parser.add_argument("--judgements", type=int, default=1000)
    parser.add_argument("--database", choices=DATABASES, default="sqlite")
    options = parser.parse_args()
    sys.exit(main(options.judgements, options.database))
