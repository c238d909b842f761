"""Plans and their revisions: submission, queries, and derived state."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, reduce
from operator import or_
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import models, transaction
from django.db.models import Prefetch, Q, Sum
from django.utils import timezone

from engine.audit import sealing
from engine.ledger.immutability import ChangeRule, Immutable
from engine.llm import pricing
from engine.llm.providers import is_rehearsal, provider_lane
from engine.models import Gate, GateRule, ModelCall, Run, account_key, after_deadlock, record_name
from engine.models.budgets import Budget
from engine.models.gate_rules import strictest_rule
from engine.policy import strictest
from engine.text.search_terms import index_words, label_term
from runs.models import SearchText, initial_labels
from runs.row_queries import with_run

from .. import prompts
from ..rules.approval_policy import ApprovalKind, RequiredApproval, TeamPolicy, needs_no_approval
from ..rules.enums import PlanOutcome, RevisionCause, RevisionStatus
from .presets import TeamAgentRow, TeamVersion
from .projects import Project
from .steps import PlanStep, PlanStepMove, choices

TASK_LENGTH = 20_000
TITLE_LENGTH = 80
TEXTS = ("arguments", "output", "error")  # of a tool call: up to some hundred thousand characters
MOVE_TEXTS = ("thought", "arguments", "text", "result")


class PlanQuerySet(models.QuerySet["Plan"]):
    def planned(self) -> "PlanQuerySet":
        """Load plans with revisions, steps and their history in a fixed number of queries, without texts of tool calls
        and messages."""
        lists = ("revisions", _steps(*(f"tool_call__{name}" for name in TEXTS)), "team_version__agents")
        return self.select_related("run", "team_version").prefetch_related(*lists)

    def with_steps(self) -> "PlanQuerySet":
        """Load plans with everything that their page shows."""
        calls = Prefetch("run__calls", ModelCall.objects.order_by("pk").defer("prompt", "answer"))
        lists = ("revisions", _steps(), "messages", "team_version__agents", calls)
        found = with_run(self).select_related("team_version__team__current", "matter__owner", "run__fork")
        return found.prefetch_related(*lists)

    def in_sessions(self, owner: Any, *, with_texts: bool = False) -> "PlanQuerySet":
        """Load the plans of this user's projects, newest first, as a list shows them; `with_texts` adds the texts of
        moves and tool calls.

        Gates are read before the steps: so a step that is read is at least as new as its gate.
        """
        gates = Prefetch("run__gates", Gate.objects.prefetch_related("decisions").order_by("pk"))
        left = () if with_texts else (*MOVE_TEXTS, *(f"tool_call__{name}" for name in TEXTS))
        called = PlanStepMove.objects.select_related("tool_call").defer(*left)
        with_calls = PlanStep.objects.select_related("agent").prefetch_related("states", Prefetch("moves", called))
        steps = Prefetch("steps", with_calls)
        own = self.filter(run__owner=owner, matter__owner=owner, matter__erased=None).select_related("run", "matter")
        return own.prefetch_related(gates, steps, "revisions", "messages").order_by("-run__created", "-pk")

    def in_deleted_projects(self) -> "PlanQuerySet":
        """Return plans of deleted projects whose texts are not erased yet, oldest first."""
        left = self.filter(matter__erased__isnull=False, run__redacted=None)
        return left.select_related("run__owner").order_by("run__created")

    def completed(self, owner: Any) -> "PlanQuerySet":
        """Return the plans of this user that can be examples of new ones."""
        done = self.filter(run__outcome=PlanOutcome.DONE, run__redacted=None, run__parent=None)
        return done.filter(run__owner=owner, run__account=account_key(owner)).select_related("run")

    @after_deadlock
    @transaction.atomic
    def submit(
        self,
        *,
        owner: Any,
        task: str,
        team: TeamVersion,
        title: str = "",
        matter: str = "",
        policy: TeamPolicy | None = None,
        spend: int | None = None,
        earlier: "Plan | None" = None,
        request: str = "",
        notes: str = "",
        carry: "Callable[[Plan], None] | None" = None,
    ) -> "Plan":
        """Queue a plan: write run, plan, first revision, search terms and submission entry in one transaction.

        `notes`: additional text for the planner; `spend`: limit in billionths of a US dollar; `carry` is called with
        the plan in the same transaction and writes what a fork takes over. Raises TeamChanged if this is not the
        team's current version, and BudgetExceeded.
        """
        team.hold()
        models = models_of(team)
        reserved = Budget.objects.reserve(owner, spend if spend is not None else _unknown(models))
        run = Run.objects.create(
            procedure="plan",
            title=title or title_of(task),
            lane=provider_lane(models),
            owner=owner,
            asked_by=record_name(owner),
            account=account_key(owner),
            request=request,
            spend=spend,
            **reserved,
        )
        plan = self.create(
            run=run,
            task=task,
            matter=Project.objects.of_name(owner, matter) if matter else None,
            matter_name=matter,
            team_version=team,
            policy=policy.as_json() if policy else team.policy,
            asked_models=models,
            prompt_version=prompts.VERSION,
            earlier=earlier,
        )
        cause = RevisionCause.CLARIFICATION if notes else RevisionCause.TASK
        plan.revisions.create(number=1, cause=cause, by_name=record_name(owner), notes=notes)
        if carry:
            carry(plan)
        words = [*initial_labels(run), label_term("team", team.team_id), label_term("rehearsal", plan.rehearsal)]
        words += [label_term("matter", plan.matter_id.hex)] if plan.matter_id else []
        names = " ".join(team.agents.order_by("seat").values_list("name", flat=True))
        words += [*index_words(f"{run.title}\n{task}\n{names}")]
        SearchText.objects.create(run=run, words=" ".join(words))
        sealing.record_submission(run.pk)
        return plan


def _unknown(asked: Sequence[str]) -> int | None:
    """Return the amount to reserve for a plan without a limit: 0, since each model call is charged to the budgets by
    itself; None if a model's price is unknown."""
    return None if any(pricing.cost(model, 1, 1) is None for model in asked) else 0


