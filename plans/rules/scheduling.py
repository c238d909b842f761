"""Next actions of a plan. They follow from the state of the rows alone; nothing is kept in memory in between."""

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
ORDERS = 60  # ordered revisions, including those that were replaced before they were planned
REVISIONS_ALONE = 2  # because of failures, without a person in between
QUESTIONS = 3
MAX_QUESTIONS_OF_PLAN = 2  # times that the planner asks in one plan
MOVES = 12  # of one series of a step
CALLS = 8  # tool calls of one series of a step
REFUSALS = 3  # refused calls of a series, after which the step fails
MAX_PARALLEL_STEPS = 3
ACTION_LENGTH = 2_000
WORDS_LENGTH = 4_000
MAX_MESSAGES = 20  # of people to one step: its agent reads all of them before each move
CHANGED = 20  # changes of one step by people

SETTLED = frozenset({StepStatus.COMPLETED, StepStatus.REJECTED, StepStatus.SUPERSEDED})
BEFORE_WORK = frozenset({StepStatus.PLANNED, StepStatus.AWAITING, StepStatus.APPROVED})


@dataclass(frozen=True)
class StepSituation:
    """State of a step, as far as the rules need it.

    `needs`: numbers of steps; None: all before it. `moves`, `refusals`: counts in the current series. `asks`: its last
    move is an unanswered question; `calls`: it is a tool call without a result. `used`: the strongest effect of its
    successful tool calls. `dropped`: a revision dropped it. `tools_due`: the action was changed, and the planner has
    yet to name the tools.
    """

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
        """Whether its agent says that it is done, but no tool call had the step's effect."""
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
    """State of a plan. `steps`: of the current revision, by position. `ended`: somebody ended the plan; `more`: more
    steps are allowed; `used_up`: the budget is spent."""

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


# ---- actions ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ReviseAction:
    """Ask the planner for a revision."""

    number: int


@dataclass(frozen=True)
class OrderAction:
    """Order a revision, since a step failed or can never start."""

    step: int


@dataclass(frozen=True)
class NameTools:
    """Ask the planner for owner and tools of a step whose action was changed."""

    step: int


@dataclass(frozen=True)
class GateAction:
    """Wait for a decision at a gate. `step`: None for the plan itself."""

    kind: ApprovalKind
    step: int | None
    demand: RequiredApproval


@dataclass(frozen=True)
class PassAction:
    """Approve without a decision, since the policy needs none. `step`: None for the plan itself."""

    step: int | None


@dataclass(frozen=True)
class BeginAction:
    step: int


@dataclass(frozen=True)
class ThinkAction:
    """Ask the step's agent for its next move."""

    step: int
    number: int


@dataclass(frozen=True)
class UseToolAction:
    """Make the tool call of the step's last move."""

    step: int


@dataclass(frozen=True)
class GiveUpAction:
    """Let the step fail: it has no moves left, or too many refused calls."""

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
    """Return all actions that are due now, one per branch; never empty.

    Gates that are already open are included: performing them suspends the branch. If the budget is spent, a budget gate
    replaces all actions that ask a model.
    """
    due = _due_actions(facts)
    free = (
        [part for part in due if not isinstance(part, ReviseAction | NameTools | ThinkAction)] if facts.used_up else due
    )
    if len(free) == len(due):
        return due
    return [
        *free,
        GateAction(ApprovalKind.BUDGET, None, required_approval(ApprovalKind.BUDGET, StepEffect.READS, facts.policy)),
    ]


def _due_actions(facts: PlanSituation) -> list[NextAction]:
    if facts.ended:
        return [CloseAction(PlanOutcome.REJECTED)]
    if facts.current.standing is RevisionStatus.ORDERED:
        return [ReviseAction(facts.current.number), *_running_steps(facts)]
    if facts.current.standing is RevisionStatus.ASKED:
        return [
            GateAction(
                ApprovalKind.QUESTION, None, required_approval(ApprovalKind.QUESTION, StepEffect.READS, facts.policy)
            ),
            *_running_steps(facts),
        ]
    parts = [*_plan_actions(facts), *_step_actions(facts)]
    if parts:
        return parts
    outcome = outcome_of(facts.steps)
    assert outcome is not None, facts  # noqa: S101 - a plan in which nothing is due has settled all its steps
    return [CloseAction(outcome)]


def branch_actions(
    facts: PlanSituation, part: NextAction, going: Collection[int | None], waiting: Collection[NextAction] = ()
) -> list[NextAction]:
    """Return how a branch goes on after `part`: first the same subject, then all that no other branch performs.

    `going`: subjects of running branches; `waiting`: actions at which branches were suspended for a decision.
    """
    due = [] if facts.ended else [other for other in next_actions(facts) if not isinstance(other, CloseAction)]
    same = [other for other in due if subject_of_action(other) == subject_of_action(part)][:1]
    return [*same, *(other for other in due if other not in same and _is_free(other, going, waiting))]


