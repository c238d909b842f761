"""How those who work on an inquiry ask the CSVs among its documents."""

import asyncio
from collections.abc import Sequence

from asgiref.sync import sync_to_async
from pydantic import BaseModel, ConfigDict, Field

from engine.models import Effect
from engine.tools import Refused, Tool, Use
from toolbox import documents, tables

from .models import Source


class TableRead(BaseModel):
    model_config = ConfigDict(extra="forbid")

    source: int = Field(ge=1, description="the number of a source that is a CSV")


class TableAsk(TableRead):
    sql: str = Field(min_length=1, max_length=tables.LONGEST_SQL, description="one SELECT over the table data")


async def read(asked: TableRead, use: Use) -> str:
    lines = await _lines(asked, use)
    try:
        return (await asyncio.to_thread(tables.table_of, lines)).described()
    except tables.NoTable as why:
        raise Refused(str(why)) from why


async def ask(asked: TableAsk, use: Use) -> str:
    lines = await _lines(asked, use)
    try:
        answer = await asyncio.to_thread(lambda: tables.ask(tables.table_of(lines), asked.sql))
    except tables.NoTable as why:
        raise Refused(str(why)) from why
    return f"Of source {asked.source}: {answer}"


async def _lines(asked: TableRead, use: Use) -> Sequence[str]:
    found = Source.objects.filter(inquiry=use.run.pk, number=asked.source)
    source = await found.select_related("document").afirst()
    if source is None or not source.is_csv:
        raise Refused(f"Source {asked.source} is no CSV. {await sync_to_async(_which)(use)}")
    try:
        return await asyncio.to_thread(source.as_table)
    except documents.UnreadableDocument as why:
        raise Refused(str(why)) from why


def _which(use: Use) -> str:
    found = Source.objects.filter(inquiry=use.run.pk).listed()
    return f"CSVs are: {', '.join(str(one) for one in found if one.is_csv) or 'none'}."


TOOLS = (
    Tool(
        "tables.read",
        "Shows the columns of a CSV and its first rows: a source, quoted as in “Row 2 … Amount: 900”.",
        TableRead,
        Effect.READS,
        perform=read,
        timeout=20.0,
        kept=60_000,
    ),
    Tool(
        "tables.ask",
        "Asks a CSV by one SELECT of SQLite over the table data. What comes is a source, quoted by its rows.",
        TableAsk,
        Effect.READS,
        perform=ask,
        timeout=20.0,
        kept=60_000,
    ),
)
