"""What comes next in a plan: it follows from a picture of the rows alone, and nothing is held in memory between."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from .demands import CAREFUL, Demand, Kind, Policy, demand_of, is_open
from .words import EFFECTS, Cause, Effect, Outcome, Owner, Standing, Status

STEPS_IN_ALL = 40
STEPS_OF_ONE = 20
REVISIONS = 12
ORDERS = 60  # of revisions, also of those that others took the place of before they were planned
REVISIONS_ALONE = 2  # by failures, with no person in between
QUESTIONS = 3
ASKED = 2  # times, in one plan
MOVES = 12
CALLS = 8
REFUSALS = 3  # of calls in one step, after which it fails
AT_ONCE = 3
ACTION_LENGTH = 2_000
WORDS_LENGTH = 4_000
TOLD = 20  # times, by people to one step: its agent reads all of them before each move
CHANGED = 20  # times, by people, one step

SETTLED = frozenset({Status.COMPLETED, Status.REJECTED, Status.SUPERSEDED})
BEFORE_WORK = frozenset({Status.PLANNED, Status.AWAITING, Status.APPROVED})


@dataclass(frozen=True)
class Step:
    """As it stands. `needs`: numbers of steps, None for all before it; `moves` of its present series; `asks`: whether
    its last move is a question, `calls`: whether it is a call without a result yet. `used`: the strongest effect that
    its tool calls really had; None: no call was done. `dropped`: a revision has not taken it over.
    `tools_due`: its action was changed, and the planner has still to name its tools."""

    number: int
    status: Status = Status.PLANNED
    owner: Owner = Owner.ASSISTANT
    effect: Effect = Effect.READS
    needs: tuple[int, ...] | None = None
    skipped: bool = False
    series: int = 0
    moves: int = 0
    refusals: int = 0
    asks: bool = False
    calls: bool = False
    used: Effect | None = None
    dropped: bool = False
    tools_due: bool = False

    @property
    def claims(self) -> bool:
        """Whether its agent says that it is done, and no call did what it is there for: to write, or to reach out."""
        weaker = EFFECTS.index(self.used or Effect.READS) < EFFECTS.index(self.effect)
        return self.status is Status.COMPLETED and self.owner is not Owner.PERSON and weaker

    @property
    def settled(self) -> bool:
        return self.status in SETTLED or (self.status is Status.FAILED and self.skipped)


@dataclass(frozen=True)
class Revision:
    number: int
    standing: Standing
    cause: Cause = Cause.TASK
    by_person: bool = False


@dataclass(frozen=True)
class Facts:
    """`steps`: of the current revision, in their order. `ended`: somebody has ended it; `more`: whether there may be
    more steps than there are; `used_up`: whether it has cost what it may cost."""

    revisions: tuple[Revision, ...]
    steps: tuple[Step, ...] = ()
    policy: Policy = CAREFUL
    ended: bool = False
    more: bool = True
    used_up: bool = False

    @property
    def current(self) -> Revision:
        return self.revisions[-1]

    def step(self, number: int) -> Step:
        return next(step for step in self.steps if step.number == number)


# ---- what can be due ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Revise:
    """The planner is asked."""

    number: int


@dataclass(frozen=True)
class Order:
    """A revision becomes due, since a step failed or can never begin."""

    step: int


@dataclass(frozen=True)
class NameTools:
    """The planner is asked who does a step with which tools, since its action was changed."""

    step: int


@dataclass(frozen=True)
class Gated:
    """Somebody is asked. `step`: None for the plan itself."""

    kind: Kind
    step: int | None
    demand: Demand


@dataclass(frozen=True)
class Passed:
    """The policy asks nobody about it. `step`: None for the plan itself."""

    step: int | None


@dataclass(frozen=True)
class Begin:
    step: int


@dataclass(frozen=True)
class Think:
    """One move of the step's agent."""

    step: int
    number: int


@dataclass(frozen=True)
class Use:
    """The call that the last move of a step holds."""

    step: int


@dataclass(frozen=True)
class GiveUp:
    """It has no moves left, or was refused too often."""

    step: int


@dataclass(frozen=True)
class Close:
    outcome: Outcome


Part = Revise | Order | NameTools | Gated | Passed | Begin | Think | Use | GiveUp | Close


def next_parts(facts: Facts) -> list[Part]:
    """All that is due now, one for each branch; never none. What waits is among it: whoever meets it waits there. Where
    its money is used up a person is asked before any model."""
    due = _due(facts)
    free = [part for part in due if not isinstance(part, Revise | NameTools | Think)] if facts.used_up else due
    if len(free) == len(due):
        return due
    return [*free, Gated(Kind.BUDGET, None, demand_of(Kind.BUDGET, Effect.READS, facts.policy))]


def _due(facts: Facts) -> list[Part]:
    if facts.ended:
        return [Close(Outcome.REJECTED)]
    if facts.current.standing is Standing.ORDERED:
        return [Revise(facts.current.number), *_under_way(facts)]
    if facts.current.standing is Standing.ASKED:
        return [Gated(Kind.QUESTION, None, demand_of(Kind.QUESTION, Effect.READS, facts.policy)), *_under_way(facts)]
    parts = [*_of_plan(facts), *_of_steps(facts)]
    if parts:
        return parts
    outcome = outcome_of(facts.steps)
    assert outcome is not None, facts  # noqa: S101 - a plan in which nothing is due has settled all its steps
    return [Close(outcome)]


