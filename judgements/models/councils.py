"""Councils, their versions, and every change of them.

Why so: docs/decisions.md, Councils.
"""

from collections.abc import Sequence
from typing import Any, cast
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db import connection, models, transaction
from django.utils import timezone

from engine.evidence import sealing
from engine.evidence.chain import Draft, stamp
from engine.hidden import visible_text
from engine.models import record_name
from runs import retention

from .. import rules

NAME_LENGTH = 60
RETENTION_DAYS = 365
CRITERIA_LENGTH = 4_000
COUNCILS = UUID("6d616769-0000-4000-8000-636f756e6373")  # the one chain of all councils; no run has this key
COUNCIL = "council"  # the kind of its entries

AgentValues = dict[str, str]
"""One agent as forms and submissions pass it: name, model, criteria, fallback."""


class RevisedMeanwhile(Exception):
    """Another version was saved since the one that somebody began to change."""


class CouncilChanged(Exception):
    """Whose agents judge is no longer what the council is: `council` is what it is now, `opened` what it was."""

    def __init__(self, council: "Council", opened: "CouncilVersion") -> None:
        number = council.current.number if council.current else 0
        changed = f"changed meanwhile. Now it is “{council.name}”, version {number}."
        super().__init__(f"The council “{opened.name}” was {'archived meanwhile.' if council.archived else changed}")
        self.council, self.opened = council, opened


class CouncilQuerySet(models.QuerySet["Council"]):
    def offered(self) -> "CouncilQuerySet":
        """What a new judgement may start from."""
        return self.filter(archived=None)

    def whole(self) -> "CouncilQuerySet":
        """With the current version and its members, in two queries."""
        return self.select_related("owner", "current").prefetch_related("current__members")

    def hold(self, pk: int) -> "Council":
        """The council as it is, and as it stays until this transaction ends. Any number may hold it at once."""
        if connection.vendor == "postgresql":  # SQLite has one writer anyway
            with connection.cursor() as cursor:
                cursor.execute("SELECT FROM judgements_council WHERE id = %s FOR SHARE", [pk])
        # read after the lock, by a statement of its own: one read with it would be the one from before the wait
        return self.select_related("current").get(pk=pk)

    @transaction.atomic
    def found(
        self, *, name: str, agents: Sequence[AgentValues], owner: Any, retention_days: int = RETENTION_DAYS
    ) -> "Council":
        """A new council with its first version. IntegrityError where the name is taken."""
        council = self.create(name=name, owner=owner, retention_days=retention_days)
        council.revise(name=name, agents=agents, author=owner)
        return council

    def changed(self, pk: int, kind: "CouncilChange.Kind", by: Any) -> None:
        """Write down what the council is from now on, and seal it, in the transaction of what changed it."""
        council = self.select_related("owner", "current").get(pk=pk)
        change = CouncilChange(council=council, kind=kind, by=record_name(by), owner_name=record_name(council.owner))
        for name, value in {**council.state(), "version": council.current}.items():
            setattr(change, name, value)
        change.save(force_insert=True)
        sealing.record(COUNCILS, change.draft())


