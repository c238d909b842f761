"""Versions of the workspace's files, one for each change by a step."""

from collections.abc import Iterable, Sequence
from difflib import unified_diff
from typing import TYPE_CHECKING
from uuid import UUID

from django.db import models
from django.db.models import Max
from django.utils import timezone

from engine.ledger.immutability import Immutable

from ..workspace_files import FIRST, FileChange, digest_of

if TYPE_CHECKING:
    from .missions import Mission, MissionStep


class FileVersionQuerySet(models.QuerySet["FileVersion"]):
    def record_initial(self, mission: "Mission", files: Iterable[tuple[str, str]]) -> None:
        """Record the files that were given with the goal, as versions without a step."""
        found = [(path, text.encode()) for path, text in files]
        changes = [FileChange(path, "A", digest_of(data), len(data), data.decode()) for path, data in found]
        self.add(mission, None, changes)

    def add(self, mission: "Mission", step: "MissionStep | None", changes: Sequence[FileChange]) -> None:
        if not changes:
            return
        last = self.filter(mission=mission).aggregate(Max("number"))["number__max"] or 0
        FileVersion.objects.bulk_create(
            [FileVersion(mission=mission, step=step, number=n, **vars(one)) for n, one in enumerate(changes, last + 1)]
        )

    def text_of(self, mission: UUID, path: str, first: str = "") -> str:
        """The newest stored text; empty if the file was removed or is binary. `first` if no version is stored."""
        last = self.filter(mission=mission, path=path).order_by("-number").first()
        return last.text if last else first

    def paths(self, mission: UUID) -> set[str]:
        """Paths of all stored versions, also of removed files."""
        return set(self.filter(mission=mission).values_list("path", flat=True))

    def digests(self, mission: UUID) -> dict[str, str]:
        """Digests of the present files, by path."""
        found: dict[str, str] = {}
        for path, change, digest in (
            self.filter(mission=mission).order_by("number").values_list("path", "change", "digest")
        ):
            if change == "D":
                found.pop(path, None)
            else:
                found[path] = digest
        return found


class FileVersion(models.Model):
    """A file after a step, or at the beginning if `step` is None.

    `change` is A, M or D, or F for a repository's original, recorded at the file's first change. `text` is empty for
    binary files and for those that are too long.
    """

    mission = models.ForeignKey("missions.Mission", on_delete=models.PROTECT, related_name="files")
    step = models.ForeignKey("missions.MissionStep", on_delete=models.PROTECT, null=True, related_name="files")
    number = models.PositiveIntegerField()
    path = models.TextField()
    change = models.CharField(max_length=1)
    digest = models.CharField(max_length=64, blank=True)
    size = models.PositiveBigIntegerField()
    text = models.TextField(blank=True)
    made = models.DateTimeField(default=timezone.now)

    objects = FileVersionQuerySet.as_manager()
    immutable = Immutable(erased="path digest text", run="mission")

    class Meta:
        ordering = ["number"]
        default_permissions = ()
        constraints = [models.UniqueConstraint("mission", "number", name="one_file_version_of_a_number")]

    def __str__(self) -> str:
        return f"{self.change} {self.path}"


def newest_file_versions(versions: Iterable[FileVersion]) -> dict[str, FileVersion]:
    """The files that exist after these versions, by path."""
    found: dict[str, FileVersion] = {}
    for one in sorted(versions, key=lambda one: one.number):
        if one.change == "D":
            found.pop(one.path, None)
        else:
            found[one.path] = one
    return found


def first_versions(versions: Iterable[FileVersion]) -> dict[str, FileVersion]:
    """The stored files from the beginning of the mission, by path."""
    return newest_file_versions(one for one in versions if one.step_id is None or one.change == FIRST)


def diff_of_versions(path: str, before: str, after: str) -> list[str]:
    """The lines of a unified diff, without line ends."""
    old, new = (f"a/{path}" if before else "/dev/null"), (f"b/{path}" if after else "/dev/null")
    found = []
    for line in unified_diff(before.splitlines(keepends=True), after.splitlines(keepends=True), old, new):
        found.append(line.rstrip("\n"))
        if not line.endswith("\n"):
            found.append("\\ No newline at end of file")
    return found


def patch_text(versions: Iterable[FileVersion]) -> str:
    """A unified diff from the beginning to the present files, without binary files."""
    versions = list(versions)
    first = first_versions(versions)
    last = newest_file_versions(versions)
    lines: list[str] = []
    for path in sorted(first.keys() | last.keys()):
        before, after = first.get(path), last.get(path)
        if (before and before.digest) != (after and after.digest):
            lines += diff_of_versions(path, before.text if before else "", after.text if after else "")
    return "\n".join([*lines, ""]) if lines else ""
