"""What a step costs in each kind of run: `python -m tests.bench.steps`.

A step is one call of a model. The rehearsal answers, inside the process and in no time, so that what is counted is the
engine with the whole record, its start and the rehearsal's own work: processor, transactions and entries. Missions,
whose steps wait for a sandbox, have a measure of their own (`make bench-missions`).
"""

import argparse
import asyncio
import json
import os
import time
from collections.abc import Callable
from typing import Any

from tests.stage import DATABASES, stage

LONGEST = 600  # seconds
MODEL = "rehearsal/instant"
NAMES = ("Melchior", "Balthasar", "Casper")


def judgement(owner: Any, number: int) -> Any:
    from judgements.models import Judgement
    from tests.bench.work import CONTENT, CRITERIA

    agents = [{"name": name, "model": MODEL, "criteria": CRITERIA, "fallback": ""} for name in NAMES]
    return Judgement.objects.submit(owner=owner, content=CONTENT, title=str(number), agents=agents)


def debate(owner: Any, number: int) -> Any:
    from tests.debates.rows import queued

    return queued(owner, title=str(number))


def inquiry(owner: Any, number: int) -> Any:
    from inquiries.examples import about_magi
    from inquiries.models import ROLES, Inquiry

    question = f"How is a judgement approved by its three agents? ({number})"
    models = dict.fromkeys(ROLES, MODEL)
    return Inquiry.objects.submit(owner=owner, question=question, models=models, documents=about_magi()[:2])


def plan(owner: Any, number: int) -> Any:
    from plans import procedure
    from plans.models import Team
    from plans.rules.approval_policy import OPEN, TeamPolicy
    from plans.rules.enums import StepEffect
    from tests.plans.cast import team

    there = Team.objects.with_content().filter(name="Quick office").first()
    free = dict.fromkeys(StepEffect, OPEN)
    version = there.current if there else team("Quick office", TeamPolicy(plan=OPEN, steps=free, calls=free))
    task = "\n".join(f"Add a task “{number} {step}” to the tasks." for step in range(6))
    return procedure.submit(owner=owner, task=task, team=version, title=f"Plan {number}")


KINDS: tuple[Callable[[Any, int], Any], ...] = (judgement, debate, inquiry, plan)


async def performed(pks: list[Any]) -> tuple[float, int]:
    """Seconds of the processor, and how many transactions."""
    from engine.models import Run
    from engine.queue.worker import Worker

    engine, cpu = Worker(), time.process_time()
    running = asyncio.create_task(engine.run())
    async with asyncio.timeout(LONGEST):
        while await Run.objects.filter(pk__in=pks, ended=None).aexists():
            await asyncio.sleep(0.1)
    spent = time.process_time() - cpu
    transactions = engine.writer._number
    await engine.stop(0)
    await running
    return spent, transactions


def measured(kind: Callable[[Any, int], Any], owner: Any, number: int) -> dict[str, float]:
    from engine.ledger.entries import AuditEntry
    from engine.models import ModelCall, Run

    asyncio.run(performed([kind(owner, -1).pk]))  # what is loaded at first is loaded
    pks = [kind(owner, one).pk for one in range(number)]
    spent, transactions = asyncio.run(performed(pks))
    failed = Run.objects.filter(pk__in=pks).exclude(status=Run.Status.FINISHED).count()
    steps, entries = ModelCall.objects.filter(run__in=pks).count(), AuditEntry.objects.filter(run__in=pks).count()
    figures = {
        "CPU ms a step": 1000 * spent / steps,
        "transactions a step": transactions / steps,
        "entries a step": entries / steps,
    }
    return {"steps each": steps / number, "failed": failed} | {name: round(each, 2) for name, each in figures.items()}


def main(options: argparse.Namespace) -> None:
    free = {"MAGI_USER_SUBMISSIONS": "100000", "MAGI_USER_QUEUED": "100000"}
    with stage(options.database, **free):
        from django.contrib.auth.models import User

        owner = User.objects.create_superuser("bench")
        found = {kind.__name__: measured(kind, owner, options.number) for kind in KINDS}
    if options.json:
        print(json.dumps(found, indent=1))
        return
    for name, row in found.items():
        print(f"{name:10}" + ", ".join(f"{value:g} {what}" for what, value in row.items()))
    print(f"{options.number} of each, {options.database}, load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.bench.steps", description=__doc__)
    parser.add_argument("--number", type=int, default=10, help="of each kind, all at once")
    parser.add_argument("--database", choices=DATABASES, default="sqlite")
    parser.add_argument("--json", action="store_true")
    main(parser.parse_args())
