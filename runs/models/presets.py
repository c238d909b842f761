"""Presets: saved setups with numbered versions. Procedures define what a version contains.

Why so: engine/DESIGN.md, One house for all procedures.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self, cast
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db import IntegrityError, connection, models, transaction
from django.utils import timezone

from engine.audit import sealing
from engine.ledger.hashing import EntryDraft, format_timestamp
from engine.models import Run, record_name
from engine.names import look_alike
from engine.text.invisible_chars import visible_text

from .. import retention
from ..forms import field_label

NAME_LENGTH = 60
RETENTION_DAYS = 365


class PresetChanged(Exception):
    """Another version was saved since the edited one was opened."""


class NameReserved(IntegrityError):
    """A preset that decides at gates or acts refers to the former owner of this name. The message is for users."""


class PresetOutOfDate(Exception):
    """The preset changed or was archived since the version `opened`; `saved` is its current state."""

    def __init__(self, saved: Any, opened: Any) -> None:
        changed = f"changed meanwhile. Now it is “{saved.name}”, version {saved.number}."
        super().__init__(f"The {saved.noun} “{opened.name}” was {'archived meanwhile.' if saved.archived else changed}")
        self.saved, self.opened = saved, opened


class PresetChangeKind(models.TextChoices):
    ADOPTED = "adopted"  # its state when changes began to be recorded
    FOUNDED = "founded"
    REVISED = "revised"
    ARCHIVED = "archived"
    BROUGHT_BACK = "brought back"
    LOCKED = "locked"
    UNLOCKED = "unlocked"
    KEPT = "kept"  # retention of its texts


class PresetQuerySet(models.QuerySet[Any]):
    def available(self) -> Self:
        """Return presets from which a new run may start."""
        return self.filter(archived=None)

    def ever_called(self, name: str) -> list[Any]:
        """Return all that have or had this name in any version, ignoring differences that people do not read.

        Old names count because another preset may have taken them since.
        """
        return self._ever(lambda other: field_label(other) == field_label(name))

    def ever_looked_like(self, name: str) -> list[Any]:
        """Return those of `ever_called` and all whose names ever looked like this one; used to refuse names."""
        return self._ever(lambda other: look_alike(name, [other]) is not None)

    def _ever(self, fits: Callable[[str], bool]) -> list[Any]:
        version = self.model.versions.rel
        called = version.related_model.objects.order_by().values_list(version.field.name, "name").distinct()
        return list(self.filter(pk__in={pk for pk, name in called if fits(name)}))

    def lock_row(self, pk: int) -> Any:
        """Lock the row in share mode until the transaction ends, and return it. Others can hold the lock too."""
        if connection.vendor == "postgresql":  # SQLite has only one writer
            with connection.cursor() as cursor:
                table = self.model._meta.db_table
                cursor.execute(f"SELECT FROM {table} WHERE id = %s FOR SHARE", [pk])
        # A separate statement after the lock: a combined one would return the row from before the wait.
        return self.select_related("current").get(pk=pk)

    @transaction.atomic
    def create_first(self, *, name: str, owner: Any, retention_days: int = RETENTION_DAYS, **held: Any) -> Any:
        """Create a preset with its first version. Raises IntegrityError if the name is taken."""
        saved = self.create(name=name, owner=owner, retention_days=retention_days)
        saved.revise(name=name, author=owner, **held)
        return saved

    def refuse_look_alike(self, name: str, saved: Any) -> None:
        """Raise IntegrityError if the name looks like that of another preset. An unchanged name may stay."""
        others = list(self.exclude(pk=saved.pk).values_list("name", flat=True))
        if (saved.number == 0 or name != saved.name) and look_alike(name, others):
            raise IntegrityError(f"Another {saved.noun} has a name that looks like this one.")

    def changed(self, pk: int, kind: PresetChangeKind, by: Any) -> None:
        """Record the new state and add it to the audit log, in the transaction of the change."""
        saved = self.select_related("owner", "current").get(pk=pk)
        values = {**saved.state(), "version": saved.current, "owner_name": record_name(saved.owner)}
        change = saved.changes.create(kind=kind, by=record_name(by), **values)
        sealing.record_run(change.chain, change.draft())


class Preset(models.Model):
    """A saved setup from which runs start.

    A change creates a new version; presets are never deleted because runs refer to the version they used. The retention
    of texts (days, 0: for ever) is not part of a version: it does not change how runs work.

    A subclass has `current`, one of its `versions`, and `changes`.
    """

    name = models.CharField(max_length=NAME_LENGTH, unique=True)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    created = models.DateTimeField(default=timezone.now)
    archived = models.DateTimeField(null=True)
    locked = models.DateTimeField(null=True)
    retention_days = models.PositiveIntegerField(default=RETENTION_DAYS)

    pk: int
    current: Any
    versions: Any
    changes: Any
    objects: Any

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return visible_text(self.name)

    def is_editable_by(self, user: AbstractBaseUser | AnonymousUser) -> bool:
        """Return whether the user may edit it: the owner always, users with the permission while it is not locked."""
        if not user.is_active:
            return False
        if getattr(user, "is_superuser", False) or (user.pk is not None and user.pk == self.owner_id):
            return True
        meta = self._meta
        return not self.locked and cast(AnonymousUser, user).has_perm(f"{meta.app_label}.change_{meta.model_name}")

    @property
    def noun(self) -> str:
        return str(self._meta.model_name)

    @property
    def number(self) -> int:
        """Return the number of the current version; 0 without one."""
        return self.current.number if self.current else 0

    def name_complaint(self, name: str) -> str:
        """Return why the name may not be used although it is free, as a sentence; empty if it may."""
        return ""

    def named_by(self) -> list[str]:
        """Return the presets that let it decide or act, as in: the team “Office”. They follow a rename."""
        return []

    def state(self) -> dict[str, Any]:
        """Return every value that a change can change."""
        return {
            "name": self.name,
            "owner": self.owner_id,
            "version": self.current.number if self.current else None,
            "archived": self.archived is not None,
            "locked": self.locked is not None,
            "retention_days": self.retention_days,
        }

    @property
    def kept(self) -> str:
        """Return the retention of its runs' texts in words."""
        return retention.format_days(self.kept_days)

    @property
    def kept_days(self) -> int:
        """Return the retention for new runs in days; 0: for ever."""
        return retention.minimum_days(self.retention_days, settings.RETENTION_FLOOR_DAYS)

    def keep_for(self, days: int, by: Any) -> bool:
        """Set the retention of its runs' texts in days, 0 for ever; return whether that is a change.

        A shorter time applies only to later runs: see `retention.retention_spans`.
        """
        changed = self._change(
            PresetChangeKind.KEPT, by, lambda all_: all_.exclude(retention_days=days), retention_days=days
        )
        self.retention_days = days
        return changed

    @transaction.atomic
    def revise(self, *, name: str, author: Any, opened: int | None = None, **held: Any) -> Any:
        """Create and return a new version with this name and content; the current one if nothing differs.

        Raises PresetChanged if `opened` is given and is not the number of the current version; IntegrityError if
        another preset has the name or one that looks like it; NameReserved (a subclass) if the name is free but may not
        be used.
        """
        others = type(self).objects
        # The lock comes first and alone: a row joined to it would be the one from before the wait.
        current = others.select_for_update().get(pk=self.pk).current
        if current and current.has_same_content(name, held):
            return current
        if current and opened not in (None, current.number):
            raise PresetChanged
        others.refuse_look_alike(name, self)
        if not (current and current.name == name) and (complaint := self.name_complaint(name)):
            raise NameReserved(complaint)
        columns = self.versions.model.columns(held)
        number = current.number + 1 if current else 1
        version = self.versions.create(number=number, name=name, author=author, **columns)
        version.set_content(held)
        others.filter(pk=self.pk).update(name=name, current=version)
        others.changed(self.pk, PresetChangeKind.REVISED if current else PresetChangeKind.FOUNDED, author)
        self.name, self.current = name, version  # only now: a page may still show the old name if the new one is taken
        return version

    def archive(self, by: Any) -> None:
        """Archive it: it can start no new run. Existing runs keep it, and it can be restored."""
        self._change(PresetChangeKind.ARCHIVED, by, lambda all_: all_.filter(archived=None), archived=timezone.now())

    def bring_back(self, by: Any) -> None:
        self._change(PresetChangeKind.BROUGHT_BACK, by, lambda all_: all_.exclude(archived=None), archived=None)

    def lock(self, by: Any) -> None:
        """Let only its owner edit it; without an owner only a superuser."""
        self._change(PresetChangeKind.LOCKED, by, lambda all_: all_.filter(locked=None), locked=timezone.now())

    def unlock(self, by: Any) -> None:
        self._change(PresetChangeKind.UNLOCKED, by, lambda all_: all_.exclude(locked=None), locked=None)

    @transaction.atomic
    def _change(self, kind: PresetChangeKind, by: Any, others: Callable[[Any], Any], **values: Any) -> bool:
        """Update it if it is among `others`, record the change, and return whether anything changed."""
        changed = others(type(self).objects).filter(pk=self.pk).update(**values)
        if changed:
            type(self).objects.changed(self.pk, kind, by)
        return bool(changed)


