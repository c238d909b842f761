"""A rough time for debates: whoever performs them is killed at random and at each fault point.

    python -m tests.debate_kills --kills 200 --database postgres

Two workers perform rehearsed debates of five until so many have been killed; then what is left must end by itself. One
member of each takes its time, so that calls are cut in the middle, too. Each kill waits until a debate was claimed, and
what waits for an end waits for as long as there is progress: a machine that has much to do fails nothing. A debate
whose worker died five times in the same call fails, as any run does, and is tried again, as its owner would.
A debate follows from its seed: each must be the one that was held undisturbed with the same seed, message by message
and turn by turn. Exit status 0 if nothing was lost, doubled or said in another order, and every record is intact.
"""

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from itertools import zip_longest
from typing import Any

from tests.chaos_worker import Crew
from tests.stage import DATABASES, Stage, stage

CONCURRENCY = 3
SEEDS = 3  # different debates; each is held again and again
LEASE = 2.0
POINTS = {"claim": 1, "outcome": 1}  # the first passing; all other points in the middle
MIDDLE = 5
NAMES = ("Ilse", "Rajiv", "Hana", "Tomás", "Ada")
SLOW = "Hana"
OPTIONS: list[Any] = [{"word": word} for word in ("HIRE", "HIRE LATER", "DO NOT HIRE")]

Story = tuple[Any, ...]


def main(options: argparse.Namespace) -> bool:
    with stage(options.database, MAGI_ENGINE_LEASE=f"{LEASE:g}") as place:
        undisturbed = held(place, options.most)
        print(f"undisturbed: {', '.join(f'{len(story[1])} messages' for story in undisturbed.values())}", flush=True)
        made = at_random(place, options) + (at_each_point(place, options) if options.points else [])
        return judge(made, undisturbed)


# ---- what is done to them -----------------------------------------------------------------------------------


def held(place: Stage, most: int) -> dict[int, Story]:
    """By their seeds, those that nobody disturbs: at the same time, for most of it they wait."""
    debates = [submit(seed, most) for seed in range(SEEDS)]
    with Crew(place, CONCURRENCY) as crew:
        crew.start()
        wait(lambda: over(debates), "what nobody disturbs")
    return dict(enumerate(map(story_of, debates)))


def at_random(place: Stage, options: argparse.Namespace) -> list[tuple[int, Any]]:
    """Kills of one of two workers while there is always something to perform."""
    chance, made = random.Random(options.seed), list[tuple[int, Any]]()
    with Crew(place, CONCURRENCY) as crew:
        workers = [crew.start(), crew.start()]
        for kill in range(options.kills):
            while len([one for _, one in made if not over([one])]) < 4:
                made.append((len(made) % SEEDS, submit(len(made) % SEEDS, options.most)))
            until_claimed([one for _, one in made])
            time.sleep(chance.uniform(0, 2 * options.pace))
            crew.kill(workers.pop(chance.randrange(2)))
            workers.append(crew.start())
            if kill % 20 == 19:
                print(f"{kill + 1} kills, {len(made)} debates", flush=True)
        wait(lambda: over([one for _, one in made]), "what was left")
    return made


def at_each_point(place: Stage, options: argparse.Namespace) -> list[tuple[int, Any]]:
    from engine import faults

    points = (*faults.POINTS, "before-rest-commit", "after-rest-commit")
    return [(0, died_at(point, place, options.most)) for point in points]


def died_at(point: str, place: Stage, most: int) -> Any:
    """A debate whose first worker died there, and whose second performed it to its end."""
    debate = submit(0, most)
    passing = POINTS.get(point.split("-")[1], 1 if "rest" in point else MIDDLE)
    with Crew(place, CONCURRENCY, MAGI_TEST_FAULT=f"{point}=exit@{passing}") as crew:
        failing = crew.start()
        wait(lambda: failing.state == "Z", f"a death at {point}")
        crew.kill(failing)
    with Crew(place, CONCURRENCY) as crew:
        crew.start()
        wait(lambda: over([debate]), f"a debate whose worker died at {point}")
    print(f"died at {point}", flush=True)
    return debate


def until_claimed(debates: list[Any], longest: float = 60) -> None:
    """A debate was begun, or gone on with, since the last kill: else no worker would live long enough for one."""
    before, end = progress(debates)[0], time.monotonic() + longest
    while progress(debates)[0] == before and time.monotonic() < end:
        time.sleep(0.02)


def wait(done: Callable[[], bool], what: str, longest: float = 120) -> None:
    """As long as something goes on; `longest`: seconds without any."""
    before, end = progress(), time.monotonic() + longest
    while not done():
        time.sleep(0.1)
        if (now := progress()) != before:
            before, end = now, time.monotonic() + longest
        elif time.monotonic() > end:
            raise SystemExit(f"{what} did not come to its end: {standing()}")


