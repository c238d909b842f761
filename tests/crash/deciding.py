"""Fifty people decide at once: `python -m tests.crash.race gate`.

At one gate one of them decides, and each of the others is told who was first. At all gates of a plan, while somebody
changes one of its steps and an engine carries out what is approved: nobody's approval counts for the changed text,
which is asked about anew, and no step begins on another text than the one that was approved.
"""

import argparse
import random
import threading
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import Any

from tests.acceptance.site import EngineProcess
from tests.stage import Stage

PEOPLE = 50
STEPS = 6
CHANGED = "Add a task “Otherwise” to the tasks."
RIGHT = (1, PEOPLE - 1, 1, 1)  # who decided, who was refused, what stands in the rows, how often the run was told


def who_decide() -> list[Any]:
    from django.contrib.auth.models import Permission, User

    people = User.objects.bulk_create(User(username=f"person {number}") for number in range(PEOPLE))
    Permission.objects.get(codename="decide_gate").user_set.add(*people)
    return list(User.objects.order_by("pk"))


def at_one_gate(rounds: int, people: Sequence[Any]) -> Counter[tuple[int, int, int, int]]:
    """What each round came to."""
    with ThreadPoolExecutor(PEOPLE) as threads:
        outcomes = Counter(collide(threads, people) for _ in range(rounds))
        close_all(threads, PEOPLE)
    return outcomes


def collide(threads: ThreadPoolExecutor, people: Sequence[Any]) -> tuple[int, int, int, int]:
    from engine.audit import sealing
    from engine.models import Gate, GateDecision, Run
    from engine.policy import parse_policy

    sealing.adopt_unsealed_runs()
    run = Run.objects.create(procedure="judgement", status="waiting")
    sealing.record_submission(run.pk)
    asked = {"step": "go", "kind": "letter", "title": "May it go out?", "text": "Dear Mr. Ito", "choices": []}
    gate = Gate.objects.open(None, run=run, policy=parse_policy(None), **asked)
    together = threading.Barrier(PEOPLE)
    said = list(threads.map(lambda person: decide(together, gate.pk, person), people))
    run.refresh_from_db()
    return said.count(True), said.count(False), GateDecision.objects.filter(gate=gate).count(), run.news


def decide(together: threading.Barrier, gate: int, person: Any) -> bool:
    from engine import gate_decisions

    together.wait()
    try:
        gate_decisions.decide(gate, person, "approve" if person.pk % 2 else "reject")
    except gate_decisions.GateClosed:
        return False
    return True


# ---- a plan, and somebody who changes a step of it ----------------------------------------------------------


