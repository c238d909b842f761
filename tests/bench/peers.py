"""What others make of the same work, each as its documentation shows it, in an environment of its own.

python -m tests.bench.peers NAME PORT
"""

import asyncio
import operator
import os
import sys
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Annotated, Any, TypedDict

from pydantic import BaseModel

from judgements import prompts
from judgements.rules import AgentDecision
from tests.bench.serving import serve
from tests.bench.work import CRITERIA, SEATS, BenchPlay, decided, judgement, perform

MODEL = "gpt-5-mini"
SILENT = ("CREWAI_DISABLE_TELEMETRY", "OTEL_SDK_DISABLED")


class Answer(BaseModel):
    reason: str
    decision: str


class BenchPeer:
    def __init__(self, port: int) -> None:
        self.port = port
        self._asked: dict[str, Callable[[list[Any]], Awaitable[str]]] = {}

    async def begin(self, stack: AsyncExitStack) -> None:
        pass

    async def perform(self, play: BenchPlay) -> None:
        url = f"http://127.0.0.1:{self.port}{play.path}"
        ask = self._asked.setdefault(url, self.asking(url))
        await perform(play, lambda: judgement(ask, play.content))

    def asking(self, url: str) -> Callable[[list[Any]], Awaitable[str]]:
        raise NotImplementedError


class PydanticAi(BenchPeer):
    def asking(self, url: str) -> Callable[[list[Any]], Awaitable[str]]:
        from pydantic_ai import Agent, NativeOutput
        from pydantic_ai.models.openai import OpenAIChatModel
        from pydantic_ai.providers.openai import OpenAIProvider

        model = OpenAIChatModel(MODEL, provider=OpenAIProvider(base_url=url, api_key="none"))
        agent = Agent(model, output_type=NativeOutput(Answer))

        async def ask(messages: list[Any]) -> str:
            result = await agent.run(messages[1]["content"], instructions=messages[0]["content"])
            return result.output.reason

        return ask


class AgentFramework(BenchPeer):
    def asking(self, url: str) -> Callable[[list[Any]], Awaitable[str]]:
        from agent_framework import Message
        from agent_framework.openai import OpenAIChatCompletionClient

        client = OpenAIChatCompletionClient(MODEL, base_url=url, api_key="none")

        async def ask(messages: list[Any]) -> str:
            sent = [Message(one["role"], [one["content"]]) for one in messages]
            answer = await client.get_response(sent, options={"response_format": Answer})
            return answer.value.reason

        return ask


class Made(TypedDict):
    content: str
    decisions: Annotated[list[tuple[int, str, str]], operator.add]


class LangGraph(BenchPeer):
    """A node for each decision; a round begins when the one before it is complete."""

    keeps = False

    async def begin(self, stack: AsyncExitStack) -> None:
        self.keeper = None
        self.number = 0
        self.graphs: dict[str, Any] = {}
        if self.keeps:
            from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            self.keeper = await stack.enter_async_context(AsyncSqliteSaver.from_conn_string(str(folder / "kept")))

    async def perform(self, play: BenchPlay) -> None:
        url = f"http://127.0.0.1:{self.port}{play.path}"
        graph = self.graphs.get(url) or self.graphs.setdefault(url, self._graph(url))

        async def one() -> None:
            self.number += 1
            found = await graph.ainvoke({"content": play.content, "decisions": []}, _kept_as(self.number))
            if len(found["decisions"]) != 9:
                raise RuntimeError("a decision is missing")

        await perform(play, one)

    def _graph(self, url: str) -> Any:
        from langchain_openai import ChatOpenAI
        from langgraph.graph import END, START, StateGraph

        model = ChatOpenAI(model=MODEL, base_url=url, api_key="none", max_retries=0)
        asked = model.with_structured_output(Answer, method="json_schema")
        graph, before = StateGraph(Made), [START]
        for number in (1, 2, 3):
            names = [f"{seat}{number}" for seat in SEATS]
            for seat, name in zip(SEATS, names, strict=True):
                graph.add_node(name, _node(asked, seat, number))
                graph.add_edge(before if len(before) > 1 else before[0], name)
            before = names
        graph.add_edge(before, END)
        return graph.compile(checkpointer=self.keeper)


class LangGraphKept(LangGraph):
    keeps = True


def _kept_as(number: int) -> dict[str, Any]:
    return {"configurable": {"thread_id": str(number)}}


def _node(asked: Any, seat: str, number: int) -> Callable[[Made], Awaitable[Made]]:
    async def decide(made: Made) -> Made:
        earlier = tuple(
            prompts.EarlierDecision(round_, by, AgentDecision.APPROVE, reason)
            for round_, by, reason in made["decisions"]
            if round_ < number
        )
        answer = await asked.ainvoke(
            prompts.messages(prompts.PromptCase(seat, CRITERIA, made["content"], number, earlier))
        )
        return {"decisions": [(number, seat, answer.reason)]}

    return decide


class CrewAi(BenchPeer):
    """A flow whose steps are the rounds. Nothing goes to its makers, and nothing is painted on a terminal."""

    def asking(self, url: str) -> Callable[[list[Any]], Awaitable[str]]:
        os.environ |= dict.fromkeys(SILENT, "true")
        from crewai import LLM

        model = LLM(model=MODEL, provider="openai", base_url=url, api_key="none", max_retries=0)

        async def ask(messages: list[Any]) -> str:
            return (await model.acall(messages, response_model=Answer)).reason

        return ask

    async def perform(self, play: BenchPlay) -> None:
        from crewai.flow.flow import Flow, listen, start

        url = f"http://127.0.0.1:{self.port}{play.path}"
        ask = self._asked.setdefault(url, self.asking(url))

        class Council(Flow):  # type: ignore[type-arg]
            @start()
            async def first(self) -> tuple[prompts.EarlierDecision, ...]:
                return await decided(ask, play.content, 1)

            @listen(first)
            async def second(self, earlier: tuple[prompts.EarlierDecision, ...]) -> tuple[prompts.EarlierDecision, ...]:
                return await decided(ask, play.content, 2, earlier)

            @listen(second)
            async def third(self, earlier: tuple[prompts.EarlierDecision, ...]) -> tuple[prompts.EarlierDecision, ...]:
                return await decided(ask, play.content, 3, earlier)

        async def one() -> None:
            if len(await Council(suppress_flow_events=True).kickoff_async()) != 9:
                raise RuntimeError("a decision is missing")

        await perform(play, one)


PEERS: dict[str, type[BenchPeer]] = {
    "langgraph": LangGraph,
    "langgraph-sqlite": LangGraphKept,
    "pydantic-ai": PydanticAi,
    "agent-framework": AgentFramework,
    "crewai": CrewAi,
}

if __name__ == "__main__":
    asyncio.run(serve(PEERS[sys.argv[1]](int(sys.argv[2]))))
