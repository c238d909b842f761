"""Which council a policy means: it may be written with a name, and what counts is the id that it is saved with.

Why so: engine/DESIGN.md, Gates.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple, Protocol

from django.conf import settings


class CouncilUnknown(Exception):
    """No council, or more than one, can be meant. The text is a sentence for people."""


class NamedCouncil(NamedTuple):
    """`name`: the one that it has now."""

    id: int
    name: str
    archived: bool


class CouncilUse(NamedTuple):
    """Something saved that lets the council of this id decide. `by`: what it is called, as in: the team “Office”."""

    council_id: int
    by: str


class CouncilRegister(Protocol):
    """What the module that `settings.COUNCILS` names has to offer."""

    def find(self, which: str, saved_id: int | None) -> NamedCouncil: ...

    def by_id(self, pk: int) -> NamedCouncil | None: ...

    def offered(self) -> list[NamedCouncil]: ...

    def earlier_id(self, name: str) -> int | None: ...


def _register() -> CouncilRegister | None:
    register: Any = import_module(settings.COUNCILS) if settings.DECIDERS else None
    return register


def find_council(which: str, saved_id: int | None = None) -> NamedCouncil:
    """By its id, or by a name that no other council has ever had. CouncilUnknown.

    `saved_id`: the one that was meant by this name before. It still is, whoever else was called so since.
    """
    if register := _register():
        return register.find(which, saved_id)
    raise CouncilUnknown("No council can be asked here.")


def council_by_id(pk: int) -> NamedCouncil | None:
    return register.by_id(pk) if (register := _register()) else None


def offered_councils() -> list[NamedCouncil]:
    """Those that could be asked now: for whoever chooses one."""
    return register.offered() if (register := _register()) else []


def council_complaint(which: str, saved_id: int | None = None) -> str:
    """Why no council could be asked by this name or id, in a sentence; empty where one could."""
    try:
        found = find_council(which, saved_id)
    except CouncilUnknown as unknown:
        return str(unknown)
    return f"The council “{found.name}” is archived." if found.archived else ""


def with_council_id(policy: Mapping[str, Any]) -> dict[str, Any]:
    """The policy as it is saved: with the id of the council that it names. None where no one council is meant by that
    name: then a person is asked, also when somebody takes the name later."""
    if not policy.get("council"):
        return {name: value for name, value in policy.items() if name != "council_id"}
    try:
        found = find_council(policy["council"], policy.get("council_id"))
    except CouncilUnknown:
        return {**policy, "council_id": None}
    return {**policy, "council": found.name, "council_id": found.id}


def with_earlier_id(policy: Mapping[str, Any]) -> dict[str, Any]:
    """A policy that was saved when councils were named by their names alone, with what its name meant then."""
    if not policy.get("council") or "council_id" in policy:
        return dict(policy)
    register = _register()
    return {**policy, "council_id": register.earlier_id(policy["council"]) if register else None}


def with_name_now(policy: Mapping[str, Any]) -> dict[str, Any]:
    """The policy to be shown: its council as it is called now."""
    known = with_earlier_id(policy).get("council_id")
    found = council_by_id(known) if known else None
    return {**policy, "council": found.name} if found else dict(policy)
