"""What a procedure keeps to be used again, as the library lists it. Each procedure says which shelves it has."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from .rights import User


@dataclass(frozen=True)
class Item:
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


class Shelf:
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

    def items(self, user: User) -> list[Item]:
        """All of them, in the order in which they are shown."""
        raise NotImplementedError
