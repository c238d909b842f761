"""What an installation wants to be decided, beside what a procedure asks for itself.

Why so: engine/DESIGN.md, Gates.
"""

from collections.abc import Iterable
from typing import Any

from django.core.exceptions import ValidationError
from django.db import models

from engine.councils import council_complaint, with_council_id
from engine.db import cached_sql
from engine.policy import BOTH, asks_council

APPROVER_CHOICES = [("", "as the procedure says"), ("person", "a person"), ("council", "a council"), ("both", "both")]
EXPIRY_CHOICES = [
    ("", "as the procedure says"),
    ("remind", "remind"),
    ("reject", "reject"),
    ("return", "go on without"),
]


class GateRuleQuerySet(models.QuerySet["GateRule"]):
    def of(self, procedure: str) -> "list[GateRule]":
        """All that may hold for a gate of this procedure."""
        return cached_sql.fetch(GateRule, "procedure", ("", procedure))

    def strictest(self, *, procedure: str, **about: str) -> "GateRule | None":
        return strictest_rule(self.of(procedure), **about)


def strictest_rule(rules: "Iterable[GateRule]", **about: str) -> "GateRule | None":
    """The most exact one, of a procedure's, for a gate of this kind, effect and tool: which names the most of them, and
    of those that name as many the one that names the tool, then the kind, then the effect."""
    fit = (rule for rule in rules if all(getattr(rule, name) in ("", value) for name, value in about.items()))
    return max(fit, key=GateRule.specificity, default=None)


class GateRule(models.Model):
    """Makes gates stricter, never easier. What is empty holds for all."""

    procedure = models.CharField(max_length=40, blank=True)
    kind = models.CharField(max_length=20, blank=True)
    effect = models.CharField(max_length=12, blank=True)
    tool = models.CharField(max_length=120, blank=True)
    who = models.CharField(max_length=8, blank=True, choices=APPROVER_CHOICES)
    persons = models.PositiveSmallIntegerField(default=1)
    four_eyes = models.BooleanField(default=False)
    blind = models.BooleanField(default=False)
    council = models.CharField(max_length=120, blank=True, help_text="Its name, or its id where that is not enough.")
    council_id = models.PositiveBigIntegerField(null=True, editable=False)
    hours = models.PositiveIntegerField(null=True, blank=True)
    expiry = models.CharField(max_length=8, blank=True, choices=EXPIRY_CHOICES)

    objects = GateRuleQuerySet.as_manager()
    immutable = None

    class Meta:
        ordering = ["procedure", "kind", "effect", "tool"]
        constraints = [
            models.UniqueConstraint(fields=["procedure", "kind", "effect", "tool"], name="one_rule_of_a_gate"),
            models.CheckConstraint(condition=models.Q(persons__gte=1, persons__lte=3), name="rule_of_few_persons"),
        ]

    def __str__(self) -> str:
        named = [self.procedure, self.kind, self.effect, self.tool]
        return f"Gates of {', '.join(filter(None, named)) or 'every kind'}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        meant = with_council_id({"council": self.council, "council_id": self.council_id})
        self.council, self.council_id = meant["council"], meant.get("council_id")
        super().save(*args, **kwargs)

    def clean(self) -> None:
        if asks_council({"who": self.who}) != bool(self.council):
            raise ValidationError({"council": "A council is named where one decides, and only there."})
        if self.council and (complaint := council_complaint(self.council, self.council_id)):
            raise ValidationError({"council": complaint})
        if (self.hours is None) == (self.expiry in ("reject", "return")):
            raise ValidationError({"hours": "An end needs hours, and hours need an end."})

    def specificity(self) -> tuple[int, bool, bool, bool]:
        named = [bool(one) for one in (self.tool, self.kind, self.effect, self.procedure)]
        return sum(named), named[0], named[1], named[2]

    @property
    def policy(self) -> dict[str, Any]:
        """What it wants, in the words of a policy; nothing of what it leaves open."""
        asked: dict[str, Any] = {"persons": self.persons, "four_eyes": self.four_eyes}
        # a rule that names no two who decide leaves open whether one of them is blind
        asked |= {"blind": self.blind} if self.blind or self.who == BOTH else {}
        asked |= {name: getattr(self, name) for name in ("who", "council", "hours", "expiry") if getattr(self, name)}
        return asked | ({"council_id": self.council_id} if self.council else {})
