"""Kills of whoever performs runs of one kind: at random, and at each fault point. What is asked for, how it is decided
about and what must be the same of each is its play's own: `plan_kills.py`, `inquiry_kills.py`.
"""

import random
import time
from typing import Any, ClassVar

from django.db.models import Q

from tests.chaos_worker import Crew
from tests.stage import Stage

CONCURRENCY, LEASE = 3, 1.0
DIES_WITHIN = 5.0  # seconds
AT_ONCE = 4
PASSINGS = 3  # in the middle of a run; of what is passed less often, the first


class Killed:
    """Who asks for runs, decides about them and kills those who perform them."""

    called: ClassVar[str]
    seldom: ClassVar[tuple[str, ...]]
    not_passed: ClassVar[tuple[str, ...]]

    def __init__(self, place: Stage, seed: int) -> None:
        from django.contrib.auth.models import User

        self.place, self.chance, self.made = place, random.Random(seed), list[Any]()
        self.person = User.objects.create(username="root", is_superuser=True)

    def submit(self) -> Any:
        """The key of one more, which stands among those that were `made`."""
        raise NotImplementedError

    def decide(self) -> None:
        """Whatever can be decided by now."""
        raise NotImplementedError

    def story_of(self, pk: Any) -> Any:
        """All that must be the same whoever dies."""
        raise NotImplementedError

    def until_over(self, pks: list[Any], what: str, longest: float = 300) -> None:
        end = time.monotonic() + longest
        while going := self.again(pks) or going_on(pks):
            if time.monotonic() > end:
                logs = [file.read_text()[-20_000:] for file in self.place.folder.glob("crew*/*.log")]
                raise SystemExit("\n".join([f"{what} did not come to its end: {going}", *standing(pks), *logs]))
            self.decide()
            time.sleep(0.05)

    def again(self, pks: list[Any]) -> list[str]:
        """What was killed five times alone has failed, as it should; it is tried again, and comes to the same end."""
        from engine import steering
        from engine.models import Run
        from engine.models.claims import KILLED_ITS_WORKER

        failed = Run.objects.filter(Q(pk__in=pks) | Q(root__in=pks), status=Run.Status.FAILED)
        found = [run.pk for run in failed if run.error == KILLED_ITS_WORKER]
        for pk in found:
            print(f"{pk} was killed five times alone, and is tried again", flush=True)
            steering.retry(pk, 0)
        return list(map(str, found))

    def performed(self) -> Any:
        """The story of one that nobody disturbs."""
        with Crew(self.place, CONCURRENCY) as crew:
            crew.start()
            pk = self.submit()
            self.until_over([pk], "what nobody disturbs")
        return self.story_of(pk)

    def at_random(self, kills: int, pace: float) -> None:
        """One of two workers, while there is always something to do."""
        with Crew(self.place, CONCURRENCY) as crew:
            workers = [crew.start(), crew.start()]
            for kill in range(kills):
                while len(going_on(self.made)) < AT_ONCE:
                    self.submit()
                self.until_claimed()
                until = time.monotonic() + self.chance.uniform(0, 2 * pace)
                while time.monotonic() < until:
                    self.decide()
                    time.sleep(0.02)
                crew.kill(workers.pop(self.chance.randrange(2)))
                workers.append(crew.start())
                if kill % 20 == 19:
                    print(f"{kill + 1} kills, {len(self.made)} {self.called}", flush=True)
            self.until_over(self.made, "what was left")

    def until_claimed(self) -> None:
        """Something was begun, or gone on with, since the last kill: else none of them would live long enough."""
        before, end = claims_of(self.made), time.monotonic() + 10
        while claims_of(self.made) == before and time.monotonic() < end:
            self.decide()
            time.sleep(0.02)

    def at_each_point(self) -> None:
        from engine import faults

        for point in faults.ALL_POINTS:
            if not any(word in point for word in self.not_passed):
                self.died_at(point)

    def died_at(self, point: str) -> None:
        """One whose first worker died there, and whose second brought it to its end."""
        pk = self.submit()
        passing = 1 if any(word in point for word in self.seldom) else PASSINGS
        with Crew(self.place, CONCURRENCY, MAGI_TEST_FAULT=f"{point}=exit@{passing}") as crew:
            failing, end = crew.start(), time.monotonic() + 60
            while failing.state != "Z":
                if not going_on([pk]):  # its end may be seen a moment before the death that follows it
                    end = min(end, time.monotonic() + DIES_WITHIN)
                if time.monotonic() > end:
                    raise SystemExit(f"nobody died at {point}")
                self.decide()
                time.sleep(0.02)
            crew.kill(failing)
        with Crew(self.place, CONCURRENCY) as crew:
            crew.start()
            self.until_over([pk], f"what a worker died in at {point}")
        print(f"died at {point}", flush=True)


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
