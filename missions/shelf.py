"""Crews, and what they know, as the library lists them."""

from collections.abc import Iterator

from django.db.models import Count
from django.urls import reverse

from runs.rights import User
from runs.shelves import Item, SavedShelf, Shelf

from .models import Crew, Memory, MemoryVersion


class Crews(SavedShelf):
    name, noun, about, label = "crews", "crew", "who pursues a goal in a sandbox", "crew"
    purpose = "Save agents and what they may use, and every mission can be begun with them."
    permission = "missions.add_crew"
    saved, begins = Crew, "mission-new"

    def tools(self) -> Iterator[tuple[str, str, str]]:
        for crew in Crew.objects.offered().whole():
            address = reverse("crew", args=[crew.pk])
            for agent in crew.current.agents if crew.current else ():
                yield from ((name, crew.name, address) for name in agent["tools"] or ())

    def told(self, one: Crew) -> tuple[list[str], list[str]]:
        agents = one.current.agents if one.current else []
        texts = [agent[part] for agent in agents for part in ("name", "description")]
        return [agent["name"] for agent in agents], texts


class Memories(Shelf):
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
