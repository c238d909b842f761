"""A rough time for inquiries: whoever performs them is killed at random and at each fault point.

    python -m tests.inquiry_kills --kills 200 --database postgres

Two workers answer rehearsed questions from documents, with a council that lets each result pass and a person who lets
the answer pass, until so many have been killed; then what is left must end by itself. Exit status 0 if each inquiry is
the one that was performed undisturbed, with the same orders, moves, quotes and answer, no use of a tool was done twice,
and every record is intact, also for the verifier that others run.
"""

import argparse
import random
import sys
import time
from collections import Counter
from typing import Any

from tests.chaos_worker import Crew
from tests.stage import DATABASES, Stage, stage

CONCURRENCY, LEASE, AT_ONCE = 3, 1.0, 4
PASSINGS = 3  # in the middle; of what is passed less often, the first
SELDOM = ("claim", "outcome", "tool", "gate", "park")
NOT_PASSED = ("expiry", "rest", "child", "tool-open")  # a gate makes its council; what reads is one commit
QUESTION = "How is a judgement approved by its three agents?"
COUNCIL = "Passing"

PARTS = ("orders", "moves", "claims", "tools", "end")
Story = tuple[Any, ...]


def main(options: argparse.Namespace) -> bool:
    with stage(options.database, MAGI_ENGINE_LEASE=f"{LEASE:g}") as place:
        asking = Asking(place, options.seed)
        undisturbed = asking.performed()
        print(f"undisturbed: {len(undisturbed[0])} orders, {len(undisturbed[1])} moves", flush=True)
        asking.at_random(options.kills, options.pace)
        if options.points:
            asking.at_each_point()
        return judge(asking.inquiries, undisturbed)


class Asking:
    """Who asks, lets answers pass and kills those who find them."""

    def __init__(self, place: Stage, seed: int) -> None:
        from django.contrib.auth.models import User

        from judgements.models import Council

        self.place, self.chance, self.inquiries = place, random.Random(seed), list[Any]()
        self.person = User.objects.create(username="root", is_superuser=True)
        seats = [{"name": name, "model": "rehearsal/instant", "criteria": "Approve everything."} for name in "ABC"]
        Council.objects.found(name=COUNCIL, owner=None, agents=[{**one, "fallback": ""} for one in seats])

    def submit(self) -> Any:
        from inquiries.examples import about_magi
        from inquiries.models import POSTS
        from inquiries.procedure import submit

        critics = {"critic_researcher": {"kind": "council", "council": COUNCIL}, "critic_expert": {"kind": "person"}}
        models = dict.fromkeys(POSTS, "rehearsal/instant")
        asked = {"question": QUESTION, "models": models, "critics": critics, "documents": about_magi()[:2]}
        self.inquiries.append(submit(owner=self.person, **asked).pk)
        return self.inquiries[-1]

    def decide(self) -> None:
        from engine import gates
        from engine.models import Gate

        for gate in Gate.objects.whole().pending().filter(run__in=self.inquiries):
            if not gate.policy.get("council"):
                gates.decide(gate.pk, self.person, "approve")

    def until_over(self, pks: list[Any], what: str, longest: float = 300) -> None:
        end = time.monotonic() + longest
        while going := going_on(pks):
            if time.monotonic() > end:
                logs = [file.read_text()[-20_000:] for file in self.place.folder.glob("crew*/*.log")]
                raise SystemExit("\n".join([f"{what} did not come to its end: {going}", *logs]))
            self.decide()
            time.sleep(0.05)

    def performed(self) -> Story:
        with Crew(self.place, CONCURRENCY) as crew:
            crew.start()
            pk = self.submit()
            self.until_over([pk], "an undisturbed inquiry")
        return story_of(pk)

    def at_random(self, kills: int, pace: float) -> None:
        """One of two workers, while there is always something to do."""
        with Crew(self.place, CONCURRENCY) as crew:
            workers = [crew.start(), crew.start()]
            for kill in range(kills):
                while len(going_on(self.inquiries)) < AT_ONCE:
                    self.submit()
                self.until_claimed()
                until = time.monotonic() + self.chance.uniform(0, 2 * pace)
                while time.monotonic() < until:
                    self.decide()
                    time.sleep(0.02)
                crew.kill(workers.pop(self.chance.randrange(2)))
                workers.append(crew.start())
                if kill % 20 == 19:
                    print(f"{kill + 1} kills, {len(self.inquiries)} inquiries", flush=True)
            self.until_over(self.inquiries, "what was left")

    def until_claimed(self) -> None:
        """Something was begun, or gone on with, since the last kill: else none of them would live long enough."""
        before, end = claims_of(self.inquiries), time.monotonic() + 10
        while claims_of(self.inquiries) == before and time.monotonic() < end:
            self.decide()
            time.sleep(0.02)

    def at_each_point(self) -> None:
        from engine import faults

        for point in faults.ALL_POINTS:
            if not any(word in point for word in NOT_PASSED):
                self.died_at(point)

    def died_at(self, point: str) -> None:
        """An inquiry whose first worker died there, and whose second brought it to its end."""
        pk = self.submit()
        passing = 1 if any(word in point for word in SELDOM) else PASSINGS
        with Crew(self.place, CONCURRENCY, MAGI_TEST_FAULT=f"{point}=exit@{passing}") as crew:
            failing, end = crew.start(), time.monotonic() + 60
            while failing.state != "Z":
                if time.monotonic() > end or not going_on([pk]):
                    raise SystemExit(f"nobody died at {point}")
                self.decide()
                time.sleep(0.02)
            crew.kill(failing)
        with Crew(self.place, CONCURRENCY) as crew:
            crew.start()
            self.until_over([pk], f"an inquiry whose worker died at {point}")
        print(f"died at {point}", flush=True)


