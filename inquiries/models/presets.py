"""Rosters in numbered versions: models and critics for the roles of inquiries.

Why so: engine/DESIGN.md, One house for all procedures.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Self
from uuid import UUID

from django.db import models

from engine.councils import CouncilUnknown, CouncilUse, find_council, with_earlier_id
from engine.ledger.immutability import Immutable
from runs.forms import parse_number
from runs.presets import Preset, PresetChange, PresetOutOfDate, PresetQuerySet, PresetVersionInColumns

ROSTERS = UUID("6d616769-0000-4000-8000-726f73746572")  # chain of the entries of all rosters; no run has this key
ROSTER = "roster"  # kind of these entries
ABOUT_LENGTH = 300
COUNCIL = "council:"  # prefix of a role's value if a council has the role


class InquiryTeamChanged(PresetOutOfDate):
    """The roster version of a submission is no longer the current one."""


class InquiryTeamQuerySet(PresetQuerySet):
    def with_content(self) -> Self:
        return self.select_related("owner", "current")


class Roster(Preset):
    """A named set of roles for inquiries."""

    current = models.OneToOneField("RosterVersion", on_delete=models.PROTECT, null=True, related_name="+")

    objects = InquiryTeamQuerySet.as_manager()
    immutable = None

    class Meta:
        ordering = ["pk"]


class RosterVersion(PresetVersionInColumns):
    """`posts`: values of the fields of `forms.RoleFields` that differ from the defaults."""

    of, out_of_date, holds = "roster", InquiryTeamChanged, ("about", "posts")

    roster = models.ForeignKey(Roster, on_delete=models.PROTECT, related_name="versions")
    about = models.CharField(max_length=ABOUT_LENGTH, blank=True)
    posts = models.JSONField()
    immutable = Immutable(unlinked="author")

    class Meta:
        ordering = ["-number"]
        constraints = [models.UniqueConstraint("roster", "number", name="one_roster_version_per_number")]

    @classmethod
    def columns(cls, held: Mapping[str, Any]) -> dict[str, Any]:
        return written_content(held)


class RosterChange(PresetChange):
    chain, entry, whose = ROSTERS, ROSTER, "roster_id"

    roster = models.ForeignKey(Roster, on_delete=models.PROTECT, related_name="changes")
    version = models.ForeignKey(RosterVersion, on_delete=models.PROTECT, null=True, related_name="+")
    immutable = Immutable()

    class Meta:
        ordering = ["pk"]
        default_permissions = ()

    def held(self) -> dict[str, Any]:
        return {"holds": self.version.held() if self.version else None}


def written_content(held: Mapping[str, Any]) -> dict[str, Any]:
    posts = {name: with_council_by_id(value) for name, value in held["posts"].items() if value}
    return {"about": held.get("about", ""), "posts": posts}


def with_council_by_id(value: Any) -> Any:
    """Return a role's value for storage: a council's name is replaced by its id."""
    if not isinstance(value, str) or not value.startswith(COUNCIL):
        return value
    try:
        return f"{COUNCIL}{find_council(value.removeprefix(COUNCIL)).id}"
    except CouncilUnknown:
        return value


def posts_of(version: RosterVersion) -> dict[str, str]:
    """Return the roles of a version. Old versions have names of councils; these are replaced by ids, if known."""
    return {name: _with_earlier_id(value) for name, value in version.posts.items()}


def _with_earlier_id(value: Any) -> Any:
    if not isinstance(value, str) or not value.startswith(COUNCIL) or parse_number(name := value.removeprefix(COUNCIL)):
        return value
    known = with_earlier_id({"council": name})["council_id"]
    return f"{COUNCIL}{known}" if known else value


def council_uses() -> Iterator[CouncilUse]:
    """Yield the councils in available rosters."""
    for roster in Roster.objects.available().select_related("current"):
        for said in posts_of(roster.current).values() if roster.current else ():
            if str(said).startswith(COUNCIL) and (council := parse_number(said.removeprefix(COUNCIL))):
                yield CouncilUse(council, f"the roster “{roster.name}”")
