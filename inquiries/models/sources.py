"""Sources with their texts, passages for full-text search, and claims with their quotes."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from uuid import UUID

from django.db import connection, models
from django.utils import timezone

from engine.ledger.immutability import Immutable
from engine.models import Document, DocumentLimits, NewDocument, ToolCall
from engine.models.documents import TITLE_LENGTH, DocumentKind
from engine.text.search_terms import index_words, label_term
from toolbox import documents

if TYPE_CHECKING:
    from .inquiries import Inquiry

PASSAGE_LENGTH = 1_200
MAX_TITLE_LENGTH = 50  # of a web page that is taken over; its address follows
TSV = "text/tab-separated-values"
CSV_TYPES = ("text/csv", "application/csv", TSV)
TABLE = DocumentLimits(number=1, size=10 * 2**20, characters=3_000_000)
QUERY_WORDS, CANDIDATES = 24, 400  # words of a query; passages that are ranked

_ON_SQLITE = "inquiries_passage.id IN (SELECT rowid FROM inquiries_words WHERE inquiries_words MATCH %s)"
_ON_POSTGRESQL = "found_by @@ %s::tsquery"


class SourceKind(models.TextChoices):
    DOCUMENT = "document"
    PAGE = "page"
    TABLE = "table"
    CALCULATION = "calculation"
    MCP = "mcp", "Tool of a server"


class InquirySourceQuerySet(models.QuerySet["InquirySource"]):
    def of_documents(self, inquiry: "Inquiry", documents: Iterable[Document]) -> None:
        """Create a source for each document of the run; texts stay in the documents."""
        for one in documents:
            values = {"number": one.number, "kind": SourceKind.DOCUMENT, "title": one.title}
            source = self.create(inquiry=inquiry, document=one, **values)
            SourcePassage.objects.bulk_create(_passages(source, one.text))

    def save_source(self, inquiry: UUID, text: str, **values: Any) -> "InquirySource":
        """Save an output of a tool under the next number; return the existing source if text and kind are the same."""
        digest = sha256(text.encode()).hexdigest()
        own = self.filter(inquiry=inquiry)
        if known := own.filter(text_digest=digest, kind=values["kind"]).first():
            return known
        number = (own.aggregate(models.Max("number"))["number__max"] or 0) + 1
        values |= {"read": text, "text_digest": digest, "length": len(text)}
        source = self.create(inquiry_id=inquiry, number=number, **values)
        SourcePassage.objects.bulk_create(_passages(source, text))
        return source

    def listed(self) -> "InquirySourceQuerySet":
        """Load sources without their texts."""
        return self.defer("read").select_related("document")


class InquirySource(models.Model):
    """A document, or an output of a tool. `number` identifies it in prompts and quotes.

    The text of a document is in `document`; that of a tool's output is in `read`. `asked`: requested address,
    `address`: the one after redirects. `bytes_digest`, `text_digest`: SHA-256 of the response body and of the text.
    `flags`: reasons to check the source.
    """

    inquiry = models.ForeignKey("inquiries.Inquiry", on_delete=models.PROTECT, related_name="sources")
    number = models.PositiveSmallIntegerField()
    kind = models.CharField(max_length=12, choices=SourceKind)
    title = models.CharField(max_length=200, blank=True)
    document = models.OneToOneField(Document, on_delete=models.PROTECT, null=True, related_name="+")
    tool_call = models.OneToOneField(ToolCall, on_delete=models.PROTECT, null=True, related_name="+")
    asked = models.TextField(blank=True)
    address = models.TextField(blank=True)
    type = models.CharField(max_length=100, blank=True)
    extractor = models.CharField(max_length=40, blank=True)
    bytes_digest = models.CharField(max_length=64, blank=True)
    text_digest = models.CharField(max_length=64, blank=True)
    flags = models.JSONField(default=list)
    read = models.TextField(blank=True)
    length = models.PositiveIntegerField(default=0)
    made = models.DateTimeField(default=timezone.now)

    objects = InquirySourceQuerySet.as_manager()
    immutable = Immutable(erased="title asked address bytes_digest text_digest read", run="inquiry")

    class Meta:
        db_table = "inquiries_source"
        ordering = ["number"]
        default_permissions = ()
        constraints = [models.UniqueConstraint("inquiry", "number", name="one_source_of_a_number")]

    def __str__(self) -> str:
        return f"[{self.number}] {self.title}"

    @property
    def text(self) -> str:
        return self.document.text if self.document else self.read

    def as_document(self) -> NewDocument:
        """Return the source as a document for an inquiry that follows this one."""
        digest = self.document.digest if self.document else self.bytes_digest or self.text_digest
        kind, lines = self.document.kind if self.document else DocumentKind.TEXT, tuple(self.text.split("\n"))
        if self.is_csv:
            with suppress(documents.UnreadableDocument):
                kind, lines = DocumentKind.CSV, tuple(self.as_table())
        title = " ".join(f"{self.title[:MAX_TITLE_LENGTH] if self.address else self.title} {self.address}".split())[
            :TITLE_LENGTH
        ]
        return NewDocument(title, kind, lines, digest)

    def as_table(self) -> Sequence[str]:
        """Return the lines of a CSV. Attached files were normalised when they were read; a page from the web is
        normalised here. Raises UnreadableDocument."""
        if self.document:
            return self.text.split("\n")
        return documents.read_document(
            f"table{'.tsv' if self.type == TSV else '.csv'}", self.text.encode(), TABLE
        ).lines

    @property
    def size(self) -> int:
        """Number of characters; does not load the text of a tool's output."""
        return len(self.document.text) if self.document else self.length

    @property
    def is_csv(self) -> bool:
        if self.document:
            return self.document.kind == DocumentKind.CSV
        path = self.address.partition("?")[0].lower()
        return self.kind == SourceKind.PAGE and (self.type in CSV_TYPES or path.endswith((".csv", ".tsv")))

    @property
    def host(self) -> str:
        return host_of(self.address)

    @property
    def site(self) -> str:
        """Host of a web page, or name of an MCP server; empty for attached documents and calculations.

        A page that was taken over from an earlier inquiry is a document whose title ends in its address.
        """
        if self.kind == SourceKind.MCP:
            return self.title.rpartition(".")[0]
        taken_over = self.title.rpartition(" ")[2] if self.kind == SourceKind.DOCUMENT else ""
        host = host_of(taken_over) if taken_over.startswith(("http://", "https://")) else self.host
        return host.removeprefix("www.")


