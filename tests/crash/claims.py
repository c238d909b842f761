"""Eight processes race for one run: `python -m tests.crash.race run`."""

import argparse
import multiprocessing
import signal
from collections import Counter
from datetime import timedelta
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from typing import Any

from tests.nursery import die_with_parent

RACERS = 8
LONGEST = 60.0  # seconds for one race; only a racer that hangs takes so long
KINDS = ("queued", "abandoned")
CROWD = 5
FAIR = "a crowd, fairly"


def races(rounds: int) -> list[str]:
    """Who won each race, or what was wrong with it."""
    from django.db import connection

    connection.close()  # a connection does not survive a fork
    forks = multiprocessing.get_context("fork")
    barrier = forks.Barrier(RACERS, timeout=LONGEST)
    pipes = []
    for number in range(RACERS):
        ours, theirs = forks.Pipe()
        forks.Process(target=racer, args=(f"racer {number}", barrier, theirs), daemon=True).start()
        pipes.append(ours)
    return [outcome for _ in range(rounds) for outcome in (*(race(kind, pipes) for kind in KINDS), crowd(pipes))]


def racer(name: str, barrier: Barrier, pipe: Connection) -> None:
    """Waits for the others, then claims as an engine does."""
    from tests.conftest import claim

    die_with_parent()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    while True:
        pipe.recv()
        barrier.wait()
        try:
            pipe.send(name if claim(name, 1) else "")
        except Exception as error:  # noqa: BLE001 - a race in which a claim fails is no good race
            pipe.send(f"{name} failed: {error}")


def race(kind: str, pipes: list[Connection]) -> str:
    """What the racers say must also stand in the row."""
    from engine.models import Run

    run = run_to_win(kind)
    for pipe in pipes:
        pipe.send("ready")
    winners = [said for said in map(answer, pipes) if said]
    run.refresh_from_db()
    if winners != [run.worker] or (run.status, run.claims) != ("running", 1):
        return f"{kind}: {' and '.join(winners) or 'nobody'}; the row: {run.status} {run.worker} {run.claims}"
    Run.objects.filter(pk=run.pk).update(status="finished")  # so that the next race has one run to win
    return run.worker


def crowd(pipes: list[Connection]) -> str:
    """All leases of one worker have ended, and all racers look."""
    from engine.models import Run

    runs = [run_to_win("abandoned").pk for _ in range(CROWD)]
    for pipe in pipes:
        pipe.send("ready")
    winners = [said for said in map(answer, pipes) if said]
    rows = list(Run.objects.filter(pk__in=runs).order_by().values_list("worker", "claims", "deaths", "crashes"))
    Run.objects.filter(pk__in=runs).update(status="finished")
    # who comes while another one takes them back may find none yet, and looks again later
    left = [("", 0, 0, 1)] * (CROWD - len(winners))
    if not winners or sorted(rows) != [*left, *((name, 1, 0, 1) for name in sorted(winners))]:
        return f"crowd: {', '.join(winners) or 'nobody'} won; the rows: {sorted(rows)}"
    return FAIR


def run_to_win(kind: str) -> Any:
    from django.utils import timezone

    from engine.models import Run

    if kind == "queued":
        return Run.objects.create(procedure="judgement")
    past = timezone.now() - timedelta(seconds=1)
    return Run.objects.create(procedure="judgement", status="running", worker="dead", fence=1, lease_expires_at=past)


def answer(pipe: Connection) -> str:
    if not pipe.poll(LONGEST):
        raise RuntimeError("a racer hangs")
    return pipe.recv()


def play(place: Any, options: argparse.Namespace) -> bool:
    outcomes = Counter(races(options.rounds))
    for outcome, number in sorted(outcomes.items()):
        print(f"{number:>5}  {outcome}")
    return outcomes.keys() <= {FAIR, *(f"racer {number}" for number in range(RACERS))}
