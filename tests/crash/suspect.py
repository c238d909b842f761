"""Two hundred judgements are in progress, and one kills its engine itself: only that one may fail, after five deaths
that it met alone. New judgements come as long as there are kills.
"""

import argparse
import random
import time

from tests.crash.chaos_worker import Workers
from tests.endpoint import ScriptedEndpoint
from tests.stage import stage

ENGINES = 3
TICK = 0.05
PACE, LEASE = 2.0, 5.0
LIMIT = 300.0  # seconds in which the rest must end by itself
PROGRESS = 10.0
FATAL = "This one kills whoever judges it."
MODELS = ("openai/gpt-a", "openai/gpt-b", "openai/gpt-c")
WEATHER = {"objections": 0.35, "shortest_delay": 0.05, "longest_delay": 0.5}


class SuspectPlay:
    def __init__(self, options: argparse.Namespace, workers: Workers) -> None:
        self.options, self.workers = options, workers
        self.dice = random.Random(options.seed)
        self.kills = self.fallen = self.innocent = 0
        self.fewest = options.judgements
        self.begun = self.told = time.monotonic()

    def run(self) -> bool:
        self.killer = self.submit(FATAL)
        self.fill_up()
        for _ in range(ENGINES):
            self.workers.start()
        self.wait(5)
        while self.kills < self.options.kills:
            self.wait(self.dice.uniform(0, 2 * (self.options.pace or PACE)))
            self.kill()
        self.options.judgements = 0
        self.last_kill = time.monotonic()
        end = self.last_kill + LIMIT
        while self.unended().exists() and time.monotonic() < end:
            self.wait(0.5)
        return self.report()

    def submit(self, content: str) -> str:
        from judgements.models import Judgement
        from tests.conftest import agents

        return str(Judgement.objects.submit(owner=None, content=content, agents=agents(*MODELS)).pk)

    def unended(self):
        from engine.models import Run

        return Run.objects.filter(ended=None)

    def fill_up(self) -> None:
        for _ in range(self.options.judgements - self.unended().count()):
            self.innocent += 1
            self.submit(f"Case {self.innocent}: shall the bridge be closed tonight?")

    def wait(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while True:
            for worker in self.workers.fallen():
                self.workers.kill(worker)
                self.workers.start()
                self.fallen += 1
            self.fill_up()
            if time.monotonic() - self.told > PROGRESS:
                self.told = time.monotonic()
                print(f"{self.told - self.begun:4.0f} s: {self.kills} kills, {self.numbers()}", flush=True)
            if time.monotonic() >= end:
                return
            time.sleep(TICK)

    def kill(self) -> None:
        self.workers.kill(self.dice.choice(self.workers.alive))
        self.workers.start()
        self.kills += 1

    def numbers(self) -> str:
        from engine.models import Run

        running = Run.objects.filter(status="running").count()
        over = Run.objects.filter(status="finished").count()
        killer = Run.objects.get(pk=self.killer)
        return (
            f"{running} in progress, {over} finished, {Run.objects.suspects().filter(ended=None).count()} suspected; "
            f"the killer is {killer.status} after {killer.deaths} deaths alone and {killer.claims} claims"
        )

    def report(self) -> bool:
        from engine.audit.full_verification import verify_all
        from engine.models import Run

        print(f"{self.kills} kills, and {self.fallen} engines fell dead; {self.numbers()}")
        seconds = time.monotonic() - self.last_kill
        print(f"{self.innocent} innocent judgements; the last ended {seconds:.0f} s after the last kill")
        innocent = Run.objects.exclude(pk=self.killer).exclude(status="finished")
        for run in innocent:
            print(f"innocent and {run.status}: {run.pk}, {run.error}")
        killer, problems = Run.objects.get(pk=self.killer), verify_all().faults
        print(f"{innocent.count()} innocent failures; {len(problems)} problems of the record")
        return not innocent and not problems and (killer.status, killer.deaths) == ("failed", 5)


def play(options: argparse.Namespace) -> bool:
    with (
        ScriptedEndpoint() as endpoint,
        stage(
            options.database,
            OPENAI_BASE_URL=endpoint.base_url,
            MAGI_ENGINE_LEASE=f"{LEASE:g}",
            MAGI_CALL_TIMEOUT="20",
            MAGI_TEST_PROCEDURE="tests.crash.fatal.JudgeOrDie",
        ) as place,
        Workers(place.env, place.folder / "workers", -(-options.judgements // ENGINES)) as workers,
    ):
        from tests.crash.chaos_check import REASON  # needs the settings of the stage

        endpoint.script(default={"reason": REASON}, weather=WEATHER, ledger=str(place.folder / "ledger"))
        return SuspectPlay(options, workers).run()
