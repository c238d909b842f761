"""Plan teams in the library, and descriptions of what changed between versions."""

from collections.abc import Iterator, Mapping
from typing import Any

from django.urls import reverse

from runs.procedure.library_section import PresetSection

from .models import Team, TeamAgentRow


class PlanTeamSection(PresetSection):
    name, noun, about, label = "teams", "team", "who carries out plans, and who is asked", "team"
    purpose = "Save agents, their tools and who decides about what, and every plan can be made for them."
    permission = "plans.add_team"
    saved, begins = Team, "plan-new"

    def tools(self) -> Iterator[tuple[str, str, str]]:
        current = Team.objects.available().exclude(current=None).values("current")
        agents = TeamAgentRow.objects.filter(version__in=current).select_related("version")
        for agent in agents.order_by("version__name", "seat"):
            address = reverse("team", args=[agent.version.team_id])
            yield from ((name, agent.version.name, address) for name in agent.tools_now)

    def describe(self, one: Team) -> tuple[list[str], list[str]]:
        agents = list(one.current.agents.all()) if one.current else []
        texts = [text for agent in agents for text in (agent.name, agent.description, *agent.tools)]
        return [agent.name for agent in agents], texts


TeamContentDict = Mapping[str, Any]
"""Content of a team version, as `TeamVersion.held` returns it."""

CHANGE_TEXT = {
    "description": "What it is for was rewritten.",
    "planner": "Another model plans.",
    "policy": "Who is asked changed.",
    "examples": "The tasks to try are others.",
}
AGENT_FIELDS = {
    "description": "What {name} does was rewritten.",
    "system": "What {name} is told was rewritten.",
    "model": "{name} asks another model.",
    "fallback": "{name} has another fallback.",
}


def describe_changes(before: tuple[str, TeamContentDict], after: tuple[str, TeamContentDict]) -> list[str]:
    """Return one sentence for each change; `before` and `after` are name and content."""
    (old_name, old), (new_name, new) = before, after
    renamed = [f"The team was renamed from {old_name} to {new_name}."] if old_name != new_name else []
    other = [sentence for name, sentence in CHANGE_TEXT.items() if old[name] != new[name]]
    return [*renamed, *_agents(old, new), *other]


def _agents(before: TeamContentDict, after: TeamContentDict) -> Iterator[str]:
    was, now = ({one["name"]: one for one in held["agents"]} for held in (before, after))
    yield from (f"{name} is new." for name in now if name not in was)
    yield from (f"{name} is gone." for name in was if name not in now)
    for name in now.keys() & was.keys():
        yield from _of_agent(name, was[name], now[name])


def _of_agent(name: str, was: TeamContentDict, now: TeamContentDict) -> Iterator[str]:
    yield from (sentence.format(name=name) for key, sentence in AGENT_FIELDS.items() if was[key] != now[key])
    gained, lost = sorted({*now["tools"]} - {*was["tools"]}), sorted({*was["tools"]} - {*now["tools"]})
    if gained:
        yield f"{name} has {', '.join(gained)} now."
    if lost:
        yield f"{name} has {', '.join(lost)} no more."
