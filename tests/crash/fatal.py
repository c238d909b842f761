"""A judgement under which its engine falls dead, for `tests.crash.suspect`."""

import asyncio
import os

from engine.runtime.procedure import CommitChange
from engine.runtime.run_context import RunContext
from judgements.models import Judgement
from judgements.spec import JudgementSpec
from tests.crash.suspect import FATAL


class JudgeOrDie(JudgementSpec):
    app_name = "judgements"  # where it has its addresses, though it stands here

    async def perform(self, run: RunContext) -> CommitChange:
        content = await run.read(lambda: Judgement.objects.get(pk=run.pk).content)
        if content == FATAL:
            await asyncio.sleep(0.2)
            os._exit(137)
        return await JudgementSpec.perform(run)
