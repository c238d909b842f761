"""Crews: saved initial agents of missions, in numbered versions.

Why so: engine/DESIGN.md, One house for all procedures.
"""

from collections.abc import Mapping
from typing import Any, Self
from uuid import UUID

from django.db import models

from engine.ledger.immutability import Immutable
from runs.presets import Preset, PresetChange, PresetOutOfDate, PresetQuerySet, PresetVersionInColumns

CREWS = UUID("6d616769-0000-4000-8000-000063726577")  # the one chain of all crews; no run has this key
CREW = "crew"  # the kind of its entries
AGENT: Mapping[str, Any] = {"name": "", "description": "", "model": "", "tools": None, "rights": []}


class MissionTeamChanged(PresetOutOfDate):
    """The crew has a newer version than the one that the form was opened with."""


class MissionTeamQuerySet(PresetQuerySet):
    def with_content(self) -> Self:
        return self.select_related("owner", "current")


class Crew(Preset):
    """A saved crew; its agents are in its versions."""

    current = models.OneToOneField("CrewVersion", on_delete=models.PROTECT, null=True, related_name="+")

    objects = MissionTeamQuerySet.as_manager()
    immutable = None

    class Meta:
        ordering = ["pk"]


class CrewVersion(PresetVersionInColumns):
    """One version of a crew.

    agents: dicts with the keys of `AGENT`; the first one is the coordinator. An empty model means the mission's model,
        tools of None mean all tools.
    customs: conventions that its agents follow in every workspace
    """

    of, out_of_date, holds = "crew", MissionTeamChanged, ("good_for", "agents", "customs")

    crew = models.ForeignKey(Crew, on_delete=models.PROTECT, related_name="versions")
    good_for = models.CharField(max_length=300, blank=True)
    agents = models.JSONField()
    customs = models.TextField(blank=True, db_default="")
    immutable = Immutable(unlinked="author")

    class Meta:
        ordering = ["-number"]
        constraints = [models.UniqueConstraint("crew", "number", name="one_crew_version_per_number")]

    def held(self) -> dict[str, Any]:
        """The content; without empty customs, so that versions from before that column have the same digest."""
        return {name: value for name, value in super().held().items() if value or name != "customs"}

    @classmethod
    def columns(cls, held: Mapping[str, Any]) -> dict[str, Any]:
        return written_content(held)


class CrewChange(PresetChange):
    chain, entry, whose = CREWS, CREW, "crew_id"

    crew = models.ForeignKey(Crew, on_delete=models.PROTECT, related_name="changes")
    version = models.ForeignKey(CrewVersion, on_delete=models.PROTECT, null=True, related_name="+")
    immutable = Immutable()

    class Meta:
        ordering = ["pk"]
        default_permissions = ()

    def held(self) -> dict[str, Any]:
        return {"holds": self.version.held() if self.version else None}


def written_content(held: Mapping[str, Any]) -> dict[str, Any]:
    """The content with defaults for what is missing."""
    agents = [{name: {**AGENT, **one}[name] for name in AGENT} for one in held["agents"]]
    customs = {"customs": held["customs"]} if held.get("customs") else {}
    return {"good_for": held.get("good_for", ""), "agents": agents, **customs}
