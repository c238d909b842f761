"""Fifty submissions at once with money for one: `python -m tests.crash.race budget`."""

import argparse
import threading
from typing import Any

CONTENDERS = 50


def race(owner: Any, agents: list[dict[str, str]]) -> int:
    """How many of fifty submissions are admitted, where the owner's budget has money for one."""
    from django.db import connection

    from engine.models.budgets import Budget, BudgetExceeded
    from judgements.estimate import estimate
    from judgements.models import Judgement

    content = "May I spend this?"
    cost = estimate(content, agents).cost
    Budget.objects.update_or_create(owner=owner, defaults={"limit": cost * 2 - 1, "reserved": 0, "spent": 0})
    admitted: list[Judgement] = []
    ready = threading.Barrier(CONTENDERS)

    def contend() -> None:
        ready.wait()
        try:
            admitted.append(Judgement.objects.submit(owner=owner, content=content, agents=agents))
        except BudgetExceeded:
            pass
        finally:
            connection.close()

    threads = [threading.Thread(target=contend) for _ in range(CONTENDERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(admitted)


def play(place: Any, options: argparse.Namespace) -> bool:
    from django.contrib.auth.models import User

    from tests.conftest import agents

    owner = User.objects.create(username="racer")
    admitted = [race(owner, agents(*["openai/gpt-5-mini"] * 3)) for _ in range(options.rounds)]
    print(f"exactly one of {CONTENDERS} was admitted in {admitted.count(1)} of {len(admitted)} races")
    return admitted == [1] * options.rounds
