"""Plans are carried out while people decide, change steps, speak and cancel: `python -m tests.crash.race plan`.

No run breaks, every plan comes to an end, nobody meets an error that says nothing, each step that began had an approval
of exactly its text where its policy asks for one, and every record is intact.
"""

import argparse
import asyncio
import json
import random
import re
import threading
import time
from collections import Counter
from typing import Any

LONGEST = 120.0  # seconds for one round of plans
PEOPLE = 4
AT_ONCE = 10  # plans

POLICIES = ("Careful", "Watchful", "Open reads", "Step by step")


class Dice:
    """Stands where the models stand: answers by chance, and slowly enough that others come between."""

    timeout = 120.0

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance

    async def load(self) -> None:
        pass

    async def close(self) -> None:
        pass

    def queue(self, model: str) -> Any:
        from engine.llm.queues import ProviderQueue

        return ProviderQueue()

    def request_mode(self, model: str) -> Any:
        from engine.llm.response_format import RequestMode

        return RequestMode()

    async def ask(self, model: str, messages: Any, form: Any, on_growth: Any, way: Any) -> Any:
        from engine.llm.prompt_blocks import read_fence
        from engine.llm.streaming import ModelReply

        await asyncio.sleep(self.chance.uniform(0, 0.03))
        given = read_fence(messages[1]["content"])
        answers = {"plan": self.plan, "plan-tools": self.tools, "plan-move": self.move, "plan-summary": self.summary}
        made = answers[form.name](given, messages)
        return ModelReply(text=json.dumps(made), finish="stop", model=model)

    def plan(self, given: Any, messages: Any) -> Any:
        if self.chance.random() < 0.1 and "You have asked already" not in messages[0]["content"]:
            return {"thought": "", "questions": ["By when?"], "steps": []}
        from plans.rehearsal import number_of_first

        first = number_of_first(messages)
        most = int(re.findall(r"at most (\d+) steps", messages[0]["content"])[0])
        steps: list[Any] = []
        for number in range(first, first + self.chance.randint(1, min(most, 5))):
            owner, tools = self.owner(given)
            before = [*(one["number"] for one in given["fixed"]), *range(first, number)]
            needs = self.chance.sample(before, min(len(before), 2)) if self.chance.random() < 0.6 else None
            action = f"Do what is the {self.chance.randint(1, 9)}. thing."
            steps.append({"action": action, "owner": owner, "tools": tools, "needs": needs})
        return {"thought": "", "questions": [], "steps": steps}

    def tools(self, given: Any, messages: Any) -> Any:
        """Of a step whose action somebody has changed."""
        owner, tools = self.owner(given)
        return {"thought": "", "owner": owner, "tools": tools}

    def owner(self, given: Any) -> tuple[str, list[str]]:
        owner = self.chance.choice(given["owners"])
        return owner["name"], [tool["name"] for tool in owner["tools"] if self.chance.random() < 0.7]

    def move(self, given: Any, messages: Any) -> Any:
        made = {"thought": "", "act": "reply", "tool": "", "arguments": "{}", "text": "Done."}
        die = self.chance.random()
        if die < 0.15:
            return made | {"act": "give_up", "text": "I cannot."}
        if die < 0.3:
            return made | {"act": "ask", "text": "Which?"}
        tools = [name for name in ("figures.calculate", "mail.draft", "mail.send") if f"{name}:" in str(messages[0])]
        if die < 0.8 and tools:
            letter = {"to": ["ada@example.org"], "subject": f"{self.chance.random()}", "text": "So."}
            name = self.chance.choice(tools)
            arguments = {"expression": "2 + 3"} if name == "figures.calculate" else letter
            return made | {"act": "call", "tool": name, "arguments": json.dumps(arguments), "text": ""}
        return made

    def summary(self, given: Any, messages: Any) -> Any:
        return {"summary": "So it went."}


