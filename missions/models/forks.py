"""Forks of missions: the state at a step of the origin, and its copy into the new mission.

Why so: runs/DESIGN.md, Forks.
"""

import json
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from hashlib import sha256
from typing import Any

from django.db import models
from django.utils import timezone

from engine.ledger.entries import AuditEntry
from engine.ledger.immutability import Immutable
from engine.models import Fork

from ..rules import COORDINATOR
from ..workspace_files import FIRST
from .files import FileVersion, newest_file_versions
from .memories import MemoryActivation
from .missions import AgentStop, Mission, MissionAgent, MissionMessage, MissionStep
from .short_term_memory import HistorySummary, ShortTermMemory
from .terminals import Terminal

RESULT = "mission.result"  # the kind of entries with the result of a step
FORKED = (
    "This mission goes on from another one, as that was after step {number}. Commands that ran there do not run here, "
    "and new ones are counted from 1.{lived}"
)
LIVED = " Ran then: {commands}. Begin them again where you need them."


class CarriedStep(models.Model):
    """A step of the origin, copied into the history of an agent of the fork.

    `number` counts all steps of the agent, before and after the fork; `heard` is the newest message of this mission
    that the step's prompt had.
    """

    mission = models.ForeignKey("missions.Mission", on_delete=models.PROTECT, related_name="carried")
    agent = models.ForeignKey("missions.MissionAgent", on_delete=models.PROTECT, related_name="carried")
    number = models.PositiveSmallIntegerField()
    reasoning = models.TextField(blank=True)
    tool = models.CharField(max_length=120, blank=True)
    args = models.TextField(blank=True)
    heard = models.PositiveIntegerField()
    ok = models.BooleanField(default=False)
    result = models.TextField(blank=True)
    made = models.DateTimeField(default=timezone.now)
    immutable = Immutable(erased="reasoning args result", run="mission")

    class Meta:
        ordering = ["pk"]
        default_permissions = ()
        constraints = [models.UniqueConstraint("agent", "number", name="one_carried_step_of_a_number")]

    def __str__(self) -> str:
        return f"{self.agent.name} {self.number}"

    # the same interface as a settled MissionStep

    @property
    def settled(self) -> datetime:
        return self.made

    @property
    def arguments(self) -> dict[str, Any]:
        return json.loads(self.args) if self.args else {}


Past = MissionStep | CarriedStep


def in_order(mission: Mission) -> list[MissionStep]:
    """Steps in the order in which they were settled, open ones last. A fork names a step by its place here, from 1."""
    return sorted(mission.steps.all(), key=lambda one: (one.settled is None, one.settled or one.made, one.pk))