class PresetVersion(models.Model):
    """One immutable version of a preset."""

    of: ClassVar[str]  # the field that refers to its preset
    out_of_date: ClassVar[type[PresetOutOfDate]]

    number = models.PositiveIntegerField()
    name = models.CharField(max_length=NAME_LENGTH)
    created = models.DateTimeField(default=timezone.now)
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return visible_text(f"{self.name}, version {self.number}")

    def hold(self) -> None:
        """Lock the preset until this transaction ends.

        Raises `out_of_date` if this is not the current version or the preset is archived.
        """
        saved = self._meta.get_field(self.of).related_model.objects.lock_row(getattr(self, f"{self.of}_id"))  # type: ignore[union-attr]
        if saved.archived or saved.current_id != self.pk:
            raise self.out_of_date(saved, self)

    @classmethod
    def columns(cls, held: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of its own columns for this content."""
        return {}

    def set_content(self, held: Mapping[str, Any]) -> None:
        """Add the rows for the content of a version that was just created."""
        raise NotImplementedError

    def has_same_content(self, name: str, held: Mapping[str, Any]) -> bool:
        """Return whether name and content are exactly these."""
        raise NotImplementedError


class PresetVersionInColumns(PresetVersion):
    """A version whose whole content is in its own columns, listed in `holds`."""

    holds: ClassVar[tuple[str, ...]]

    class Meta:
        abstract = True

    def held(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.holds}

    def has_same_content(self, name: str, held: Mapping[str, Any]) -> bool:
        return (self.name, self.held()) == (name, self.columns(held))

    def set_content(self, held: Mapping[str, Any]) -> None:
        """Do nothing: there are no further rows."""


class PresetChange(models.Model):
    """One change of a preset and its state since then; the newest gives the current state.

    It is evidence because it determines who may use a name, what the name refers to, and how long texts are kept. `by`
    and `owner_name` are the names of the users at that time; `owner` is the key of the owner's account.
    """

    Kind = PresetChangeKind
    chain: ClassVar[UUID]  # the chain of all changes of this model; no run has this key
    entry: ClassVar[str]  # the kind of its audit entries
    whose: ClassVar[str]  # the column that refers to the preset
    told_with: ClassVar[tuple[str, ...]] = ()  # relations with the content of a version

    made = models.DateTimeField(default=timezone.now)
    kind = models.CharField(max_length=12, choices=PresetChangeKind)
    by = models.CharField(max_length=150, blank=True)
    name = models.CharField(max_length=NAME_LENGTH)
    owner = models.BigIntegerField(null=True)
    owner_name = models.CharField(max_length=150, blank=True)
    archived = models.BooleanField()
    locked = models.BooleanField()
    retention_days = models.PositiveIntegerField()

    version: Any
    objects: ClassVar[Any]

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.name} {self.kind}"

    @property
    def kept(self) -> str:
        return retention.format_days(self.retention_days)

    @property
    def saved_id(self) -> int:
        return getattr(self, self.whose)

    def held(self) -> dict[str, Any]:
        """Return the content of its version as facts of the entry."""
        raise NotImplementedError

    def draft(self) -> EntryDraft:
        """Build the audit entry of this change."""
        facts = {"id": self.saved_id, "change": self.kind, "by": self.by, "owner_name": self.owner_name}
        return EntryDraft(
            self.entry, format_timestamp(self.made) or "", {**facts, **self.state(), **self.held()}, row=self.pk
        )

    def state(self) -> dict[str, Any]:
        """Return the state since this change, in the form of `Preset.state`."""
        return {
            "name": self.name,
            "owner": self.owner,
            "version": self.version.number if self.version else None,
            "archived": self.archived,
            "locked": self.locked,
            "retention_days": self.retention_days,
        }


class PresetUse(models.Model):
    """The start of a run from the item `key` of a library section (`shelf` is the section's label).

    `id` grows from run to run and `owner` is the run's owner, so that the newest runs of an item are found by an index.
    """

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="starts")
    shelf = models.CharField(max_length=40)
    key = models.BigIntegerField()
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+", db_index=False
    )
    rehearsal = models.BooleanField()

    class Meta:
        db_table = "runs_start"
        default_permissions = ()
        indexes = [
            models.Index(fields=["shelf", "key", "-id"], name="start_newest_first"),
            models.Index(fields=["owner", "shelf", "key", "-id"], name="start_by_owner"),
        ]

    def __str__(self) -> str:
        return f"{self.run_id} from {self.shelf} {self.key}"


def newest_uses(shelf: str, keys: Sequence[int], most: int, owner: int | None = None) -> tuple[str, list[Any]]:
    """Return SQL of a table, with parameters, of the newest runs of each item: at most `most`, of one `owner` if given.

    Each row has `key`, `run_id` and `rehearsal`. The limit bounds the cost of counting.
    """
    each = _NEWEST.format(whose="" if owner is None else "AND owner_id = %s")
    whose = [] if owner is None else [owner]
    return " UNION ALL ".join([each] * len(keys)), [param for key in keys for param in (shelf, key, *whose, most)]


_NEWEST = (
    "SELECT * FROM (SELECT key, run_id, rehearsal FROM runs_start WHERE shelf = %s AND key = %s {whose} "
    "ORDER BY id DESC LIMIT %s) AS newest_of_one"
)
