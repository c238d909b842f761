"""Fifty submissions at once with money for one, again and again.

`python -m tests.budget_race --repeats 100` tries the database of the environment; give it one of its own.
"""

import argparse
import os
import threading
from typing import Any

CONTENDERS = 50


def race(owner: Any, agents: list[dict[str, str]]) -> int:
    """How many of fifty submissions are admitted, where the owner's budget has money for one."""
    from django.db import connection

    from engine.models.budgets import Budget, BudgetUsedUp
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
        except BudgetUsedUp:
            pass
        finally:
            connection.close()

    threads = [threading.Thread(target=contend) for _ in range(CONTENDERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(admitted)


def main(repeats: int) -> None:
    import django

    django.setup()
    from django.contrib.auth.models import User
    from django.core.management import call_command

    from tests.conftest import agents

    call_command("migrate", verbosity=0)
    owner, _ = User.objects.get_or_create(username="racer")
    admitted = [
        race(owner, agents("openai/gpt-5-mini", "openai/gpt-5-mini", "openai/gpt-5-mini")) for _ in range(repeats)
    ]
    print(f"{repeats} races of {CONTENDERS}: exactly one admitted in {admitted.count(1)} of them")
    raise SystemExit(admitted != [1] * repeats)


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "magi_site.settings")
    parser = argparse.ArgumentParser(description="Fifty submissions at once with money for one.")
    parser.add_argument("--repeats", type=int, default=100)
    main(parser.parse_args().repeats)
