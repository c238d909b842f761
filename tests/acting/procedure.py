"""A procedure that acts: in the database, in the world outside, and in the database again."""

import asyncio
import os
from functools import partial
from pathlib import Path

from pydantic import BaseModel

from engine.context import RunContext
from engine.models import Effect, Run
from engine.procedure import Change, Procedure
from engine.tools import OPEN, Tool, Use

PAUSE = float(os.environ.get("ACTING_PAUSE", 0))  # seconds that every act outside takes
LEFT = [{"word": "end", "decision": "reject", "sentence": "End it"}]


class Act(BaseModel):
    word: str


def world() -> Path:
    return Path(os.environ["MAGI_DATA_DIR"]) / "world"


async def act(asked: Act, use: Use) -> str:
    """On the disk before it is said: what happened is known whatever becomes of this process."""
    with world().open("a") as file:
        file.write(f"{asked.word}\n")
        file.flush()
        os.fsync(file.fileno())
    await asyncio.sleep(PAUSE)
    return f"Did {asked.word}."


class Acting(Procedure):
    tools = (Tool("world.act", "Acts in the world.", Act, Effect.WRITES, perform=act),)

    async def perform(self, run: RunContext) -> Change:
        async def task(step: str) -> str:
            return (await run.use(step, "tasks.add", {"title": f"{run.pk} {step}"}, OPEN)).status

        first = await task("1")
        acted = await run.use("2", "world.act", {"word": str(run.pk)}, OPEN, LEFT)
        outcome = f"{first} {acted.status} {await task('3')}"
        return partial(Run.objects.filter(pk=run.pk).update, outcome=outcome)
