"""What comes next in a plan: it follows from a picture of the rows alone, and nothing is held in memory between."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from .approval_policy import (
    CAREFUL_POLICY,
    ApprovalKind,
    RequiredApproval,
    TeamPolicy,
    needs_no_approval,
    required_approval,
)
from .enums import EFFECTS, PlanOutcome, RevisionCause, RevisionStatus, StepEffect, StepOwner, StepStatus

STEPS_IN_ALL = 40
STEPS_OF_ONE = 20
REVISIONS = 12
ORDERS = 60  # of revisions, also of those that others took the place of before they were planned
REVISIONS_ALONE = 2  # by failures, with no person in between
QUESTIONS = 3
MAX_QUESTIONS_OF_PLAN = 2  # times, in one plan
MOVES = 12
CALLS = 8
REFUSALS = 3  # of calls in one step, after which it fails
MAX_PARALLEL_STEPS = 3
ACTION_LENGTH = 2_000
WORDS_LENGTH = 4_000
MAX_MESSAGES = 20  # times, by people to one step: its agent reads all of them before each move
CHANGED = 20  # times, by people, one step

SETTLED = frozenset({StepStatus.COMPLETED, StepStatus.REJECTED, StepStatus.SUPERSEDED})
BEFORE_WORK = frozenset({StepStatus.PLANNED, StepStatus.AWAITING, StepStatus.APPROVED})


@dataclass(frozen=True)
class StepSituation:
    """As it stands. `needs`: numbers of steps, None for all before it; `moves` of its present series; `asks`: whether
    its last move is a question, `calls`: whether it is a call without a result yet. `used`: the strongest effect that
    its tool calls really had; None: no call was done. `dropped`: a revision has not taken it over.
    `tools_due`: its action was changed, and the planner has still to name its tools."""

    number: int
    status: StepStatus = StepStatus.PLANNED
    owner: StepOwner = StepOwner.ASSISTANT
    effect: StepEffect = StepEffect.READS
    needs: tuple[int, ...] | None = None
    skipped: bool = False
    series: int = 0
    moves: int = 0
    refusals: int = 0
    asks: bool = False
    calls: bool = False
    used: StepEffect | None = None
    dropped: bool = False
    tools_due: bool = False

    @property
    def claims(self) -> bool:
        """Whether its agent says that it is done, and no call did what it is there for: to write, or to reach out."""
        weaker = EFFECTS.index(self.used or StepEffect.READS) < EFFECTS.index(self.effect)
        return self.status is StepStatus.COMPLETED and self.owner is not StepOwner.PERSON and weaker

    @property
    def settled(self) -> bool:
        return self.status in SETTLED or (self.status is StepStatus.FAILED and self.skipped)


@dataclass(frozen=True)
class RevisionSituation:
    number: int
    standing: RevisionStatus
    cause: RevisionCause = RevisionCause.TASK
    by_person: bool = False


@dataclass(frozen=True)
class PlanSituation:
    """`steps`: of the current revision, in their order. `ended`: somebody has ended it; `more`: whether there may be
    more steps than there are; `used_up`: whether it has cost what it may cost."""

    revisions: tuple[RevisionSituation, ...]
    steps: tuple[StepSituation, ...] = ()
    policy: TeamPolicy = CAREFUL_POLICY
    ended: bool = False
    more: bool = True
    used_up: bool = False

    @property
    def current(self) -> RevisionSituation:
        return self.revisions[-1]

    def step(self, number: int) -> StepSituation:
        return next(step for step in self.steps if step.number == number)


# ---- what can be due ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class ReviseAction:
    """The planner is asked."""

    number: int


@dataclass(frozen=True)
class OrderAction:
    """A revision becomes due, since a step failed or can never begin."""

    step: int


@dataclass(frozen=True)
class NameTools:
    """The planner is asked who does a step with which tools, since its action was changed."""

    step: int


@dataclass(frozen=True)
class GateAction:
    """Somebody is asked. `step`: None for the plan itself."""

    kind: ApprovalKind
    step: int | None
    demand: RequiredApproval


@dataclass(frozen=True)
class PassAction:
    """The policy asks nobody about it. `step`: None for the plan itself."""

    step: int | None


@dataclass(frozen=True)
class BeginAction:
    step: int


@dataclass(frozen=True)
class ThinkAction:
    """One move of the step's agent."""

    step: int
    number: int


