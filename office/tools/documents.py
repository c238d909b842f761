from pydantic import ConfigDict, Field

from engine.models import Effect
from engine.tools import Tool, ToolOutput, ToolRefused, ToolUse
from office.models import OfficeDocument, OfficeDocumentVersion

from .arguments import LONGEST_TEXT, Long, OfficeToolArguments, Query, format_list, joined_fields


class FindDocumentsArguments(OfficeToolArguments):
    model_config = ConfigDict(title="Find")

    query: Query = ""


class ReadDocumentArguments(OfficeToolArguments):
    model_config = ConfigDict(title="Read")

    name: Long
    version: int | None = Field(default=None, ge=1, description="an earlier one; without it the newest")


class WriteDocumentArguments(OfficeToolArguments):
    model_config = ConfigDict(title="Write")

    name: Long
    text: str = Field(min_length=1, max_length=LONGEST_TEXT)


def find(asked: FindDocumentsArguments, use: ToolUse) -> ToolOutput:
    documents = OfficeDocument.objects.found(asked.query)
    outside = documents.filter(outside=True).exists()
    return ToolOutput(format_list(documents, line, "No document has these words."), outside=outside)


def line(document: OfficeDocument) -> str:
    begins = " ".join(document.text[:200].split())
    return joined_fields(f"{document.pk} {document.name}", f"version {document.version}", begins)


def read(asked: ReadDocumentArguments, use: ToolUse) -> ToolOutput:
    document = OfficeDocument.objects.filter(name__iexact=asked.name).first()
    if document is None:
        near = ", ".join(one.name for one in OfficeDocument.objects.found(asked.name)[:5])
        raise ToolRefused(f"There is no document named {asked.name}." + (f" There is {near}." if near else ""))
    if asked.version in (None, document.version):
        return ToolOutput(document.text, outside=document.outside)
    earlier = OfficeDocumentVersion.objects.filter(document=document, number=asked.version).first()
    if earlier is None:
        raise ToolRefused(f"{document.name} has {document.version} versions.")
    return ToolOutput(earlier.text, outside=document.outside)


def write(asked: WriteDocumentArguments, use: ToolUse) -> str:
    document = OfficeDocument.objects.select_for_update().filter(name__iexact=asked.name).first()
    if document is None:
        document = OfficeDocument.objects.create(name=asked.name, text=asked.text)
    else:
        document.write(asked.text)
    return f"Document {document.pk}, {document.name}, has its version {document.version} now."


TOOLS = (
    Tool(
        "documents.find",
        "Finds documents by words of name and text.",
        FindDocumentsArguments,
        Effect.READS,
        change=find,
    ),
    Tool(
        "documents.read",
        "Reads a document, the newest version or an earlier one.",
        ReadDocumentArguments,
        Effect.READS,
        change=read,
    ),
    Tool(
        "documents.write",
        "Writes a document: a new one, or a new version of one that is there. Older versions stay.",
        WriteDocumentArguments,
        Effect.WRITES,
        change=write,
        deed=lambda asked: f"Write the document “{asked.name}”",
    ),
)
