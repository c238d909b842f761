"""The teams as the library lists them."""

from collections.abc import Iterator

from django.db.models.functions import Lower
from django.urls import reverse

from runs.rights import User
from runs.shelves import Item, Shelf
from runs.words import shown_name

from .models import Team, TeamAgent


class Teams(Shelf):
    name, noun, about, label = "teams", "team", "who carries out plans, and who is asked", "team"
    purpose = "Save agents, their tools and who decides about what, and every plan can be made for them."
    permission = "plans.add_team"

    @property
    def address(self) -> str:
        return reverse("teams")

    @property
    def new(self) -> str:
        return reverse("team-new")

    def count(self) -> int:
        return Team.objects.offered().count()

    def tools(self) -> Iterator[tuple[str, str, str]]:
        current = Team.objects.offered().exclude(current=None).values("current")
        agents = TeamAgent.objects.filter(version__in=current).select_related("version")
        for agent in agents.order_by("version__name", "seat"):
            address = reverse("team", args=[agent.version.team_id])
            yield from ((name, agent.version.name, address) for name in agent.tools_now)

    def items(self, user: User) -> list[Item]:
        return [_item(team, user) for team in Team.objects.whole().order_by(Lower("name"))]


def _item(team: Team, user: User) -> Item:
    agents = list(team.current.agents.all()) if team.current else []
    back = team.archived and team.is_editable_by(user)
    return Item(
        key=team.pk,
        name=team.name,
        address=reverse("team", args=[team.pk]),
        use=f"{reverse('plan-new')}?team={team.pk}",
        holds=", ".join(agent.name for agent in agents),
        texts=[text for agent in agents for text in (agent.name, agent.description, *agent.tools)],
        version=team.number,
        owner=shown_name(team.owner),
        is_mine=team.owner_id == user.pk,
        archived=team.archived is not None,
        locked=team.locked is not None,
        bring_back=reverse("team-switch", args=[team.pk]) if back else "",
    )
