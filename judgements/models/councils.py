from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db import models, transaction
from django.utils import timezone

from .. import retention, rules

NAME_LENGTH = 60
RETENTION_DAYS = 365
CRITERIA_LENGTH = 4_000

AgentValues = dict[str, str]
"""One agent as forms and submissions pass it: name, model, criteria, fallback."""


class RevisedMeanwhile(Exception):
    """Another version was saved since the one that somebody began to change."""


class CouncilQuerySet(models.QuerySet["Council"]):
    def offered(self) -> "CouncilQuerySet":
        """What a new judgement may start from."""
        return self.filter(archived=None)

    def whole(self) -> "CouncilQuerySet":
        """With the current version and its members, in two queries."""
        return self.select_related("owner", "current").prefetch_related("current__members")

    @transaction.atomic
    def found(
        self, *, name: str, agents: Sequence[AgentValues], owner: Any, retention_days: int = RETENTION_DAYS
    ) -> "Council":
        """A new council with its first version. IntegrityError where the name is taken."""
        council = self.create(name=name, owner=owner, retention_days=retention_days)
        council.revise(name=name, agents=agents, author=owner)
        return council


class Council(models.Model):
    """A saved trio to start a judgement from. It is changed by a new version and never deleted: judgements point at
    the version that they were judged by. For how long their texts are kept (0: for ever) is no part of a version: it
    changes nothing about how they are judged."""

    name = models.CharField(max_length=NAME_LENGTH, unique=True)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    created = models.DateTimeField(default=timezone.now)
    archived = models.DateTimeField(null=True)
    retention_days = models.PositiveIntegerField(default=RETENTION_DAYS)
    current = models.OneToOneField("CouncilVersion", on_delete=models.PROTECT, null=True, related_name="+")

    objects = CouncilQuerySet.as_manager()

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return self.name

    def is_editable_by(self, user: AbstractBaseUser | AnonymousUser) -> bool:
        """Its owner and staff may change it; the ready-made ones, which nobody owns, only staff."""
        return user.is_active and (
            getattr(user, "is_staff", False) or (user.pk is not None and user.pk == self.owner_id)
        )

    def agents(self) -> list[AgentValues]:
        """The three agents as a new judgement takes them."""
        return self.current.agents() if self.current else []

    @property
    def agent_names(self) -> str:
        return ", ".join(agent["name"] for agent in self.agents())

    @property
    def kept(self) -> str:
        """How long the texts of its judgements are kept, in words."""
        return retention.in_words(self.retention_days)

    def keep_for(self, days: int) -> bool:
        """Keep the texts of its judgements for so long, 0 for ever; whether that is a change."""
        changed = Council.objects.filter(pk=self.pk).exclude(retention_days=days).update(retention_days=days)
        self.retention_days = days
        return bool(changed)

    def version_of(self, agents: Sequence[AgentValues]) -> "CouncilVersion | None":
        """The newest version that has just these agents, if any has: with one changed it is no longer this council."""
        versions = self.versions.prefetch_related("members")
        return next((version for version in versions if version.agents() == list(agents)), None)

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
        self.name, self.current = name, version  # only now: a page may still show it where the name is taken
        return version

    def archive(self) -> None:
        """Offer it no longer. What it judged keeps it, and it can be brought back."""
        Council.objects.filter(pk=self.pk, archived=None).update(archived=timezone.now())

    def bring_back(self) -> None:
        Council.objects.filter(pk=self.pk).update(archived=None)


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
        return f"{self.name}, version {self.number}"

    def agents(self) -> list[AgentValues]:
        """The three agents as a new judgement takes them."""
        return [{**member.values(), "model": member.model or settings.DEFAULT_MODEL} for member in self.members.all()]

    def as_saved(self) -> tuple[str, list[AgentValues]]:
        """Name and agents as they were written, with the models that were left open."""
        return self.name, [member.values() for member in self.members.all()]


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
        return self.name

    def values(self) -> AgentValues:
        return {"name": self.name, "model": self.model, "criteria": self.criteria, "fallback": self.fallback}


class Member(Seated):
    """A seat of a council's version. Without a model it takes the installation's default one."""

    version = models.ForeignKey(CouncilVersion, on_delete=models.CASCADE, related_name="members")
    model = models.CharField(max_length=200, blank=True)

    class Meta:
        ordering = ["seat"]
        constraints = [models.UniqueConstraint("version", "seat", name="one_member_per_seat")]
