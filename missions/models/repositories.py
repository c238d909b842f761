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
    """The repository of a mission.

    base: commit of the repository on which the crew's commits are based
    start: commit with which the workspace began, if the mission continues another one
    files, size: number of files of the workspace, and their bytes
    left_out: JSON, pairs of path and reason
    staged: name of the folder in which the clone waited for the mission
    """

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
        """Pairs of path and reason for files that the workspace does not have."""
        return [(path, why) for path, why in json.loads(self.left_out or "[]")]
