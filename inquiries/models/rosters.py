"""Rosters: who holds the posts of an inquiry, in numbered versions.

Why so: docs/decisions.md, One house for all procedures.
"""

from collections.abc import Mapping
from typing import Any, Self
from uuid import UUID

from django.db import models

from runs.saved import OutOfDate, Saved, SavedChange, SavedQuerySet, VersionInColumns

ROSTERS = UUID("6d616769-0000-4000-8000-726f73746572")  # the one chain of all rosters; no run has this key
ROSTER = "roster"  # the kind of its entries
ABOUT_LENGTH = 300


class RosterChanged(OutOfDate):
    """What an inquiry was to start from is no longer what the roster is."""


class RosterQuerySet(SavedQuerySet):
    def whole(self) -> Self:
        return self.select_related("owner", "current")


class Roster(Saved):
    """Who holds which post, to ask questions with."""

    current = models.OneToOneField("RosterVersion", on_delete=models.PROTECT, null=True, related_name="+")

    objects = RosterQuerySet.as_manager()

    class Meta:
        ordering = ["pk"]


class RosterVersion(VersionInColumns):
    """`posts`: what a new inquiry says of its posts, by the names of its fields; what is not said is left out."""

    of, out_of_date, holds = "roster", RosterChanged, ("about", "posts")

    roster = models.ForeignKey(Roster, on_delete=models.PROTECT, related_name="versions")
    about = models.CharField(max_length=ABOUT_LENGTH, blank=True)
    posts = models.JSONField()

    class Meta:
        ordering = ["-number"]
        constraints = [models.UniqueConstraint("roster", "number", name="one_roster_version_per_number")]

    @classmethod
    def columns(cls, held: Mapping[str, Any]) -> dict[str, Any]:
        return written(held)


class RosterChange(SavedChange):
    chain, entry, whose = ROSTERS, ROSTER, "roster_id"

    roster = models.ForeignKey(Roster, on_delete=models.PROTECT, related_name="changes")
    version = models.ForeignKey(RosterVersion, on_delete=models.PROTECT, null=True, related_name="+")

    class Meta:
        ordering = ["pk"]
        default_permissions = ()

    def held(self) -> dict[str, Any]:
        return {"holds": self.version.held() if self.version else None}


def written(held: Mapping[str, Any]) -> dict[str, Any]:
    posts = {name: said for name, said in held["posts"].items() if said}
    return {"about": held.get("about", ""), "posts": posts}