def going_on(pks: list[Any]) -> list[str]:
    from engine.models import Run

    going = Run.objects.filter(pk__in=pks, ended=None)
    return [f"{run} {run.status}, claims {run.claims}, deaths {run.deaths}, {run.error}" for run in going]


def claims_of(pks: list[Any]) -> int:
    from engine.models import Run

    return sum(Run.objects.filter(pk__in=pks).values_list("claims", flat=True))


def story_of(pk: Any) -> Story:
    """All that must be the same whoever dies."""
    from engine.models import ToolCall
    from inquiries.models import Inquiry

    row = Inquiry.objects.whole().get(pk=pk)
    orders = [(one.kind, one.station, one.place, one.decision, one.reply, one.feedback) for one in row.ordered]
    moves = [(one.key, one.tool, one.arguments, one.result, one.done, one.refused) for one in row.moves.all()]
    claims = [(one.number, one.text, [q.parts for q in one.quotes.all()]) for one in row.claims.all()]
    done = ToolCall.objects.filter(run=pk, status=ToolCall.Status.DONE).values_list("step", "tool", "output")
    return orders, moves, claims, sorted(done), (row.answer, row.trace, row.run.status, row.run.outcome)


def judge(pks: list[Any], undisturbed: Story) -> bool:
    """Print what is wrong, and how much was done."""
    from engine.evidence.audit import verify_all
    from engine.models import Gate, ModelCall
    from tests.inquiries.offline import entries_of_all, problems

    wrong: Counter[str] = Counter()
    for pk in pks:
        for part, here, there in zip(PARTS, story_of(pk), undisturbed, strict=True):
            if here != there:
                wrong[part] += 1
                print(f"{pk}: other {part}:\n  {here}\n  {there}", file=sys.stderr)
    faults = [
        *verify_all().faults,
        *(f"{pk}: {one}" for pk, said in entries_of_all().items() for one in problems(said)),
    ]
    figures = {
        "inquiries": len(pks),
        "claims": claims_of(pks),
        "calls": ModelCall.objects.count(),
        "calls cut": ModelCall.objects.filter(status=ModelCall.Status.INTERRUPTED).count(),
        "gates": Gate.objects.count(),
        "wrong": dict(wrong),
        "faults": faults,
    }
    print(", ".join(f"{name} {value}" for name, value in figures.items()))
    return not wrong and not faults


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--pace", type=float, default=0.5, help="seconds between kills, about")
    parser.add_argument("--database", choices=DATABASES, default="sqlite")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--points", action="store_true", help="also die at each fault point")
    sys.exit(0 if main(parser.parse_args()) else 1)
