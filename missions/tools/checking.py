"""The check of a mission, in a sandbox of its own over a copy of the workspace. No agent has it."""

import asyncio

from pydantic import Field

from engine.models import Effect, ToolCall
from engine.tools import Refused, Tool, Use

from .. import workshop
from ..terminals.launcher import Refused as NotBegun
from ..terminals.spool import State
from .commands import seen, until_it_ends
from .said import SHOWN, Arguments

LONGEST_CHECK = 900  # seconds


class FreshCheck(Arguments):
    command: str = Field(min_length=1, max_length=16_000)


async def fresh_check(asked: FreshCheck, use: Use) -> str:
    try:
        await asyncio.to_thread(workshop.begin_check, use.run.pk, asked.command)
    except NotBegun as refused:
        raise Refused(f"not_begun: {refused}") from refused
    return await _checked(use)


async def settle_check(call: ToolCall, use: Use) -> str | None:
    spool = workshop.check_spool(use.run.pk)
    if spool.state == State.NEW:
        return await fresh_check(FreshCheck.model_validate_json(call.arguments), use)
    return None if spool.state == State.CUT else await _checked(use)


async def _checked(use: Use) -> str:
    spool = workshop.check_spool(use.run.pk)
    await until_it_ends(spool, LONGEST_CHECK - 20, asks=False)
    if spool.end is None:
        spool.stop("timeout")
        await until_it_ends(spool, 10, asks=False)
    return await asyncio.to_thread(seen, 0, spool, "fresh_check")


TOOLS = (
    Tool(
        "fresh_check",
        "Runs the check of a mission in a fresh sandbox, over a copy of its workspace. No agent has it.",
        FreshCheck,
        Effect.WRITES,
        perform=fresh_check,
        settle=settle_check,
        contained=True,
        when_cut="tell",
        timeout=float(LONGEST_CHECK),
        shown=SHOWN,
        kept=SHOWN,
    ),
)
