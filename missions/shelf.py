"""Crews, and what they know, as the library lists them."""

from collections.abc import Iterator

from django.db.models import Count
from django.db.models.functions import Lower
from django.urls import reverse

from runs.rights import User
from runs.shelves import Item, Shelf
from runs.words import shown_name

from .models import Crew, Memory, MemoryVersion


class Crews(Shelf):
    name, noun, about, label = "crews", "crew", "who pursues a goal in a sandbox", "crew"
    purpose = "Save agents and what they may use, and every mission can be begun with them."
    permission = "missions.add_crew"

    @property
    def address(self) -> str:
        return reverse("crews")

    @property
    def new(self) -> str:
        return reverse("crew-new")

    def count(self) -> int:
        return Crew.objects.offered().count()

    def tools(self) -> Iterator[tuple[str, str, str]]:
        for crew in Crew.objects.offered().whole():
            address = reverse("crew", args=[crew.pk])
            for agent in crew.current.agents if crew.current else ():
                yield from ((name, crew.name, address) for name in agent["tools"] or ())

    def items(self, user: User) -> list[Item]:
        return [_crew(one, user) for one in Crew.objects.whole().order_by(Lower("name"))]


def _crew(crew: Crew, user: User) -> Item:
    agents = crew.current.agents if crew.current else []
    back = crew.archived and crew.is_editable_by(user)
    return Item(
        key=crew.pk,
        name=crew.name,
        address=reverse("crew", args=[crew.pk]),
        use=f"{reverse('mission-new')}?crew={crew.pk}",
        holds=", ".join(one["name"] for one in agents),
        texts=[text for one in agents for text in (one["name"], one["description"])],
        version=crew.number,
        owner=shown_name(crew.owner),
        is_mine=crew.owner_id == user.pk,
        archived=crew.archived is not None,
        locked=crew.locked is not None,
        bring_back=reverse("crew-switch", args=[crew.pk]) if back else "",
    )


class Memories(Shelf):
    name, noun, about, label = "memories", "memory", "what crews know from one mission to the next", "memory"
    purpose = "What agents propose stands here too; it is used once somebody has accepted it."
    permission = "missions.add_memory"

    @property
    def address(self) -> str:
        return reverse("memories")

    @property
    def new(self) -> str:
        return reverse("memory-new")

    def count(self) -> int:
        return Memory.objects.aggregate(Count("pk"))["pk__count"]

    def items(self, user: User) -> list[Item]:
        return [_item(one) for one in MemoryVersion.objects.current().order_by("memory__folded")]


def _item(one: MemoryVersion) -> Item:
    return Item(
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
