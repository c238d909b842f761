"""What happens in `tests.crash.chaos`: blows in a random order, work that never runs out, and a time to recover."""

import argparse
import contextlib
import random
import signal
import threading
import time
from collections import Counter
from dataclasses import dataclass

from django.db import Error as DBError
from django.db import connection

from engine.audit.full_verification import verify_all
from engine.models import ModelCall, Run, lease
from engine.models.claims import MAX_CRASHES
from judgements.models import Judgement
from tests.conftest import agents
from tests.crash.chaos_check import REASON, SAVED, Blow, ChaosFinding, ChaosReport, check
from tests.crash.chaos_worker import ChaosWorker, Workers
from tests.endpoint import ScriptedEndpoint
from tests.stage import Stage

WORKERS = 3
QUEUE = 6  # so many wait: enough for a worker that starts, too few to wait long
TICK = 0.02
PROGRESS = 5.0
LONGEST_COMMIT = 10.0
LONGEST_MERCY = 10.0
RUDE = 0.1
WEATHER = {"trouble": 0.04, "objections": 0.35, "shortest_delay": 0.01, "longest_delay": 0.08, "slow": 0.01}
SLOWNESS = 1.3  # leases: a slow answer comes only if its worker renews its own
MODELS = ("openai/gpt-a", "openai/gpt-b", "openai/gpt-c")
LATE_WRITE = "no longer this worker's"


@dataclass(eq=False)
class ChaosPause:
    worker: ChaosWorker
    blow: Blow
    end: float


