"""What is saved to be used again, in numbered versions. What one holds is its procedure's.

Why so: docs/decisions.md, One house for all procedures.
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
    """Another version was saved since the one that somebody began to change."""


class NameReserved(IntegrityError):
    """What has had this name is named by something that lets it decide. The text is a sentence for people."""


class PresetOutOfDate(Exception):
    """What a run was to start from is no longer what is `saved`: `opened` is the version that it was."""

    def __init__(self, saved: Any, opened: Any) -> None:
        changed = f"changed meanwhile. Now it is “{saved.name}”, version {saved.number}."
        super().__init__(f"The {saved.noun} “{opened.name}” was {'archived meanwhile.' if saved.archived else changed}")
        self.saved, self.opened = saved, opened


class PresetChangeKind(models.TextChoices):
    ADOPTED = "adopted"  # as it was when changes began to be kept
    FOUNDED = "founded"
    REVISED = "revised"
    ARCHIVED = "archived"
    BROUGHT_BACK = "brought back"
    LOCKED = "locked"
    UNLOCKED = "unlocked"
    KEPT = "kept"  # its texts, for another time


class PresetQuerySet(models.QuerySet[Any]):
    def available(self) -> Self:
        """What a new run may start from."""
        return self.filter(archived=None)

    def ever_called(self, name: str) -> list[Any]:
        """All that have this name or have had it in any version, as people read names: one that was given up may be
        somebody else's by now."""
        return self._ever(lambda other: field_label(other) == field_label(name))

    def ever_looked_like(self, name: str) -> list[Any]:
        """Those, and all whose names of any time look like this one: for refusals."""
        return self._ever(lambda other: look_alike(name, [other]) is not None)

    def _ever(self, fits: Callable[[str], bool]) -> list[Any]:
        version = self.model.versions.rel
        called = version.related_model.objects.order_by().values_list(version.field.name, "name").distinct()
        return list(self.filter(pk__in={pk for pk, name in called if fits(name)}))

    def lock_row(self, pk: int) -> Any:
        """It as it is, and as it stays until this transaction ends. Any number may hold it at once."""
        if connection.vendor == "postgresql":  # SQLite has one writer anyway
            with connection.cursor() as cursor:
                table = self.model._meta.db_table
                cursor.execute(f"SELECT FROM {table} WHERE id = %s FOR SHARE", [pk])
        # read after the lock, by a statement of its own: one read with it would be the one from before the wait
        return self.select_related("current").get(pk=pk)

    @transaction.atomic
    def create_first(self, *, name: str, owner: Any, retention_days: int = RETENTION_DAYS, **held: Any) -> Any:
        """A new one with its first version, which holds this. IntegrityError where the name is taken."""
        saved = self.create(name=name, owner=owner, retention_days=retention_days)
        saved.revise(name=name, author=owner, **held)
        return saved

    def refuse_look_alike(self, name: str, saved: Any) -> None:
        """IntegrityError where another one is called so. What is called so already may stay."""
        others = list(self.exclude(pk=saved.pk).values_list("name", flat=True))
        if (saved.number == 0 or name != saved.name) and look_alike(name, others):
            raise IntegrityError(f"Another {saved.noun} has a name that looks like this one.")

    def changed(self, pk: int, kind: PresetChangeKind, by: Any) -> None:
        """Write down what it is from now on, and seal it, in the transaction of what changed it."""
        saved = self.select_related("owner", "current").get(pk=pk)
        values = {**saved.state(), "version": saved.current, "owner_name": record_name(saved.owner)}
        change = saved.changes.create(kind=kind, by=record_name(by), **values)
        sealing.record_run(change.chain, change.draft())


