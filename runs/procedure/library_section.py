"""Sections of the library: what a procedure saves for reuse."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from django.db.models.functions import Lower
from django.urls import reverse

from ..formatting import user_label
from ..rights import User


@dataclass(frozen=True)
class LibraryItem:
    """One entry of a section.

    `key` is the value of the label on runs that used it. `texts` are searched in addition to `name`. `bring_back` is
    the address that restores an archived item; empty unless the user may restore it.
    """

    key: int
    name: str
    address: str
    use: str
    holds: str
    texts: Sequence[str]
    version: int
    owner: str
    is_mine: bool
    archived: bool
    locked: bool
    bring_back: str


class LibrarySection:
    """Saved items of one sort. `label` is the label of runs that used one of them."""

    name: ClassVar[str]  # heading, also used in addresses
    noun: ClassVar[str]
    about: ClassVar[str]  # a few words next to the name
    purpose: ClassVar[str]  # the sentence shown while the section is empty
    label: ClassVar[str]
    permission: ClassVar[str]  # permission to create an item

    @property
    def address(self) -> str:
        """Return the address of the library with only this section."""
        raise NotImplementedError

    @property
    def new(self) -> str:
        """Return the address of the page that creates an item."""
        raise NotImplementedError

    def count(self) -> int:
        """Return the number of items that are not archived."""
        raise NotImplementedError

    def tools(self) -> Iterator[tuple[str, str, str]]:
        """Yield each tool that an available item uses, with the item's name and address."""
        return iter(())

    def items(self, user: User) -> list[LibraryItem]:
        """Return all items in display order."""
        raise NotImplementedError


class PresetSection(LibrarySection):
    """A section of presets (`runs/presets/`). Its pages are named after its `name` and `noun`."""

    saved: ClassVar[Any]  # the model
    begins: ClassVar[str]  # name of the page that starts a run with one

    @property
    def address(self) -> str:
        return reverse(self.name)

    @property
    def new(self) -> str:
        return reverse(f"{self.noun}-new")

    def count(self) -> int:
        return int(self.saved.objects.available().count())

    def items(self, user: User) -> list[LibraryItem]:
        return [self._item(one, user) for one in self.saved.objects.with_content().order_by(Lower("name"))]

    def describe(self, one: Any) -> tuple[Iterable[str], Sequence[str]]:
        """Return the contents in a few words each, and the texts to search."""
        raise NotImplementedError

    def _item(self, one: Any, user: User) -> LibraryItem:
        holds, texts = self.describe(one)
        back = one.archived and one.is_editable_by(user)
        return LibraryItem(
            key=one.pk,
            name=one.name,
            address=reverse(self.noun, args=[one.pk]),
            use=f"{reverse(self.begins)}?{self.noun}={one.pk}",
            holds=", ".join(holds),
            texts=texts,
            version=one.number,
            owner=user_label(one.owner),
            is_mine=one.owner_id == user.pk,
            archived=one.archived is not None,
            locked=one.locked is not None,
            bring_back=reverse(f"{self.noun}-switch", args=[one.pk]) if back else "",
        )
