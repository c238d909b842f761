"""The tool that runs a mission's check in a fresh sandbox over a copy of the workspace. No agent has it."""

import asyncio
import time
from collections.abc import Callable, Mapping

from pydantic import Field

from engine.models import Effect, ToolCall
from engine.tools import Tool, ToolRefused, ToolUse

from .. import rules, workspace
from ..terminals.launcher import LaunchRefused as NotBegun
from ..terminals.output_spool import OutputSpool, SpoolState
from ..terminals.wait_detection import InputWait
from .commands import command_status_text, output_since, wait_for_end
from .output import SHOWN, MissionToolArgumentsBase

CHECK_TIMEOUT = 900  # seconds
ASKS_FOR, LOOK = 3.0, 0.5  # seconds of waiting for input until it is killed, and between polls
DRAWS_FOR = 20.0  # seconds without output on the alternate screen, which a program may use without needing input


class FreshCheckArguments(MissionToolArgumentsBase):
    command: str = Field(min_length=1, max_length=16_000)


async def fresh_check(asked: FreshCheckArguments, use: ToolUse) -> str:
    try:
        await asyncio.to_thread(workspace.start_check, use.run.pk, asked.command)
    except NotBegun as refused:
        raise ToolRefused(f"not_begun: {refused}") from refused
    return await _checked(use)


async def settle_check(call: ToolCall, use: ToolUse) -> str | None:
    spool = workspace.check_spool(use.run.pk)
    if spool.state == SpoolState.NEW:
        return await fresh_check(FreshCheckArguments.model_validate_json(call.arguments), use)
    return None if spool.state == SpoolState.CUT else await _checked(use)


async def _checked(use: ToolUse) -> str:
    spool = workspace.check_spool(use.run.pk)
    if reason := await _until_it_ends_or_asks(spool):
        spool.stop(reason)
        await wait_for_end(spool, 10, asks=False)
    return await asyncio.to_thread(output_since, 0, spool, "fresh_check")


async def _until_it_ends_or_asks(spool: OutputSpool) -> str:
    """Wait for the end of the check. Return the reason to kill it, timeout or waiting for input, or an empty string."""
    until, said = time.monotonic() + CHECK_TIMEOUT - 20, -1
    asked_since: float | None = None
    while (now := time.monotonic()) < until:
        await wait_for_end(spool, min(LOOK, until - now), asks=False)
        if spool.state not in (SpoolState.NEW, SpoolState.LIVES):
            return ""
        before, said = said, spool.said(0, 0).total
        may_ask = MAY_ASK.get(await asyncio.to_thread(command_status_text, spool)) if said == before else None
        asked_since = (asked_since or now) if may_ask else None
        if asked_since and may_ask and time.monotonic() - asked_since >= may_ask():
            return rules.CHECK_ASKS
    return rules.CHECK_TIMEOUT


MAY_ASK: Mapping[str, Callable[[], float]] = {
    InputWait.ASKS: lambda: ASKS_FOR,
    InputWait.PASSWORD: lambda: ASKS_FOR,
    InputWait.FULL_SCREEN: lambda: DRAWS_FOR,
}


TOOLS = (
    Tool(
        "fresh_check",
        "Runs the check of a mission in a fresh sandbox, over a copy of its workspace. No agent has it.",
        FreshCheckArguments,
        Effect.WRITES,
        perform=fresh_check,
        settle=settle_check,
        contained=True,
        when_cut="tell",
        timeout=float(CHECK_TIMEOUT),
        shown=SHOWN,
        kept=SHOWN,
    ),
)