def are_from_one_site(sources: Iterable[InquirySource]) -> bool:
    """Tell whether all sources are from one site. A subdomain is no second site; documents of the user are no site, so
    with one of them the answer is no."""
    sources = list(sources)
    sites = {one.site for one in sources if one.site}
    apart = [site for site in sites if not any(site.endswith(f".{other}") for other in sites)]
    own = any(one.kind in (SourceKind.DOCUMENT, SourceKind.TABLE) and not one.site for one in sources)
    return len(apart) == 1 and not own


def host_of(address: str) -> str:
    try:
        return (urlsplit(address).hostname or "").rstrip(".")
    except ValueError:  # the text is part of a title and need not be an address
        return ""


class InquiryClaim(models.Model):
    """A statement of a result or an answer. `number` is unique in the inquiry; `reasoned_from`: numbers of other
    claims; `bare`: it has a number that is in nothing that it rests on."""

    inquiry = models.ForeignKey("inquiries.Inquiry", on_delete=models.PROTECT, related_name="claims")
    order = models.ForeignKey("inquiries.Assignment", on_delete=models.PROTECT, related_name="claims")
    number = models.PositiveSmallIntegerField()
    text = models.TextField(blank=True)
    reasoned_from = models.JSONField(default=list)
    bare = models.BooleanField(default=False)
    made = models.DateTimeField(default=timezone.now)
    immutable = Immutable(erased="text", run="inquiry")

    class Meta:
        db_table = "inquiries_claim"
        ordering = ["number"]
        default_permissions = ()
        constraints = [models.UniqueConstraint("inquiry", "number", name="one_claim_of_a_number")]

    def __str__(self) -> str:
        return f"Claim {self.number}"


