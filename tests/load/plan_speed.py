"""How long plans take where models take no time: one alone, and many at once.

    python -m tests.load.plan_speed --database postgres --plans 100

Each has six steps that change something, and nobody is asked. Alone one takes less than 1.5 s, from the submission (on
SQLite, where no bell is heard in another process, from its claim) to its outcome, and a move less than 8 ms of the
engine's processor. Of many at once half belong to one owner, who was first, and the others to ten: none of these waits
until that one has all. Exit status 0 if all of it is so, every plan is done, and every record is intact.
"""

import argparse
import json
import os
import sys
import time
from collections import Counter
from statistics import median
from typing import Any

from tests.acceptance.site import EngineProcess
from tests.load.many_waiting import cpu_of
from tests.stage import DATABASES, Stage, stage

STEPS = 6
ALONE = 20  # plans, one after the other
SECONDS = 1.5
MOVE = 0.008  # seconds of a processor
OTHERS = 10  # owners of the other half
PLACES = 20  # of the engine: not all can be begun at once


class Office:
    def __init__(self, place: Stage) -> None:
        from django.contrib.auth.models import User

        from plans.rules.approval_policy import OPEN, TeamPolicy
        from plans.rules.enums import StepEffect
        from tests.plans.cast import team

        effects = dict.fromkeys((StepEffect.READS, StepEffect.WRITES), OPEN) | {
            StepEffect.REACHES_OUT: {"who": "person"}
        }
        self.team = team("Quick office", TeamPolicy(plan=OPEN, steps=effects, calls=effects))
        self.place, self.plans = place, list[Any]()
        self.owners = [User.objects.create(username=f"owner {number}") for number in range(OTHERS + 1)]

    def submit(self, owner: Any) -> Any:
        from plans import procedure

        number = len(self.plans)
        task = "\n".join(f"Add a task “{number} {step}” to the tasks." for step in range(STEPS))
        self.plans.append(procedure.submit(owner=owner, task=task, team=self.team, title=f"Plan {number}").pk)
        return self.plans[-1]

    def until_over(self, pks: list[Any], longest: float = 600) -> None:
        from engine.models import Run

        end = time.monotonic() + longest
        while Run.objects.filter(pk__in=pks, ended=None).exists():
            if time.monotonic() > end:
                raise SystemExit("they do not come to their end")
            time.sleep(0.01)

    def alone(self, engine: EngineProcess) -> dict[str, float]:
        self.until_over([self.submit(self.owners[0])])  # what is loaded at first is loaded
        took, cpu = [], []
        for _ in range(ALONE):
            before, pk = cpu_of(engine.process.pid), self.submit(self.owners[0])
            self.until_over([pk])
            took.append(self.seconds(pk))
            cpu.append((cpu_of(engine.process.pid) - before) / (2 * STEPS))
        return {"seconds": round(median(took), 2), "longest": round(max(took), 2), "move ms": 1000 * median(cpu)}

    def seconds(self, pk: Any) -> float:
        from engine.models import Run

        run = Run.objects.get(pk=pk)
        since = run.created if self.place.postgres else run.started
        return float((run.ended - since).total_seconds()) if run.ended and since else 0.0

    def together(self, number: int) -> dict[str, float]:
        """The one owner submits first, and all of it, before an engine looks."""
        from engine.models import Run

        others = [self.owners[1 + one % OTHERS] for one in range(number // 2)]
        pks = [self.submit(owner) for owner in [*[self.owners[0]] * (number - len(others)), *others]]
        places = ("--concurrency", str(PLACES))
        with EngineProcess(self.place.env, self.place.folder / "together", *places, everything=True) as engine:
            began = time.monotonic()
            self.until_over(pks)
            took, cpu = time.monotonic() - began, cpu_of(engine.process.pid)
        begun = list(Run.objects.filter(pk__in=pks).order_by("started").values_list("owner", flat=True))
        first = {owner: begun.index(owner) for owner in set(begun)}
        figures = {"seconds": round(took, 1), "cpu s": round(cpu, 1), "ms a step": 1000 * cpu / (number * STEPS)}
        return figures | {"begun before each has one": max(first.values())}


def main(options: argparse.Namespace) -> int:
    from_others = {"MAGI_USER_SUBMISSIONS": "100000", "MAGI_USER_QUEUED": "100000"}
    with stage(options.database, **from_others) as place:
        office = Office(place)
        with EngineProcess(place.env, place.folder / "engine", everything=True) as engine:
            alone = office.alone(engine)
        print("alone", json.dumps(alone), f"load {os.getloadavg()[0]:.1f}", flush=True)
        together = office.together(options.plans)
        print(f"{options.plans} at once", json.dumps(together), f"load {os.getloadavg()[0]:.1f}", flush=True)
        found = wrong(office)
    found += ["one alone takes too long"] if alone["seconds"] > SECONDS else []
    found += ["a move takes too long"] if alone["move ms"] > 1000 * MOVE else []
    found += ["others wait for the one who was first"] if together["begun before each has one"] >= PLACES else []
    print("\n".join(found) or "ok")
    return 1 if found else 0


def wrong(office: Office) -> list[str]:
    from engine.audit.full_verification import verify_all
    from engine.models import Run
    from office.models import Task
    from tests.plans.offline import entries_of_all, problems

    came = Counter(Run.objects.filter(pk__in=office.plans).values_list("outcome", flat=True))
    tasks = Task.objects.filter(title__regex=r"^\d+ \d+$").values("title").distinct().count()
    found = [] if set(came) == {"done"} else [f"outcomes: {dict(came)}"]
    found += [] if tasks == Task.objects.count() == STEPS * len(office.plans) else [f"tasks: {tasks}"]
    faults = [f"{pk}: {one}" for pk, said in entries_of_all().items() for one in problems(said)]
    return [*found, *map(str, verify_all().faults), *faults]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Measure how long plans take.")
    parser.add_argument("--plans", type=int, default=100, help="at once")
    parser.add_argument("--database", choices=DATABASES, default="sqlite")
    sys.exit(main(parser.parse_args()))
