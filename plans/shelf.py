"""The teams as the library lists them."""

from collections.abc import Iterator

from django.urls import reverse

from runs.shelves import SavedShelf

from .models import Team, TeamAgent


class Teams(SavedShelf):
    name, noun, about, label = "teams", "team", "who carries out plans, and who is asked", "team"
    purpose = "Save agents, their tools and who decides about what, and every plan can be made for them."
    permission = "plans.add_team"
    saved, begins = Team, "plan-new"

    def tools(self) -> Iterator[tuple[str, str, str]]:
        current = Team.objects.offered().exclude(current=None).values("current")
        agents = TeamAgent.objects.filter(version__in=current).select_related("version")
        for agent in agents.order_by("version__name", "seat"):
            address = reverse("team", args=[agent.version.team_id])
            yield from ((name, agent.version.name, address) for name in agent.tools_now)

    def told(self, one: Team) -> tuple[list[str], list[str]]:
        agents = list(one.current.agents.all()) if one.current else []
        texts = [text for agent in agents for text in (agent.name, agent.description, *agent.tools)]
        return [agent.name for agent in agents], texts
