"""How little ten thousand plans cost that wait, and how soon one of them goes on.

    python -m tests.load.many_waiting --plans 10000 --database postgres

An engine is watched while nothing waits and while all of them do: its processor time, what it asks the database, and
how long it takes from a decision to work. The page of what waits is asked for by somebody for whom five thousand do.
Some are real, made by an engine; the others are rows like theirs. Exit status 0 if every goal is reached.
"""

import argparse
import os
import sys
import time
from pathlib import Path
from statistics import quantiles
from typing import Any
from uuid import uuid4

from tests.acceptance.site import EngineProcess
from tests.stage import DATABASES, Stage, stage

REAL = 220
DECIDED = 200
MOST_GATES = 5_000  # for one person
MOST_MORE_CPU = 0.5  # per cent of a core
MOST_MORE_QUERIES = 2.0  # a second
SOON = 0.2  # seconds from a decision to work, p95
QUICK = 0.06  # seconds for the page of what waits
TASK = "Add a task “Sign the contract” to the tasks."


def main(options: argparse.Namespace) -> int:
    with stage(options.database, MAGI_USER_WAITING="100000") as place:
        idle = Idle(place, options.seconds, "none")
        owner, plans = made(place)
        copied(owner, plans[0], options.plans - len(plans))
        busy = Idle(place, options.seconds, f"{options.plans:,}")
        soon = decided(place, owner, plans[:DECIDED])
        page = pages(owner)
    found = []
    if busy.cpu - idle.cpu > MOST_MORE_CPU:
        found.append(f"{busy.cpu - idle.cpu:.2f} % of a core more")
    if busy.queries - idle.queries > MOST_MORE_QUERIES:
        found.append(f"{busy.queries - idle.queries:.1f} queries a second more")
    found += ["a decision is carried out too late"] if soon > SOON else []
    found += ["the page of what waits is slow"] if page > QUICK else []
    print("\n".join(found) or "ok")
    return 1 if found else 0


class Idle:
    """What an engine takes that has nothing to do."""

    def __init__(self, place: Stage, seconds: float, waiting: str) -> None:
        with EngineProcess(place.env, place.folder / f"idle-{waiting}", everything=True) as engine:
            time.sleep(5)
            before, asked = cpu_of(engine.process.pid), transactions(place)
            time.sleep(seconds)
            self.cpu = 100 * (cpu_of(engine.process.pid) - before) / seconds
            self.queries = (transactions(place) - asked) / seconds
        said = f", {self.queries:.2f} transactions a second" if place.postgres else ""
        print(f"{waiting} waiting: {self.cpu:.2f} % of a core{said}", flush=True)


