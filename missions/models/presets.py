"""Crews: who is there from the beginning of a mission, in numbered versions.

Why so: docs/decisions.md, One house for all procedures.
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
    """What a mission was to start from is no longer what the crew is."""


class MissionTeamQuerySet(PresetQuerySet):
    def with_content(self) -> Self:
        return self.select_related("owner", "current")


class Crew(Preset):
    """Agents to pursue goals with."""

    current = models.OneToOneField("CrewVersion", on_delete=models.PROTECT, null=True, related_name="+")

    objects = MissionTeamQuerySet.as_manager()
    immutable = None

    class Meta:
        ordering = ["pk"]


class CrewVersion(PresetVersionInColumns):
    """`agents`: of each what `AGENT` has; the first coordinates. Without a model it takes that of the mission; tools
    that are None are all that agents may have. `customs`: how its agents work, wherever they do."""

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
        """Without customs where it has none, as those that were saved before there were any."""
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
    """With what stands where nothing was said."""
    agents = [{name: {**AGENT, **one}[name] for name in AGENT} for one in held["agents"]]
    customs = {"customs": held["customs"]} if held.get("customs") else {}
    return {"good_for": held.get("good_for", ""), "agents": agents, **customs}
