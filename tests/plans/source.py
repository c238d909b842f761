"""A program that was written for the source: its ten calls, its names, and nothing else."""

import asyncio
import json
from contextlib import aclosing

from django.test import AsyncClient

from engine.models import Run
from magi_site.models import Token
from tests.conftest import ScriptedModels, standing
from tests.databases import copied_async
from tests.waiting import until

A = "/api/automation"
EVERY_SCOPE = ("submit", "steer", "decide")


class HeldModels(ScriptedModels):
    """One of them thinks until the test ends."""

    def __init__(self, thinker):
        super().__init__()
        self.thinker = thinker

    async def ask(self, model, *asked):
        if model == self.thinker:
            self.asked.append((model, asked[0]))
            await asyncio.Event().wait()
        return await super().ask(model, *asked)


class PlanProgram:
    """`named`: by what it says who it is beside its token."""

    def __init__(self, user, scopes=EVERY_SCOPE, **named):
        self.user = user
        self.client = AsyncClient()
        self.headers = {"Authorization": f"Bearer {Token.objects.make(user, scopes=scopes).secret}", **named}

    def __repr__(self):
        return f"{type(self).__name__} of {self.user.username}"

    async def get(self, path, **query):
        return await self.client.get(f"{A}{path}", query_params=query, headers=self.headers)

    async def post(self, path, **body):
        sent = json.dumps(body)
        return await self.client.post(f"{A}{path}", sent, content_type="application/json", headers=self.headers)

    async def delete(self, path, **query):
        return await self.client.delete(f"{A}{path}", query_params=query, headers=self.headers)

    async def said(self, path, **query):
        answer = await self.get(path, **query)
        assert answer.status_code == 200, answer.content
        return answer.json()

    async def begin(self, description="Add two and three.", session_id="s-1"):
        """The answer to a task, as soon as it is planned."""
        answer = await self.post("/input_task", session_id=session_id, description=description)
        assert answer.status_code == 200, answer.content
        return answer.json()

    async def steps(self, plan, *statuses):
        """Its steps, when they stand so."""

        async def found():
            steps = await self.said(f"/steps/{plan}")
            return steps if not statuses or [one["status"] for one in steps] == list(statuses) else None

        return await until(whenever_it_moves(plan, found), f"steps that stand as {statuses}")


def whenever_it_moves(plan, look):
    """What `look` finds, which is asked again only once the run has moved: to ask it all the time would be dear."""
    seen = None

    async def found():
        nonlocal seen
        before, seen = seen, await standing(plan)
        return await look() if before != seen else None

    return found


class PlanScript:
    """What these models are about to say to the planner's question, by which the same plan is known again."""

    def __init__(self, models, answer):
        self.models, self.answer = models, answer

    def __repr__(self):
        return self.answer


async def begun(program, models, *answers):
    """A plan that this program has begun and that waits, while an engine works with these models: performed for the
    first test that begins so, and put in again for all others."""
    said, told = await _begun(program, PlanScript(models, answers[0]))
    models.asked += told[len(models.asked) :]
    models.will("test/planner", *answers[1:])
    return Steps(program, said)


@copied_async
async def _begun(program, script):
    script.models.will("test/planner", script.answer)
    said = await program.begin()
    await until(Run.objects.filter(pk=said["plan_id"], status=Run.Status.WAITING).aexists, "the plan waits")
    return said, script.models.asked


class Events:
    """Those of a session, as they come."""

    def __init__(self, program, session, **headers):
        self.program, self.session, self.headers, self.told = program, session, headers, []

    async def until(self, enough):
        """All that were told by now, as (number, name, data), as soon as they are enough."""
        headers = self.program.headers | self.headers
        answer = await self.program.client.get(f"{A}/events/{self.session}", headers=headers)
        assert answer.status_code == 200, answer.content
        text = ""
        async with asyncio.timeout(40), aclosing(aiter(answer.streaming_content)) as pieces:
            async for piece in pieces:
                text += piece.decode()
                while "\n\n" in text:
                    message, _, text = text.partition("\n\n")
                    self._read(message)
                if enough(self.told):
                    break
        answer.close()
        return self.told

    async def begins(self):
        """Until something was told."""

        async def has_begun():
            return self.told

        await until(has_begun, "the first event")

    def _read(self, message):
        lines = dict(line.split(": ", 1) for line in message.split("\n") if not line.startswith(":"))
        if lines:
            self.told.append((int(lines["id"]), lines["event"], json.loads(lines["data"])))


class Steps:
    """What a program says about the steps of the plan that it has begun."""

    def __init__(self, program, begun):
        self.program, self.plan, self.session = program, begun["plan_id"], begun["session_id"]

    def of(self, program):
        return Steps(program, {"plan_id": self.plan, "session_id": self.session})

    async def say(self, step=None, approved=True, path="/human_feedback", **more):
        said = {"plan_id": self.plan, "session_id": self.session, "approved": approved}
        return await self.program.post(path, **said, **({"step_id": step["id"]} if step else {}), **more)

    async def all(self, approved=True, **more):
        return await self.say(None, approved, "/approve_step_or_steps", **more)

    async def stand(self, *statuses):
        return await self.program.steps(self.plan, *statuses)

    async def read(self):
        """The newest message of the session."""
        return (await self.program.said(f"/agent_messages/{self.session}"))[-1]

    async def comes_to(self, status):
        async def has_come():
            return (await self.program.said("/plans"))[0]["overall_status"] == status

        await until(whenever_it_moves(self.plan, has_come), f"a plan that is {status}")
