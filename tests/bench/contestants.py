"""MAGI, and the least and the usual that its nine calls cost.

python -m tests.bench.contestants NAME PORT
"""

import asyncio
import json
import sys
from contextlib import AsyncExitStack
from typing import Any

from tests.bench.serving import Contestant, serve
from tests.bench.work import BenchPlay, judgement, perform


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

    async def perform(self, play: BenchPlay) -> None:
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

        await perform(play, lambda: judgement(ask, play.content))


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
        self.client = await stack.enter_async_context(openai.AsyncOpenAI(api_key="none", max_retries=0, timeout=300))

    async def perform(self, play: BenchPlay) -> None:
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

        await perform(play, lambda: judgement(ask, play.content))


def made(name: str, port: int) -> Contestant:
    from tests.bench.product import MagiProduct

    return {"floor": Floor, "sdk": Sdk, "magi": MagiProduct}[name](port)


if __name__ == "__main__":
    import django

    django.setup()
    asyncio.run(serve(made(sys.argv[1], int(sys.argv[2]))))