class Council(models.Model):
    """A saved trio to start a judgement from. It is changed by a new version and never deleted: judgements point at
    the version that they were judged by. For how long their texts are kept (0: for ever) is no part of a version: it
    changes nothing about how they are judged."""

    name = models.CharField(max_length=NAME_LENGTH, unique=True)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    created = models.DateTimeField(default=timezone.now)
    archived = models.DateTimeField(null=True)
    locked = models.DateTimeField(null=True)
    retention_days = models.PositiveIntegerField(default=RETENTION_DAYS)
    current = models.OneToOneField("CouncilVersion", on_delete=models.PROTECT, null=True, related_name="+")

    objects = CouncilQuerySet.as_manager()

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return visible_text(self.name)

    def is_editable_by(self, user: AbstractBaseUser | AnonymousUser) -> bool:
        """Its owner may always change it, and who may change all councils as long as it is not locked."""
        if not user.is_active:
            return False
        if getattr(user, "is_superuser", False) or (user.pk is not None and user.pk == self.owner_id):
            return True
        return not self.locked and cast(AnonymousUser, user).has_perm("judgements.change_council")

    def agents(self) -> list[AgentValues]:
        """The three agents as a new judgement takes them."""
        return self.current.agents() if self.current else []

    def state(self) -> dict[str, Any]:
        """All that a change of it changes."""
        return {
            "name": self.name,
            "owner": self.owner_id,
            "version": self.current.number if self.current else None,
            "archived": self.archived is not None,
            "locked": self.locked is not None,
            "retention_days": self.retention_days,
        }

    @property
    def agent_names(self) -> str:
        return ", ".join(agent["name"] for agent in self.agents())

    @property
    def kept(self) -> str:
        """How long the texts of its judgements are kept, in words."""
        return retention.in_words(self.kept_days)

    @property
    def kept_days(self) -> int:
        """What holds for judgements from now on; 0: for ever."""
        return retention.at_least(self.retention_days, settings.RETENTION_FLOOR_DAYS)

    def keep_for(self, days: int, by: Any) -> bool:
        """Keep the texts of its judgements for so long, 0 for ever; whether that is a change.

        A shorter time holds for later judgements alone: see `retention.spans`.
        """
        other = Council.objects.exclude(retention_days=days)
        changed = self._change(other, CouncilChange.Kind.KEPT, by, retention_days=days)
        self.retention_days = days
        return changed

    def version_of(self, agents: Sequence[AgentValues]) -> "CouncilVersion | None":
        """The newest version that has just these agents, if any has."""
        versions = self.versions.prefetch_related("members")
        return next((version for version in versions if version.has(agents)), None)

    @transaction.atomic
    def revise(
        self, *, name: str, agents: Sequence[AgentValues], author: Any, opened: int | None = None
    ) -> "CouncilVersion":
        """A new version with this name and these agents; the current one where nothing differs.

        RevisedMeanwhile where the current version is not the one with the number `opened`, if that is given;
        IntegrityError where another council has the name.
        """
        # the lock first and alone: a row joined to it would be the one from before the wait
        locked = Council.objects.select_for_update().get(pk=self.pk)
        current = locked.current
        if current and current.as_saved() == (name, list(agents)):
            return current
        if current and opened not in (None, current.number):
            raise RevisedMeanwhile
        number = current.number + 1 if current else 1
        version = CouncilVersion.objects.create(council=self, number=number, name=name, author=author)
        Member.objects.bulk_create(
            Member(version=version, seat=seat, **agent) for seat, agent in zip(rules.SEATS, agents, strict=True)
        )
        Council.objects.filter(pk=self.pk).update(name=name, current=version)
        kind = CouncilChange.Kind.REVISED if current else CouncilChange.Kind.FOUNDED
        Council.objects.changed(self.pk, kind, author)
        self.name, self.current = name, version  # only now: a page may still show it where the name is taken
        return version

    def archive(self, by: Any) -> None:
        """Offer it no longer, and let it judge nothing new. What it judged keeps it, and it can be brought back."""
        self._change(Council.objects.filter(archived=None), CouncilChange.Kind.ARCHIVED, by, archived=timezone.now())

    def bring_back(self, by: Any) -> None:
        self._change(Council.objects.exclude(archived=None), CouncilChange.Kind.BROUGHT_BACK, by, archived=None)

    def lock(self, by: Any) -> None:
        """Let nobody but its owner change it; without an owner nobody but a superuser."""
        self._change(Council.objects.filter(locked=None), CouncilChange.Kind.LOCKED, by, locked=timezone.now())

    def unlock(self, by: Any) -> None:
        self._change(Council.objects.exclude(locked=None), CouncilChange.Kind.UNLOCKED, by, locked=None)

    @transaction.atomic
    def _change(self, where: CouncilQuerySet, kind: "CouncilChange.Kind", by: Any, **values: Any) -> bool:
        """Whether it was one of those, and so is changed now, on record."""
        changed = where.filter(pk=self.pk).update(**values)
        if changed:
            Council.objects.changed(self.pk, kind, by)
        return bool(changed)


