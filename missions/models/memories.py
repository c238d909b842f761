"""Long-term memories that crews share between missions, in numbered versions that somebody must accept.

Why so: missions/DESIGN.md, Memory.
"""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.db import models
from django.db.models import F, OuterRef, Subquery
from django.utils import timezone

from engine.ledger.immutability import ChangeRule, Immutable

from .. import rules
from ..memory_files import LISTS, MemoryFile
from ..rules import MemoryAccess, fold_name

MEMORIES = UUID("6d616769-0000-4000-8000-6d656d6f7279")  # the one chain of all memories; no run has this key


class Memory(models.Model):
    """A named memory; its text is in its newest accepted version.

    The empty `library` is everybody's; a mission may use one more. Name and file never change.
    """

    library = models.CharField(max_length=80, blank=True)
    name = models.CharField(max_length=60)
    folded = models.CharField(max_length=120)
    file = models.CharField(max_length=100)
    made = models.DateTimeField(default=timezone.now)
    immutable = Immutable()

    class Meta:
        ordering = ["library", "folded"]
        default_permissions = ("add", "change")
        constraints = [
            models.UniqueConstraint("library", "folded", name="one_memory_of_a_name"),
            models.UniqueConstraint("library", "file", name="one_memory_of_a_file"),
        ]

    def __str__(self) -> str:
        return self.name


class MemoryVersionQuerySet(models.QuerySet["MemoryVersion"]):
    def current(self, *libraries: str) -> "MemoryVersionQuerySet":
        """The newest accepted one of each memory of these libraries."""
        newest = self.filter(memory=OuterRef("memory"), accepted=True).order_by("-number").values("pk")[:1]
        found = self.filter(pk=Subquery(newest)).select_related("memory")
        return found.filter(memory__library__in=libraries) if libraries else found

    def proposed(self) -> "MemoryVersionQuerySet":
        """Proposals about which nobody has decided yet."""
        return self.filter(decided=None).select_related("memory", "mission__run")

    def held(self, library: str) -> "list[MemoryVersion]":
        """Current versions for a mission with this library; a memory of the library hides everybody's of that name."""
        libraries = {"", library}
        found = {one.memory.folded: one for one in self.current(*libraries).order_by("memory__library")}
        return sorted(found.values(), key=lambda one: one.memory.folded)


class MemoryVersion(models.Model):
    """A text with its readers and the decision about it.

    base: number of the version from which it was written, 0 for a new memory
    mission: the mission whose agent proposed it
    front: see `MemoryFile.front`
    """

    memory = models.ForeignKey(Memory, on_delete=models.PROTECT, related_name="versions")
    number = models.PositiveIntegerField()
    base = models.PositiveIntegerField(default=0)
    description = models.CharField(max_length=300, blank=True)
    text = models.TextField(blank=True)
    front = models.TextField(blank=True)
    active_for = models.JSONField(default=list)
    visible_to = models.JSONField(default=list)
    except_for = models.JSONField(default=list)
    by = models.CharField(max_length=150, blank=True)
    mission = models.ForeignKey(
        "missions.Mission", on_delete=models.PROTECT, null=True, related_name="memories_proposed"
    )
    decided = models.DateTimeField(null=True)
    decided_by = models.CharField(max_length=150, blank=True)
    accepted = models.BooleanField(null=True)
    made = models.DateTimeField(default=timezone.now)

    objects = MemoryVersionQuerySet.as_manager()
    immutable = Immutable(
        erased="description text front",
        rules=(
            ChangeRule("decided", when="OLD.decided IS NOT NULL", kept="decided decided_by accepted"),
            ChangeRule("accepted", when="OLD.accepted IS NOT NULL AND OLD.accepted", kept="description text front"),
        ),
        run="mission",
    )

    class Meta:
        ordering = ["memory", "-number"]
        default_permissions = ()
        constraints = [models.UniqueConstraint("memory", "number", name="one_memory_version_of_a_number")]

    def __str__(self) -> str:
        return f"{self.memory}, version {self.number}"

    @property
    def as_file(self) -> MemoryFile:
        lists = {name: tuple(getattr(self, name)) for name in LISTS}
        return MemoryFile(self.memory.name, self.description, self.text, **lists, front=self.front)

    def visibility_for(self, agent: str) -> MemoryAccess:
        """The access of an agent with this name, before it activates or deactivates the memory."""
        return rules.memory_access(agent, **{name: getattr(self, name) for name in LISTS})


class MemoryActivation(models.Model):
    """An agent has included a memory in its prompts, or excluded it, in this mission."""

    mission = models.ForeignKey("missions.Mission", on_delete=models.PROTECT, related_name="activations")
    agent = models.ForeignKey("missions.MissionAgent", on_delete=models.PROTECT, related_name="activations")
    memory = models.ForeignKey(Memory, on_delete=models.PROTECT, related_name="+")
    on = models.BooleanField()
    made = models.DateTimeField(default=timezone.now)
    immutable = Immutable()

    class Meta:
        db_table = "missions_activation"
        ordering = ["pk"]
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.memory} {'on' if self.on else 'off'}"


class MemoryUse(models.Model):
    """From here on the prompts of an agent contain the whole version, or (`on` false) no longer."""

    mission = models.ForeignKey("missions.Mission", on_delete=models.PROTECT, related_name="memory_uses")
    agent = models.ForeignKey("missions.MissionAgent", on_delete=models.PROTECT, related_name="memory_uses")
    version = models.ForeignKey(MemoryVersion, on_delete=models.PROTECT, related_name="uses")
    on = models.BooleanField()
    made = models.DateTimeField(default=timezone.now)
    immutable = Immutable()

    class Meta:
        ordering = ["pk"]
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.version} {'on' if self.on else 'off'}"


def memories_in_use(uses: Iterable[MemoryUse]) -> dict[int, int]:
    """Primary keys of the versions that the agent's last prompt contained, by memory."""
    found: dict[int, int] = {}
    for one in uses:
        memory = one.version.memory_id
        if one.on:
            found[memory] = one.version_id
        elif found.get(memory) == one.version_id:
            del found[memory]
    return found


def memory_named(name: str, library: str) -> "Memory | None":
    """The memory of this library, or else everybody's."""
    found = Memory.objects.filter(folded=fold_name(name), library__in={"", library})
    return found.order_by(F("library").desc()).first()


def memory_in_file(file: str, library: str) -> Memory | None:
    found = Memory.objects.filter(file=file, library__in={"", library})
    return found.order_by(F("library").desc()).first()


def values_of(said: MemoryFile) -> dict[str, Any]:
    """The columns of a version with these values."""
    lists = {name: list(getattr(said, name)) for name in LISTS}
    return {"description": said.description, "text": said.text, "front": said.front, **lists}
