"""Whose words came into what is asked about. Under four eyes they do not decide about it.

Why so: docs/decisions.md, Gates.
"""

from typing import Any, Self
from uuid import UUID

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from engine.procedure import procedures

from .gates import Gate, GateState
from .runs import Run, record_name
from .whose import by_author


class Part(models.TextChoices):
    """What somebody did by which their words came into a run, as it is said of them."""

    SAID = "said", "said something to it"
    ANSWERED = "answered", "answered a question of it"
    ASKED_CHANGES = "changes", "asked for changes"
    CHANGED = "changed", "changed its text"


class RunAuthorQuerySet(models.QuerySet["RunAuthor"]):
    def note(self, run: UUID, user: Any, part: Part, place: str = "", *, said_at: Gate | None = None) -> None:
        """This person's words come into the run, or into what happens at this place of it. In an act on that run.

        The command line is nobody who decides. `said_at`: a gate whose own text these words did not come into.
        """
        if user is None or user.pk is None:
            return
        about = {"run_id": run, "user": user, "place": place, "part": part}
        if not self.filter(**about).exists():
            self.create(name=record_name(user), **about)
        family = Run.objects.family(run)
        asked = Gate.objects.filter(run__in=family, state=GateState.PENDING, policy__four_eyes=True)
        for gate in asked.select_related("run"):
            if gate != said_at:
                GateAuthor.objects.add_for(gate)

    def of(self, gate: Gate) -> Self:
        """Those of its run at the places that feed what it asks about, and all of runs that its run belongs with."""
        places = procedures()[gate.run.procedure].word_sources(gate.run_id, gate.step)
        here = Q(run=gate.run_id)
        if places is not None:
            here &= Q(place__in=["", *places])
        beside = Q(run__in=Run.objects.family(gate.run_id).exclude(pk=gate.run_id))
        return self.filter(here | beside).order_by("pk")


class RunAuthor(models.Model):
    """A person whose words came into a run: by `part`, at `place`, as a procedure names the places where gates stand;
    empty where it is all of the run. `name`: as they were called then."""

    run = models.ForeignKey("engine.Run", on_delete=models.PROTECT, related_name="authors")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    name = models.CharField(max_length=150)
    part = models.CharField(max_length=10, choices=Part)
    place = models.CharField(max_length=80, blank=True)
    made = models.DateTimeField(default=timezone.now)

    objects = RunAuthorQuerySet.as_manager()

    class Meta:
        ordering = ["pk"]
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.name} {self.get_part_display()}"

    @property
    def name_now(self) -> str:
        return record_name(self.user) or self.name


class GateAuthorQuerySet(models.QuerySet["GateAuthor"]):
    def add_for(self, gate: Gate) -> None:
        """Those that are known by now. Nobody is where only answers are asked for: nothing is approved by one."""
        if gate.asks_for_answers:
            return
        known = set(self.filter(gate=gate).values_list("author", flat=True))
        new = [one for one in RunAuthor.objects.of(gate) if one.pk not in known]
        rows = [GateAuthor(gate=gate, author=one) for one in new]
        GateAuthor.objects.bulk_create(rows, ignore_conflicts=True)  # somebody may speak at the same moment

    def of_user(self, gate: Gate, user: Any) -> list[str]:
        """By what this person's words came into it."""
        found = self.filter(by_author(user), gate=gate).order_by("pk").select_related("author")
        return list(dict.fromkeys(one.author.get_part_display() for one in found))


class GateAuthor(models.Model):
    """Who does not decide at a gate where somebody else has to, for their words came into what it asks about."""

    gate = models.ForeignKey(Gate, on_delete=models.PROTECT, related_name="authors")
    author = models.ForeignKey(RunAuthor, on_delete=models.PROTECT, related_name="+")

    objects = GateAuthorQuerySet.as_manager()

    class Meta:
        ordering = ["pk"]
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["gate", "author"], name="one_author_of_a_gate")]

    def __str__(self) -> str:
        return f"{self.author} at gate {self.gate_id}"