def _steps(*left: str) -> Prefetch:
    moves = Prefetch("moves", PlanStepMove.objects.select_related("tool_call").defer(*left))
    return Prefetch("steps", PlanStep.objects.select_related("agent").prefetch_related(moves, "states"))


def models_of(team: TeamVersion) -> list[str]:
    """Return the models of a plan that is submitted now: the planner's, then those of the agents by seat."""
    return [one or settings.DEFAULT_MODEL for one in (team.planner, *(agent.model for agent in team.agents.all()))]


def title_of(task: str) -> str:
    first = next((line.strip() for line in task.splitlines() if line.strip()), "")
    return first if len(first) <= TITLE_LENGTH else f"{first[: TITLE_LENGTH - 1].rstrip()}…"


class Plan(models.Model):
    """Steps for a task. Title, life cycle and outcome are in the run.

    `policy`, `asked_models`, `matter_name`: as they were at submission. `asked_models`: the planner's, then those of
    the agents by seat. `matter_name`: of the project; null in older rows. `stopped`: somebody ended the plan.
    """

    run = models.OneToOneField(Run, on_delete=models.PROTECT, primary_key=True, related_name="plan")
    task = models.TextField(max_length=TASK_LENGTH)
    matter = models.ForeignKey(Project, on_delete=models.PROTECT, null=True, related_name="plans")
    matter_name = models.CharField(max_length=100, null=True, blank=True)  # noqa: DJ001 - older ones do not say
    team_version = models.ForeignKey(TeamVersion, on_delete=models.PROTECT, related_name="plans")
    policy = models.JSONField()
    asked_models = models.JSONField()
    prompt_version = models.CharField(max_length=20)
    earlier = models.ForeignKey("self", on_delete=models.PROTECT, null=True, related_name="later")
    stopped = models.BooleanField(default=False)
    summary = models.TextField(blank=True)

    record_hash: str | None = None  # of the newest entry of an ended run, if read by `with_steps()`

    objects = PlanQuerySet.as_manager()
    immutable = Immutable(
        erased="task matter_name",
        rules=(
            ChangeRule("stopped", when="OLD.stopped", kept="stopped"),
            ChangeRule("summed_up", when="OLD.summary <> '' OR OLD.task = ''", erased="summary"),  # no task: erased
        ),
        run="run",
    )

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return self.run.shown_title

    @cached_property
    def effective_policy(self) -> TeamPolicy:
        """The plan's policy, in which demands without approval are replaced by the installation's gate rules. Other
        demands stay: their gates are compared with the rules when they open."""
        policy, rules = TeamPolicy.of(self.policy), GateRule.objects.of("plan")
        steps = {effect: _ruled(demand, rules, "step", effect) for effect, demand in policy.steps.items()}
        return replace(policy, plan=_ruled(policy.plan, rules, "plan"), steps=steps)

    @cached_property
    def agents(self) -> Sequence[TeamAgentRow]:
        return list(self.team_version.agents.all())

    @cached_property
    def budget(self) -> int | None:
        """The limit in billionths of a US dollar: `spend` once, and once more for each approved budget gate."""
        if self.run.spend is None:
            return None
        again = (
            Gate.objects.filter(run=self.pk, kind=ApprovalKind.BUDGET, state=Gate.State.APPROVED)
            .exclude(used=None)
            .count()
        )
        return self.run.spend * (again + 1)

    @cached_property
    def spent(self) -> bool:
        """Whether the plan and the runs that it started have cost the budget."""
        if self.budget is None:
            return False
        calls = ModelCall.objects.filter(run__in=Run.objects.of_root(self.pk))
        return (calls.aggregate(cost=Sum("cost"))["cost"] or 0) >= self.budget

    @property
    def earlier_in_project(self) -> Q:
        """Filter for the runs whose texts the planner may have read, directly or through other plans: earlier plans of
        the project, the example, earlier plans of the example's project, and so on."""
        found: set[UUID] = set()
        new = {self.pk} if self.matter_id or self.earlier_id else set()
        while new:
            plans = list(Plan.objects.filter(pk__in=new).select_related("run"))
            shown = Run.objects.filter(reduce(or_, (one.project_plans for one in plans))).values_list("pk", flat=True)
            seen = {*new, *shown}
            began = Plan.objects.filter(pk__in=seen).exclude(earlier=None).values_list("earlier", flat=True)
            found |= seen
            new = set(began) - found
        return Q(pk__in=found - {self.pk})

    @property
    def project_plans(self) -> Q:
        """Filter for the runs of earlier, ended plans of the project; the planner is shown their outcomes."""
        if not self.matter_id:
            return Q(pk__in=())
        before = Q(plan__matter=self.matter_id, created__lt=self.run.created, outcome__isnull=False)
        return before & Q(account=self.run.account)  # plans of a deleted account belong to nobody

    @property
    def planner(self) -> str:
        return str(self.asked_models[0])

    def model_of(self, agent: TeamAgentRow) -> str:
        return str(self.asked_models[1 + [one.pk for one in self.agents].index(agent.pk)])

    @property
    def rehearsal(self) -> bool:
        return any(map(is_rehearsal, self.asked_models))

    @property
    def current(self) -> "PlanRevision":
        return max(self.revisions.all(), key=lambda one: one.number)

    @property
    def revision(self) -> int:
        """The number of revisions with steps; 0 before the first."""
        return sum(one.has_steps for one in self.revisions.all())

    def revision_number(self, revision: "PlanRevision") -> int:
        """Return the shown number of a revision; 0 if it has no steps."""
        upto = [one for one in self.revisions.all() if one.number <= revision.number and one.has_steps]
        return len(upto) if revision.has_steps else 0

    @property
    def steps_now(self) -> list["PlanStep"]:
        """The steps of the current revision, by position."""
        return sorted((one for one in self.steps.all() if one.last_in is None), key=lambda one: one.position)

    def step(self, number: int) -> "PlanStep":
        return next(one for one in self.steps.all() if one.number == number)


