"""Plans played by dice, without a database: what the rows become is done here as the models do it."""

from dataclasses import replace
from random import Random

from plans.rules import scheduling
from plans.rules.approval_policy import CHOICES, ApprovalKind, DecisionMeaning
from plans.rules.decision_effects import decision_effect
from plans.rules.enums import RevisionCause, RevisionStatus, StepEffect, StepEvent, StepOwner, StepStatus, next_status
from plans.rules.scheduling import PlanSituation, RevisionSituation, StepSituation

ACCEPTING = {
    ApprovalKind.PLAN: DecisionMeaning.ALL,
    ApprovalKind.STEP: DecisionMeaning.ACCEPT,
    ApprovalKind.QUESTION: DecisionMeaning.ANSWER,
}
ACCEPTING |= {
    ApprovalKind.SEAT: DecisionMeaning.ANSWER,
    ApprovalKind.FAILURE: DecisionMeaning.AGAIN,
    ApprovalKind.TOOL: DecisionMeaning.ACCEPT,
}

# what each action of the rules is played by
STEPS = {
    scheduling.ReviseAction: "revise",
    scheduling.OrderAction: "order",
    scheduling.PassAction: "passed",
    scheduling.GateAction: "gated",
    scheduling.BeginAction: "begin",
    scheduling.ThinkAction: "think",
    scheduling.UseToolAction: "use",
    scheduling.GiveUpAction: "giveup",
}


class PlanPlay:
    """`kind`: how often, of a hundred, something goes otherwise than well."""

    def __init__(self, policy, seed, trouble=20):
        self.die, self.trouble = Random(seed), trouble
        self.facts = PlanSituation((RevisionSituation(1, RevisionStatus.ORDERED),), policy=policy)
        self.numbers = 0
        self.approved, self.begun, self.parts = set(), [], []

    def goes_wrong(self):
        return self.die.random() * 100 < self.trouble

    def to_the_end(self, most=5_000):
        for _ in range(most):
            parts = scheduling.next_actions(self.facts)
            if isinstance(parts[0], scheduling.CloseAction):
                self.outcome = parts[0].outcome
                return self
            self.take(self.die.choice(parts))
        raise AssertionError(f"no end: {self.facts}")

    def take(self, part):
        self.parts.append(part)
        getattr(self, f"_{STEPS[type(part)]}")(part)

    def change(self, number, event, **values):
        step = self.facts.step(number)
        values |= {"skipped": True} if event is StepEvent.SKIP else {}
        if event is StepEvent.AGAIN:
            values |= {"series": step.series + 1, "moves": 0, "refusals": 0, "asks": False, "calls": False}
        self.put(replace(step, status=next_status(step.status, event), **values))

    def put(self, step):
        steps = tuple(step if one.number == step.number else one for one in self.facts.steps)
        self.facts = replace(self.facts, steps=steps)

    def order(self, cause, by_person):
        if not scheduling.may_revise(self.facts.revisions):
            self.facts = replace(self.facts, ended=True)
            return
        past = (*self.facts.revisions[:-1], replace(self.facts.current, standing=RevisionStatus.REPLACED))
        new = RevisionSituation(len(past) + 1, RevisionStatus.ORDERED, cause, by_person)
        self.facts = replace(self.facts, revisions=(*past, new))

    def stand(self, standing):
        revisions = (*self.facts.revisions[:-1], replace(self.facts.current, standing=standing))
        self.facts = replace(self.facts, revisions=revisions)

    def _revise(self, part):
        if self.facts.current.number <= 2 and self.goes_wrong():
            return self.stand(RevisionStatus.ASKED)
        fixed = [step for step in self.facts.steps if step.status in (StepStatus.COMPLETED, StepStatus.WORKING)]
        made = []
        for _ in range(self.die.randint(1, 5)):
            self.numbers += 1
            earlier = [step.number for step in (*fixed, *made)]
            needs = tuple(self.die.sample(earlier, min(2, len(earlier)))) if self.die.random() < 0.4 else None
            owner = StepOwner.PERSON if self.die.random() < 0.1 else StepOwner.ASSISTANT
            made.append(StepSituation(self.numbers, owner=owner, effect=self.die.choice(list(StepEffect)), needs=needs))
        self.facts = replace(self.facts, steps=(*fixed, *made))
        return self.stand(RevisionStatus.PROPOSED)

    def _order(self, part):
        self.order(RevisionCause.FAILURE, by_person=False)

    def _passed(self, part):
        if part.step is None:
            return self.stand(RevisionStatus.ACCEPTED)
        status = self.facts.step(part.step).status
        return self.change(part.step, StepEvent.PASSED if status is StepStatus.PLANNED else StepEvent.APPROVE)

    def _gated(self, part):
        step = self.facts.step(part.step) if part.step else None
        if part.kind is ApprovalKind.STEP and step.status is StepStatus.PLANNED:
            return self.change(step.number, StepEvent.ASKED)
        found = ACCEPTING[part.kind]
        if self.goes_wrong():
            found = self.die.choice([one.word for one in CHOICES[part.kind]])
        if (
            part.kind is ApprovalKind.FAILURE
            and found is DecisionMeaning.AGAIN
            and step.status is not StepStatus.FAILED
        ):
            found = DecisionMeaning.SKIP
        return self.decide(part, step, found)

    def decide(self, part, step, found):
        done = decision_effect(part.kind, found, step)
        if done.event:
            self.change(step.number, done.event)
        if part.kind is ApprovalKind.QUESTION and step and found is DecisionMeaning.ANSWER:
            self.put(replace(self.facts.step(step.number), asks=False))
        self.approve(part, found)
        if done.accept:
            self.stand(RevisionStatus.ACCEPTED)
        if done.order:
            self.order(done.order, by_person=True)
        self.facts = replace(self.facts, ended=self.facts.ended or done.end)

    def approve(self, part, found):
        if part.kind is ApprovalKind.STEP and found is DecisionMeaning.ACCEPT:
            self.approved.add(part.step)
        if part.kind is ApprovalKind.PLAN and found is DecisionMeaning.ALL:
            waiting = {one.number for one in self.facts.steps if one.status is StepStatus.AWAITING}
            self.approved |= waiting
            for number in waiting:
                self.change(number, StepEvent.APPROVE)

    def _begin(self, part):
        self.begun.append(part.step)
        self.change(part.step, StepEvent.BEGIN)

    def _think(self, part):
        step = self.facts.step(part.step)
        act = self.die.choice(["call", "reply", "call", "ask"]) if not self.goes_wrong() else "give up"
        if act == "reply" and step.used is None and not self.goes_wrong():
            act = "call"  # else it would be claimed only
        step = replace(step, moves=step.moves + 1)
        self.put(replace(step, calls=act == "call", asks=act == "ask"))
        if act in ("reply", "give up"):
            self.change(part.step, StepEvent.REPLY if act == "reply" else StepEvent.GIVE_UP)

    def _use(self, part):
        step = self.facts.step(part.step)
        refused = self.goes_wrong()
        used = step.used if refused else step.effect
        self.put(replace(step, calls=False, refusals=step.refusals + refused, used=used))

    def _giveup(self, part):
        self.change(part.step, StepEvent.GIVE_UP)
