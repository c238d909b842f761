"""A procedure that uses whatever a test wants it to, and tools that act on a list in place of the world."""

import asyncio

from asgiref.sync import sync_to_async
from pydantic import BaseModel, ConfigDict

from engine.audit.full_verification import verify_all
from engine.models import Budget, Effect, Run, ToolCall
from engine.runtime.procedure import Procedure
from engine.tools import OPEN_POLICY, Tool, ToolOutput, ToolRefused
from tests.read_gates import decide_as_read

DONE: list = []  # stands for the world outside of the database
KEYS: list = []
HANGING: set = set()  # while anything is in it, nobody comes to an end
STEPS: dict = {}  # what each run uses, in order: tool, arguments and more
RUNS_OUT = [{"word": "end", "decision": "reject", "sentence": "End it"}]


class LetterArguments(BaseModel):
    model_config = ConfigDict(extra="forbid")

    to: str
    times: int = 1


async def send(letter, use):
    DONE.append(letter.to)
    KEYS.append(use.key)
    if letter.to == "nobody":
        raise ToolRefused("Nobody lives there.")
    if letter.to == "broken":
        raise ZeroDivisionError("a fuse")
    if letter.to == "wordy":
        raise ZeroDivisionError("a fuse " * 1_000)
    while HANGING:
        await asyncio.sleep(0.01)
    if letter.to == "slow":
        await asyncio.sleep(5)
    return f"Sent to {letter.to}."


def book(letter, use):
    """What it changes is a row of the database."""
    Budget.objects.create(limit=1)
    if letter.to == "nobody":
        raise ToolRefused("Nobody lives there.")
    return f"Booked for {letter.to}."


async def went_on(call, use):
    return "It went on." if "mira" in call.arguments else None


async def read_page(letter, use):
    DONE.append(letter.to)
    while HANGING and letter.to != "stranger":
        await asyncio.sleep(0.01)
    if letter.to == "broken":
        raise ZeroDivisionError("a fuse")
    return ToolOutput("x" * 30, outside=True)


def tool(name, effect, **values):
    return Tool(name, f"Does {name}.", LetterArguments, effect, **values)


class Using(Procedure):
    tools = (
        tool("send", Effect.REACHES_OUT, perform=send, timeout=0.5),
        tool("write", Effect.WRITES, perform=send, timeout=0.5),
        tool("again", Effect.WRITES, perform=send, repeatable=True),
        tool("tell", Effect.WRITES, perform=send, contained=True, when_cut="tell"),
        tool("command", Effect.WRITES, perform=send, settle=went_on, contained=True),
        tool("book", Effect.WRITES, change=book),
        tool("page", Effect.READS, perform=read_page, shown=10, kept=20),
        tool("mine", Effect.WRITES, perform=send, contained=lambda letter: letter.to == "mira"),
    )

    async def perform(self, run):
        found = [
            await run.execute_tool(f"{number}", *asked, **more) for number, (asked, more) in enumerate(STEPS[run.pk], 1)
        ]
        return lambda: Run.objects.filter(pk=run.pk).update(outcome=" ".join(call.status for call in found))


def one(tool, to="mira", **more):
    return ((tool, {"to": to}), {"policy": OPEN_POLICY} | more)


decide = sync_to_async(decide_as_read)


async def calls():
    return [call async for call in ToolCall.objects.select_related("gate").order_by("pk")]


async def statuses():
    return [call.status for call in await calls()]


def problems():
    return [str(fault) for fault in verify_all().faults]


async def assert_sound():
    assert await sync_to_async(problems)() == []
