"""A tool that acts in the world outside: a file that keeps what was done, line by line."""

import asyncio
import os
from pathlib import Path

from pydantic import BaseModel

from engine.models import Effect
from engine.tools import Tool, ToolUse


class ActArguments(BaseModel):
    word: str


def world() -> Path:
    return Path(os.environ["MAGI_DATA_DIR"]) / "world"


async def act(asked: ActArguments, use: ToolUse) -> str:
    """On the disk before it is said: what happened is known whatever becomes of this process."""
    with world().open("a") as file:
        file.write(f"{asked.word}\n")
        file.flush()
        os.fsync(file.fileno())
    await asyncio.sleep(float(os.environ.get("ACTING_PAUSE", 0)))  # seconds that it takes, after it has happened
    return f"Did {asked.word}."


TOOLS = (Tool("world.act", "Acts in the world.", ActArguments, Effect.WRITES, perform=act),)