def next_in(facts: Facts, part: Part, going: Collection[int | None], waiting: Collection[Part] = ()) -> list[Part]:
    """How the branch of this part goes on: first in the same step, or with the plan itself, and then what is possible
    and no other branch does. `going`: what those are about that neither wait nor have ended; `waiting`: the parts at
    which others ended, for they met somebody who has to decide."""
    due = [] if facts.ended else [other for other in next_parts(facts) if not isinstance(other, Close)]
    same = [other for other in due if about(other) == about(part)][:1]
    return [*same, *(other for other in due if other not in same and _is_free(other, going, waiting))]


def _is_free(part: Part, going: Collection[int | None], waiting: Collection[Part]) -> bool:
    return about(part) not in going and part not in waiting


def about(part: Part) -> int | None:
    """The number of its step; None: the plan itself."""
    return getattr(part, "step", None)


def _of_plan(facts: Facts) -> Iterator[Part]:
    due = any(step.tools_due for step in facts.steps)  # it is another plan then
    if facts.current.standing is Standing.PROPOSED and not due:
        demand = demand_of(Kind.PLAN, Effect.READS, facts.policy)
        yield Passed(None) if is_open(demand) else Gated(Kind.PLAN, None, demand)


def _of_steps(facts: Facts) -> Iterator[Part]:
    for step in facts.steps:
        yield from _of_step(facts, step)


def _of_step(facts: Facts, step: Step) -> Iterator[Part]:
    accepted = facts.current.standing is Standing.ACCEPTED
    if step.settled:
        return
    if step.status is Status.FAILED:
        yield _after_failure(facts, step)
    elif step.status is Status.WORKING:
        yield _in_step(step)
    elif step.tools_due:
        yield NameTools(step.number)
    elif accepted and is_impossible(step, facts.steps):
        yield _after_failure(facts, step)
    elif step.status in (Status.PLANNED, Status.AWAITING):
        yield from _gate_of(facts, step, accepted)
    elif accepted and may_begin(step, facts.steps):
        yield Begin(step.number)


def _gate_of(facts: Facts, step: Step, accepted: bool) -> Iterator[Part]:
    due = accepted and may_begin(step, facts.steps)
    if not is_asked(step, facts.policy):
        if accepted:
            yield Passed(step.number)
    elif due or facts.policy.ahead:
        yield Gated(Kind.STEP, step.number, demand_of(Kind.STEP, step.effect, facts.policy))


def is_asked(step: Step, policy: Policy) -> bool:
    """Whether it has a gate of its own. A step of a person has none: to hand it to them asks already."""
    return step.owner is not Owner.PERSON and not is_open(demand_of(Kind.STEP, step.effect, policy))


def _in_step(step: Step) -> Part:
    if step.owner is Owner.PERSON:
        return Gated(Kind.SEAT, step.number, demand_of(Kind.SEAT, step.effect, CAREFUL))
    if step.calls:
        return Use(step.number)
    if step.asks:
        return Gated(Kind.QUESTION, step.number, demand_of(Kind.QUESTION, step.effect, CAREFUL))
    spent = step.moves >= MOVES or step.refusals >= REFUSALS
    return GiveUp(step.number) if spent else Think(step.number, step.moves + 1)


def _under_way(facts: Facts) -> Iterator[Part]:
    """While it is planned anew, what has begun goes on; nothing else begins."""
    for step in facts.steps:
        if step.status is Status.WORKING:
            yield _in_step(step)


def _after_failure(facts: Facts, step: Step) -> Part:
    alone = 0
    for revision in reversed(facts.revisions):
        if revision.by_person:
            break
        alone += revision.cause is Cause.FAILURE
    if alone < REVISIONS_ALONE and may_revise(facts.revisions) and facts.more:
        return Order(step.number)
    return Gated(Kind.FAILURE, step.number, demand_of(Kind.FAILURE, step.effect, facts.policy))


def may_revise(revisions: Sequence[Revision]) -> bool:
    return len(revisions) < REVISIONS


def may_begin(step: Step, steps: Sequence[Step]) -> bool:
    """Without `needs` when all before it is settled; with them when these are completed."""
    if step.needs is None:
        before = steps[: [one.number for one in steps].index(step.number)]
        return all(one.settled for one in before)
    return {one.number for one in steps if one.status is Status.COMPLETED} >= set(step.needs)


def is_impossible(step: Step, steps: Sequence[Step]) -> bool:
    """Whether something that it needs will never be completed, or was dropped as it failed."""
    possible = {one.number for one in steps if not one.settled or one.status is Status.COMPLETED}
    return step.needs is not None and not possible >= set(step.needs) and step.status in BEFORE_WORK


def outcome_of(steps: Iterable[Step]) -> Outcome | None:
    """None while a step is not settled."""
    steps = list(steps)
    if not all(step.settled for step in steps):
        return None
    standing = Counter(step.status for step in steps)
    if standing[Status.COMPLETED]:
        return Outcome.CLAIMED if any(step.claims for step in steps) else Outcome.DONE
    return Outcome.FAILED if standing[Status.FAILED] else Outcome.REJECTED


@dataclass(frozen=True)
class Counts:
    """Over the current revision: total is the sum of the other four."""

    total: int
    completed: int
    pending: int
    rejected: int
    failed: int


def counts(steps: Iterable[Step]) -> Counts:
    by = Counter(step.status for step in steps if step.status is not Status.SUPERSEDED)
    completed, rejected, failed = by[Status.COMPLETED], by[Status.REJECTED], by[Status.FAILED]
    return Counts(by.total(), completed, by.total() - completed - rejected - failed, rejected, failed)
