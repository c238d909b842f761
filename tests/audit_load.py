"""How long it takes to verify a long record: `python -m tests.audit_load 1000000` entries, of judgements in bulk."""

import argparse
import json
import os
import time
from datetime import timedelta
from uuid import UUID, uuid4

from tests.stage import DATABASES, stage

BATCH = 500
ENTRIES_EACH = 11
REASON = "The content is within what the criteria allow, and nothing in it speaks against it; see the second paragraph."


def fill(entries: int, prompt_length: int) -> None:
    from django.contrib.auth.models import User
    from django.db import transaction

    from engine.evidence import Entry

    owner = User.objects.create_user("busy")
    for start in range(0, entries // ENTRIES_EACH, BATCH):
        number = min(BATCH, entries // ENTRIES_EACH - start)
        with transaction.atomic():
            Entry.objects.all()._adopt(finished(number, owner, prompt_length))


def finished(number: int, owner, prompt_length: int) -> list[UUID]:
    """So many approved judgements with all their rows; their keys."""
    from django.utils import timezone

    from engine.models import ModelCall, Run
    from judgements.models import Agent, Judgement, RoundDecision
    from tests.conftest import agents

    now = timezone.now()
    times = {"created": now, "started": now, "ended": now + timedelta(seconds=40)}
    common = {"procedure": "judgement", "owner": owner, "asked_by": "busy", "status": "finished"}
    runs = Run.objects.bulk_create(Run(id=uuid4(), **common, **times) for _ in range(number))
    judgements = Judgement.objects.bulk_create(
        Judgement(run=run, title="A title", content="A content.", prompt_version="1", verdict="approved")
        for run in runs
    )
    seated = Agent.objects.bulk_create(
        Agent(judgement=judgement, seat=seat, **agent)
        for judgement in judgements
        for seat, agent in zip("ABC", agents("openai/a", "openai/b", "openai/c"), strict=True)
    )
    answer = json.dumps({"reason": REASON, "decision": "approve"})
    prompt = json.dumps([{"role": "user", "content": "x" * prompt_length}])
    asked = [(agent, round_) for agent in seated for round_ in (1, 2, 3)]
    calls = ModelCall.objects.bulk_create(
        ModelCall(
            run_id=agent.judgement_id,
            step=agent.step(round_),
            attempt=1,
            status="answered",
            model=agent.model,
            answered_by=agent.model,
            prompt=prompt,
            answer=answer,
            input_tokens=900,
            output_tokens=60,
            cost=345_000,
            started=now,
            deadline=now,
            ended=now,
        )
        for agent, round_ in asked
    )
    RoundDecision.objects.bulk_create(
        RoundDecision(agent=agent, round=round_, decision="approve", reason=REASON, call=call)
        for (agent, round_), call in zip(asked, calls, strict=True)
    )
    return [run.pk for run in runs]


def main(options: argparse.Namespace) -> None:
    with stage(options.database):
        from engine.checkpoints import Checkpoint
        from engine.verification import verify_all

        began = time.perf_counter()
        fill(options.entries, options.prompt)
        print(f"filled in {time.perf_counter() - began:.1f} s", flush=True)
        began = time.perf_counter()
        Checkpoint.objects.make()
        print(f"checkpoint in {time.perf_counter() - began:.2f} s", flush=True)
        began, cpu = time.perf_counter(), time.process_time()
        report = verify_all(processes=options.processes)
        seconds = time.perf_counter() - began
        print(f"{report.entries:,} entries of {report.runs:,} records verified in {seconds:.1f} s", end=" ")
        print(f"({time.process_time() - cpu:.1f} s of this process), {len(report.problems)} problems")
        print(*report.problems[:3], sep="\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Measure the verification of a long record.")
    parser.add_argument("entries", type=int, nargs="?", default=1_000_000)
    parser.add_argument("--prompt", type=int, default=2_000, help="signs of each prompt")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--database", choices=DATABASES, default="sqlite")
    main(parser.parse_args())