@dataclass(frozen=True)
class UseToolAction:
    """The call that the last move of a step holds."""

    step: int


@dataclass(frozen=True)
class GiveUpAction:
    """It has no moves left, or was refused too often."""

    step: int


@dataclass(frozen=True)
class CloseAction:
    outcome: PlanOutcome


NextAction = (
    ReviseAction
    | OrderAction
    | NameTools
    | GateAction
    | PassAction
    | BeginAction
    | ThinkAction
    | UseToolAction
    | GiveUpAction
    | CloseAction
)


def next_actions(facts: PlanSituation) -> list[NextAction]:
    """All that is due now, one for each branch; never none. What waits is among it: whoever meets it waits there. Where
    its money is used up a person is asked before any model."""
    due = _due(facts)
    free = (
        [part for part in due if not isinstance(part, ReviseAction | NameTools | ThinkAction)] if facts.used_up else due
    )
    if len(free) == len(due):
        return due
    return [
        *free,
        GateAction(ApprovalKind.BUDGET, None, required_approval(ApprovalKind.BUDGET, StepEffect.READS, facts.policy)),
    ]


def _due(facts: PlanSituation) -> list[NextAction]:
    if facts.ended:
        return [CloseAction(PlanOutcome.REJECTED)]
    if facts.current.standing is RevisionStatus.ORDERED:
        return [ReviseAction(facts.current.number), *_under_way(facts)]
    if facts.current.standing is RevisionStatus.ASKED:
        return [
            GateAction(
                ApprovalKind.QUESTION, None, required_approval(ApprovalKind.QUESTION, StepEffect.READS, facts.policy)
            ),
            *_under_way(facts),
        ]
    parts = [*_of_plan(facts), *_of_steps(facts)]
    if parts:
        return parts
    outcome = outcome_of(facts.steps)
    assert outcome is not None, facts  # noqa: S101 - a plan in which nothing is due has settled all its steps
    return [CloseAction(outcome)]


def next_action(
    facts: PlanSituation, part: NextAction, going: Collection[int | None], waiting: Collection[NextAction] = ()
) -> list[NextAction]:
    """How the branch of this part goes on: first in the same step, or with the plan itself, and then what is possible
    and no other branch does. `going`: what those are about that neither wait nor have ended; `waiting`: the parts at
    which others ended, for they met somebody who has to decide."""
    due = [] if facts.ended else [other for other in next_actions(facts) if not isinstance(other, CloseAction)]
    same = [other for other in due if subject_of_action(other) == subject_of_action(part)][:1]
    return [*same, *(other for other in due if other not in same and _is_free(other, going, waiting))]


def _is_free(part: NextAction, going: Collection[int | None], waiting: Collection[NextAction]) -> bool:
    return subject_of_action(part) not in going and part not in waiting


def subject_of_action(part: NextAction) -> int | None:
    """The number of its step; None: the plan itself."""
    return getattr(part, "step", None)


def _of_plan(facts: PlanSituation) -> Iterator[NextAction]:
    due = any(step.tools_due for step in facts.steps)  # it is another plan then
    if facts.current.standing is RevisionStatus.PROPOSED and not due:
        demand = required_approval(ApprovalKind.PLAN, StepEffect.READS, facts.policy)
        yield PassAction(None) if needs_no_approval(demand) else GateAction(ApprovalKind.PLAN, None, demand)


def _of_steps(facts: PlanSituation) -> Iterator[NextAction]:
    for step in facts.steps:
        yield from _of_step(facts, step)


def _of_step(facts: PlanSituation, step: StepSituation) -> Iterator[NextAction]:
    accepted = facts.current.standing is RevisionStatus.ACCEPTED
    if step.settled:
        return
    if step.status is StepStatus.FAILED:
        yield _after_failure(facts, step)
    elif step.status is StepStatus.WORKING:
        yield _in_step(step)
    elif step.tools_due:
        yield NameTools(step.number)
    elif accepted and is_impossible(step, facts.steps):
        yield _after_failure(facts, step)
    elif step.status in (StepStatus.PLANNED, StepStatus.AWAITING):
        yield from _gate_of(facts, step, accepted)
    elif accepted and may_begin(step, facts.steps):
        yield BeginAction(step.number)