class ClaimQuote(models.Model):
    """A quote from a source; `parts`: pairs of start and end in its text, several if the quote has ellipses."""

    claim = models.ForeignKey(InquiryClaim, on_delete=models.PROTECT, related_name="quotes")
    source = models.ForeignKey(InquirySource, on_delete=models.PROTECT, related_name="quotes")
    text = models.TextField(blank=True)
    parts = models.JSONField()
    immutable = Immutable(erased="text", run="claim.inquiry")

    class Meta:
        db_table = "inquiries_quote"
        ordering = ["pk"]
        default_permissions = ()

    def __str__(self) -> str:
        return f"Quote of {self.source}"


# ---- passages ---------------------------------------------------------------------------------------------


class SourcePassageQuerySet(models.QuerySet["SourcePassage"]):
    def best(self, inquiry: Any, words: Iterable[str], most: int) -> "list[SourcePassage]":
        """Return the passages with most of these words; rare words weigh more.

        The database's index finds candidates; ranking is done here, so that it is the same on SQLite and PostgreSQL.
        """
        sought = list(dict.fromkeys(words))[:QUERY_WORDS]
        if not sought:
            return []
        found = list(self._found(inquiry, sought).select_related("source__document").order_by("pk")[:CANDIDATES])
        held = [set(one.words.split()) for one in found]
        weight = {word: 1 / (1 + sum(word in one for one in held)) for word in sought}
        scores = [sum(weight[word] for word in sought if word in one) for one in held]
        order = sorted(range(len(found)), key=lambda at: (-scores[at], at))
        return [found[at] for at in order[:most]]

    def _found(self, inquiry: Any, sought: list[str]) -> "models.QuerySet[SourcePassage]":
        either, both = (" OR ", " AND ") if connection.vendor == "sqlite" else (" | ", " & ")
        sign = '"' if connection.vendor == "sqlite" else "'"
        words = either.join(f"{sign}{word}{sign}" for word in sought)
        query = f"{sign}{_mark(inquiry)}{sign}{both}({words})"
        where = _ON_SQLITE if connection.vendor == "sqlite" else _ON_POSTGRESQL
        return self.extra(where=[where], params=[query])  # noqa: S610 - fixed names; the query is a parameter


class SourcePassage(models.Model):
    """A part of a source with its search words. It is derived from the text, so it is no evidence and is deleted when
    the text is erased. Its full-text index is made in a migration."""

    source = models.ForeignKey(InquirySource, on_delete=models.CASCADE, related_name="passages")
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()
    words = models.TextField()

    objects = SourcePassageQuerySet.as_manager()
    immutable = None

    class Meta:
        db_table = "inquiries_passage"
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.source}, {self.start} to {self.end}"

    @property
    def text(self) -> str:
        return self.source.text[self.start : self.end]


def _mark(inquiry: Any) -> str:
    """Return a search word that only the passages of this inquiry have."""
    return label_term("of", inquiry.hex)


def _passages(source: InquirySource, text: str) -> Iterator[SourcePassage]:
    for start, end in split_passages(text):
        words = [_mark(source.inquiry_id), *index_words(text[start:end])]
        yield SourcePassage(source=source, start=start, end=end, words=" ".join(words))


def split_passages(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of passages of at most PASSAGE_LENGTH characters, cut at blank lines, else at lines or
    spaces."""
    start = 0
    while start < len(text):
        end = min(start + PASSAGE_LENGTH, len(text))
        if end < len(text):
            cuts = (text.rfind(sign, start + PASSAGE_LENGTH // 3, end) for sign in ("\n\n", "\n", " "))
            end = next((cut + 1 for cut in cuts if cut > 0), end)
        yield start, end
        start = end