def _ruled(demand: RequiredApproval, rules: Sequence[GateRule], kind: str, effect: str = "") -> RequiredApproval:
    if not needs_no_approval(demand):
        return demand
    rule = strictest_rule(rules, kind=kind, effect=effect, tool="")
    return strictest(demand, rule.policy) if rule else demand


class PlanRevision(models.Model):
    """An order to plan the task, or the rest of it again, and the result: steps, or `questions`, one per line.

    `number` counts orders; pages show the count of those with steps (`Plan.revision`). `cause_step`: number of the step
    that failed or was rejected. `by_name`: who caused the revision, empty if a rule did; `notes`: in which words.
    `places`: numbers of the revision's steps by position; null in older rows.
    """

    plan = models.ForeignKey(Plan, on_delete=models.PROTECT, related_name="revisions")
    number = models.PositiveSmallIntegerField()
    cause = models.CharField(max_length=20, choices=choices(RevisionCause))
    cause_step = models.PositiveSmallIntegerField(null=True)
    by_name = models.CharField(max_length=150, blank=True)
    notes = models.TextField(blank=True)
    standing = models.CharField(max_length=10, choices=choices(RevisionStatus), default=RevisionStatus.ORDERED.value)
    thought = models.TextField(blank=True)
    questions = models.TextField(blank=True)
    call = models.OneToOneField(ModelCall, on_delete=models.PROTECT, null=True, related_name="+")
    made = models.DateTimeField(default=timezone.now)
    planned = models.DateTimeField(null=True)
    places = models.JSONField(null=True)
    immutable = Immutable(
        once="places",
        erased="notes",
        free="standing",
        rules=(ChangeRule("planned", when="OLD.planned IS NOT NULL", kept="call planned", erased="thought questions"),),
        run="plan",
    )

    class Meta:
        db_table = "plans_revision"
        ordering = ["number"]
        default_permissions = ()
        constraints = [models.UniqueConstraint("plan", "number", name="one_revision_of_a_number")]

    def __str__(self) -> str:
        return f"Revision {self.number}"

    @property
    def has_steps(self) -> bool:
        return self.planned is not None and (bool(self.places) if self.places is not None else not self.questions)

    @property
    def gate_step(self) -> str:
        return f"plan-{self.number}"

    @property
    def question_step(self) -> str:
        return f"questions-{self.number}"


OUTCOMES = [outcome.value for outcome in PlanOutcome]