class Applicant(threading.Thread):
    """Submits, so that some always wait. On a thread of its own: a paused worker may hold the lock it needs."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.submitted: list[str] = []
        self.refused = 0
        self._enough = threading.Event()

    def run(self) -> None:
        while not self._enough.wait(TICK):
            try:
                if Run.objects.filter(status=Run.Status.QUEUED).count() < QUEUE:
                    self.submit()
            except DBError:  # PostgreSQL restarts: nothing was promised, and soon it answers again
                self.refused += 1
                connection.close()
        connection.close()

    def submit(self) -> None:
        content = f"Case {len(self.submitted) + 1}: shall the bridge be closed tonight?"
        judgement = Judgement.objects.submit(owner=None, content=content, agents=agents(*MODELS))
        self.submitted.append(str(judgement.pk))

    def stop(self) -> None:
        self._enough.set()
        self.join()


class ChaosPlay:
    def __init__(self, options: argparse.Namespace, stage: Stage, endpoint: ScriptedEndpoint, workers: Workers) -> None:
        self.options, self.stage, self.endpoint, self.workers = options, stage, endpoint, workers
        self.dice = random.Random(options.seed)
        self.applicant = Applicant()
        self.blows: list[Blow] = []
        self.pauses: list[ChaosPause] = []
        self.done: Counter[str] = Counter()
        self.begun = self.told = time.monotonic()
        self.ledger = stage.folder / "ledger"
        weather = WEATHER | {"seed": options.seed, "slowness": SLOWNESS * lease().total_seconds()}
        endpoint.script(default={"reason": REASON, "chunks": 3}, weather=weather, ledger=str(self.ledger))

    def run(self) -> bool:
        """Everything that was asked for; True if it left no trace."""
        for _ in range(WORKERS):
            self.workers.start()
        self.applicant.start()
        for name in self.plan():
            self.wait(self.dice.uniform(0, 2 * self.options.pace))
            self.strike(name)
        while self.pauses:
            self.wait(TICK)
        self.applicant.stop()
        ended = self.settle()
        while not all(worker.can_stop for worker in self.workers.alive):
            self.wait(TICK)
        stopped = [self.workers.kill(worker, signal.SIGTERM) for worker in list(self.workers.alive)]
        report = self.report(stopped)
        print(report)
        return ended and report.good

    def plan(self) -> list[str]:
        servers = [server.name for server in (self.stage.postgres, self.stage.redis) if server]
        plan = ["kill"] * self.options.kills + ["pause"] * self.options.pauses + servers * self.options.restarts
        self.dice.shuffle(plan)
        return plan

    def settle(self) -> bool:
        """Nothing more is done to anybody: what is left must end by itself."""
        end = time.monotonic() + self.options.limit
        while left := Run.objects.filter(ended=None).count():
            if time.monotonic() > end:
                print(f"{left} judgements have not ended within {self.options.limit:g} s.")
                return False
            self.wait(0.1)
        return True

    def report(self, stopped: list[int]) -> ChaosReport:
        end = time.monotonic() + 10
        while (counts := self.endpoint.counts()) and time.monotonic() < end:
            if counts["received"] == counts["finished"] + counts.get("left", 0):
                break
            time.sleep(TICK)
        report = check(self.ledger, self.applicant.submitted, self.blows)
        seconds = round(time.monotonic() - self.begun)
        log = self.workers.log()
        if self.options.log:
            self.options.log.write_text(log)
        late = {"late writes refused": log.count(LATE_WRITE), "tracebacks in the log": log.count("Traceback")}
        report.counts = {"seconds": seconds, **self.done, **late} | report.counts
        if report.counts["finished"] < self.options.finished:
            report.findings.append(ChaosFinding("slow", f"fewer than {self.options.finished} judgements are finished"))
        if saved := log.count(SAVED):
            report.findings.append(ChaosFinding("wrong", f"a constraint had to refuse what workers wrote ({saved})"))
        audit = verify_all()
        report.counts |= {"entries": audit.entries, "leaves": audit.leaves}
        report.findings += [ChaosFinding("wrong", str(problem)) for problem in audit.faults]
        if any(stopped):
            report.findings.append(ChaosFinding("wrong", f"workers that were told to stop ended with {stopped}"))
        return report

    # ---- all the time -------------------------------------------------------------------------------------

    def wait(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while True:
            self.tick()
            if time.monotonic() >= end:
                return
            time.sleep(TICK)

    def tick(self) -> None:
        for pause in [pause for pause in self.pauses if pause.end <= time.monotonic()]:
            self.go_on(pause)
        for worker in self.workers.fallen():
            self.replace(worker)
        if time.monotonic() - self.told > PROGRESS:
            self.told = time.monotonic()
            self.say()

    def say(self) -> None:
        seconds, ended = time.monotonic() - self.begun, Run.objects.exclude(ended=None).count()
        done = ", ".join(f"{number} {name}" for name, number in sorted(self.done.items()))
        print(f"{seconds:4.0f} s: {ended} of {len(self.applicant.submitted)} judgements have ended; {done}", flush=True)

    # ---- blows --------------------------------------------------------------------------------------------

    def strike(self, name: str) -> None:
        match name:
            case "kill":
                # seldom a paused one: it has to wake up and find that its runs are gone
                self.kill(self.victim(awake=self.dice.random() > RUDE))
            case "pause":
                self.pause(self.victim(awake=True))
            case "postgres" | "redis":
                self.restart(name)
        self.done[name] += 1

    def victim(self, awake: bool) -> ChaosWorker:
        """Any worker, but while it can be helped none with a judgement that has suffered often: five deaths end it."""
        end = time.monotonic() + LONGEST_MERCY
        while True:
            paused = [pause.worker for pause in self.pauses]
            found = [worker for worker in self.workers.alive if not awake or worker not in paused]
            frail = Run.objects.filter(status=Run.Status.RUNNING, deaths__gte=MAX_CRASHES - 2)
            spared = set(frail.values_list("worker", flat=True))
            hardy = [worker for worker in found if worker.name not in spared]
            if hardy or (found and time.monotonic() > end):
                return self.dice.choice(hardy or found)
            self.wait(TICK)

    def kill(self, worker: ChaosWorker) -> None:
        """At any moment, asleep or awake, and the next one starts at once."""
        blow = Blow("kill", time.time())
        self.workers.kill(worker)
        self.workers.start()
        for pause in [pause for pause in self.pauses if pause.worker is worker]:
            self.end(pause)
        self.note(blow, worker, gone=True)

    def replace(self, worker: ChaosWorker) -> None:
        """One that ended although nobody asked it to. Its supervisor would start another."""
        self.done["fallen"] += 1
        blow = Blow("fall", time.time() - 1)
        self.workers.kill(worker)
        self.workers.start()
        self.note(blow, worker, gone=True)

    def note(self, blow: Blow, worker: ChaosWorker, gone: bool) -> None:
        """What was in flight under a worker that does nothing more."""
        self.wait_for_commits(worker, gone)
        calls = ModelCall.objects.filter(status=ModelCall.Status.OPEN, run__worker=worker.name or "none yet")
        blow.calls = [(pk, str(run)) for pk, run in calls.values_list("pk", "run")]
        blow.until = time.time()
        # when this came too late, another worker may have taken its runs already
        blow.all_of_them |= blow.until - blow.at > lease().total_seconds() / 2
        self.blows.append(blow)

    def wait_for_commits(self, worker: ChaosWorker, gone: bool) -> None:
        """PostgreSQL ends what a dead client has sent; only then do the rows stand still."""
        if connection.vendor != "postgresql":
            return
        query = "SELECT count(*) FROM pg_stat_activity WHERE application_name = %s AND (%s OR state = 'active')"
        end = time.monotonic() + LONGEST_COMMIT
        while time.monotonic() < end:
            with connection.cursor() as cursor:
                cursor.execute(query, [f"worker {worker.pid}", gone])
                if cursor.fetchone() == (0,):
                    return
            time.sleep(0.005)

    def pause(self, worker: ChaosWorker) -> None:
        """For longer than its lease, so that others take what it held, and then it goes on as if it still did."""
        # on SQLite it may hold the lock that all others need, so all of them stand still with it
        blow = Blow("pause", time.time(), all_of_them=True)
        worker.signal(signal.SIGSTOP)
        self.note(blow, worker, gone=False)
        blow.until = float("inf")
        self.pauses.append(
            ChaosPause(worker, blow, time.monotonic() + lease().total_seconds() + self.dice.uniform(0.2, 3))
        )

    def go_on(self, pause: ChaosPause) -> None:
        pause.worker.signal(signal.SIGCONT)
        self.end(pause)

    def end(self, pause: ChaosPause) -> None:
        pause.blow.until = time.time() + 1
        self.pauses.remove(pause)

    def restart(self, name: str) -> None:
        """Sometimes in good order, sometimes as a crash."""
        number = self.dice.choice((signal.SIGINT, signal.SIGQUIT if name == "postgres" else signal.SIGKILL))
        blow = Blow(name, time.time(), all_of_them=True)
        server = self.stage.postgres if name == "postgres" else self.stage.redis
        server.restart(number)
        with contextlib.suppress(DBError):
            connection.close()
        blow.until = time.time() + 1
        self.blows.append(blow)
