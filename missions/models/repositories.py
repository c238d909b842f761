"""The repository that a mission began with."""

import json
from typing import TYPE_CHECKING

from django.db import models
from django.utils import timezone

from engine.ledger.immutability import Immutable

from ..repositories.cloning import Cloned

if TYPE_CHECKING:
    from .missions import Mission

REPOSITORY_NAME_LENGTH = 32


class RepositoryManager(models.Manager["Repository"]):
    def begin(self, mission: "Mission", cloned: Cloned) -> "Repository":
        names = ("staged", "address", "start", "branch", "files", "size", "shallow")
        same = {name: getattr(cloned, name) for name in names}
        told = json.dumps([list(one) for one in cloned.left_out], ensure_ascii=False)
        return self.create(mission=mission, base=cloned.commit, left_out=told, **same)


class Repository(models.Model):
    """`base`: the commit of the repository on which the crew's begin; `start`: what the workspace held at first, where
    the mission goes on from another. `files` and `size`: of the workspace; `left_out`: JSON of paths and why; `staged`:
    where it waited for the mission."""

    mission = models.OneToOneField("missions.Mission", on_delete=models.PROTECT, related_name="repository")
    address = models.TextField(blank=True)
    branch = models.TextField(blank=True)
    base = models.CharField(max_length=40)
    start = models.CharField(max_length=40, blank=True)
    files = models.PositiveIntegerField()
    size = models.PositiveBigIntegerField()
    shallow = models.BooleanField()
    left_out = models.TextField(blank=True)
    staged = models.CharField(max_length=REPOSITORY_NAME_LENGTH)
    made = models.DateTimeField(default=timezone.now)

    objects = RepositoryManager()
    immutable = Immutable(erased="address branch left_out", run="mission")

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"Repository of {self.mission}"

    @property
    def without(self) -> list[tuple[str, str]]:
        """Paths that the workspace was made without, and why."""
        return [(path, why) for path, why in json.loads(self.left_out or "[]")]
