"""Fifty people decide at one gate at once, again and again: one decides, and each of the others is told who was first.

python -m tests.gate_race --database postgres --rounds 20
"""

import argparse
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.stage import DATABASES, stage

PEOPLE = 50
RIGHT = (1, PEOPLE - 1, 1, 1)  # who decided, who was refused, what stands in the rows, how often the run was told


def play(rounds: int) -> Counter[tuple[int, int, int, int]]:
    """What each round came to."""
    from django.contrib.auth.models import Permission, User
    from django.db import connections

    permission = Permission.objects.get(codename="decide_gate")
    people = User.objects.bulk_create(User(username=f"person {number}") for number in range(PEOPLE))
    permission.user_set.add(*people)
    with ThreadPoolExecutor(PEOPLE) as threads:
        outcomes = Counter(collide(threads, people) for _ in range(rounds))
        together = threading.Barrier(PEOPLE)
        list(threads.map(lambda _: (together.wait(), connections.close_all()), range(PEOPLE)))
    return outcomes


def collide(threads: ThreadPoolExecutor, people: Sequence[Any]) -> tuple[int, int, int, int]:
    from engine.evidence import sealing
    from engine.models import Gate, GateDecision, Run
    from engine.policy import policy_of

    sealing.adopt()
    run = Run.objects.create(procedure="judgement", status="waiting")
    sealing.submit(run.pk)
    asked = {"step": "go", "kind": "letter", "title": "May it go out?", "text": "Dear Mr. Ito", "choices": []}
    gate = Gate.objects.ask(None, run=run, policy=policy_of(None), **asked)
    together = threading.Barrier(PEOPLE)
    said = list(threads.map(lambda person: decide(together, gate.pk, person), people))
    run.refresh_from_db()
    return said.count(True), said.count(False), GateDecision.objects.filter(gate=gate).count(), run.news


def decide(together: threading.Barrier, gate: int, person: Any) -> bool:
    from engine import gates

    together.wait()
    try:
        gates.decide(gate, person, "approve" if person.pk % 2 else "reject")
    except gates.Closed:
        return False
    return True


def main(database: str, rounds: int) -> int:
    begun = time.monotonic()
    with stage(database):
        outcomes = play(rounds)
    for (decided, refused, rows, told), number in sorted(outcomes.items()):
        print(f"{number:>5}  {decided} decided, {refused} refused, {rows} decisions, {told} wake-ups")
    print(f"{rounds} rounds on {database} in {time.monotonic() - begun:.1f} s")
    return 1 if set(outcomes) - {RIGHT} else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Let fifty people decide at one gate at once.")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--database", choices=DATABASES, default="sqlite")
    options = parser.parse_args()
    sys.exit(main(options.database, options.rounds))
