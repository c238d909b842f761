"""Whose words came into what is asked about. Under four eyes they do not decide about it.

Why so: engine/DESIGN.md, Gates.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from engine.runtime.procedure import procedures

from ..ledger.immutability import Immutable
from .gate_access import by_author
from .gates import Gate, GateState
from .runs import Run, record_name


class AuthorContribution(models.TextChoices):
    """What somebody did by which their words came into a run, as it is said of them."""

    SAID = "said", "said something to it"
    ANSWERED = "answered", "answered a question of it"
    ASKED_CHANGES = "changes", "asked for changes"
    CHANGED = "changed", "changed its text"
    ASKED = "asked", "asked for a run that it began from"


class RunAuthorQuerySet(models.QuerySet["RunAuthor"]):
    def note(
        self, run: UUID, user: Any, part: AuthorContribution, place: str = "", *, said_at: Gate | None = None
    ) -> None:
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

    def of(self, gate: Gate) -> list["RunAuthor"]:
        """Those of its run at the places that feed what it asks about, and all of runs that its run belongs with, or
        began from."""
        places = procedures()[gate.run.procedure].word_sources(gate.run_id, gate.step)
        here = Q(run=gate.run_id)
        if places is not None:
            here &= Q(place__in=["", *places])
        beside = Q(run__in=Run.objects.family(gate.run_id).exclude(pk=gate.run_id))
        return [*self.filter(here | beside).order_by("pk"), *self._before(gate)]

    def _before(self, gate: Gate) -> list["RunAuthor"]:
        until = begun_from(gate.run_id)
        if not until:
            return []
        self._note_askers(gate, until)
        found = self.filter(run__in=until).order_by("pk")
        return [one for one in found if one.part == AuthorContribution.ASKED or one.made <= until[one.run_id]]

    def _note_askers(self, gate: Gate, runs: Collection[UUID]) -> None:
        """Who asked for one of these runs wrote what it was about. Who asked for the gate's run is left out anyway."""
        mine = gate.run.owner_id or gate.run.asked_by
        for run in Run.objects.filter(pk__in=runs, parent=None).exclude(asked_by="").select_related("owner"):
            asked = self.filter(run=run, user=run.owner, part=AuthorContribution.ASKED)
            if (run.owner_id or run.asked_by) != mine and not asked.exists():
                self.create(run=run, user=run.owner, name=run.asked_by, part=AuthorContribution.ASKED)


def begun_from(run: UUID) -> dict[UUID, datetime]:
    """The runs from which this one began, or one that it belongs with, or again one of those: with all that they belong
    with, and until when what was said there could come along."""
    until: dict[UUID, datetime] = {}
    seen: set[UUID] = set()
    new = set(Run.objects.family(run).values_list("pk", flat=True))
    while new:
        seen |= new
        for earlier, moment in _origins(new):
            for one in Run.objects.family(earlier).values_list("pk", flat=True):
                until[one] = max(moment, until.get(one, moment))
        new = until.keys() - seen
    return until


def _origins(runs: Collection[UUID]) -> Iterator[tuple[UUID, datetime]]:
    """From which runs these began, and when they did."""
    created: dict[str, dict[UUID, datetime]] = defaultdict(dict)
    for pk, procedure, moment in Run.objects.filter(pk__in=runs).values_list("pk", "procedure", "created"):
        created[procedure][pk] = moment
    for procedure, moments in created.items():
        for later, earlier in procedures()[procedure].begun_from(moments):
            yield earlier, moments[later]


class RunAuthor(models.Model):
    """A person whose words came into a run: by `part`, at `place`, as a procedure names the places where gates stand;
    empty where it is all of the run. `name`: as they were called then."""

    run = models.ForeignKey("engine.Run", on_delete=models.PROTECT, related_name="authors")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    name = models.CharField(max_length=150)
    part = models.CharField(max_length=10, choices=AuthorContribution)
    place = models.CharField(max_length=80, blank=True)
    made = models.DateTimeField(default=timezone.now)

    objects = RunAuthorQuerySet.as_manager()
    immutable = Immutable(unlinked="user")

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
    immutable = Immutable()

    class Meta:
        ordering = ["pk"]
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["gate", "author"], name="one_author_of_a_gate")]

    def __str__(self) -> str:
        return f"{self.author} at gate {self.gate_id}"
