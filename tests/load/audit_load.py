"""How long it takes to verify a long record of judgements: `python -m tests.load.audit_load 1000000` (entries)."""

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

    owner = User.objects.create_user("busy")
    for start in range(0, entries // ENTRIES_EACH, BATCH):
        number = min(BATCH, entries // ENTRIES_EACH - start)
        with transaction.atomic():
            seal(finished(number, owner, prompt_length))


def seal(runs: list[UUID]) -> None:
    """As many submissions and ends do, one after the other."""
    from engine.audit.entries_from_rows import entries_of_chains
    from engine.ledger.entries import ATTEMPT, ENDED, SUBMITTED, AuditEntry, append_drafts
    from engine.ledger.hashing import GENESIS_HASH
    from engine.ledger.merkle_log import LogLeaf

    said = entries_of_chains(runs)
    asked = [append_drafts(run, said[run][SUBMITTED], 0, GENESIS_HASH) for run in runs]
    ended = [
        append_drafts(head.run, [*said[head.run][ATTEMPT], *said[head.run][ENDED]], head.seq, head.hash)
        for _, head in asked
    ]
    AuditEntry.objects.bulk_create(entry for entries, _ in (*asked, *ended) for entry in entries)
    LogLeaf.objects.add(*(head for _, head in (*asked, *ended)))


def finished(number: int, owner, prompt_length: int) -> list[UUID]:
    """So many approved judgements with all their rows; their keys."""
    from django.utils import timezone

    from engine.models import ModelCall, Run
    from engine.text.search_terms import label_term
    from judgements import prompts
    from judgements.models import Judgement, JudgementAgent, RoundDecision
    from judgements.rules import AgentDecision
    from runs.models import SearchText
    from tests.conftest import agents

    now = timezone.now()
    times = {"created": now, "started": now, "ended": now + timedelta(seconds=40)}
    common = {"procedure": "judgement", "owner": owner, "asked_by": "busy", "account": owner.pk, "status": "finished"}
    content, trio = "x" * prompt_length, agents("openai/a", "openai/b", "openai/c")
    common |= {"title": "A title", "outcome": "approved"}
    runs = Run.objects.bulk_create(Run(id=uuid4(), **common, **times) for _ in range(number))
    version = prompts.VERSION
    judgements = Judgement.objects.bulk_create(
        Judgement(run=run, content=content, prompt_version=version) for run in runs
    )
    seated = JudgementAgent.objects.bulk_create(
        JudgementAgent(judgement=judgement, seat=seat, **agent)
        for judgement in judgements
        for seat, agent in zip("ABC", trio, strict=True)
    )
    labels = (label_term("rehearsal", False), label_term("verdict", "approved"))
    SearchText.objects.bulk_create(
        SearchText(run=judgement.run, words=" ".join([*judgement.preview(), *labels])) for judgement in judgements
    )
    answer = json.dumps({"reason": REASON, "decision": "approve"})

    def prompt(seat: str, criteria: str, round_: int) -> str:
        earlier = [
            prompts.EarlierDecision(n, s, AgentDecision.APPROVE, REASON) for n in range(1, round_) for s in "ABC"
        ]
        case = prompts.PromptCase(seat, criteria, content, round_, tuple(earlier))
        return json.dumps(prompts.messages(case), ensure_ascii=False)

    prompts_of = {
        (agent["name"], round_): prompt(seat, agent["criteria"], round_)
        for seat, agent in zip("ABC", trio, strict=True)
        for round_ in (1, 2, 3)
    }
    asked = [(agent, round_) for agent in seated for round_ in (1, 2, 3)]
    calls = ModelCall.objects.bulk_create(
        ModelCall(
            run_id=agent.judgement_id,
            step=agent.step(round_),
            attempt=1,
            status="answered",
            model=agent.model,
            answered_by=agent.model,
            prompt=prompts_of[agent.name, round_],
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
        from engine.audit import sealing
        from engine.audit.full_verification import verify_all
        from engine.ledger.checkpoints import Checkpoint

        sealing.adopt_unsealed_runs()
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
        print(f"({time.process_time() - cpu:.1f} s of this process), {len(report.faults)} problems")
        print(*report.faults[:3], sep="\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Measure the verification of a long record.")
    parser.add_argument("entries", type=int, nargs="?", default=1_000_000)
    parser.add_argument("--prompt", type=int, default=2_000, help="signs of each content")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--database", choices=DATABASES, default="sqlite")
    main(parser.parse_args())
