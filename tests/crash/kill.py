"""A rough time for runs of one kind: whoever performs them is killed, and nothing may be lost, doubled or changed.

    python -m tests.crash.kill debate --kills 200 --database postgres

Kinds whose runs are compared with one that nobody disturbed: debate, inquiry, mission, plan. Two workers perform them
until so many have been killed at random, then once at each fault point; what is left must end by itself. Each kill
waits until something was begun, so a busy machine fails nothing. What died five times alone has failed, as it should,
and is tried again. Exit status 0 if each is the same as the undisturbed one and every record is intact.

Kinds that are counted: suspect (one judgement kills its engine: only that one may fail), caller (a program behind a
gate acts at most once), tool (nothing is done twice), submission (each Idempotency-Key has one judgement). Each is a
module beside this one, which says what its own rules are.
"""

import argparse
import importlib
import json
import random
import sys
import time
from collections import Counter
from typing import Any, ClassVar

from django.db.models import Q

from tests.crash.chaos_worker import ChaosCrew, ChaosWorker
from tests.stage import DATABASES, Stage, stage

KINDS = "debate inquiry mission plan suspect caller tool submission".split()
CONCURRENCY = 3
LONGEST = 900.0  # seconds that one step of the play may take on a machine that does much else
DIES_WITHIN = 60.0  # seconds from the end of a run that is seen to the death that follows it
AT_ONCE = 4
PASSINGS = 3  # in the middle of a run; of what is passed less often, the first

Story = tuple[Any, ...]