class Preset(models.Model):
    """Something to start runs from. It is changed by a new version and never deleted: runs point at the version that
    they were made by. For how long their texts are kept (0: for ever) is no part of a version: it changes nothing about
    how they run.

    A model of it has `current`, one of its `versions`, and `changes`.
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
        """Its owner may always change it, and who may change all of them as long as it is not locked."""
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
        """Of its current version; 0 while it has none."""
        return self.current.number if self.current else 0

    def name_complaint(self, name: str) -> str:
        """Why it may not be called so although nobody else is now, in a sentence; empty where it may."""
        return ""

    def named_by(self) -> list[str]:
        """What is saved and lets it decide or act, as in: the team “Office”. It goes on to mean this one when this one
        is renamed."""
        return []

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
    def kept(self) -> str:
        """How long the texts of its runs are kept, in words."""
        return retention.format_days(self.kept_days)

    @property
    def kept_days(self) -> int:
        """What holds for runs from now on; 0: for ever."""
        return retention.minimum_days(self.retention_days, settings.RETENTION_FLOOR_DAYS)

    def keep_for(self, days: int, by: Any) -> bool:
        """Keep the texts of its runs for so long, 0 for ever; whether that is a change.

        A shorter time holds for later runs alone: see `retention.spans`.
        """
        changed = self._change(
            PresetChangeKind.KEPT, by, lambda all_: all_.exclude(retention_days=days), retention_days=days
        )
        self.retention_days = days
        return changed

    @transaction.atomic
    def revise(self, *, name: str, author: Any, opened: int | None = None, **held: Any) -> Any:
        """A new version with this name, which holds this; the current one where nothing differs.

        RevisedMeanwhile where the current version is not the one with the number `opened`, if that is given;
        IntegrityError where another has the name, or one that looks like it; NameReserved, which is one, where nobody
        has it and it may not be taken.
        """
        others = type(self).objects
        # the lock first and alone: a row joined to it would be the one from before the wait
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
        self.name, self.current = name, version  # only now: a page may still show it where the name is taken
        return version

    def archive(self, by: Any) -> None:
        """Offer it no longer, and let it start nothing new. What it made keeps it, and it can be brought back."""
        self._change(PresetChangeKind.ARCHIVED, by, lambda all_: all_.filter(archived=None), archived=timezone.now())

    def bring_back(self, by: Any) -> None:
        self._change(PresetChangeKind.BROUGHT_BACK, by, lambda all_: all_.exclude(archived=None), archived=None)

    def lock(self, by: Any) -> None:
        """Let nobody but its owner change it; without an owner nobody but a superuser."""
        self._change(PresetChangeKind.LOCKED, by, lambda all_: all_.filter(locked=None), locked=timezone.now())

    def unlock(self, by: Any) -> None:
        self._change(PresetChangeKind.UNLOCKED, by, lambda all_: all_.exclude(locked=None), locked=None)

    @transaction.atomic
    def _change(self, kind: PresetChangeKind, by: Any, others: Callable[[Any], Any], **values: Any) -> bool:
        """Whether it was one of those that are otherwise, and so is changed now, on record."""
        changed = others(type(self).objects).filter(pk=self.pk).update(**values)
        if changed:
            type(self).objects.changed(self.pk, kind, by)
        return bool(changed)


class PresetVersion(models.Model):
    """It as it was from one change to the next. Nobody changes it."""

    of: ClassVar[str]  # the field that says whose version it is
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
        """Let what this is a version of stay as it is until this transaction ends.

        `out_of_date` where this is not the current version, or it is archived.
        """
        saved = self._meta.get_field(self.of).related_model.objects.lock_row(getattr(self, f"{self.of}_id"))  # type: ignore[union-attr]
        if saved.archived or saved.current_id != self.pk:
            raise self.out_of_date(saved, self)

    @classmethod
    def columns(cls, held: Mapping[str, Any]) -> dict[str, Any]:
        """Those of its own that say what it holds."""
        return {}

    def set_content(self, held: Mapping[str, Any]) -> None:
        """Add the rows of what it holds to a version that was just made."""
        raise NotImplementedError

    def has_same_content(self, name: str, held: Mapping[str, Any]) -> bool:
        """Whether it has this name and holds this, as it was written."""
        raise NotImplementedError


class PresetVersionInColumns(PresetVersion):
    """One that holds all in columns of its own: those that `holds` names."""

    holds: ClassVar[tuple[str, ...]]

    class Meta:
        abstract = True

    def held(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.holds}

    def has_same_content(self, name: str, held: Mapping[str, Any]) -> bool:
        return (self.name, self.held()) == (name, self.columns(held))

    def set_content(self, held: Mapping[str, Any]) -> None:
        """Nothing stands beside."""


class PresetChange(models.Model):
    """That somebody made or changed it, and what it has been since: the newest says what it is now.

    Who may use a name, what stands behind it, and for how long texts are kept follows from it, so it is evidence.
    `by` and `owner_name` are the names of those users then, `owner` is that account's key.
    """

    Kind = PresetChangeKind
    chain: ClassVar[UUID]  # the one of all changes of these; no run has this key
    entry: ClassVar[str]  # the kind of its entries
    whose: ClassVar[str]  # the column of what was changed
    told_with: ClassVar[tuple[str, ...]] = ()  # the rows that tell what a version holds

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
        """What its version holds, as facts of the entry."""
        raise NotImplementedError

    def draft(self) -> EntryDraft:
        """The entry that tells of it."""
        facts = {"id": self.saved_id, "change": self.kind, "by": self.by, "owner_name": self.owner_name}
        return EntryDraft(
            self.entry, format_timestamp(self.made) or "", {**facts, **self.state(), **self.held()}, row=self.pk
        )

    def state(self) -> dict[str, Any]:
        """What it has been since, as `Preset.state` says what it is."""
        return {
            "name": self.name,
            "owner": self.owner,
            "version": self.version.number if self.version else None,
            "archived": self.archived,
            "locked": self.locked,
            "retention_days": self.retention_days,
        }


class Start(models.Model):
    """That a run was started from the thing `key` on a `shelf`, which is named as the shelf's label. `id` grows from
    one run to the next, and `owner` is that of the run: the newest of each thing are found without a look at others.
    """

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="starts")
    shelf = models.CharField(max_length=40)
    key = models.BigIntegerField()
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+", db_index=False
    )
    rehearsal = models.BooleanField()

    class Meta:
        default_permissions = ()
        indexes = [
            models.Index(fields=["shelf", "key", "-id"], name="start_newest_first"),
            models.Index(fields=["owner", "shelf", "key", "-id"], name="start_by_owner"),
        ]

    def __str__(self) -> str:
        return f"{self.run_id} from {self.shelf} {self.key}"


def newest_uses(shelf: str, keys: Sequence[int], most: int, owner: int | None = None) -> tuple[str, list[Any]]:
    """A table in SQL, with its parameters: of each thing the runs that were started from it last, or those of one
    `owner`, at most so many, each with `key`, `run_id` and `rehearsal`. For counts that have an end."""
    each = _NEWEST.format(whose="" if owner is None else "AND owner_id = %s")
    whose = [] if owner is None else [owner]
    return " UNION ALL ".join([each] * len(keys)), [param for key in keys for param in (shelf, key, *whose, most)]


_NEWEST = (
    "SELECT * FROM (SELECT key, run_id, rehearsal FROM runs_start WHERE shelf = %s AND key = %s {whose} "
    "ORDER BY id DESC LIMIT %s) AS newest_of_one"
)
