"""One contestant in a process of its own: a play comes as a line, its figures leave as one.

python -m tests.bench.contestants NAME PORT
"""

import asyncio
import json
import os
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any, Protocol

from tests.bench.work import Play, judgement, perform


class Contestant(Protocol):
    async def begin(self, stack: AsyncExitStack) -> None: ...

    async def perform(self, play: Play) -> None: ...


class Floor:
    """aiohttp alone: nothing is read of an answer but its text, and nothing is kept."""

    def __init__(self, port: int) -> None:
        self.port = port

    async def begin(self, stack: AsyncExitStack) -> None:
        import aiohttp

        from judgements.procedure import DECISION

        connector = aiohttp.TCPConnector(limit=100_000)
        self.session = await stack.enter_async_context(aiohttp.ClientSession(connector=connector))
        self.form = DECISION.response_formats["json_schema"]

    async def perform(self, play: Play) -> None:
        url = f"http://127.0.0.1:{self.port}{play.path}/chat/completions"

        async def ask(messages: list[dict[str, str]]) -> str:
            body = {"model": "gpt-5-mini", "messages": messages, "response_format": self.form}
            if play.watched:
                async with self.session.post(url, json={**body, "stream": True}) as response:
                    lines = [json.loads(line[6:]) async for line in response.content if line.startswith(b"data: {")]
                parts = [part["choices"][0]["delta"].get("content", "") for part in lines if part["choices"]]
                return str(json.loads("".join(parts))["reason"])
            async with self.session.post(url, json=body) as response:
                return str(json.loads((await response.json())["choices"][0]["message"]["content"])["reason"])

        await perform(play, lambda: judgement(ask))


class Sdk:
    """The openai client as its documentation shows it: `parse`, and for whom watches its stream helper."""

    def __init__(self, port: int) -> None:
        self.port = port

    async def begin(self, stack: AsyncExitStack) -> None:
        import openai
        from pydantic import BaseModel

        class Decision(BaseModel):
            reason: str
            decision: str

        self.form = Decision
        self.client = await stack.enter_async_context(openai.AsyncOpenAI(api_key="none", max_retries=0))

    async def perform(self, play: Play) -> None:
        client = self.client.with_options(base_url=f"http://127.0.0.1:{self.port}{play.path}")

        async def ask(messages: list[Any]) -> str:
            asked: dict[str, Any] = {"model": "gpt-5-mini", "messages": messages, "response_format": self.form}
            if play.watched:
                async with client.chat.completions.stream(**asked) as stream:
                    async for _ in stream:
                        pass
                    answer = await stream.get_final_completion()
            else:
                answer = await client.chat.completions.parse(**asked)
            return str(answer.choices[0].message.parsed.reason)

        await perform(play, lambda: judgement(ask))


def made(name: str, port: int) -> Contestant:
    from tests.bench.product import Magi

    return {"floor": Floor, "sdk": Sdk, "magi": Magi}[name](port)


async def measured(perform: Callable[[Play], Awaitable[None]], play: Play) -> dict[str, float]:
    """Milliseconds of the processor for each judgement, of user and system, and seconds for all together."""
    cpu, began = sum(os.times()[:2]), time.monotonic()
    await perform(play)
    return {"cpu": 1000 * (sum(os.times()[:2]) - cpu) / play.number, "seconds": time.monotonic() - began}


async def main(name: str, port: int) -> None:
    lines = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    async with AsyncExitStack() as stack:
        contestant = made(name, port)
        await contestant.begin(stack)
        print("ready", flush=True)
        while line := await lines.readline():
            print(json.dumps(await measured(contestant.perform, Play(**json.loads(line)))), flush=True)


if __name__ == "__main__":
    import django

    django.setup()
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