class Killed:
    """Who asks for runs, decides about them and kills those who perform them."""

    called: ClassVar[str]
    parts: ClassVar[tuple[str, ...]]
    """What a story consists of."""
    seldom: ClassVar[tuple[str, ...]]
    not_passed: ClassVar[tuple[str, ...]]
    failing: ClassVar[tuple[str, ...]] = ()
    """Points after which four more workers die, so that a run fails with a tool call open and is retried."""
    offline: ClassVar[str] = ""
    """The module whose `entries_of_all` and `problems` verify as `tools/verify.py` does."""
    lease: ClassVar[float] = 1.0
    pace: ClassVar[float] = 0.4
    """Seconds from a claim to a kill, on average."""
    settings: ClassVar[dict[str, str]] = {}

    def __init__(self, place: Stage, options: argparse.Namespace) -> None:
        from django.contrib.auth.models import User

        self.place, self.options = place, options
        self.chance, self.made = random.Random(options.seed), list[Any]()
        self.person = User.objects.create(username="root", is_superuser=True)

    def submit(self) -> Any:
        """The key of one more, which stands among those that were `made`."""
        raise NotImplementedError

    def story_of(self, pk: Any) -> Story:
        """All that must be the same whoever dies."""
        raise NotImplementedError

    def decide(self) -> None:
        """Whatever can be decided by now."""

    def look_closer(self, wrong: Counter[str]) -> dict[str, Any]:
        """What else must be so, and figures that tell how much was done."""
        return {}

    def same(self, part: str, here: Any, there: Any) -> bool:
        return bool(here == there)

    def tidy(self) -> None:
        """What these runs leave outside of the database."""

    # ---- what is done to them ----------------------------------------------------------------------------------

    def play(self) -> bool:
        undisturbed = self.performed()
        print(
            "undisturbed: "
            + ", ".join(f"{len(part)} {name}" for part, name in zip(undisturbed, self.parts, strict=True))
        )
        try:
            self.at_random(self.options.kills, self.options.pace or self.pace)
            if self.options.points:
                self.at_each_point()
            return self.judge(undisturbed)
        finally:
            self.tidy()

    def performed(self) -> Story:
        """The story of one that nobody disturbs."""
        with ChaosCrew(self.place, CONCURRENCY) as crew:
            crew.start()
            pk = self.submit()
            self.until_over([pk], "what nobody disturbs")
        return self.story_of(pk)

    def at_random(self, kills: int, pace: float) -> None:
        """One of two workers that is at work, while there is always something to do. Of one kill, the only one."""
        with ChaosCrew(self.place, CONCURRENCY) as crew:
            workers = [crew.start() for _ in range(min(2, kills))]
            for kill in range(kills):
                self.fill_up(kills)
                self.until_claimed()
                until = time.monotonic() + self.chance.uniform(0, 2 * pace)
                while time.monotonic() < until:
                    self.decide()
                    time.sleep(0.02)
                one = self.at_work(workers, kills)
                workers.remove(one)
                crew.kill(one)
                workers.append(crew.start())
                if kill % 20 == 19:
                    print(f"{kill + 1} kills, {len(self.made)} {self.called}", flush=True)
            self.until_over(self.made, "what was left")

    def fill_up(self, kills: int) -> None:
        while len(going_on(self.made)) < min(AT_ONCE, kills):
            self.submit()

    def at_work(self, workers: list[ChaosWorker], kills: int) -> ChaosWorker:
        """One that performs something, as soon as there is one: who is killed at rest proves nothing."""
        end = time.monotonic() + LONGEST
        while not (found := [one for one in workers if one.name in at_work()]):
            if time.monotonic() > end:
                raise SystemExit("\n".join(["nobody takes up what waits", *standing(self.made)]))
            self.fill_up(kills)
            self.decide()
            time.sleep(0.02)
        return self.chance.choice(found)

    def at_each_point(self) -> None:
        from engine import fault_injection

        for point in fault_injection.ALL_POINTS:
            if not any(word in point for word in self.not_passed):
                self.died_at(point)
        for point in self.failing:
            self.failed_at(point)

    def died_at(self, point: str) -> None:
        """One whose first worker died there, and whose second brought it to its end."""
        pk = self.submit()
        self.dies(pk, point, self.passing(point))
        self.brought_to_its_end(pk, f"what a worker died in at {point}")
        print(f"died at {point}", flush=True)

    def failed_at(self, point: str) -> None:
        """One whose first worker died there, and the next four as soon as they had it: it failed, and was retried."""
        from engine.models import Run
        from engine.models.claims import MAX_CRASHES

        pk = self.submit()
        self.dies(pk, point, self.passing(point))
        for _ in range(MAX_CRASHES - 1):
            self.dies(pk, "after-claim-commit", 1)
        self.brought_to_its_end(pk, f"what failed after a worker died in it at {point}")
        if not Run.objects.get(pk=pk).retries:
            raise SystemExit(f"what five workers died in did not fail: {pk}, {point}")
        print(f"failed at {point}", flush=True)

    def passing(self, point: str) -> int:
        return 1 if any(word in point for word in self.seldom) else PASSINGS

    def dies(self, pk: Any, point: str, passing: int) -> None:
        """A worker that has it dies when it passes this point so often."""
        with ChaosCrew(self.place, CONCURRENCY, MAGI_TEST_FAULT=f"{point}=exit@{passing}") as crew:
            failing, end = crew.start(), time.monotonic() + LONGEST
            while failing.state != "Z":
                if not going_on([pk]):  # its end may be seen a moment before the death that follows it
                    end = min(end, time.monotonic() + DIES_WITHIN)
                if time.monotonic() > end:
                    raise SystemExit("\n".join([f"nobody died at {point}", *standing([pk])]))
                self.decide()
                time.sleep(0.02)
            crew.kill(failing)

    def brought_to_its_end(self, pk: Any, what: str) -> None:
        with ChaosCrew(self.place, CONCURRENCY) as crew:
            crew.start()
            self.until_over([pk], what)

    def until_over(self, pks: list[Any], what: str, longest: float = LONGEST) -> None:
        """`longest`: seconds without any progress."""
        before, end = progress(), time.monotonic() + longest
        while going := self.again(pks) or going_on(pks):
            if (now := progress()) != before:
                before, end = now, time.monotonic() + longest
            if time.monotonic() > end:
                logs = [file.read_text()[-20_000:] for file in self.place.folder.glob("crew*/*.log")]
                raise SystemExit("\n".join([f"{what} did not come to its end: {going}", *standing(pks), *logs]))
            self.decide()
            time.sleep(0.05)

    def until_claimed(self) -> None:
        """Something was begun, or gone on with, since the last kill: else none of them would live long enough."""
        before, end = claims_of(self.made), time.monotonic() + 10
        while claims_of(self.made) == before and time.monotonic() < end:
            self.decide()
            time.sleep(0.02)

    def again(self, pks: list[Any]) -> list[str]:
        """What was killed five times alone has failed, as it should; it is tried again, and comes to the same end."""
        from engine import run_control
        from engine.models import Run
        from engine.models.claims import CRASHED_WORKER_ERROR

        failed = Run.objects.filter(Q(pk__in=pks) | Q(root__in=pks), status=Run.Status.FAILED)
        found = [run.pk for run in failed if run.error == CRASHED_WORKER_ERROR]
        for pk in found:
            print(f"{pk} was killed five times alone, and is tried again", flush=True)
            run_control.retry(pk, 0)
        return list(map(str, found))

    # ---- what came of it ---------------------------------------------------------------------------------------

    def expected(self, pk: Any, undisturbed: Story) -> Story:
        return undisturbed

    def judge(self, undisturbed: Story) -> bool:
        """Print what is wrong, and how much was done."""
        from engine.audit.full_verification import verify_all
        from engine.models import Gate, ModelCall

        wrong: Counter[str] = Counter()
        for pk in self.made:
            there = self.expected(pk, undisturbed)
            for part, one, other in zip(self.parts, self.story_of(pk), there, strict=True):
                if not self.same(part, one, other):
                    wrong[part] += 1
                    print(f"{pk}: other {part}:\n  {one}\n  {other}", file=sys.stderr)
        figures = {self.called: len(self.made), "claims": claims_of(self.made), **self.look_closer(wrong)}
        figures["calls cut"] = ModelCall.objects.filter(status=ModelCall.Status.INTERRUPTED).count()
        faults = [*map(str, verify_all().faults), *self.faults_offline()]
        print(json.dumps(figures | {"gates": Gate.objects.count(), "wrong": dict(+wrong), "faults": faults[:10]}))
        return not +wrong and not faults

    def faults_offline(self) -> list[str]:
        if not self.offline:
            return []
        verifier = importlib.import_module(self.offline)
        found = verifier.entries_of_all().items()
        return [f"{pk}: {one}" for pk, said in found for one in verifier.problems(said)]


