"""A small office: people, tasks, a calendar, documents, stock items and purchase requests.

Why so: engine/DESIGN.md, Tools.
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
CALENDAR = 0x0FF1CE  # key of PostgreSQL's advisory lock on the calendar


class SearchableQuerySet(models.QuerySet[Any]):
    def found(self, query: str) -> Self:
        """Filter rows that have all words of the query, or words that begin with them."""
        with_all = Q()
        for word in index_words(query):
            with_all &= Q(words__contains=f" {word}")
        return self.filter(with_all)


class SearchableRow(models.Model):
    """A row with search words. `example`: it belongs to the example office and is removed with it."""

    search_columns: tuple[str, ...] = ()  # columns whose words are indexed

    words = models.TextField(blank=True, editable=False)
    example = models.BooleanField(default=False)

    objects = SearchableQuerySet.as_manager()

    class Meta:
        abstract = True

    def save(self, *args: Any, **kwargs: Any) -> None:
        self.words = " " + " ".join(
            index_words(" ".join(str(getattr(self, column) or "") for column in self.search_columns))
        )
        super().save(*args, **kwargs)


# ---- people -----------------------------------------------------------------------------------------------


class Person(SearchableRow):
    search_columns = ("name", "mail", "role", "unit")

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
    search_columns = ("title", "details", "assignee")

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
        """Lock the calendar until the transaction ends. SQLite needs no lock, since it has one writer at a time."""
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_xact_lock(%s)", [CALENDAR])

    def between(self, start: datetime, end: datetime) -> Self:
        """Filter entries that overlap this span."""
        return self.filter(start__lt=end, end__gt=start)

    def with_any(self, people: Iterable[Person]) -> Self:
        return self.filter(people__in=list(people)).distinct()


class CalendarEntry(SearchableRow):
    search_columns = ("title", "place")

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
    """A document in its newest version. `outside`: the text is untrusted, for example imported."""

    search_columns = ("name", "text")

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
        """Save a new version; older ones are kept. Needs a lock on the row."""
        OfficeDocumentVersion.objects.create(document=self, number=self.version, text=self.text)
        self.text, self.version = text, self.version + 1
        self.save()


class OfficeDocumentVersion(models.Model):
    """An earlier version of a document."""

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
    search_columns = ("name", "kind", "place")

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
    """A purchase request. `lines`: JSON with `what`, `number` and the price of one; `total`: their sum."""

    search_columns = ("reason", "asked_for", "description")

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
