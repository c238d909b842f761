"""What servers of the Model Context Protocol offer, as it was seen, and as an administrator has classed it.

Why so: engine/DESIGN.md, MCP servers.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self
from uuid import UUID

from django.conf import settings
from django.db import models
from django.utils import timezone

from .gates import Gate
from .runs import Run, record_name
from .tool_calls import Effect, definition_of


@dataclass(frozen=True)
class ToolHints:
    """What a server says of its own tool: it fills in a form, and decides nothing."""

    reads: bool = False
    open_world: bool = True
    repeatable: bool = False

    @property
    def effect(self) -> Effect:
        if self.reads:
            return Effect.READS
        return Effect.REACHES_OUT if self.open_world else Effect.WRITES


@dataclass(frozen=True)
class ListedTool:
    """A tool as its server describes it."""

    name: str
    description: str
    schema: dict[str, Any]
    hints: ToolHints = ToolHints()

    @property
    def definition(self) -> str:
        return definition_of(self.description, self.schema)


@dataclass(frozen=True)
class ToolListing:
    """What a server offers, and in a few words each what cannot be offered."""

    tools: Sequence[ListedTool]
    left_out: Sequence[str] = ()


class McpToolQuerySet(models.QuerySet["McpTool"]):
    def usable(self) -> Self:
        """What may be shown to models: classed, and not described otherwise since."""
        return self.filter(gone=None).exclude(classed="").filter(classed=models.F("definition"))

    def waiting(self) -> Self:
        """What an administrator has to class."""
        return self.filter(gone=None).exclude(classed=models.F("definition"))

    def differs_from(self, server: str, listing: ToolListing) -> bool:
        if self._as_seen(server) != {one.name: one.definition for one in listing.tools}:
            return True
        return McpLeftOut.objects.of(server) != [*listing.left_out]

    def _as_seen(self, server: str) -> dict[str, str]:
        return dict(self.filter(server=server, gone=None).values_list("name", "definition"))

    def compared(self, server: str, listing: ToolListing) -> tuple[int, list[str]]:
        """How many of these are on, and the names of those that are described otherwise than they were classed."""
        now = {one.name: one.definition for one in listing.tools}
        rows = [row for row in self.filter(server=server) if row.name in now]
        on = [row for row in rows if row.classed == now[row.name]]
        return len(on), [row.name for row in rows if row not in on and row.effect]

    def record_listing(self, server: str, listing: ToolListing) -> list[UUID]:
        """Keep what a server offers now. A tool that is described otherwise is off until somebody classes it again, and
        nobody is asked any more about what it was; the runs that have to ask anew, which are told so.
        """
        before, told = self._as_seen(server), list[UUID]()
        for one in listing.tools:
            if before.get(one.name) != one.definition:
                self._see_one(server, one)
                told += _ask_no_more(before.get(one.name, ""))
        names = [one.name for one in listing.tools]
        self.filter(server=server, gone=None).exclude(name__in=names).update(gone=timezone.now())
        McpLeftOut.objects.see(server, listing.left_out)
        return told

    def _see_one(self, server: str, one: ListedTool) -> None:
        """One that comes back as it was classed is classed."""
        old = self.filter(server=server, name=one.name).first()
        classed = old.classed if old and old.classed == one.definition == old.definition else ""
        values: dict[str, Any] = {
            "description": one.description,
            "schema": json.dumps(one.schema),
            "definition": one.definition,
        }
        values |= {"hinted": one.hints.effect, "hinted_repeatable": one.hints.repeatable, "gone": None}
        values |= {"classed": classed, "seen": timezone.now()}
        self.update_or_create(server=server, name=one.name, defaults=values)


def _ask_no_more(definition: str) -> list[UUID]:
    """About what stands under this definition: its hash is in the text of every gate that lets the tool be used."""
    if not definition:
        return []
    about = Gate.objects.pending().filter(text__contains=definition)
    runs = list(about.order_by("run").values_list("run", flat=True).distinct())
    for run in runs:
        Run.objects.wake(run)  # first of all: whoever decides meanwhile waits for its row
    Gate.objects.filter(pk__in=list(about.values_list("pk", flat=True))).void()
    return runs


class McpTool(models.Model):
    """A tool of a server. `definition` is of what was seen last, `classed` that of what an administrator has read:
    only where both are one the tool is on. `hinted` is the server's own word. `gone`: it is not offered any more."""

    server = models.CharField(max_length=40)
    name = models.CharField(max_length=64)
    description = models.TextField(blank=True)
    schema = models.TextField()
    definition = models.CharField(max_length=64)
    hinted = models.CharField(max_length=12, choices=Effect)
    hinted_repeatable = models.BooleanField(default=False)
    seen = models.DateTimeField()
    gone = models.DateTimeField(null=True)
    effect = models.CharField(max_length=12, choices=Effect, blank=True)
    repeatable = models.BooleanField(default=False, help_text="Safe to do twice: where it was cut, it is done again.")
    outside = models.BooleanField(
        default=True, help_text="It brings text of strangers: after it nothing is changed unasked."
    )
    classed = models.CharField(max_length=64, blank=True)
    allowed_by = models.CharField(max_length=150, blank=True)
    allowed_by_user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+", editable=False
    )
    allowed = models.DateTimeField(null=True)

    objects = McpToolQuerySet.as_manager()
    immutable = None

    class Meta:
        ordering = ["server", "name"]
        default_permissions = ()
        permissions = [("class_tool", "Can say what tools of MCP servers do, and so let models use them")]
        verbose_name = "MCP tool"
        constraints = [models.UniqueConstraint(fields=["server", "name"], name="one_mcp_tool_of_a_name")]

    def __str__(self) -> str:
        return f"mcp.{self.server}.{self.name}"

    @property
    def is_enabled(self) -> bool:
        return self.gone is None and self.classed == self.definition != ""

    @property
    def status(self) -> str:
        """Whether models see it, and as what, in a few words."""
        if self.gone:
            return "off: the server does not offer it any more"
        if self.changed:
            return "off: it is described otherwise than it was classed"
        if not self.is_enabled:
            return f"off: nobody has said what it does (the server says: {self.get_hinted_display().lower()})"
        more = [self.get_effect_display().lower(), "may be done twice" if self.repeatable else ""]
        more += ["brings text of strangers" if self.outside else ""]
        return f"on: {', '.join(filter(None, more))}, says {self.allowed_by or 'the command line'}"

    @property
    def changed(self) -> bool:
        """Whether it was classed once, and is described otherwise since."""
        return bool(self.effect) and not self.is_enabled and self.gone is None

    def classify(self, effect: str, repeatable: bool, outside: bool, by: Any, definition: str) -> bool:
        """False, and nothing is kept, where it is described otherwise than `by` has read."""
        said = {"effect": effect, "repeatable": repeatable, "outside": outside, "classed": definition}
        said |= {"allowed_by": record_name(by), "allowed_by_user": by, "allowed": timezone.now()}
        return bool(McpTool.objects.filter(pk=self.pk, definition=definition).update(**said))

    def disable(self) -> list[UUID]:
        """The runs that are told so."""
        told = _ask_no_more(self.definition)
        McpTool.objects.filter(pk=self.pk).update(classed="", effect="")
        return told


class McpLeftOutQuerySet(models.QuerySet["McpLeftOut"]):
    def of(self, server: str) -> list[str]:
        return list(self.filter(server=server).values_list("why", flat=True))

    def see(self, server: str, left_out: Sequence[str]) -> None:
        if self.of(server) == [*left_out]:
            return
        self.filter(server=server).delete()
        self.bulk_create([self.model(server=server, why=one) for one in left_out])


class McpLeftOut(models.Model):
    """What a server offered at the last look and could not be taken, with the reason: “draw has no schema of an
    object”."""

    server = models.CharField(max_length=40)
    why = models.TextField()
    seen = models.DateTimeField(default=timezone.now)

    objects = McpLeftOutQuerySet.as_manager()
    immutable = None

    class Meta:
        ordering = ["server", "pk"]
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.server}: {self.why}"
