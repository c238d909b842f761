"""Plan teams in numbered versions: agents with their tools, and a policy.

Why so: engine/DESIGN.md, One house for all procedures.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Self
from uuid import UUID

from django.conf import settings
from django.db import models

from engine.councils import CouncilUse, with_council_id, with_earlier_id
from engine.ledger.immutability import Immutable
from engine.mcp import PREFIX
from engine.names import look_alike
from engine.text.invisible_chars import visible_text
from engine.tools import ALL_TOOLS_SUFFIX, resolve_tool_names
from runs.forms import parse_number
from runs.presets import NAME_LENGTH, Preset, PresetChange, PresetOutOfDate, PresetQuerySet, PresetVersion

from ..rules.approval_policy import CAREFUL_POLICY, demands_of, each_demand

TEAMS = UUID("6d616769-0000-4000-8000-007465616d73")  # chain of the entries of all teams; no run has this key
TEAM = "team"  # kind of these entries
OF_SETTING = "MAGI_COMPAT_TEAM"
AGENT = ("name", "description", "system", "model", "fallback", "tools")
OWN = ("description", "planner", "policy", "examples")


class TeamChanged(PresetOutOfDate):
    """The team version of a submission is no longer the current one."""


class TeamQuerySet(PresetQuerySet):
    def with_content(self) -> Self:
        return self.select_related("owner", "current").prefetch_related("current__agents")


class Team(Preset):
    """A named set of agents that carry out plans."""

    current = models.OneToOneField("TeamVersion", on_delete=models.PROTECT, null=True, related_name="+")

    objects = TeamQuerySet.as_manager()
    immutable = None

    class Meta:
        ordering = ["pk"]

    def name_complaint(self, name: str) -> str:
        """Refuse the former name of the team in MAGI_COMPAT_TEAM: nobody may receive the tasks of other programs by
        taking that name. Empty if the name may be used."""
        other = team_of_setting() if look_alike(name, [settings.COMPAT_TEAM]) else None
        if other is None or other.pk == self.pk:
            return ""
        return (
            f"“{name}” was the name of the team “{other.name}” (id {other.pk}), which {OF_SETTING} means. Give "
            "this one another name."
        )

    def named_by(self) -> list[str]:
        return [OF_SETTING] if (meant := team_of_setting()) and meant.pk == self.pk else []


def team_of_setting() -> "Team | None":
    """Return the team for the tasks of `/api/automation`, by id, or by a name that only one team has ever had."""
    which: str = settings.COMPAT_TEAM
    called = Team.objects.ever_called(which)
    by_id = Team.objects.filter(pk=parse_number(which)).first()
    return by_id or (called[0] if len(called) == 1 else None)


def council_uses() -> Iterator[CouncilUse]:
    """Yield the councils in the policies of available teams."""
    for team in Team.objects.available().select_related("current"):
        for demand in demands_of(team.current.policy) if team.current else ():
            if council := with_earlier_id(demand).get("council_id"):
                yield CouncilUse(council, f"the team “{team.name}”")


class TeamVersion(PresetVersion):
    """`planner`: the model that plans, empty for the installation's default. `policy` as in `TeamPolicy.as_json`."""

    of, out_of_date = "team", TeamChanged

    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="versions")
    description = models.CharField(max_length=300, blank=True)
    planner = models.CharField(max_length=200, blank=True)
    policy = models.JSONField()
    examples = models.JSONField(default=list)
    immutable = Immutable(unlinked="author")

    class Meta:
        ordering = ["-number"]
        constraints = [models.UniqueConstraint("team", "number", name="one_team_version_per_number")]

    def held(self) -> dict[str, Any]:
        own = {name: getattr(self, name) for name in OWN}
        return {**own, "agents": [agent.values() for agent in self.agents.all()]}

    def has_same_content(self, name: str, held: Mapping[str, Any]) -> bool:
        return (self.name, self.held()) == (name, written_content(held))

    @classmethod
    def columns(cls, held: Mapping[str, Any]) -> dict[str, Any]:
        return {name: written_content(held)[name] for name in OWN}

    def set_content(self, held: Mapping[str, Any]) -> None:
        agents = enumerate(written_content(held)["agents"], 1)
        TeamAgentRow.objects.bulk_create(TeamAgentRow(version=self, seat=seat, **one) for seat, one in agents)


class TeamAgentRow(models.Model):
    """An agent of a team version; an empty `model` is the installation's default. `tools`: names."""

    version = models.ForeignKey(TeamVersion, on_delete=models.CASCADE, related_name="agents")
    seat = models.PositiveSmallIntegerField()
    name = models.CharField(max_length=NAME_LENGTH)
    description = models.CharField(max_length=300, blank=True)
    system = models.TextField(max_length=12_000, blank=True)
    model = models.CharField(max_length=200, blank=True)
    fallback = models.CharField(max_length=200, blank=True)
    tools = models.JSONField(default=list)
    immutable = Immutable()

    class Meta:
        db_table = "plans_teamagent"
        ordering = ["seat"]
        default_permissions = ()
        constraints = [
            models.UniqueConstraint("version", "seat", name="one_team_agent_per_seat"),
            models.UniqueConstraint("version", "name", name="one_team_agent_per_name"),
        ]

    def __str__(self) -> str:
        return visible_text(self.name)

    @property
    def tools_now(self) -> list[str]:
        """Names of the tools that it may use; a whole MCP server is resolved to its current tools."""
        return resolve_tool_names(self.tools)

    @property
    def serves(self) -> str:
        """The MCP server whose tools are all that this agent has; empty if there is none."""
        [name, *more] = self.tools or [""]
        return (
            name.removesuffix(ALL_TOOLS_SUFFIX).removeprefix(f"{PREFIX}.")
            if name.endswith(ALL_TOOLS_SUFFIX) and not more
            else ""
        )

    def values(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in AGENT}


class TeamChange(PresetChange):
    chain, entry, whose = TEAMS, TEAM, "team_id"
    told_with = ("version__agents",)

    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="changes")
    version = models.ForeignKey(TeamVersion, on_delete=models.PROTECT, null=True, related_name="+")
    immutable = Immutable()

    class Meta:
        ordering = ["pk"]
        default_permissions = ()

    def held(self) -> dict[str, Any]:
        return {"holds": self.version.held() if self.version else None}


NOTHING: dict[str, Any] = {"description": "", "system": "", "model": "", "fallback": "", "tools": []}


def written_content(held: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content with default values for what is missing, and with ids of councils."""
    usual: dict[str, Any] = {"description": "", "planner": "", "policy": CAREFUL_POLICY.as_json(), "examples": []}
    agents = [{name: {**NOTHING, **agent}[name] for name in AGENT} for agent in held["agents"]]
    own = {name: held.get(name, usual[name]) for name in OWN}
    return {**own, "policy": each_demand(own["policy"], with_council_id), "agents": agents}
