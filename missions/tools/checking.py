"""The check of a mission, in a sandbox of its own over a copy of the workspace. No agent has it."""

import asyncio
import time
from collections.abc import Callable, Mapping

from pydantic import Field

from engine.models import Effect, ToolCall
from engine.tools import Refused, Tool, Use

from .. import rules, workshop
from ..terminals.launcher import Refused as NotBegun
from ..terminals.spool import Spool, State
from ..terminals.waiting import Waiting
from .commands import seen, standing, until_it_ends
from .said import SHOWN, Arguments

LONGEST_CHECK = 900  # seconds
ASKS_FOR, LOOK = 3.0, 0.5  # seconds for which it may ask, and between two looks whether it does
DRAWS_FOR = 20.0  # seconds for which a full screen may stand still: it may be drawn by what needs nobody


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
    if reason := await _until_it_ends_or_asks(spool):
        spool.stop(reason)
        await until_it_ends(spool, 10, asks=False)
    return await asyncio.to_thread(seen, 0, spool, "fresh_check")


async def _until_it_ends_or_asks(spool: Spool) -> str:
    """Why it has to be ended: it takes too long, or has waited for a key or a line and said nothing meanwhile."""
    until, said = time.monotonic() + LONGEST_CHECK - 20, -1
    asked_since: float | None = None
    while (now := time.monotonic()) < until:
        await until_it_ends(spool, min(LOOK, until - now), asks=False)
        if spool.state not in (State.NEW, State.LIVES):
            return ""
        before, said = said, spool.said(0, 0).total
        may_ask = MAY_ASK.get(await asyncio.to_thread(standing, spool)) if said == before else None
        asked_since = (asked_since or now) if may_ask else None
        if asked_since and may_ask and time.monotonic() - asked_since >= may_ask():
            return rules.CHECK_ASKS
    return rules.CHECK_TIMEOUT


MAY_ASK: Mapping[str, Callable[[], float]] = {
    Waiting.ASKS: lambda: ASKS_FOR,
    Waiting.PASSWORD: lambda: ASKS_FOR,
    Waiting.FULL_SCREEN: lambda: DRAWS_FOR,
}


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