def cpu_of(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def transactions(place: Stage) -> int:
    """Committed so far; PostgreSQL counts them."""
    if not place.postgres:
        return 0
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_clear_snapshot()")
        cursor.execute("SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()")
        return int(cursor.fetchone()[0])


def made(place: Stage) -> tuple[Any, list[Any]]:
    """Whoever is asked, and plans that wait for their approval."""
    from django.contrib.auth.models import User

    from engine.models import Run
    from plans import procedure
    from tests.plans.cast import team

    owner = User.objects.create(username="root", is_superuser=True)
    version = team("Front office")
    plans = [procedure.submit(owner=owner, task=TASK, team=version, title=f"Plan {n}").pk for n in range(REAL)]
    with EngineProcess(place.env, place.folder / "made", "--concurrency", "20", everything=True):
        end = time.monotonic() + 300
        while Run.objects.exclude(status="waiting").exists():
            if time.monotonic() > end:
                raise SystemExit("the plans were not made")
            time.sleep(0.2)
    return owner, plans


def copied(owner: Any, pk: Any, number: int) -> None:
    """As many rows like those of this plan, without its evidence: nobody decides about these."""
    from django.db import connection, transaction

    from engine.models import Gate, Run
    from plans.models import Plan, PlanRevision, PlanStep, PlanStepState
    from runs.models import SearchText
    from tests.databases import tampering

    like = Run.objects.get(pk=pk)
    runs = [row_like(like, pk=uuid4()) for _ in range(number)]
    plan, text = Plan.objects.get(pk=pk), SearchText.objects.get(run=pk)
    revision, gates, step = (
        PlanRevision.objects.get(plan=pk),
        list(Gate.objects.filter(run=pk)),
        PlanStep.objects.get(plan=pk),
    )
    states = list(PlanStepState.objects.filter(step=step))
    with transaction.atomic(), tampering():
        Run.objects.bulk_create(runs, batch_size=500)
        Plan.objects.bulk_create([row_like(plan, run_id=run.pk) for run in runs], batch_size=500)
        SearchText.objects.bulk_create([row_like(text, id=None, run_id=run.pk) for run in runs], batch_size=500)
        PlanRevision.objects.bulk_create(
            [row_like(revision, id=None, plan_id=run.pk, call_id=None) for run in runs], batch_size=500
        )
        steps = [row_like(step, id=uuid4(), plan_id=run.pk) for run in runs]
        PlanStep.objects.bulk_create(steps, batch_size=500)
        PlanStepState.objects.bulk_create(
            [row_like(state, id=None, step_id=one.pk) for one in steps for state in states], batch_size=500
        )
        Gate.objects.bulk_create(
            [row_like(gate, id=None, run_id=run.pk) for run in runs[: MOST_GATES // len(gates)] for gate in gates],
            batch_size=500,
        )
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")
    print(f"{Run.objects.filter(status='waiting').count():,} wait", flush=True)


def row_like(row: Any, **other: Any) -> Any:
    values = {field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields}
    return type(row)(**values | other)


def decided(place: Stage, owner: Any, plans: list[Any]) -> float:
    """Seconds from a decision to the claim of its plan, p95, one by one."""
    from engine.models import Gate, Run
    from runs import run_actions

    took = []
    with EngineProcess(place.env, place.folder / "decided", everything=True):
        time.sleep(3)
        for pk in plans:
            gate = Gate.objects.pending().get(run=pk, kind="plan")
            claims = Run.objects.values_list("claims", flat=True).get(pk=pk)
            run_actions.decide(gate.pk, owner, "approve", choice="all", digest=gate.digest)
            began = time.monotonic()
            while Run.objects.values_list("claims", flat=True).get(pk=pk) == claims:
                if time.monotonic() > began + 20:
                    raise SystemExit("nobody went on with it")
                time.sleep(0.002)
            took.append(time.monotonic() - began)
            while not Run.objects.get(pk=pk).is_ended:
                time.sleep(0.01)
    cuts = quantiles(took, n=100, method="inclusive")
    print(f"from a decision to work: p50 {cuts[49] * 1000:.0f} ms, p95 {cuts[94] * 1000:.0f}", flush=True)
    return cuts[94]


def pages(owner: Any) -> float:
    from django.db import connection
    from django.test import Client
    from django.urls import reverse

    # on SQLite it is processor time, which others on the machine do not change; a PostgreSQL server is waited for
    now = time.thread_time if connection.vendor == "sqlite" else time.perf_counter
    client, took = Client(SERVER_NAME="localhost"), []
    client.force_login(owner)
    assert client.get(reverse("waiting")).status_code == 200
    for _ in range(40):
        began = now()
        client.get(reverse("waiting"))
        took.append(now() - began)
    cuts = quantiles(took, n=100, method="inclusive")
    print(f"page of what waits: p50 {cuts[49] * 1000:.0f} ms, p95 {cuts[94] * 1000:.0f}", flush=True)
    return cuts[94]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Let many plans wait.")
    parser.add_argument("--plans", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=60, help="how long an idle engine is watched")
    parser.add_argument("--database", choices=DATABASES, default="sqlite")
    sys.exit(main(parser.parse_args()))
