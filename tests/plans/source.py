"""A program that was written for the source: its ten calls, its names, and nothing else."""

import asyncio
import json
from contextlib import aclosing

from django.test import AsyncClient

from magi_site.models import Token
from tests.conftest import ScriptedModels

A = "/api/automation"
EVERY_SCOPE = ("submit", "steer", "decide")


class Held(ScriptedModels):
    """One of them thinks until the test ends."""

    def __init__(self, thinker):
        super().__init__()
        self.thinker = thinker

    async def ask(self, model, *asked):
        if model == self.thinker:
            self.asked.append((model, asked[0]))
            await asyncio.sleep(60)
        return await super().ask(model, *asked)


class Program:
    """`named`: by what it says who it is beside its token."""

    def __init__(self, user, scopes=EVERY_SCOPE, **named):
        self.user = user
        self.client = AsyncClient()
        self.headers = {"Authorization": f"Bearer {Token.objects.make(user, scopes=scopes).secret}", **named}

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
        end = asyncio.get_running_loop().time() + 40
        while True:
            found = await self.said(f"/steps/{plan}")
            stand = [one["status"] for one in found]
            if not statuses or stand == list(statuses):
                return found
            assert asyncio.get_running_loop().time() < end, stand
            await asyncio.sleep(0.02)


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
        async with asyncio.timeout(40):
            while (await self.program.said("/plans"))[0]["overall_status"] != status:
                await asyncio.sleep(0.02)
