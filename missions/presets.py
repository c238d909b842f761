"""Crews by name, the columns of their agents, and their sections of the library."""

from collections.abc import Iterator, Mapping
from typing import Any

from django.db.models import Count
from django.urls import reverse

from runs.presets.forms import preset_named
from runs.procedure.library_section import LibraryItem, LibrarySection, PresetSection
from runs.rights import User

from .models import Crew, CrewVersion, Memory, MemoryVersion
from .tools import NAMES

READ_TOOLS = ("read_file", "ls", "find_files", "grep", "remember", "active_ltm", "wait", "send_message")
AGENT_RIGHTS = {"library": "Finds all memories", "tidy": "May edit everybody’s short-term memory"}
COORDINATOR = {"name": "Magi-01", "description": "You coordinate the work and answer for its result."}


def offered_teams() -> list[CrewVersion]:
    return [crew.current for crew in Crew.objects.available().with_content() if crew.current]


def team_names() -> list[str]:
    return [one.name for one in offered_teams()]


def find_team(which: str | int) -> CrewVersion | None:
    """The crew with this name or id, or without one the first that is offered. Raises ValidationError."""
    if which:
        version: CrewVersion = preset_named(Crew, which).current
        return version
    return next(iter(offered_teams()), None)


def agent_rows(version: CrewVersion | None, model: str) -> list[dict[str, Any]]:
    """The agents of a crew as columns; without a crew a coordinator alone."""
    return [agent_row(one, model) for one in (version.agents if version else [COORDINATOR])]


def agent_row(one: dict[str, Any], model: str) -> dict[str, Any]:
    """The columns of an agent, with defaults for values that are None or empty."""
    said = {name: value for name, value in one.items() if value is not None and value != ""}
    return {"tools": list(NAMES), "model": model, **said}


CHANGE_TEXT = {
    "description": "What {name} does was rewritten.",
    "model": "{name} asks another model.",
    "tools": "{name} may use other tools.",
    "rights": "{name} has other rights.",
}


def describe_changes(before: CrewVersion, after: CrewVersion) -> list[str]:
    found = [f"The crew was renamed from {before.name} to {after.name}."] if before.name != after.name else []
    found += ["What it is good for was rewritten."] if before.good_for != after.good_for else []
    found += ["Its customs were written anew."] if before.customs != after.customs else []
    return [*found, *_agents(before.agents, after.agents)]


def _agents(before: list[Mapping[str, Any]], after: list[Mapping[str, Any]]) -> Iterator[str]:
    was, now = ({one["name"]: one for one in agents} for agents in (before, after))
    yield from (f"{name} is new." for name in now if name not in was)
    yield from (f"{name} is gone." for name in was if name not in now)
    for name in (name for name in now if name in was):
        yield from (said.format(name=name) for key, said in CHANGE_TEXT.items() if was[name][key] != now[name][key])
    if before[0]["name"] != after[0]["name"]:
        yield f"{after[0]['name']} coordinates."


class MissionTeamSection(PresetSection):
    name, noun, about, label = "crews", "crew", "who pursues a goal in a sandbox", "crew"
    purpose = "Save agents and what they may use, and every mission can be begun with them."
    permission = "missions.add_crew"
    saved, begins = Crew, "mission-new"

    def tools(self) -> Iterator[tuple[str, str, str]]:
        for crew in Crew.objects.available().with_content():
            address = reverse("crew", args=[crew.pk])
            for agent in crew.current.agents if crew.current else ():
                yield from ((name, crew.name, address) for name in agent["tools"] or ())

    def describe(self, one: Crew) -> tuple[list[str], list[str]]:
        agents = one.current.agents if one.current else []
        texts = [agent[part] for agent in agents for part in ("name", "description")]
        return [agent["name"] for agent in agents], texts


class MemorySection(LibrarySection):
    name, noun, about, label = "memories", "memory", "what crews know from one mission to the next", "memory"
    purpose = "Proposals of agents are here too; they are used once somebody has accepted them."
    permission = "missions.add_memory"

    @property
    def address(self) -> str:
        return reverse("memories")

    @property
    def new(self) -> str:
        return reverse("memory-new")

    def count(self) -> int:
        return Memory.objects.aggregate(Count("pk"))["pk__count"]

    def items(self, user: User) -> list[LibraryItem]:
        return [_item(one) for one in MemoryVersion.objects.current().order_by("memory__folded")]


def _item(one: MemoryVersion) -> LibraryItem:
    return LibraryItem(
        key=one.memory_id,
        name=one.memory.name,
        address=reverse("memory", args=[one.memory_id]),
        use="",
        holds=one.description,
        texts=[one.description, one.text, *one.active_for, *one.visible_to],
        version=one.number,
        owner=one.by,
        is_mine=False,
        archived=False,
        locked=False,
        bring_back="",
    )