class CouncilVersion(models.Model):
    """A council as it was from one change to the next. Nobody changes it."""

    council = models.ForeignKey(Council, on_delete=models.PROTECT, related_name="versions")
    number = models.PositiveIntegerField()
    name = models.CharField(max_length=NAME_LENGTH)
    created = models.DateTimeField(default=timezone.now)
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")

    class Meta:
        ordering = ["-number"]
        constraints = [models.UniqueConstraint("council", "number", name="one_council_version_per_number")]

    def __str__(self) -> str:
        return visible_text(f"{self.name}, version {self.number}")

    def agents(self) -> list[AgentValues]:
        """The three agents as a new judgement takes them."""
        return [{**member.values(), "model": member.model or settings.DEFAULT_MODEL} for member in self.members.all()]

    def has(self, agents: Sequence[AgentValues]) -> bool:
        """Whether these are its three agents: with one changed they are no longer this council."""
        return self.agents() == [{"fallback": "", **agent} for agent in agents]

    def hold(self) -> None:
        """Let its council stay as it is until this transaction ends.

        CouncilChanged where this is not the current version, or the council is archived.
        """
        council = Council.objects.hold(self.council_id)
        if council.archived or council.current_id != self.pk:
            raise CouncilChanged(council, self)

    def as_saved(self) -> tuple[str, list[AgentValues]]:
        """Name and agents as they were written, with the models that were left open."""
        return self.name, [member.values() for member in self.members.all()]


class CouncilChange(models.Model):
    """That somebody made or changed a council, and what it has been since: the newest says what it is now.

    Who may judge under a name, by whose criteria, and for how long texts are kept follows from it, so it is evidence.
    `by` and `owner_name` are the names of those users then, `owner` is that account's key.
    """

    class Kind(models.TextChoices):
        ADOPTED = "adopted"  # as it was when changes began to be kept
        FOUNDED = "founded"
        REVISED = "revised"
        ARCHIVED = "archived"
        BROUGHT_BACK = "brought back"
        LOCKED = "locked"
        UNLOCKED = "unlocked"
        KEPT = "kept"  # its texts, for another time

    council = models.ForeignKey(Council, on_delete=models.PROTECT, related_name="changes")
    made = models.DateTimeField(default=timezone.now)
    kind = models.CharField(max_length=12, choices=Kind)
    by = models.CharField(max_length=150, blank=True)
    name = models.CharField(max_length=NAME_LENGTH)
    owner = models.BigIntegerField(null=True)
    owner_name = models.CharField(max_length=150, blank=True)
    version = models.ForeignKey(CouncilVersion, on_delete=models.PROTECT, null=True, related_name="+")
    archived = models.BooleanField()
    locked = models.BooleanField()
    retention_days = models.PositiveIntegerField()

    class Meta:
        ordering = ["pk"]
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.name} {self.kind}"

    @property
    def kept(self) -> str:
        return retention.in_words(self.retention_days)

    def draft(self) -> Draft:
        """The entry that tells of it."""
        facts = {"id": self.council_id, "change": self.kind, "by": self.by, "owner_name": self.owner_name}
        members = self.version.members.all() if self.version else ()
        agents = [{"seat": member.seat, **member.values()} for member in members]
        return Draft(COUNCIL, stamp(self.made) or "", {**facts, **self.state(), "agents": agents}, row=self.pk)

    def state(self) -> dict[str, Any]:
        """What the council has been since, as `Council.state` says what it is."""
        return {
            "name": self.name,
            "owner": self.owner,
            "version": self.version.number if self.version else None,
            "archived": self.archived,
            "locked": self.locked,
            "retention_days": self.retention_days,
        }


class Seated(models.Model):
    """Somebody in one of the three seats: name, model, criteria, and perhaps a model to ask where the first fails."""

    seat = models.CharField(max_length=1, choices=[(seat, seat) for seat in rules.SEATS])
    name = models.CharField(max_length=NAME_LENGTH)
    model = models.CharField(max_length=200)
    criteria = models.TextField(max_length=CRITERIA_LENGTH)
    fallback = models.CharField(max_length=200, blank=True)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return visible_text(self.name)

    def values(self) -> AgentValues:
        return {"name": self.name, "model": self.model, "criteria": self.criteria, "fallback": self.fallback}


class Member(Seated):
    """A seat of a council's version. Without a model it takes the installation's default one."""

    version = models.ForeignKey(CouncilVersion, on_delete=models.CASCADE, related_name="members")
    model = models.CharField(max_length=200, blank=True)

    class Meta:
        ordering = ["seat"]
        constraints = [models.UniqueConstraint("version", "seat", name="one_member_per_seat")]