def _is_free(part: NextAction, going: Collection[int | None], waiting: Collection[NextAction]) -> bool:
    return subject_of_action(part) not in going and part not in waiting


def subject_of_action(part: NextAction) -> int | None:
    """Return the number of the action's step; None for the plan itself."""
    return getattr(part, "step", None)


def _plan_actions(facts: PlanSituation) -> Iterator[NextAction]:
    due = any(step.tools_due for step in facts.steps)  # the plan's text will change once tools are named
    if facts.current.standing is RevisionStatus.PROPOSED and not due:
        demand = required_approval(ApprovalKind.PLAN, StepEffect.READS, facts.policy)
        yield PassAction(None) if needs_no_approval(demand) else GateAction(ApprovalKind.PLAN, None, demand)


def _step_actions(facts: PlanSituation) -> Iterator[NextAction]:
    for step in facts.steps:
        yield from _actions_of_step(facts, step)


def _actions_of_step(facts: PlanSituation, step: StepSituation) -> Iterator[NextAction]:
    accepted = facts.current.standing is RevisionStatus.ACCEPTED
    if step.settled:
        return
    if step.status is StepStatus.FAILED:
        yield _after_failure(facts, step)
    elif step.status is StepStatus.WORKING:
        yield _step_action(step)
    elif step.tools_due:
        yield NameTools(step.number)
    elif accepted and is_impossible(step, facts.steps):
        yield _after_failure(facts, step)
    elif step.status in (StepStatus.PLANNED, StepStatus.AWAITING):
        yield from _gate_or_pass(facts, step, accepted)
    elif accepted and may_begin(step, facts.steps):
        yield BeginAction(step.number)


def _gate_or_pass(facts: PlanSituation, step: StepSituation, accepted: bool) -> Iterator[NextAction]:
    due = accepted and may_begin(step, facts.steps)
    if not has_own_gate(step, facts.policy):
        if accepted:
            yield PassAction(step.number)
    elif due or facts.policy.ahead:
        yield GateAction(
            ApprovalKind.STEP, step.number, required_approval(ApprovalKind.STEP, step.effect, facts.policy)
        )


def has_own_gate(step: StepSituation, policy: TeamPolicy) -> bool:
    """Tell whether the step needs a gate of its own. A person's step needs none: giving it to them is a gate."""
    return step.owner is not StepOwner.PERSON and not needs_no_approval(
        required_approval(ApprovalKind.STEP, step.effect, policy)
    )


def _step_action(step: StepSituation) -> NextAction:
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


def _running_steps(facts: PlanSituation) -> Iterator[NextAction]:
    """Yield actions of running steps: they go on during replanning, and no other step starts."""
    for step in facts.steps:
        if step.status is StepStatus.WORKING:
            yield _step_action(step)


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
    """Tell whether the step may start: all steps in `needs` are completed or, without needs, all before it settled."""
    if step.needs is None:
        before = steps[: [one.number for one in steps].index(step.number)]
        return all(one.settled for one in before)
    return {one.number for one in steps if one.status is StepStatus.COMPLETED} >= set(step.needs)


def is_impossible(step: StepSituation, steps: Sequence[StepSituation]) -> bool:
    """Tell whether a step that has not started needs one that can never be completed."""
    possible = {one.number for one in steps if not one.settled or one.status is StepStatus.COMPLETED}
    return step.needs is not None and not possible >= set(step.needs) and step.status in BEFORE_WORK


def outcome_of(steps: Iterable[StepSituation]) -> PlanOutcome | None:
    """Return the outcome of the plan; None while a step is not settled."""
    steps = list(steps)
    if not all(step.settled for step in steps):
        return None
    standing = Counter(step.status for step in steps)
    if standing[StepStatus.COMPLETED]:
        return PlanOutcome.CLAIMED if any(step.claims for step in steps) else PlanOutcome.DONE
    return PlanOutcome.FAILED if standing[StepStatus.FAILED] else PlanOutcome.REJECTED


@dataclass(frozen=True)
class StepCounts:
    """Counts of the current revision's steps; `total` is the sum of the others."""

    total: int
    completed: int
    pending: int
    rejected: int
    failed: int


def counts(steps: Iterable[StepSituation]) -> StepCounts:
    by = Counter(step.status for step in steps if step.status is not StepStatus.SUPERSEDED)
    completed, rejected, failed = by[StepStatus.COMPLETED], by[StepStatus.REJECTED], by[StepStatus.FAILED]
    return StepCounts(by.total(), completed, by.total() - completed - rejected - failed, rejected, failed)