@dataclass(frozen=True)
class MissionMoment:
    """The state of a mission, read with `with_agents()`, after `number` settled steps of all agents.

    Steps that other agents had open at that moment count as undone.
    """

    mission: Mission
    number: int

    @cached_property
    def steps(self) -> list[MissionStep]:
        """In the order in which they were settled."""
        return in_order(self.mission)

    @property
    def step(self) -> MissionStep:
        return self.steps[self.number - 1]

    @property
    def at(self) -> datetime:
        settled = self.step.settled
        if settled is None:
            raise ValueError("It has not come to its end.")
        return settled

    @property
    def done(self) -> list[MissionStep]:
        return self.steps[: self.number]

    @cached_property
    def undone(self) -> list[MissionStep]:
        return sorted(self.steps[self.number :], key=lambda one: one.pk)

    @cached_property
    def _until(self) -> Mapping[int, datetime]:
        """When the first undone step of each agent began, by number of the agent."""
        return {one.agent.number: one.made for one in reversed(self.undone)}

    def has(self, made: datetime, agent: int) -> bool:
        """Whether something that this agent made at `made` existed at the moment; 0 is a person or the mission."""
        return made <= self.at and not (agent in self._until and made > self._until[agent])

    # ---- the state --------------------------------------------------------------------------------------------

    @cached_property
    def crew(self) -> list[MissionAgent]:
        """All agents up to the highest number that existed: messages refer to agents by number, so no gap may arise."""
        there = [one.number for one in self.mission.crew_list if self.has(one.made, one.parent)]
        return [one for one in self.mission.crew_list if one.number <= max(there)]

    @cached_property
    def messages(self) -> list[MissionMessage]:
        return [one for one in self.mission.messages_in_order if self.has(one.made, one.sender)]

    @cached_property
    def later_messages(self) -> list[MissionMessage]:
        kept = {one.pk for one in self.messages}
        return [one for one in self.mission.messages_in_order if one.pk not in kept]

    @cached_property
    def files(self) -> dict[str, FileVersion]:
        """The files of the workspace, by path."""
        kept = {one.pk for one in self.done}
        return newest_file_versions(
            one for one in self.mission.files.all() if one.step_id is None or one.step_id in kept
        )

    @cached_property
    def gone(self) -> list[FileVersion]:
        """The last versions of files that had been removed, by path."""
        kept = {one.pk for one in self.done}
        rows = [one for one in self.mission.files.all() if one.step_id is None or one.step_id in kept]
        last = {one.path: one for one in sorted(rows, key=lambda one: one.number)}
        return [one for path, one in sorted(last.items()) if path not in self.files]

    @property
    def files_before(self) -> dict[str, FileVersion]:
        """The files, with originals of a repository's files that were first changed after the moment."""
        known = {*self.files, *(one.path for one in self.gone)}
        later = [one for one in self.mission.files.all() if one.change == FIRST and one.path not in known]
        return {**{one.path: one for one in later}, **self.files}

    @property
    def state(self) -> str:
        """SHA-256 (hex) of the JSON of all pairs of path and digest, sorted by path."""
        return state_of(self.files.values())

    @property
    def lived(self) -> list[Terminal]:
        """Commands that were running."""
        kept = {one.pk for one in self.done}
        rows = [one for one in self.mission.terminals.all() if one.step_id in kept]
        return [one for one in rows if one.ended is None or one.ended > self.at]

    @property
    def later_terminals(self) -> list[Terminal]:
        kept = {one.pk for one in self.done}
        return [one for one in self.mission.terminals.all() if one.step_id not in kept]

    def short_memory(self, agent: MissionAgent) -> ShortTermMemory | None:
        made = [one for one in self.mission.short_memories.all() if one.agent_id == agent.pk]
        return max((one for one in made if self.has(one.made, one.by)), key=lambda one: one.version, default=None)

    def summary(self, agent: MissionAgent) -> HistorySummary | None:
        made = [one for one in self.mission.summaries.all() if one.agent_id == agent.pk and one.holds]
        there = [one for one in made if self.has(one.made, agent.number)]
        return there[-1] if there else None

    def past(self, agent: MissionAgent) -> list[Past]:
        """All steps of the agent up to the moment, with those from before an earlier fork."""
        before = [one for one in self.mission.carried.all() if one.agent_id == agent.pk]
        return [*sorted(before, key=lambda one: one.number), *(one for one in self.done if one.agent_id == agent.pk)]

    def halts(self) -> list[AgentStop]:
        """Stops of agents that had not continued. The agent of the forked step continues: a person has looked at it."""
        counts = {one.pk: sum(step.agent_id == one.pk for step in self.done) for one in self.crew}
        found = [one for one in self.mission.halts.all() if one.made <= self.at and one.agent_id in counts]
        return [one for one in found if one.after == counts[one.agent_id] and one.agent_id != self.step.agent_id]

    def entry(self) -> AuditEntry | None:
        """The audit entry with the step's result; None if it is not sealed yet."""
        place = (self.step.agent.number, self.step.number)
        for entry in AuditEntry.objects.filter(run=self.mission.pk, kind=RESULT).order_by("seq"):
            facts = json.loads(entry.line)["facts"]
            if (facts["agent"], facts["number"]) == place:
                return entry
        return None


