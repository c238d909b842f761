"""What crews know, as the library lists it."""

from django.db.models import Count
from django.urls import reverse

from runs.rights import User
from runs.shelves import Item, Shelf

from .models import Memory, MemoryVersion


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