def progress(debates: list[Any] | None = None) -> tuple[int, int]:
    """How often these, or all, were claimed, and how often written to."""
    from django.db.models import Sum
    from django.db.models.functions import Coalesce

    from engine.models import Run

    runs = Run.objects.all() if debates is None else Run.objects.filter(pk__in=debates)
    sums = runs.aggregate(claims=Coalesce(Sum("claims"), 0), written=Coalesce(Sum("revision"), 0))
    return sums["claims"], sums["written"]


def standing() -> list[str]:
    """How each run stands that goes on."""
    from engine.models import Run
    from engine.models.claims import GOING_ON

    going = Run.objects.filter(status__in=GOING_ON)
    return [f"{run} {run.status}, claims {run.claims}, deaths {run.deaths}, revision {run.revision}" for run in going]


# ---- the debates --------------------------------------------------------------------------------------------


def submit(seed: int, most: int) -> Any:
    from debates import procedure

    members: list[Any] = [{"name": one, "who": f"{one} looks.", "model": model_of(one)} for one in NAMES]
    question = "Shall we hire her to lead the laboratory?"
    asked: dict[str, Any] = {"question": question, "options": OPTIONS, "members": members, "most": most}
    return procedure.submit(owner=None, seed=bytes([seed]) * 32, **asked).pk


def model_of(name: str) -> str:
    return "rehearsal/magi" if name == SLOW else "rehearsal/instant"


def over(debates: list[Any]) -> bool:
    """Whether none goes on; what was killed too often does again."""
    from engine import steering
    from engine.models import Run
    from engine.models.claims import GOING_ON, KILLED_ITS_WORKER

    for run in Run.objects.filter(pk__in=debates, status=Run.Status.FAILED):
        if run.error == KILLED_ITS_WORKER:
            print(f"{run.pk} was killed five times alone, and is tried again", flush=True)
            steering.retry(run.pk, 0)
    return not Run.objects.filter(pk__in=debates, status__in=GOING_ON).exists()


def story_of(pk: Any) -> Story:
    """All that must be the same whenever it is held with this seed. Last words come in any order."""
    from debates.models import Debate, FirstVerdict, Message, Turn

    firsts = FirstVerdict.objects.filter(member__debate=pk).order_by("member__seat")
    turns = Turn.objects.filter(debate=pk).order_by("number")
    messages = Message.objects.filter(debate=pk).order_by("number")
    said = [
        (one.kind, one.member and one.member.seat, one.content, one.verdict and one.verdict.word, one.abstained)
        for one in messages.select_related("member", "verdict")
    ]
    last = sorted(one for one in said if one[0] == "closing")
    debate = Debate.objects.select_related("run").get(pk=pk)
    return (
        [(one.member.seat, one.verdict and one.verdict.word) for one in firsts.select_related("member", "verdict")],
        [*(one for one in said if one[0] != "closing"), *last],
        [(one.member.seat, one.why, one.ticket, one.state) for one in turns.select_related("member")],
        (debate.run.status, debate.run.outcome, debate.ended_because),
    )


def judge(made: list[tuple[int, Any]], undisturbed: dict[int, Story]) -> bool:
    """Print what is wrong, and how much was done."""
    from debates.models import Message
    from engine.evidence.audit import verify_all
    from engine.models import ModelCall

    wrong: Counter[str] = Counter()
    for seed, debate in made:
        for part, here, there in zip(
            ("firsts", "messages", "turns", "end"), story_of(debate), undisturbed[seed], strict=True
        ):
            if here != there:
                wrong[part] += 1
                print(f"{debate}: other {part}:\n  {differing(here, there)}", file=sys.stderr)
        numbers = list(Message.objects.filter(debate=debate).order_by("number").values_list("number", flat=True))
        wrong["gaps"] += numbers != list(range(1, len(numbers) + 1))
    faults = verify_all().faults
    interrupted = ModelCall.objects.filter(status=ModelCall.Status.INTERRUPTED).count()
    print(
        f"{len(made)} debates disturbed, {Message.objects.count()} messages, {interrupted} calls interrupted: "
        f"{sum(wrong.values())} wrong {dict(+wrong)}, {len(faults)} faults of records"
    )
    return not +wrong and not faults


def differing(here: Any, there: Any) -> str:
    """Where two of the same part begin to differ."""
    pairs = enumerate(zip_longest(here, there))
    return next(f"at {place}: {one} instead of {other}" for place, (one, other) in pairs if one != other)


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Kill whoever performs debates, then compare them with calm ones.")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--most", type=int, default=40, help="messages of a debate")
    parser.add_argument("--points", action=argparse.BooleanOptionalAction, default=True, help="also at fault points")
    parser.add_argument("--database", choices=DATABASES, default="sqlite")
    parser.add_argument("--seed", type=int, default=0, help="of when whom is killed")
    parser.add_argument("--pace", type=float, default=0.4, help="seconds from a claim to a kill, on average")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(0 if main(read_options()) else 1)
