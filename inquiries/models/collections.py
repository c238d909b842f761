"""Named collections of documents for inquiries. Documents are copied to the run at submission, so later changes of a
collection change no record."""

from collections.abc import Iterable, Sequence

from django.db import models
from django.utils import timezone

from engine.models import NewDocument
from engine.models.documents import TITLE_LENGTH, DocumentKind

NAME_LENGTH = 80


class CollectionQuerySet(models.QuerySet["Collection"]):
    def documents_of(self, names: Sequence[str]) -> list[NewDocument]:
        """Return the documents of these collections. Raises Collection.DoesNotExist with the missing name."""
        found = {one.name: one for one in self.filter(name__in=names).prefetch_related("documents")}
        if missing := next((name for name in names if name not in found), None):
            raise Collection.DoesNotExist(missing)
        return [one.to_document for name in dict.fromkeys(names) for one in found[name].documents.all()]


class Collection(models.Model):
    name = models.CharField(max_length=NAME_LENGTH, unique=True)
    made = models.DateTimeField(default=timezone.now)

    objects = CollectionQuerySet.as_manager()
    immutable = None

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    def add(self, documents: Iterable[NewDocument]) -> None:
        """Add documents; one with an existing title replaces the old one."""
        for one in documents:
            values = {"kind": one.kind, "text": one.text, "digest": one.digest, "made": timezone.now()}
            self.documents.update_or_create(title=one.title, defaults=values)


class CollectionDocument(models.Model):
    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="documents")
    title = models.CharField(max_length=TITLE_LENGTH)
    kind = models.CharField(max_length=10, choices=DocumentKind)
    text = models.TextField()
    digest = models.CharField(max_length=64)
    made = models.DateTimeField(default=timezone.now)
    immutable = None

    class Meta:
        ordering = ["title"]
        constraints = [models.UniqueConstraint("collection", "title", name="one_document_of_a_title")]

    def __str__(self) -> str:
        return self.title

    @property
    def to_document(self) -> NewDocument:
        return NewDocument(self.title, self.kind, tuple(self.text.split("\n")), self.digest)
