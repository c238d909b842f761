"""Councils, their versions, and the log of their changes.

Why so: judgements/DESIGN.md, Councils.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Self
from uuid import UUID

from django.conf import settings
from django.db import models

from engine.council_approval import council_uses
from engine.ledger.immutability import Immutable
from engine.text.invisible_chars import visible_text
from runs.presets import NAME_LENGTH, Preset, PresetChange, PresetOutOfDate, PresetQuerySet, PresetVersion

from .. import rules

CRITERIA_LENGTH = 4_000
COUNCILS = UUID("6d616769-0000-4000-8000-636f756e6373")  # key of the audit chain that all councils share; no run has it
COUNCIL = "council"  # the kind of its entries

AgentValues = dict[str, str]
"""One agent as forms and submissions pass it: name, model, criteria, fallback."""


class CouncilChanged(PresetOutOfDate):
    """The council has changed since the agents were taken from it."""


class CouncilQuerySet(PresetQuerySet):
    def with_content(self) -> Self:
        """Load the current version and its members too, in two queries."""
        return self.select_related("owner", "current").prefetch_related("current__members")


class Council(Preset):
    """Three saved agents to start a judgement with."""

    current = models.OneToOneField("CouncilVersion", on_delete=models.PROTECT, null=True, related_name="+")

    objects = CouncilQuerySet.as_manager()
    immutable = None

    class Meta:
        ordering = ["pk"]

    def agents(self) -> list[AgentValues]:
        """Return the three agents in the form that a new judgement takes."""
        return self.current.agents() if self.current else []

    def name_complaint(self, name: str) -> str:
        uses = {use.council_id: use.by for use in council_uses() if use.council_id != self.pk}
        for other in Council.objects.ever_looked_like(name):
            if other.pk in uses:
                return (
                    f"“{name}” is or was the name of the council “{other.name}” (id {other.pk}), which is asked by "
                    f"{uses[other.pk]}. Give this one another name."
                )
        return ""

    def named_by(self) -> list[str]:
        return list(dict.fromkeys(use.by for use in council_uses() if use.council_id == self.pk))

    @property
    def agent_names(self) -> str:
        return ", ".join(agent["name"] for agent in self.agents())

    def version_of(self, agents: Sequence[AgentValues]) -> "CouncilVersion | None":
        """Return the newest version that has exactly these agents, or None."""
        versions = self.versions.prefetch_related("members")
        return next((version for version in versions if version.has_agents(agents)), None)


class CouncilVersion(PresetVersion):
    of, out_of_date = "council", CouncilChanged

    council = models.ForeignKey(Council, on_delete=models.PROTECT, related_name="versions")
    immutable = Immutable(unlinked="author")

    class Meta:
        ordering = ["-number"]
        constraints = [models.UniqueConstraint("council", "number", name="one_council_version_per_number")]

    def agents(self) -> list[AgentValues]:
        """Return the three agents in the form that a new judgement takes."""
        return [{**member.values(), "model": member.model or settings.DEFAULT_MODEL} for member in self.members.all()]

    def has_agents(self, agents: Sequence[AgentValues]) -> bool:
        """Return whether these are exactly its three agents; one changed field makes them different."""
        return self.agents() == [{"fallback": "", **agent} for agent in agents]

    def as_saved(self) -> tuple[str, list[AgentValues]]:
        """Return the name and agents as saved; an open model stays empty."""
        return self.name, [member.values() for member in self.members.all()]

    def has_same_content(self, name: str, held: Mapping[str, Any]) -> bool:
        return self.as_saved() == (name, list(held["agents"]))

    def set_content(self, held: Mapping[str, Any]) -> None:
        seated = zip(rules.SEATS, held["agents"], strict=True)
        CouncilMember.objects.bulk_create(CouncilMember(version=self, seat=seat, **agent) for seat, agent in seated)


class CouncilChange(PresetChange):
    chain, entry, whose, told_with = COUNCILS, COUNCIL, "council_id", ("version__members",)

    council = models.ForeignKey(Council, on_delete=models.PROTECT, related_name="changes")
    version = models.ForeignKey(CouncilVersion, on_delete=models.PROTECT, null=True, related_name="+")
    immutable = Immutable()

    class Meta:
        ordering = ["pk"]
        default_permissions = ()

    def held(self) -> dict[str, Any]:
        members = self.version.members.all() if self.version else ()
        return {"agents": [{"seat": member.seat, **member.values()} for member in members]}


class EarlierCouncilName(models.Model):
    """What a name meant when policies began to name councils by id. Older policies, which never change, still name
    councils by name. A name that several councils had by then has no row."""

    name = models.CharField(max_length=NAME_LENGTH, unique=True)
    council = models.ForeignKey(Council, on_delete=models.PROTECT, related_name="+")
    immutable = Immutable()

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return visible_text(self.name)


class AgentColumns(models.Model):
    """The agent in one of the three seats. `fallback`: the model that is asked if the first one fails."""

    seat = models.CharField(max_length=1, choices=[(seat, seat) for seat in rules.SEATS])
    name = models.CharField(max_length=NAME_LENGTH)
    model = models.CharField(max_length=200)
    criteria = models.TextField(max_length=CRITERIA_LENGTH)
    fallback = models.CharField(max_length=200, blank=True)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return visible_text(self.name)

    def values(self) -> AgentValues:
        return {"name": self.name, "model": self.model, "criteria": self.criteria, "fallback": self.fallback}


class CouncilMember(AgentColumns):
    """One seat of a council version. An empty model means the installation's default model."""

    version = models.ForeignKey(CouncilVersion, on_delete=models.CASCADE, related_name="members")
    model = models.CharField(max_length=200, blank=True)
    immutable = Immutable()

    class Meta:
        db_table = "judgements_member"
        ordering = ["seat"]
        constraints = [models.UniqueConstraint("version", "seat", name="one_member_per_seat")]
