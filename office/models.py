"""A small office on rows of its own: people, tasks, a calendar, documents, a stock and what is to be bought.

Why so: docs/decisions.md, Tools.
"""

from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from typing import Any, ClassVar, Self

from django.db import connection, models
from django.db.models import F, Q
from django.db.models.functions import Lower
from django.utils import timezone

from engine.text.search_terms import index_words

NAME_LENGTH, LONG_LENGTH = 120, 200
CALENDAR = 0x0FF1CE  # by which the database knows the lock on the calendar


class SearchableQuerySet(models.QuerySet[Any]):
    def found(self, query: str) -> Self:
        """With all of these words, or words that begin with them."""
        with_all = Q()
        for word in index_words(query):
            with_all &= Q(words__contains=f" {word}")
        return self.filter(with_all)


class SearchableRow(models.Model):
    """What is found by words. `example`: it came with the example, and goes with it."""

    said_in: tuple[str, ...] = ()  # the columns whose words it is found by

    words = models.TextField(blank=True, editable=False)
    example = models.BooleanField(default=False)

    objects = SearchableQuerySet.as_manager()

    class Meta:
        abstract = True

    def save(self, *args: Any, **kwargs: Any) -> None:
        self.words = " " + " ".join(index_words(" ".join(str(getattr(self, column) or "") for column in self.said_in)))
        super().save(*args, **kwargs)


# ---- people -----------------------------------------------------------------------------------------------


class Person(SearchableRow):
    said_in = ("name", "mail", "role", "unit")

    name = models.CharField(max_length=NAME_LENGTH)
    mail = models.EmailField()
    role = models.CharField(max_length=NAME_LENGTH, blank=True)
    unit = models.CharField(max_length=NAME_LENGTH, blank=True)
    manager = models.ForeignKey("self", on_delete=models.SET_NULL, null=True, blank=True, related_name="team")
    start = models.DateField(null=True, blank=True)

    class Meta:
        ordering = ["name", "pk"]
        verbose_name_plural = "people"
        constraints = [models.UniqueConstraint(Lower("mail"), name="one_person_of_an_address")]

    def __str__(self) -> str:
        return self.name


# ---- tasks ------------------------------------------------------------------------------------------------


class TaskState(models.TextChoices):
    OPEN = "open"
    DOING = "doing"
    DONE = "done"
    DROPPED = "dropped"


class Task(SearchableRow):
    State = TaskState
    said_in = ("title", "details", "assignee")

    title = models.CharField(max_length=LONG_LENGTH)
    assignee = models.ForeignKey(Person, on_delete=models.SET_NULL, null=True, blank=True, related_name="tasks")
    due = models.DateField(null=True, blank=True)
    state = models.CharField(max_length=10, choices=TaskState, default=TaskState.OPEN)
    details = models.TextField(blank=True)

    class Meta:
        ordering = ["due", "pk"]

    def __str__(self) -> str:
        return self.title


# ---- the calendar -----------------------------------------------------------------------------------------


class CalendarQuerySet(SearchableQuerySet):
    def lock(self) -> None:
        """Nobody else puts anything in until the transaction ends; on SQLite nobody writes beside it anyway."""
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_xact_lock(%s)", [CALENDAR])

    def between(self, start: datetime, end: datetime) -> Self:
        """What has any of its time in this span."""
        return self.filter(start__lt=end, end__gt=start)

    def with_any(self, people: Iterable[Person]) -> Self:
        return self.filter(people__in=list(people)).distinct()


class CalendarEntry(SearchableRow):
    said_in = ("title", "place")

    title = models.CharField(max_length=LONG_LENGTH)
    start = models.DateTimeField()
    end = models.DateTimeField()
    place = models.CharField(max_length=NAME_LENGTH, blank=True)
    people = models.ManyToManyField(Person, blank=True, related_name="entries")

    objects: ClassVar[Any] = CalendarQuerySet.as_manager()

    class Meta:
        ordering = ["start", "pk"]
        verbose_name_plural = "calendar entries"
        constraints = [models.CheckConstraint(name="entry_ends_after_its_start", condition=Q(end__gt=F("start")))]

    def __str__(self) -> str:
        return self.title


# ---- documents --------------------------------------------------------------------------------------------


class OfficeDocument(SearchableRow):
    """Found by the words of its newest version; `outside`: strangers wrote it, as that of one which was imported."""

    said_in = ("name", "text")

    name = models.CharField(max_length=LONG_LENGTH)
    text = models.TextField()
    version = models.PositiveIntegerField(default=1)
    outside = models.BooleanField(default=False)

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint(Lower("name"), name="one_office_document_of_a_name")]

    def __str__(self) -> str:
        return self.name

    def write(self, text: str) -> None:
        """A new version; the older ones stay. In a transaction in which nobody else writes one."""
        OfficeDocumentVersion.objects.create(document=self, number=self.version, text=self.text)
        self.text, self.version = text, self.version + 1
        self.save()


class OfficeDocumentVersion(models.Model):
    """What stood in a document before."""

    document = models.ForeignKey(OfficeDocument, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    text = models.TextField()
    made = models.DateTimeField(default=timezone.now)

    class Meta:
        db_table = "office_officeversion"
        ordering = ["-number"]
        constraints = [models.UniqueConstraint(fields=["document", "number"], name="one_office_version_of_a_number")]

    def __str__(self) -> str:
        return f"{self.document}, version {self.number}"


# ---- things -----------------------------------------------------------------------------------------------


class Item(SearchableRow):
    said_in = ("name", "kind", "place")

    name = models.CharField(max_length=LONG_LENGTH)
    kind = models.CharField(max_length=NAME_LENGTH, blank=True)
    number = models.PositiveIntegerField(default=0)
    price = models.DecimalField(max_digits=12, decimal_places=2, default=Decimal(0))
    place = models.CharField(max_length=NAME_LENGTH, blank=True)

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint(Lower("name"), name="one_item_of_a_name")]

    def __str__(self) -> str:
        return self.name


class Request(SearchableRow):
    """What somebody wants to be bought. `lines` are JSON: what, number and the price of one; `total` is their sum."""

    said_in = ("reason", "asked_for", "description")

    lines = models.JSONField(default=list)
    total = models.DecimalField(max_digits=14, decimal_places=2)
    reason = models.CharField(max_length=LONG_LENGTH, blank=True)
    asked_for = models.CharField(max_length=NAME_LENGTH, blank=True)
    made = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return f"request {self.pk}"

    @property
    def description(self) -> str:
        return ", ".join(f"{line['number']} × {line['what']}" for line in self.lines)
