"""Missions with their agents, steps, messages, stops, pauses and checks."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, reduce
from operator import or_
from typing import TYPE_CHECKING, Any

from django.db import models, transaction
from django.db.models import Prefetch, Q
from django.utils import timezone

from engine.audit import sealing
from engine.councils import with_council_id
from engine.ledger.immutability import ChangeRule, Immutable
from engine.llm import pricing
from engine.llm.providers import is_rehearsal, provider_lane
from engine.models import TITLE_LENGTH, Gate, ModelCall, Run, ToolCall, after_deadlock, requester_name
from engine.models.budgets import Budget
from engine.models.child_runs import NO_OTHER_OWNER
from engine.models.gates import GateQuerySet
from engine.text.search_terms import index_words, label_term
from runs.models import SearchText, initial_labels
from runs.row_queries import with_run

from .. import prompts
from ..repositories.cloning import Cloned
from ..rules import COORDINATOR, OWN_STEPS, MissionLimits, fold_name
from . import short_term_memory
from .flags import MissionFlag
from .memories import MemoryUse
from .presets import CrewVersion

if TYPE_CHECKING:
    from .forks import CarriedStep
    from .repositories import Repository
GATES = "gates_about_it"  # name of the attribute with prefetched gates on a run


def gates_about_it() -> GateQuerySet:
    """Gates that ask a person how the mission as a whole shall continue; see `asking`."""
    ours = reduce(or_, (Q(step__startswith=begin) for begin in OWN_STEPS))
    return Gate.objects.filter(ours).prefetch_related("decisions")


class MissionQuerySet(models.QuerySet["Mission"]):
    def active(self) -> "MissionQuerySet":
        """With all rows that rules and prompts read."""
        steps = MissionStep.objects.select_related("tool_call", "agent", "call").defer("call__prompt", "call__answer")
        lists = ("agents", "halts", "messages", "pauses", "terminals", "short_memories", "summaries", "carried")
        kept = ("activations", Prefetch("memory_uses", MemoryUse.objects.select_related("version").order_by("pk")))
        gates = Prefetch("run__gates", gates_about_it(), to_attr=GATES)
        return self.select_related("run", "repository").prefetch_related(
            Prefetch("steps", steps.order_by("pk")), *lists, *kept, gates
        )

    def with_agents(self) -> "MissionQuerySet":
        """With all rows that the pages show."""
        calls = Prefetch("run__calls", ModelCall.objects.order_by("pk").defer("prompt", "answer"))
        rows = MissionStep.objects.select_related("tool_call", "agent", "call").defer("call__prompt", "call__answer")
        steps = Prefetch("steps", rows.order_by("pk"))
        lists = ("agents", "halts", "messages", "pauses", "terminals__inputs", "short_memories", "summaries", "files")
        found = with_run(self).select_related("final_check", "repository", "run__fork")
        gates = Prefetch("run__gates", gates_about_it(), to_attr=GATES)
        return found.prefetch_related(*lists, "carried", steps, calls, gates)

    @after_deadlock
    @transaction.atomic
    def submit(
        self,
        *,
        owner: Any,
        goal: str,
        agents: Sequence[Mapping[str, Any]],
        title: str = "",
        crew: CrewVersion | None = None,
        check: str = "",
        limits: Mapping[str, int] | None = None,
        policy: Mapping[str, Any] | None = None,
        files: Iterable[tuple[str, str]] = (),
        repository: Cloned | None = None,
        follows: "Mission | None" = None,
        spend: int | None = None,
        library: str = "",
        customs: str = "",
        note: str = "",
        request: str = "",
        made_by: Mapping[str, Any] = NO_OTHER_OWNER,
        carry: "Callable[[Mission], None] | None" = None,
    ) -> "Mission":
        """Queue a mission: create the run, its agents and files, and seal them, in one transaction.

        agents: columns of each; the first one is the coordinator
        files: pairs of path and text, added to those of `repository`
        note: first message to the coordinator, about the origin of the files
        spend: limit in billionths of a US dollar
        carry: copies the state of the forked step, where `follows` is the origin of a fork

        Raises BudgetExceeded.
        """
        held = [one["model"] for one in agents]
        unknown = any(pricing.cost(model, 1, 1) is None for model in held)
        reserved = Budget.objects.reserve(owner, spend if spend is not None else None if unknown else 0)
        run = Run.objects.create(
            procedure="mission",
            title=title or title_of(goal),
            lane=provider_lane(held),
            spend=spend,
            **requester_name(owner, made_by),
            request=request,
            **reserved,
        )
        mission = self.create(
            run=run,
            goal=goal,
            crew=crew.name if crew else "",
            crew_version=crew,
            final_check_wanted=bool(check),
            check_command=check,
            limits=vars(MissionLimits.of(dict(limits or {}))),
            policy={name: _with_council_id(value) for name, value in (policy or {}).items()},
            follows=follows,
            library=library,
            customs=customs,
            prompt_version=prompts.PROMPT_VERSION,
        )
        for number, one in enumerate(agents, 1):
            MissionAgent.objects.create(mission=mission, number=number, folded=fold_name(one["name"]), **one)
        if follows and not carry:
            short_term_memory.carry_over_memory(follows, mission)
        from .files import FileVersion

        FileVersion.objects.record_initial(mission, files)
        if repository:
            from .repositories import Repository

            Repository.objects.begin(mission, repository)
        if carry:
            carry(mission)
        if note:
            MissionMessage.objects.create(mission=mission, number=1, sender=0, recipient=COORDINATOR, text=note)
        words = [*initial_labels(run), label_term("rehearsal", any(map(is_rehearsal, held)))]
        words += [label_term("crew", crew.crew_id)] if crew else []
        words += [label_term("flag", MissionFlag.FOLLOWS)] if follows else []
        names = " ".join(one["name"] for one in agents)
        SearchText.objects.create(run=run, words=" ".join([*words, *index_words(f"{run.title}\n{goal}\n{names}")]))
        sealing.record_submission(run.pk)
        return mission


def _with_council_id(value: Any) -> Any:
    """The policy with the id of its council; a word such as "never" is returned as it is."""
    return with_council_id(value) if isinstance(value, Mapping) else value


def title_of(goal: str) -> str:
    first = next((line.strip() for line in goal.splitlines() if line.strip()), "")[: TITLE_LENGTH + 1]
    return first if len(first) <= 80 else f"{first[:79].rstrip()}…"


class Mission(models.Model):
    """One goal and its result. Title, life cycle and outcome are columns of its run.

    The states of agents are computed from rows and not stored. `result` and `unproven` are written once, at the end.

    policy: approvers of what leaves the sandbox, by capability
    library: name of the library of memories that is used besides everybody's
    customs: JSON, see `customs.to_json`
    """

    run = models.OneToOneField(Run, on_delete=models.PROTECT, primary_key=True, related_name="mission")
    goal = models.TextField()
    crew = models.CharField(max_length=100, blank=True)
    crew_version = models.ForeignKey(CrewVersion, on_delete=models.PROTECT, null=True, related_name="missions")
    final_check_wanted = models.BooleanField()
    check_command = models.TextField(blank=True)
    limits = models.JSONField()
    policy = models.JSONField()
    follows = models.ForeignKey("self", on_delete=models.PROTECT, null=True, related_name="followed_by")
    library = models.CharField(max_length=80, blank=True)
    customs = models.TextField(blank=True, db_default="")
    prompt_version = models.CharField(max_length=20)
    result = models.TextField(blank=True)
    unproven = models.TextField(blank=True)

    record_hash: str | None = None  # hash of the newest entry of an ended mission, if read with `with_agents()`

    objects = MissionQuerySet.as_manager()
    immutable = Immutable(
        erased="goal check_command customs",
        rules=(
            ChangeRule("result_said", when="OLD.result <> ''", erased="result"),
            ChangeRule("unproven_said", when="OLD.unproven <> ''", erased="unproven"),
        ),
        run="run",
    )

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return self.run.shown_title

    @property
    def bounds(self) -> MissionLimits:
        return MissionLimits.of(self.limits)

    @cached_property
    def crew_list(self) -> "list[MissionAgent]":
        return sorted(self.agents.all(), key=lambda one: one.number)

    def agent(self, number: int) -> "MissionAgent":
        return next(one for one in self.crew_list if one.number == number)

    def steps_of(self, number: int) -> "list[MissionStep]":
        return sorted((one for one in self.steps.all() if one.agent.number == number), key=lambda one: one.number)

    def past_of(self, number: int) -> "list[MissionStep | CarriedStep]":
        """All steps of the agent, oldest first, with those that were copied from the origin of a fork."""
        carried = (one for one in self.carried.all() if one.agent_id == self.agent(number).pk)
        return [*sorted(carried, key=lambda one: one.number), *self.steps_of(number)]

    @property
    def messages_in_order(self) -> "list[MissionMessage]":
        return sorted(self.messages.all(), key=lambda one: one.number)

    @property
    def begun_with(self) -> "Repository | None":
        """The repository with which it began; None if it began with files only."""
        return getattr(self, "repository", None)

    @property
    def finish(self) -> "MissionStep | None":
        """The step that finished the mission."""
        done = (one for one in self.steps.all() if one.tool == "finish" and one.settled and one.ok)
        return next(done, None)

    @property
    def paused(self) -> str:
        """The name of the person who paused it; empty if it is not paused."""
        last = max(self.pauses.all(), key=lambda one: one.number, default=None)
        return (last.by_name or "somebody") if last and last.on else ""

    @property
    def rehearsal(self) -> bool:
        return any(is_rehearsal(one.model) for one in self.agents.all())


class MissionAgent(models.Model):
    """An agent of the crew. `parent` is the number of the agent that spawned it, 0 for the initial agents."""

    mission = models.ForeignKey(Mission, on_delete=models.PROTECT, related_name="agents")
    number = models.PositiveSmallIntegerField()
    name = models.CharField(max_length=40)
    folded = models.CharField(max_length=80)
    description = models.TextField(blank=True)
    parent = models.PositiveSmallIntegerField(default=0)
    depth = models.PositiveSmallIntegerField(default=0)
    model = models.CharField(max_length=200)
    tools = models.JSONField()
    rights = models.JSONField(default=list)
    made = models.DateTimeField(default=timezone.now)
    immutable = Immutable(erased="description", run="mission")

    class Meta:
        db_table = "missions_agent"
        ordering = ["number"]
        default_permissions = ()
        constraints = [
            models.UniqueConstraint("mission", "number", name="one_mission_agent_of_a_number"),
            models.UniqueConstraint("mission", "folded", name="one_mission_agent_of_a_name"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def coordinates(self) -> bool:
        return self.number == COORDINATOR


class MissionStep(models.Model):
    """One answer of an agent and its result.

    args: JSON
    heard: number of the newest message in its prompt
    last: only `finish` was allowed
    ok: the tool succeeded
    settled: when the result was saved; None while the step is open
    """

    mission = models.ForeignKey(Mission, on_delete=models.PROTECT, related_name="steps")
    agent = models.ForeignKey(MissionAgent, on_delete=models.PROTECT, related_name="steps")
    number = models.PositiveSmallIntegerField()
    reasoning = models.TextField(blank=True)
    tool = models.CharField(max_length=120, blank=True)
    args = models.TextField(blank=True)
    heard = models.PositiveIntegerField()
    last = models.BooleanField(default=False)
    call = models.OneToOneField(ModelCall, on_delete=models.PROTECT, related_name="+")
    tool_call = models.OneToOneField(ToolCall, on_delete=models.PROTECT, null=True, related_name="+")
    ok = models.BooleanField(default=False)
    result = models.TextField(blank=True)
    settled = models.DateTimeField(null=True)
    made = models.DateTimeField(default=timezone.now)
    immutable = Immutable(
        erased="reasoning args",
        rules=(ChangeRule("settled", when="OLD.settled IS NOT NULL", kept="tool_call ok settled", erased="result"),),
        run="mission",
    )

    class Meta:
        db_table = "missions_step"
        ordering = ["pk"]
        default_permissions = ()
        constraints = [models.UniqueConstraint("agent", "number", name="one_mission_step_of_a_number")]

    def __str__(self) -> str:
        return self.key

    @property
    def key(self) -> str:
        return f"{self.agent.number}.{self.number}"

    @property
    def arguments(self) -> dict[str, Any]:
        return json.loads(self.args) if self.args else {}


class AgentStop(models.Model):
    """An agent has stopped in error after step `after`. A later message from somebody who may resume it wakes it."""

    class Why(models.TextChoices):
        FAILED = "failed", "no usable answer"
        SAME = "same", "the same call again and again"
        REFUSED = "refused", "refused again and again"

    mission = models.ForeignKey(Mission, on_delete=models.PROTECT, related_name="halts")
    agent = models.ForeignKey(MissionAgent, on_delete=models.PROTECT, related_name="halts")
    after = models.PositiveSmallIntegerField()
    why = models.CharField(max_length=10, choices=Why)
    text = models.TextField(blank=True)
    heard = models.PositiveIntegerField()
    made = models.DateTimeField(default=timezone.now)
    immutable = Immutable(erased="text", run="mission")

    class Meta:
        db_table = "missions_halt"
        ordering = ["pk"]
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.agent} after step {self.after}"


class MissionMessage(models.Model):
    """A message. `sender` 0 is a person if `by_name` is set, otherwise the mission itself; `recipient` 0 is people.

    All messages of a mission are numbered in one sequence. `go_on` resumes an agent that has stopped in error.
    """

    mission = models.ForeignKey(Mission, on_delete=models.PROTECT, related_name="messages")
    number = models.PositiveIntegerField()
    sender = models.PositiveSmallIntegerField()
    by_name = models.CharField(max_length=150, blank=True)
    recipient = models.PositiveSmallIntegerField()
    text = models.TextField(blank=True)
    go_on = models.BooleanField(default=False)
    made = models.DateTimeField(default=timezone.now)
    immutable = Immutable(erased="text", run="mission")

    class Meta:
        db_table = "missions_message"
        ordering = ["number"]
        default_permissions = ()
        constraints = [models.UniqueConstraint("mission", "number", name="one_mission_message_of_a_number")]

    def __str__(self) -> str:
        return f"Message {self.number}"

    @property
    def of_person(self) -> bool:
        return self.sender == 0 and bool(self.by_name)


class MissionPause(models.Model):
    mission = models.ForeignKey(Mission, on_delete=models.PROTECT, related_name="pauses")
    number = models.PositiveSmallIntegerField()
    on = models.BooleanField()
    by_name = models.CharField(max_length=150, blank=True)
    made = models.DateTimeField(default=timezone.now)
    immutable = Immutable()

    class Meta:
        db_table = "missions_pause"
        ordering = ["number"]
        default_permissions = ()
        constraints = [models.UniqueConstraint("mission", "number", name="one_pause_of_a_number")]

    def __str__(self) -> str:
        return "paused" if self.on else "resumed"


class MissionCheck(models.Model):
    """The result of the check, in a fresh sandbox over a copy of the workspace.

    Without an exit code it could not run, and `reason` says why.
    """

    mission = models.OneToOneField(Mission, on_delete=models.PROTECT, related_name="final_check")
    command = models.TextField(blank=True)
    exit_code = models.IntegerField(null=True)
    reason = models.CharField(max_length=40, blank=True)
    output = models.TextField(blank=True)
    tool_call = models.OneToOneField(ToolCall, on_delete=models.PROTECT, null=True, related_name="+")
    made = models.DateTimeField(default=timezone.now)
    immutable = Immutable(erased="command output", run="mission")

    class Meta:
        db_table = "missions_check"
        default_permissions = ()

    def __str__(self) -> str:
        return f"Check of {self.mission}"
