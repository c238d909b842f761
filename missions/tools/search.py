"""The tool that searches files, by grep in the sandbox, since a pattern can take unlimited time."""

import asyncio

from pydantic import Field

from engine.models import Effect
from engine.tools import Tool, ToolRefused, ToolUse

from .. import workspace
from ..terminals.drawn import text_of_command
from ..terminals.output_spool import OutputSpool
from .commands import begin, wait_for_end
from .output import SHOWN, MissionToolArgumentsBase, cut_text, tool_text

SEARCH = ("/usr/bin/grep", "-rnI")
LONGEST_SEARCH, MOST_LINES = 10, 200
WRONG = 2  # exit code of grep for an invalid pattern or an unreadable file


class Grep(MissionToolArgumentsBase):
    pattern: str = Field(min_length=1, max_length=1_000)
    path: str = Field(default=".", max_length=1_000)
    extended: bool = Field(default=False, description="grep -E")
    literal: bool = Field(default=False, description="grep -F")
    context: int = Field(default=0, ge=0, le=5)


async def grep(asked: Grep, use: ToolUse) -> str:
    name = f"grep-{use.step.replace('.', '-')}-{use.key[:8]}"
    kind = "-F" if asked.literal else "-E" if asked.extended else "-G"
    program = (*SEARCH, kind, "-C", str(asked.context), "--", asked.pattern, asked.path or ".")
    await begin(use, name, program, ".", seconds=LONGEST_SEARCH)
    spool = workspace.spool(use.run.pk, name)
    await wait_for_end(spool, LONGEST_SEARCH + 1, asks=False)
    found = [line for line in (await asyncio.to_thread(_lines, spool)) if line]
    if wrong := _complaint(spool, found, asked):
        raise ToolRefused(wrong)
    body = cut_text("\n".join(found[:MOST_LINES]), "look for less at once")
    return tool_text("grep", body, lines=min(len(found), MOST_LINES), left_out=max(0, len(found) - MOST_LINES))


def _lines(spool: OutputSpool) -> list[str]:
    return text_of_command(spool).rstrip("\n").split("\n")


def _complaint(spool: OutputSpool, lines: list[str], asked: Grep) -> str:
    """Why grep could not search; empty if it did, even without a match."""
    words = [line.rpartition("grep: ")[2] for line in lines if "grep: " in line]
    if not spool.end or spool.end["code"] != WRONG or len(words) < len(lines):
        return ""
    if any("No such file or directory" in one for one in words):
        return f"not_found: there is nothing at {asked.path}. Look with ls what there is."
    return f"pattern: {' '.join(words)[:300]}. Use literal for a text that is no pattern."


TOOLS = (
    Tool(
        "grep",
        "Looks for a pattern in the files of the workspace, as grep does.",
        Grep,
        Effect.READS,
        perform=grep,
        timeout=30.0,
        shown=SHOWN,
        kept=SHOWN,
    ),
)
