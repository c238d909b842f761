"""A procedure that acts: in the database, in the world outside, and in the database again."""

import os
from functools import partial

from engine.models import Run
from engine.runtime.procedure import CommitChange, Procedure
from engine.runtime.run_context import RunContext
from engine.tools import OPEN_POLICY
from tests.acting.tools import TOOLS

LEFT = [{"word": "end", "decision": "reject", "sentence": "End it"}]


class Acting(Procedure):
    tools = TOOLS

    async def perform(self, run: RunContext) -> CommitChange:
        async def task(step: str) -> str:
            return (await run.execute_tool(step, "tasks.add", {"title": f"{run.pk} {step}"}, OPEN_POLICY)).status

        act = os.environ.get("ACTING_TOOL", "world.act")
        first = await task("1")
        acted = await run.execute_tool("2", act, {"word": str(run.pk)}, OPEN_POLICY, LEFT)
        outcome = f"{first} {acted.status} {await task('3')}"
        return partial(Run.objects.filter(pk=run.pk).update, outcome=outcome)
