"""A procedure that acts: in the database, in the world outside, and in the database again."""

import os
from functools import partial

from engine.context import RunContext
from engine.models import Run
from engine.procedure import Change, Procedure
from engine.tools import OPEN
from tests.acting.tools import TOOLS

LEFT = [{"word": "end", "decision": "reject", "sentence": "End it"}]


class Acting(Procedure):
    tools = TOOLS

    async def perform(self, run: RunContext) -> Change:
        async def task(step: str) -> str:
            return (await run.use(step, "tasks.add", {"title": f"{run.pk} {step}"}, OPEN)).status

        act = os.environ.get("ACTING_TOOL", "world.act")
        first = await task("1")
        acted = await run.use("2", act, {"word": str(run.pk)}, OPEN, LEFT)
        outcome = f"{first} {acted.status} {await task('3')}"
        return partial(Run.objects.filter(pk=run.pk).update, outcome=outcome)