def _gate_of(facts: PlanSituation, step: StepSituation, accepted: bool) -> Iterator[NextAction]:
    due = accepted and may_begin(step, facts.steps)
    if not is_asked(step, facts.policy):
        if accepted:
            yield PassAction(step.number)
    elif due or facts.policy.ahead:
        yield GateAction(
            ApprovalKind.STEP, step.number, required_approval(ApprovalKind.STEP, step.effect, facts.policy)
        )


def is_asked(step: StepSituation, policy: TeamPolicy) -> bool:
    """Whether it has a gate of its own. A step of a person has none: to hand it to them asks already."""
    return step.owner is not StepOwner.PERSON and not needs_no_approval(
        required_approval(ApprovalKind.STEP, step.effect, policy)
    )


def _in_step(step: StepSituation) -> NextAction:
    if step.owner is StepOwner.PERSON:
        return GateAction(
            ApprovalKind.SEAT, step.number, required_approval(ApprovalKind.SEAT, step.effect, CAREFUL_POLICY)
        )
    if step.calls:
        return UseToolAction(step.number)
    if step.asks:
        return GateAction(
            ApprovalKind.QUESTION, step.number, required_approval(ApprovalKind.QUESTION, step.effect, CAREFUL_POLICY)
        )
    spent = step.moves >= MOVES or step.refusals >= REFUSALS
    return GiveUpAction(step.number) if spent else ThinkAction(step.number, step.moves + 1)


def _under_way(facts: PlanSituation) -> Iterator[NextAction]:
    """While it is planned anew, what has begun goes on; nothing else begins."""
    for step in facts.steps:
        if step.status is StepStatus.WORKING:
            yield _in_step(step)


def _after_failure(facts: PlanSituation, step: StepSituation) -> NextAction:
    alone = 0
    for revision in reversed(facts.revisions):
        if revision.by_person:
            break
        alone += revision.cause is RevisionCause.FAILURE
    if alone < REVISIONS_ALONE and may_revise(facts.revisions) and facts.more:
        return OrderAction(step.number)
    return GateAction(
        ApprovalKind.FAILURE, step.number, required_approval(ApprovalKind.FAILURE, step.effect, facts.policy)
    )


def may_revise(revisions: Sequence[RevisionSituation]) -> bool:
    return len(revisions) < REVISIONS


def may_begin(step: StepSituation, steps: Sequence[StepSituation]) -> bool:
    """Without `needs` when all before it is settled; with them when these are completed."""
    if step.needs is None:
        before = steps[: [one.number for one in steps].index(step.number)]
        return all(one.settled for one in before)
    return {one.number for one in steps if one.status is StepStatus.COMPLETED} >= set(step.needs)


def is_impossible(step: StepSituation, steps: Sequence[StepSituation]) -> bool:
    """Whether something that it needs will never be completed, or was dropped as it failed."""
    possible = {one.number for one in steps if not one.settled or one.status is StepStatus.COMPLETED}
    return step.needs is not None and not possible >= set(step.needs) and step.status in BEFORE_WORK


def outcome_of(steps: Iterable[StepSituation]) -> PlanOutcome | None:
    """None while a step is not settled."""
    steps = list(steps)
    if not all(step.settled for step in steps):
        return None
    standing = Counter(step.status for step in steps)
    if standing[StepStatus.COMPLETED]:
        return PlanOutcome.CLAIMED if any(step.claims for step in steps) else PlanOutcome.DONE
    return PlanOutcome.FAILED if standing[StepStatus.FAILED] else PlanOutcome.REJECTED


@dataclass(frozen=True)
class StepCounts:
    """Over the current revision: total is the sum of the other four."""

    total: int
    completed: int
    pending: int
    rejected: int
    failed: int


def counts(steps: Iterable[StepSituation]) -> StepCounts:
    by = Counter(step.status for step in steps if step.status is not StepStatus.SUPERSEDED)
    completed, rejected, failed = by[StepStatus.COMPLETED], by[StepStatus.REJECTED], by[StepStatus.FAILED]
    return StepCounts(by.total(), completed, by.total() - completed - rejected - failed, rejected, failed)