def state_of(files: Iterable[FileVersion]) -> str:
    told = sorted((one.path, one.digest) for one in files)
    return sha256(json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode()).hexdigest()


# ---- the copy -------------------------------------------------------------------------------------------------


def bring_along(moment: MissionMoment, mission: Mission, words: str = "", by_name: str = "") -> None:
    """Copy the state of the crew into rows of the new mission, in the transaction that submits it.

    `words` is a message of the person `by_name` to the coordinator; may be empty.
    """
    entry = moment.entry()
    if entry is None:
        raise ValueError("The step is not in the record.")
    Fork.objects.create(
        run=mission.run,
        origin=moment.mission.run,
        number=moment.number,
        entry=entry.seq,
        hash=entry.hash,
        state=moment.state,
    )
    agents = {one.number: one for one in mission.agents.all()}
    numbers = [one.number for one in moment.messages]
    for before in moment.crew:
        _bring_agent(moment, before, agents[before.number], numbers)
    _bring_messages(moment, mission, words, by_name)
    _bring_files(moment, mission)
    for halt in moment.halts():
        told = {"agent": agents[halt.agent.number], "why": halt.why, "text": halt.text}
        AgentStop.objects.create(mission=mission, after=0, heard=bisect_right(numbers, halt.heard), **told)


def _bring_agent(moment: MissionMoment, before: MissionAgent, agent: MissionAgent, numbers: Sequence[int]) -> None:
    mission = agent.mission
    names = ("reasoning", "tool", "args", "ok", "result")
    rows = []
    for number, one in enumerate(moment.past(before), 1):
        heard = bisect_right(numbers, one.heard)
        told = {name: getattr(one, name) for name in names}
        rows.append(CarriedStep(mission=mission, agent=agent, number=number, heard=heard, **told))
    CarriedStep.objects.bulk_create(rows)
    if kept := moment.short_memory(before):
        ShortTermMemory.objects.create(mission=mission, agent=agent, version=1, text=kept.text, by=kept.by)
    if made := moment.summary(before):
        HistorySummary.objects.create(mission=mission, agent=agent, covers=made.covers, text=made.text)
    chosen: dict[int, MemoryActivation] = {}
    for activation in moment.mission.activations.all():
        if activation.agent_id == before.pk and moment.has(activation.made, before.number):
            chosen[activation.memory_id] = activation
    for activation in chosen.values():
        MemoryActivation.objects.create(mission=mission, agent=agent, memory_id=activation.memory_id, on=activation.on)


def _bring_messages(moment: MissionMoment, mission: Mission, words: str, by_name: str) -> None:
    names = ("sender", "by_name", "recipient", "text", "go_on")
    told = [{name: getattr(one, name) for name in names} for one in moment.messages]
    commands = ", ".join(f"{one.number} ({one.command[:100]})" for one in moment.lived)
    lived = LIVED.format(commands=commands) if commands else ""
    key = moment.step.key
    told.append({"sender": 0, "recipient": COORDINATOR, "text": FORKED.format(number=key, lived=lived)})
    if words:
        told.append({"sender": 0, "by_name": by_name, "recipient": COORDINATOR, "text": words})
    MissionMessage.objects.bulk_create(
        [MissionMessage(mission=mission, number=n, **one) for n, one in enumerate(told, 1)]
    )


def _bring_files(moment: MissionMoment, mission: Mission) -> None:
    """Copy the files as initial versions; `contents.copy` copies the bytes of binary files."""
    names = ("path", "digest", "size", "text")
    rows = [{name: getattr(one, name) for name in names} | {"change": "A"} for _, one in sorted(moment.files.items())]
    if mission.begun_with:  # the clone has all files of the repository, so removals are repeated
        rows += [{"path": one.path, "size": 0, "change": "D"} for one in moment.gone]
    versions = [FileVersion(mission=mission, number=n, **one) for n, one in enumerate(rows, 1)]
    FileVersion.objects.bulk_create(versions)