def progress() -> int:
    """How often anything was written to a run."""
    from django.db.models import Sum

    from engine.models import Run

    return int(Run.objects.aggregate(written=Sum("revision"))["written"] or 0)


def at_work() -> set[str]:
    """The names of those who perform something."""
    from engine.models import Run

    return set(Run.objects.filter(status=Run.Status.RUNNING).values_list("worker", flat=True))


def going_on(pks: list[Any]) -> list[str]:
    from engine.models import Run

    going = Run.objects.filter(pk__in=pks, ended=None)
    return [f"{run} {run.status}, claims {run.claims}, deaths {run.deaths}, {run.error}" for run in going]


def standing(pks: list[Any]) -> list[str]:
    """All that could say why nobody goes on: these runs with those that they made, and their gates."""
    from engine.models import Gate, Run

    runs = Run.objects.filter(Q(pk__in=pks) | Q(root__in=pks), ended=None)
    columns = "pk parent status worker fence claims crashes deaths news wakes_at lease_expires_at lane why".split()
    gates = Gate.objects.filter(run__in=runs, state="pending")
    asked = gates.values("pk", "run", "kind", "step", "policy__who", "council", "council__status", "expires")
    return [str(row) for row in (*runs.values(*columns), *asked)]


def claims_of(pks: list[Any]) -> int:
    from engine.models import Run

    return sum(Run.objects.filter(pk__in=pks).values_list("claims", flat=True))


def compared(kind: type[Killed], options: argparse.Namespace, **settings: str) -> bool:
    """Play with runs of this kind on a stage of their own."""
    with stage(options.database, MAGI_ENGINE_LEASE=f"{kind.lease:g}", **kind.settings, **settings) as place:
        return kind(place, options).play()


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Kill whoever performs runs of one kind, and see what came of it.")
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--points", action=argparse.BooleanOptionalAction, default=True, help="also at fault points")
    parser.add_argument("--database", choices=DATABASES, default="sqlite")
    parser.add_argument("--seed", type=int, default=0, help="of when whom is killed")
    parser.add_argument("--pace", type=float, help="seconds from a claim to a kill, on average")
    parser.add_argument("--most", type=int, default=40, help="debate: messages of each")
    parser.add_argument("--mcp", action="store_true", help="plan: act at an MCP server")
    parser.add_argument("--launchers", type=int, default=50, help="mission: so many of these are killed, too")
    parser.add_argument("--keepers", type=int, default=50, help="mission: and of these")
    parser.add_argument("--judgements", type=int, default=200, help="suspect: in progress; submission: all of them")
    return parser.parse_args()


if __name__ == "__main__":
    told = read_options()
    sys.exit(not importlib.import_module(f"tests.crash.{told.kind}").play(told))
