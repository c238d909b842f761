"""Rosters: who holds the posts of an inquiry, in numbered versions.

Why so: docs/decisions.md, One house for all procedures.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Self
from uuid import UUID

from django.db import models

from engine.councils import CouncilUnknown, CouncilUse, find_council, with_earlier_id
from engine.ledger.immutability import Immutable
from runs.forms import parse_number
from runs.presets import Preset, PresetChange, PresetOutOfDate, PresetQuerySet, PresetVersionInColumns

ROSTERS = UUID("6d616769-0000-4000-8000-726f73746572")  # the one chain of all rosters; no run has this key
ROSTER = "roster"  # the kind of its entries
ABOUT_LENGTH = 300
COUNCIL = "council:"  # what is said of a post that a council holds begins so


class InquiryTeamChanged(PresetOutOfDate):
    """What an inquiry was to start from is no longer what the roster is."""


class InquiryTeamQuerySet(PresetQuerySet):
    def with_content(self) -> Self:
        return self.select_related("owner", "current")


class Roster(Preset):
    """Who holds which post, to ask questions with."""

    current = models.OneToOneField("RosterVersion", on_delete=models.PROTECT, null=True, related_name="+")

    objects = InquiryTeamQuerySet.as_manager()
    immutable = None

    class Meta:
        ordering = ["pk"]


class RosterVersion(PresetVersionInColumns):
    """`posts`: what a new inquiry says of its posts, by the names of its fields; what is not said is left out."""

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
    posts = {name: with_council_by_id(said) for name, said in held["posts"].items() if said}
    return {"about": held.get("about", ""), "posts": posts}


def with_council_by_id(said: Any) -> Any:
    """What is said of a post, as it is saved: a council that is named is `council:` and its id."""
    if not isinstance(said, str) or not said.startswith(COUNCIL):
        return said
    try:
        return f"{COUNCIL}{find_council(said.removeprefix(COUNCIL)).id}"
    except CouncilUnknown:
        return said


def posts_of(version: RosterVersion) -> dict[str, str]:
    """As it says them, also one that was saved when councils were named by their names alone."""
    return {name: _with_earlier_id(said) for name, said in version.posts.items()}


def _with_earlier_id(said: Any) -> Any:
    if not isinstance(said, str) or not said.startswith(COUNCIL) or parse_number(name := said.removeprefix(COUNCIL)):
        return said
    known = with_earlier_id({"council": name})["council_id"]
    return f"{COUNCIL}{known}" if known else said


def council_uses() -> Iterator[CouncilUse]:
    """Of all rosters that inquiries can be begun with."""
    for roster in Roster.objects.available().select_related("current"):
        for said in posts_of(roster.current).values() if roster.current else ():
            if str(said).startswith(COUNCIL) and (council := parse_number(said.removeprefix(COUNCIL))):
                yield CouncilUse(council, f"the roster “{roster.name}”")