class Crowd:
    """`came`: what the rounds came to, by the team's policy; `wrong`: what must not be."""

    def __init__(self, people: Sequence[Any], seed: int) -> None:
        from plans.rules.approval_policy import CAREFUL_POLICY, STEP_BY_STEP
        from tests.plans.cast import team

        three = {effect: {"who": "person", "persons": 3} for effect in STEP_BY_STEP.steps}
        policies = {
            "the plan": CAREFUL_POLICY,
            "each step": STEP_BY_STEP,
            "by three": replace(STEP_BY_STEP, steps=three),
        }
        self.teams = {name: team(name, policy) for name, policy in policies.items()}
        self.people, self.chance = people, random.Random(seed)
        self.came: Counter[str] = Counter()
        self.wrong: list[str] = []

    def rounds(self, number: int) -> None:
        with ThreadPoolExecutor(PEOPLE + 1) as threads:
            for one in range(number):
                self.collide(threads, list(self.teams)[one % len(self.teams)])
            close_all(threads, PEOPLE + 1)

    def collide(self, threads: ThreadPoolExecutor, policy: str) -> None:
        from plans import procedure

        task = "\n".join(f"Add a task “{number}” to the tasks." for number in range(1, STEPS + 1))
        pk = procedure.submit(owner=self.people[0], task=task, team=self.teams[policy]).pk
        read = [(one.pk, one.digest, "all" if one.kind == "plan" else "") for one in self.asked(pk)]
        number, together = self.chance.randint(1, STEPS), threading.Barrier(PEOPLE + 1)
        change = threads.submit(self.change, together, pk, number, 0.4 * self.chance.random() ** 2)
        said = list(threads.map(lambda person: self.approve_all(together, read, person), self.people))
        changed = change.result()
        self.came[f"{policy}: {'changed before' if changed else 'not changed any more, after'} it began"] += 1
        self.came[f"{policy}: approvals that counted"] += sum(said)
        self.judge(pk, number, policy, changed)

    def asked(self, pk: Any) -> list[Any]:
        """The gates at which it waits by now; none of one that is over."""
        from engine.models import Gate, Run
        from tests.plans.cast import until

        until(lambda: Run.objects.get(pk=pk).status not in ("queued", "running"), f"{pk} waits")
        return list(Gate.objects.with_decisions().pending().filter(run=pk).order_by("pk"))

    def approve_all(self, together: threading.Barrier, read: Sequence[tuple[int, str, str]], person: Any) -> int:
        """All that stood there when the page was opened; how often it was taken."""
        from engine import gate_decisions

        taken = 0
        together.wait()
        for pk, digest, choice in read:
            try:
                gate_decisions.decide(pk, person, "approve", choice=choice, digest=digest)
            except gate_decisions.DecisionRefused:
                continue
            taken += 1
        return taken

    def change(self, together: threading.Barrier, pk: Any, number: int, after: float) -> bool:
        from engine import run_control
        from plans import comments

        together.wait()
        time.sleep(after)
        try:
            comments.change_step(pk, self.people[0], number, {"action": CHANGED})
        except (comments.CommentRefused, run_control.RunEnded):
            return False
        return True

    def judge(self, pk: Any, number: int, policy: str, changed: bool) -> None:
        """Nobody has approved the new text, so nobody is at it. Once somebody has, the plan comes to its end."""
        from engine import gate_decisions
        from engine.models import GateDecision, Run
        from plans.models import PlanStep
        from tests.crash.dice import unapproved

        asked = self.asked(pk)
        approved = GateDecision.objects.filter(gate__run=pk, gate__text__contains="Otherwise").count()
        begun = PlanStep.objects.get(plan=pk, number=number).began is not None
        anew = any("Otherwise" in gate.text for gate in asked)
        if (approved, begun, anew) != (0, not changed, changed):
            self.wrong.append(f"{policy} {pk}: {approved} approved it, begun {begun}, asked anew {anew}")
        while asked:
            for gate in asked:
                for person in self.people[: gate.policy["persons"]]:
                    with suppress(gate_decisions.DecisionRefused):  # approved with its plan
                        choice = "all" if gate.kind == "plan" else ""
                        gate_decisions.decide(gate.pk, person, "approve", choice=choice, digest=gate.digest)
            asked = self.asked(pk)
        run = Run.objects.get(pk=pk)
        self.wrong += [] if run.outcome == "done" else [f"{policy} {pk}: {run.status} {run.outcome} {run.error}"]
        self.wrong += unapproved([pk])


def change_and_approve(place: Stage, people: Sequence[Any], rounds: int, seed: int) -> list[str]:
    """What was wrong."""
    from engine.audit.full_verification import verify_all
    from tests.plans.offline import entries_of_all, problems

    crowd = Crowd(people, seed)
    with EngineProcess(place.env, place.folder / "engine", everything=True):
        crowd.rounds(rounds)
    for what, number in sorted(crowd.came.items()):
        print(f"{number:>5}  {what}")
    faults = [f"{pk}: {one}" for pk, said in entries_of_all().items() for one in problems(said)]
    return [*crowd.wrong, *map(str, verify_all().faults), *faults]


def close_all(threads: ThreadPoolExecutor, number: int) -> None:
    """Each of these threads has a connection of its own."""
    from django.db import connections

    together = threading.Barrier(number)
    list(threads.map(lambda _: (together.wait(), connections.close_all()), range(number)))


def play(place: Stage, options: argparse.Namespace) -> bool:
    people = who_decide()
    # before the others, whose runs have no rows
    wrong = change_and_approve(place, people, options.plans, options.seed) if options.plans else []
    outcomes = at_one_gate(options.rounds, people)
    for (decided, refused, rows, told), number in sorted(outcomes.items()):
        print(f"{number:>5}  {decided} decided, {refused} refused, {rows} decisions, {told} wake-ups")
    for one in wrong:
        print("WRONG", one)
    return not wrong and set(outcomes) == {RIGHT}
