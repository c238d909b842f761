"""Panels: members, options and rules that debates can start from, in numbered versions.

Why so: engine/DESIGN.md, One house for all procedures.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Self
from uuid import UUID

from django.conf import settings
from django.db import models
from django.db.models import Q

from engine.ledger.immutability import Immutable
from engine.text.invisible_chars import visible_text
from runs.presets import Preset, PresetChange, PresetOutOfDate, PresetQuerySet, PresetVersion

from ..rules import state as rules
from ..rules.outcome import DecisionRule
from .constants import (
    DEFAULT_REPLY_HOURS,
    MEANING_LENGTH,
    MOST_MEMBERS,
    NAME_LENGTH,
    SWITCHES,
    WHO_LENGTH,
    WORD_LENGTH,
    HistoryView,
    MemberDict,
    OptionDict,
    OptionDirection,
    active_switches,
)

PANELS = UUID("6d616769-0000-4000-8000-70616e656c73")  # key of the audit chain that all panels share; no run has it
PANEL = "panel"  # the kind of its entries
RULES = ("rule", "timekeeper", "view")  # a debate by a panel has these unchanged
BOUNDS = ("most", "reply_within")  # each debate may change these


class PanelChanged(PresetOutOfDate):
    """The panel has changed since the values of a debate were taken from it."""


class PanelQuerySet(PresetQuerySet):
    def with_content(self) -> Self:
        """Load the current version and its content too, in three queries."""
        return self.select_related("owner", "current").prefetch_related("current__seats", "current__options")


class Panel(Preset):
    """Members, options and rules to start a debate from."""

    current = models.OneToOneField("PanelVersion", on_delete=models.PROTECT, null=True, related_name="+")

    objects = PanelQuerySet.as_manager()
    immutable = None

    class Meta:
        ordering = ["pk"]


class PanelVersion(PresetVersion):
    of, out_of_date = "panel", PanelChanged

    panel = models.ForeignKey(Panel, on_delete=models.PROTECT, related_name="versions")
    rule = models.CharField(max_length=20, default=DecisionRule.MAJORITY.value)
    timekeeper = models.CharField(max_length=200, blank=True)
    view = models.CharField(max_length=20, choices=HistoryView, default=HistoryView.PERSPECTIVE)
    most = models.PositiveSmallIntegerField(default=rules.USUAL_MOST)
    reply_within = models.PositiveIntegerField(null=True)
    first = models.BooleanField(default=True)
    reply = models.BooleanField(default=True)
    call = models.BooleanField(default=True)
    challenge = models.BooleanField(default=True)
    free_floor = models.BooleanField(default=False)
    advisory = models.BooleanField(default=False, db_default=False)
    immutable = Immutable(unlinked="author")

    class Meta:
        ordering = ["-number"]
        constraints = [
            models.UniqueConstraint("panel", "number", name="one_panel_version_per_number"),
            models.CheckConstraint(name="panel_rule_known", condition=Q(rule__in=[str(rule) for rule in DecisionRule])),
            models.CheckConstraint(name="panel_view_known", condition=Q(view__in=HistoryView.values)),
            models.CheckConstraint(name="panel_most", condition=Q(most__gte=rules.LEAST_MOST, most__lte=rules.MOST)),
        ]

    @property
    def names(self) -> str:
        return ", ".join(seat.name for seat in self.seats.all())

    def held(self) -> dict[str, Any]:
        """Return the content as saved; an open model stays empty."""
        return {
            "options": [option.values() for option in self.options.all()],
            "members": [seat.values() for seat in self.seats.all()],
            **{name: getattr(self, name) for name in (*RULES, *BOUNDS)},
            "switches": {name: getattr(self, name) for name in SWITCHES},
        }

    def values(self) -> dict[str, Any]:
        """Return the content in the form that a new debate takes: with the default model where one is open, and an
        unnamed person where a person sits."""
        members = [seat.as_member() for seat in self.seats.all()]
        return {**self.held(), "members": members}

    def has(self, asked: Mapping[str, Any]) -> bool:
        """Return whether a debate with these values is by this panel; one changed field makes it different."""
        return _compared(self.values()) == _compared(asked) and [seat.person for seat in self.seats.all()] == [
            bool(member.get("user")) for member in asked["members"]
        ]

    def has_same_content(self, name: str, held: Mapping[str, Any]) -> bool:
        return (self.name, self.held()) == (name, written_content(held))

    @classmethod
    def columns(cls, held: Mapping[str, Any]) -> dict[str, Any]:
        held = written_content(held)
        return {**{name: held[name] for name in (*RULES, *BOUNDS)}, **held["switches"]}

    def set_content(self, held: Mapping[str, Any]) -> None:
        held = written_content(held)
        members, options = enumerate(held["members"], 1), enumerate(held["options"], 1)
        PanelSeat.objects.bulk_create(PanelSeat(version=self, seat=seat, **one) for seat, one in members)
        PanelOption.objects.bulk_create(PanelOption(version=self, number=number, **one) for number, one in options)


class PanelSeat(models.Model):
    """One seat of a panel version. An empty model means the installation's default model, or, with `person`, a
    person whom each debate names."""

    version = models.ForeignKey(PanelVersion, on_delete=models.CASCADE, related_name="seats")
    seat = models.PositiveSmallIntegerField()
    name = models.CharField(max_length=NAME_LENGTH)
    who = models.TextField(max_length=WHO_LENGTH, blank=True)
    model = models.CharField(max_length=200, blank=True)
    fallback = models.CharField(max_length=200, blank=True)
    person = models.BooleanField(default=False)
    immutable = Immutable()

    class Meta:
        ordering = ["seat"]
        default_permissions = ()
        constraints = [
            models.UniqueConstraint("version", "seat", name="one_panel_seat_per_number"),
            models.UniqueConstraint("version", "name", name="one_panel_seat_per_name"),
            models.CheckConstraint(name="panel_seat_known", condition=Q(seat__gte=1, seat__lte=MOST_MEMBERS)),
            models.CheckConstraint(
                name="panel_person_has_no_model", condition=Q(person=False) | Q(model="", fallback="")
            ),
        ]

    def __str__(self) -> str:
        return visible_text(self.name)

    def values(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in SEAT}

    def as_member(self) -> MemberDict:
        model = "" if self.person else self.model or settings.DEFAULT_MODEL
        return {"name": self.name, "who": self.who, "model": model, "fallback": self.fallback}


class PanelOption(models.Model):
    version = models.ForeignKey(PanelVersion, on_delete=models.CASCADE, related_name="options")
    number = models.PositiveSmallIntegerField()
    word = models.CharField(max_length=WORD_LENGTH)
    meaning = models.CharField(max_length=MEANING_LENGTH, blank=True)
    direction = models.CharField(max_length=10, choices=OptionDirection, default=OptionDirection.BETWEEN)
    immutable = Immutable()

    class Meta:
        ordering = ["number"]
        default_permissions = ()
        constraints = [
            models.UniqueConstraint("version", "number", name="one_panel_option_per_number"),
            models.UniqueConstraint("version", "word", name="one_panel_option_per_word"),
            models.CheckConstraint(name="panel_option_direction", condition=Q(direction__in=OptionDirection.values)),
        ]

    def __str__(self) -> str:
        return visible_text(self.word)

    def values(self) -> OptionDict:
        return {"word": self.word, "meaning": self.meaning, "direction": self.direction}


class PanelChange(PresetChange):
    chain, entry, whose = PANELS, PANEL, "panel_id"
    told_with = ("version__seats", "version__options")

    panel = models.ForeignKey(Panel, on_delete=models.PROTECT, related_name="changes")
    version = models.ForeignKey(PanelVersion, on_delete=models.PROTECT, null=True, related_name="+")
    immutable = Immutable()

    class Meta:
        ordering = ["pk"]
        default_permissions = ()

    def held(self) -> dict[str, Any]:
        """Return the content for the entry. The newer switch `advisory` is included only if it is on, so that older
        entries stay valid."""
        if not self.version:
            return {"holds": None}
        held = self.version.held()
        switches = {name: on for name, on in held["switches"].items() if on or name != "advisory"}
        return {"holds": {**held, "switches": switches}}


# ---- content as saved --------------------------------------------------------------------------------------

SEAT = ("name", "who", "model", "fallback", "person")
NOBODY: dict[str, Any] = {"who": "", "model": "", "fallback": "", "person": False}
NOTHING: OptionDict = {"meaning": "", "direction": OptionDirection.BETWEEN.value}
DEFAULTS: dict[str, Any] = {
    **{"rule": DecisionRule.MAJORITY.value, "timekeeper": "", "view": HistoryView.PERSPECTIVE.value},
    **{"most": rules.USUAL_MOST, "reply_within": DEFAULT_REPLY_HOURS},
}


def written_content(held: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content with defaults for what was left out."""
    members = [{name: {**NOBODY, **member}[name] for name in SEAT} for member in held["members"]]
    options: Sequence[OptionDict] = [{**NOTHING, **option} for option in held["options"]]
    own = {name: held.get(name, DEFAULTS.get(name)) for name in (*RULES, *BOUNDS)}
    return {"options": options, "members": members, **own, "switches": active_switches(held.get("switches") or {})}


def _compared(values: Mapping[str, Any]) -> dict[str, Any]:
    held = written_content(values)
    return {name: held[name] for name in ("options", "members", *RULES, "switches")}
