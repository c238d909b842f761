"""Plans played by dice, without a database: what the rows become is done here as the models do it."""

from dataclasses import replace
from random import Random

from plans.rules import course
from plans.rules.course import Facts, Revision, Step
from plans.rules.decided import consequence
from plans.rules.demands import CHOICES, Kind, Meaning
from plans.rules.words import Cause, Effect, Event, Owner, Standing, Status, after

ACCEPTING = {Kind.PLAN: Meaning.ALL, Kind.STEP: Meaning.ACCEPT, Kind.QUESTION: Meaning.ANSWER}
ACCEPTING |= {Kind.SEAT: Meaning.ANSWER, Kind.FAILURE: Meaning.AGAIN, Kind.TOOL: Meaning.ACCEPT}


class Play:
    """`kind`: how often, of a hundred, something goes otherwise than well."""

    def __init__(self, policy, seed, trouble=20):
        self.die, self.trouble = Random(seed), trouble
        self.facts = Facts((Revision(1, Standing.ORDERED),), policy=policy)
        self.numbers = 0
        self.approved, self.begun, self.parts = set(), [], []

    def goes_wrong(self):
        return self.die.random() * 100 < self.trouble

    def to_the_end(self, most=5_000):
        for _ in range(most):
            parts = course.next_parts(self.facts)
            if isinstance(parts[0], course.Close):
                self.outcome = parts[0].outcome
                return self
            self.take(self.die.choice(parts))
        raise AssertionError(f"no end: {self.facts}")

    def take(self, part):
        self.parts.append(part)
        getattr(self, f"_{type(part).__name__.lower()}")(part)

    def change(self, number, event, **values):
        step = self.facts.step(number)
        values |= {"skipped": True} if event is Event.SKIP else {}
        if event is Event.AGAIN:
            values |= {"series": step.series + 1, "moves": 0, "refusals": 0, "asks": False, "calls": False}
        self.put(replace(step, status=after(step.status, event), **values))

    def put(self, step):
        steps = tuple(step if one.number == step.number else one for one in self.facts.steps)
        self.facts = replace(self.facts, steps=steps)

    def order(self, cause, by_person):
        if not course.may_revise(self.facts.revisions):
            self.facts = replace(self.facts, ended=True)
            return
        past = (*self.facts.revisions[:-1], replace(self.facts.current, standing=Standing.REPLACED))
        new = Revision(len(past) + 1, Standing.ORDERED, cause, by_person)
        self.facts = replace(self.facts, revisions=(*past, new))

    def stand(self, standing):
        revisions = (*self.facts.revisions[:-1], replace(self.facts.current, standing=standing))
        self.facts = replace(self.facts, revisions=revisions)

    def _revise(self, part):
        if self.facts.current.number <= 2 and self.goes_wrong():
            return self.stand(Standing.ASKED)
        fixed = [step for step in self.facts.steps if step.status in (Status.COMPLETED, Status.WORKING)]
        made = []
        for _ in range(self.die.randint(1, 5)):
            self.numbers += 1
            earlier = [step.number for step in (*fixed, *made)]
            needs = tuple(self.die.sample(earlier, min(2, len(earlier)))) if self.die.random() < 0.4 else None
            owner = Owner.PERSON if self.die.random() < 0.1 else Owner.ASSISTANT
            made.append(Step(self.numbers, owner=owner, effect=self.die.choice(list(Effect)), needs=needs))
        self.facts = replace(self.facts, steps=(*fixed, *made))
        return self.stand(Standing.PROPOSED)

    def _order(self, part):
        self.order(Cause.FAILURE, by_person=False)

    def _passed(self, part):
        if part.step is None:
            return self.stand(Standing.ACCEPTED)
        status = self.facts.step(part.step).status
        return self.change(part.step, Event.PASSED if status is Status.PLANNED else Event.APPROVE)

    def _gated(self, part):
        step = self.facts.step(part.step) if part.step else None
        if part.kind is Kind.STEP and step.status is Status.PLANNED:
            return self.change(step.number, Event.ASKED)
        found = ACCEPTING[part.kind]
        if self.goes_wrong():
            found = self.die.choice([one.word for one in CHOICES[part.kind]])
        if part.kind is Kind.FAILURE and found is Meaning.AGAIN and step.status is not Status.FAILED:
            found = Meaning.SKIP
        return self.decide(part, step, found)

    def decide(self, part, step, found):
        done = consequence(part.kind, found, step)
        if done.event:
            self.change(step.number, done.event)
        if part.kind is Kind.QUESTION and step and found is Meaning.ANSWER:
            self.put(replace(self.facts.step(step.number), asks=False))
        self.approve(part, found)
        if done.accept:
            self.stand(Standing.ACCEPTED)
        if done.order:
            self.order(done.order, by_person=True)
        self.facts = replace(self.facts, ended=self.facts.ended or done.end)

    def approve(self, part, found):
        if part.kind is Kind.STEP and found is Meaning.ACCEPT:
            self.approved.add(part.step)
        if part.kind is Kind.PLAN and found is Meaning.ALL:
            waiting = {one.number for one in self.facts.steps if one.status is Status.AWAITING}
            self.approved |= waiting
            for number in waiting:
                self.change(number, Event.APPROVE)

    def _begin(self, part):
        self.begun.append(part.step)
        self.change(part.step, Event.BEGIN)

    def _think(self, part):
        step = self.facts.step(part.step)
        act = self.die.choice(["call", "reply", "call", "ask"]) if not self.goes_wrong() else "give up"
        if act == "reply" and step.used is None and not self.goes_wrong():
            act = "call"  # else it would be claimed only
        step = replace(step, moves=step.moves + 1)
        self.put(replace(step, calls=act == "call", asks=act == "ask"))
        if act in ("reply", "give up"):
            self.change(part.step, Event.REPLY if act == "reply" else Event.GIVE_UP)

    def _use(self, part):
        step = self.facts.step(part.step)
        refused = self.goes_wrong()
        used = step.used if refused else step.effect
        self.put(replace(step, calls=False, refusals=step.refusals + refused, used=used))

    def _giveup(self, part):
        self.change(part.step, Event.GIVE_UP)
