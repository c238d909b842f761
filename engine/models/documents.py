"""What was attached to a run, as the numbered lines that everybody reads: models, people, and whoever verifies it.

Why so: runs/DESIGN.md, Documents.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.db import models
from django.utils import timezone

from engine.runtime.procedure import procedures

from ..ledger.immutability import Immutable

TITLE_LENGTH = 120
LINE_LENGTH = 160  # characters; what is longer is broken into more lines

if TYPE_CHECKING:
    from .runs import Run


class DocumentKind(models.TextChoices):
    TEXT = "text", "Text"
    MARKDOWN = "markdown", "Markdown"
    CSV = "csv", "CSV"
    PDF = "pdf", "PDF"


@dataclass(frozen=True)
class NewDocument:
    """A file that was read, before it is attached to anything. `digest`: SHA-256 of the file as it came, in hex."""

    title: str
    kind: str
    lines: tuple[str, ...]
    digest: str

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


@dataclass(frozen=True)
class DocumentLimits:
    """So many documents of one run, each file with so many bytes, all of them together with so many characters."""

    number: int
    size: int
    characters: int

    def problem(self, documents: Sequence[NewDocument]) -> str:
        """Why these cannot all be attached, in a sentence that says what to do; empty where they can."""
        if documents and not self.number:
            return "No documents can be attached here."
        if len(documents) > self.number:
            return f"Attach at most {self.number} documents. These are {len(documents)}."
        characters = sum(len(document.text) for document in documents)
        if characters <= self.characters:
            return ""
        longest = max(documents, key=lambda document: len(document.text))
        return (
            f"The documents have {characters:,} characters together, and {self.characters:,} are the most that can be "
            f"read. Shorten or leave out some of them: the longest is {longest.title}, with {len(longest.text):,}."
        )


NO_DOCUMENTS = DocumentLimits(number=0, size=0, characters=0)


class TooManyDocuments(ValueError):
    """More than the procedure takes: the text is a sentence."""


class DocumentQuerySet(models.QuerySet["Document"]):
    def attach(self, run: "Run", documents: Iterable[NewDocument]) -> "list[Document]":
        """Number these and keep them, in the transaction that submits the run and before `sealing.submit`.

        TooManyDocuments where its procedure does not take so many.
        """
        documents, limits = list(documents), procedures()[run.procedure].documents or NO_DOCUMENTS
        if complaint := limits.problem(documents):
            raise TooManyDocuments(complaint)
        return Document.objects.bulk_create(
            Document(run=run, number=number, title=one.title, kind=one.kind, text=one.text, digest=one.digest)
            for number, one in enumerate(documents, 1)
        )


class Document(models.Model):
    """One of the documents of a run. `text` is its lines, which are counted from 1; it, the title and the digest of the
    file are empty once the run is redacted. None comes or goes after the submission."""

    Kind = DocumentKind

    run = models.ForeignKey("engine.Run", on_delete=models.PROTECT, related_name="documents", db_index=False)
    number = models.PositiveSmallIntegerField()
    title = models.CharField(max_length=TITLE_LENGTH, blank=True)
    kind = models.CharField(max_length=10, choices=DocumentKind)
    text = models.TextField(blank=True)
    digest = models.CharField(max_length=64, blank=True)
    made = models.DateTimeField(default=timezone.now)

    objects = DocumentQuerySet.as_manager()
    immutable = Immutable(erased="title text digest", run="run")

    class Meta:
        ordering = ["number"]
        default_permissions = ()  # who may see a run may read what came with it
        constraints = [models.UniqueConstraint("run", "number", name="one_document_per_number")]

    def __str__(self) -> str:
        return f"{self.label} {self.title}".strip()

    @property
    def label(self) -> str:
        """What models and people call it: A1, A2 ..."""
        return document_label(self.number)

    @property
    def lines(self) -> list[str]:
        return self.text.split("\n") if self.text else []

    def line(self, number: int) -> str | None:
        """The line with this number; None where there is none."""
        lines = self.lines
        return lines[number - 1] if 1 <= number <= len(lines) else None


def document_label(number: int) -> str:
    return f"A{number}"
