"""Tools that search and read the sources of the same inquiry."""

from pydantic import BaseModel, ConfigDict, Field

from engine.models import Effect
from engine.text.search_terms import index_words
from engine.tools import Tool, ToolRefused, ToolUse, schema_title

from ..models import Inquiry, InquirySource, SourcePassage

SHOWN = 6_000  # characters
PASSAGES = 5


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid", model_title_generator=schema_title)


class SearchSourcesArguments(_Arguments):
    model_config = ConfigDict(title="Search")

    words: str = Field(min_length=1, max_length=400)


class ReadSourceArguments(_Arguments):
    model_config = ConfigDict(title="Read")

    source: int = Field(ge=1)
    start: int = Field(default=0, ge=0, description="the character from which on to read")
    around: str = Field(default="", max_length=200, description="or words that stand there: it is read around these")


def _inquiry(use: ToolUse) -> Inquiry:
    found = Inquiry.objects.filter(pk=use.run.pk).first()
    if found is None:
        raise ToolRefused("Only an inquiry has sources.")
    return found


def search_sources(asked: SearchSourcesArguments, use: ToolUse) -> str:
    found = SourcePassage.objects.best(_inquiry(use).pk, index_words(asked.words), PASSAGES)
    if not found:
        return "No passage has any of these words."
    return "\n\n".join(f"{one.source}, from character {one.start}:\n{one.text.strip()}" for one in found)[:SHOWN]


def read_source(asked: ReadSourceArguments, use: ToolUse) -> str:
    sources = InquirySource.objects.filter(inquiry=_inquiry(use)).select_related("document")
    source = sources.filter(number=asked.source).first()
    if source is None:
        raise ToolRefused(f"There is no source {asked.source}. There are {sources.count()}.")
    text = source.text
    start = _around(text, asked.around) if asked.around else asked.start
    if asked.start >= len(text):
        raise ToolRefused(f"{source} has {len(text):,} characters.")
    end = min(start + SHOWN, len(text))
    return f"{source}, characters {start} to {end} of {len(text)}:\n{text[start:end]}"


def _around(text: str, words: str) -> int:
    """Return the start of a part with these words in the middle. Raises ToolRefused if they are not in the text."""
    at = text.casefold().find(words.casefold())
    if at < 0:
        raise ToolRefused(f"“{words}” does not stand there. Search by words, or read on from a character.")
    return max(at - SHOWN // 2, 0)


TOOLS = (
    Tool(
        "sources.search",
        "Finds passages in all sources of this inquiry, by words that should stand there.",
        SearchSourcesArguments,
        Effect.READS,
        change=search_sources,
        shown=SHOWN + 200,
    ),
    Tool(
        "sources.read",
        "Reads on in a source, by its number, from a character on.",
        ReadSourceArguments,
        Effect.READS,
        change=read_source,
        shown=SHOWN + 200,
    ),
)
