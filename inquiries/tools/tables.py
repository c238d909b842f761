"""Tools that read and query CSV sources of an inquiry."""

import asyncio
from collections.abc import Sequence

from asgiref.sync import sync_to_async
from pydantic import BaseModel, ConfigDict, Field

from engine.models import Effect
from engine.tools import Tool, ToolRefused, ToolUse
from toolbox import csv_query, documents

from ..models import InquirySource


class ReadTableArguments(BaseModel):
    model_config = ConfigDict(title="TableRead", extra="forbid")

    source: int = Field(ge=1, description="the number of a source that is a CSV")


class QueryTableArguments(ReadTableArguments):
    model_config = ConfigDict(title="TableAsk")

    sql: str = Field(min_length=1, max_length=csv_query.LONGEST_SQL, description="one SELECT over the table data")


async def read_table(asked: ReadTableArguments, use: ToolUse) -> str:
    lines = await _lines(asked, use)
    try:
        return (await asyncio.to_thread(csv_query.csv_table, lines)).described()
    except csv_query.NotATable as why:
        raise ToolRefused(str(why)) from why


async def query_table(asked: QueryTableArguments, use: ToolUse) -> str:
    lines = await _lines(asked, use)
    try:
        answer = await asyncio.to_thread(lambda: csv_query.run_select(csv_query.csv_table(lines), asked.sql))
    except csv_query.NotATable as why:
        raise ToolRefused(str(why)) from why
    return f"Of source {asked.source}: {answer}"


async def _lines(asked: ReadTableArguments, use: ToolUse) -> Sequence[str]:
    found = InquirySource.objects.filter(inquiry=use.run.pk, number=asked.source)
    source = await found.select_related("document").afirst()
    if source is None or not source.is_csv:
        raise ToolRefused(f"Source {asked.source} is no CSV. {await sync_to_async(_which)(use)}")
    try:
        return await asyncio.to_thread(source.as_table)
    except documents.UnreadableDocument as why:
        raise ToolRefused(str(why)) from why


def _which(use: ToolUse) -> str:
    found = InquirySource.objects.filter(inquiry=use.run.pk).listed()
    return f"CSVs are: {', '.join(str(one) for one in found if one.is_csv) or 'none'}."


TOOLS = (
    Tool(
        "tables.read",
        "Shows the columns of a CSV and its first rows: a source, quoted as in “Row 2 … Amount: 900”.",
        ReadTableArguments,
        Effect.READS,
        perform=read_table,
        timeout=20.0,
        kept=60_000,
    ),
    Tool(
        "tables.ask",
        "Asks a CSV by one SELECT of SQLite over the table data. What comes is a source, quoted by its rows.",
        QueryTableArguments,
        Effect.READS,
        perform=query_table,
        timeout=20.0,
        kept=60_000,
    ),
)
