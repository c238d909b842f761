"""What a procedure keeps to be used again, as the library lists it. Each procedure says which shelves it has."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from django.db.models.functions import Lower
from django.urls import reverse

from ..formatting import user_label
from ..rights import User


@dataclass(frozen=True)
class LibraryItem:
    """One thing on a shelf. `key`: what the label of its runs says; `texts`: what it is found by, beside its name.

    `bring_back` is where an archived one is sent to be offered again, by those who may; else empty.
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
    """Things of one sort. `label`: that of the runs which used one of them."""

    name: ClassVar[str]  # as it is headed, and as addresses say it
    noun: ClassVar[str]
    about: ClassVar[str]  # a few words beside the name
    purpose: ClassVar[str]  # a sentence that stands where there is none yet
    label: ClassVar[str]
    permission: ClassVar[str]  # to make another

    @property
    def address(self) -> str:
        """The library with this shelf alone."""
        raise NotImplementedError

    @property
    def new(self) -> str:
        """Where another one is made."""
        raise NotImplementedError

    def count(self) -> int:
        """How many there are, without those that are archived."""
        raise NotImplementedError

    def tools(self) -> Iterator[tuple[str, str, str]]:
        """Of what is offered: a tool that is in it, and what has it, with its address."""
        return iter(())

    def items(self, user: User) -> list[LibraryItem]:
        """All of them, in the order in which they are shown."""
        raise NotImplementedError


class PresetSection(LibrarySection):
    """Of what is kept in versions (`runs/presets/`). Its pages are called by its name and its noun."""

    saved: ClassVar[Any]  # the model
    begins: ClassVar[str]  # the page on which one is used

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
        """What it holds, each in a few words, and the texts that it is found by."""
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
