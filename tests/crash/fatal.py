"""A judgement under which its engine falls dead, for `tests.crash.suspect`."""

import asyncio
import os

from engine.context import RunContext
from engine.procedure import Change
from judgements.face import Judging
from judgements.models import Judgement
from tests.crash.suspect import FATAL


class JudgeOrDie(Judging):
    room = "judgements"  # where it has its addresses, though it stands here

    async def perform(self, run: RunContext) -> Change:
        content = await run.read(lambda: Judgement.objects.get(pk=run.pk).content)
        if content == FATAL:
            await asyncio.sleep(0.2)
            os._exit(137)
        return await Judging.perform(run)