class RepeatingPerson(threading.Thread):
    """Does something somewhere again and again; what it met that is no sentence for people stands in `met`."""

    def __init__(self, user: Any, plans: list[Any], seed: int, over: threading.Event) -> None:
        super().__init__(daemon=True)
        self.user, self.plans, self.chance, self.over = user, plans, random.Random(seed), over
        self.met: Counter[str] = Counter()
        self.did: Counter[str] = Counter()

    def run(self) -> None:
        from django.db import connections

        while not self.over.is_set():
            try:
                self.act()
            except Exception as error:  # noqa: BLE001 - all that is no refusal is counted
                self.met[f"{type(error).__name__}: {error}"[:200]] += 1
            time.sleep(self.chance.uniform(0, 0.01))
        connections.close_all()

    def act(self) -> None:
        from engine import gate_decisions, run_control
        from plans import comments

        pk, die = self.chance.choice(self.plans), self.chance.random()
        refused = (
            gate_decisions.DecisionRefused,
            gate_decisions.InvalidAnswer,
            comments.CommentRefused,
            comments.NoSuchStep,
            comments.InvalidComment,
            run_control.RunEnded,
        )
        name = "decide"
        try:
            if die < 0.85:
                self.decide(pk)
            elif die < 0.93:
                name = "change"
                changes = [{"action": "Do another thing."}, {"owner": "Letters"}, {"owner": "Person"}, {"needs": []}]
                comments.change_step(pk, self.user, self.chance.randint(1, 8), self.chance.choice(changes))
            elif die < 0.975:
                name = "say to a step"
                comments.post_comment(pk, self.user, "Mind the date.", self.chance.randint(1, 8))
            elif die < 0.995:
                name = "say"
                comments.post_comment(pk, self.user, "Otherwise, please.")
            else:
                name = "cancel"
                run_control.cancel(pk, self.user)
        except refused:
            name = f"{name}, refused"
        self.did[name] += 1

    def decide(self, pk: Any) -> None:
        from engine import gate_decisions
        from engine.models import Gate

        asked = list(Gate.objects.pending().filter(run=pk))
        if not asked:
            return
        gate = self.chance.choice(asked)
        decision = "approve" if self.chance.random() < 0.85 else "reject"
        if gate.kind in ("question", "person") and self.chance.random() < 0.9:
            decision = "answer"
        words = [one["word"] for one in gate.choices if one["decision"] == decision and one["word"] != "end"]
        choice = self.chance.choice(words) if words else ""
        time.sleep(self.chance.uniform(0, 0.02))
        gate_decisions.decide(gate.pk, self.user, decision, "Because.", choice, digest=gate.digest)


async def carry_out(plans: list[Any], seed: int) -> None:
    from engine.models import Run
    from engine.queue.worker import Worker

    engines = [Worker(models=Dice(random.Random(seed + number))) for number in range(2)]  # type: ignore[arg-type]
    tasks = [asyncio.create_task(engine.run()) for engine in engines]
    until = time.monotonic() + LONGEST
    while await Run.objects.filter(pk__in=plans, ended=None).aexists() and time.monotonic() < until:
        await asyncio.sleep(0.1)
    for engine in engines:
        await engine.stop(grace=1)
    await asyncio.gather(*tasks)


def unapproved(plans: list[Any]) -> list[str]:
    """Steps that began although nobody had approved their text."""
    from engine.models import Gate
    from plans.models import Plan
    from plans.models.queries import gate_text_of, step_situation
    from plans.rules.scheduling import is_asked

    found = []
    for pk in plans:
        plan = Plan.objects.planned().get(pk=pk)
        for step in plan.steps.all():
            if step.began and is_asked(step_situation(step), plan.effective_policy):
                used = Gate.objects.filter(run=pk, step=step.gate_step, state="approved").exclude(used=None)
                if [gate.text for gate in used] != [gate_text_of(plan, step).text]:
                    found.append(f"{pk} {step}")
    return found


def play(place: Any, options: argparse.Namespace) -> bool:
    from django.contrib.auth.models import Permission, User

    from engine.audit.full_verification import verify_all
    from engine.models import Run
    from plans.rules.approval_policy import POLICIES as KNOWN
    from tests.plans import scenes
    from tests.plans.offline import entries_of_all, problems

    number, seed = options.rounds * AT_ONCE, options.seed
    people = User.objects.bulk_create(User(username=f"person {one}") for one in range(PEOPLE))
    Permission.objects.get(codename="decide_gate").user_set.add(*people)
    people = list(User.objects.filter(pk__in=[one.pk for one in people]))
    teams = [scenes.team(KNOWN[name], name=name) for name in POLICIES]
    chance, well = random.Random(seed), True
    for begin in range(0, number, AT_ONCE):
        plans = [scenes.plan(people[0], chance.choice(teams)).pk for _ in range(min(AT_ONCE, number - begin))]
        over = threading.Event()
        crowd = [RepeatingPerson(user, plans, seed + begin + one, over) for one, user in enumerate(people)]
        for person in crowd:
            person.start()
        asyncio.run(carry_out(plans, seed + begin))
        over.set()
        for person in crowd:
            person.join()
        runs = list(Run.objects.filter(pk__in=plans))
        came = Counter(f"{run.status} {run.outcome or ''} {run.error or ''}".strip() for run in runs)
        met, did = sum((one.met for one in crowd), Counter()), sum((one.did for one in crowd), Counter())
        wrong = [f"{run.pk} {run.status} {run.error}" for run in runs if run.status not in ("finished", "cancelled")]
        print(dict(came), dict(did), flush=True)
        for line in (*wrong, *unapproved(plans), *(f"{name} x{n}" for name, n in met.items())):
            well = False
            print("WRONG", line, flush=True)
    faults = [
        *verify_all().faults,
        *(f"{pk}: {one}" for pk, said in entries_of_all().items() for one in problems(said)),
    ]
    for fault in faults[:20]:
        print("FAULT", fault, flush=True)
    return well and not faults
