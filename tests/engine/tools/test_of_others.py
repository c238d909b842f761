"""A tool of others is used as one of ours is, once somebody has said what it does, and as it was described then."""

import asyncio

import pytest
from asgiref.sync import sync_to_async

from engine import mcp, run_control
from engine.models import Gate, McpTool, Run, ToolCall
from engine.queue.worker import Worker
from engine.tools import Tool, ToolRefused, available_tools, find_tool
from tests.engine.test_waiting import queued
from tests.engine.tools.user import STEPS, assert_sound, decide, one, statuses
from tests.waiting import wait_until

pytestmark = pytest.mark.django_db

NAME = "mcp.others.letter"
OTHERWISE = {"letter": "Sends a letter to everybody at once."}


async def result(run):
    return [(call.status, call.output or call.error) async for call in ToolCall.objects.filter(run=run).order_by("pk")]


async def gate_of(run):
    return await Gate.objects.filter(run=run).alast()


@pytest.fixture
async def approved(using, classed, mira):
    """A run whose letter somebody has approved."""
    await classed()
    run = await using(one(NAME))
    await decide((await gate_of(run)).pk, mira, "approve")
    return run


@pytest.fixture
def cut(mira, models, folder):
    """A run whose engine ended while the server was at it."""

    async def cut_short(*steps):
        run = await queued("using", owner=mira)
        STEPS[run.pk] = steps
        engine = Worker(models=models)
        performing = asyncio.create_task(engine.run())
        await asyncio.to_thread(wait_until, lambda: folder.calls, "the call")
        await engine.stop(grace=0)
        await performing
        return run

    return cut_short


async def test_nobody_is_offered_a_tool_that_nobody_has_classed(others):
    listing = await mcp.fetch_tool_list(others)
    await sync_to_async(McpTool.objects.record_listing)("others", listing)
    assert NAME not in await sync_to_async(available_tools)()
    assert "switched off until an administrator has said what it does" in (await sync_to_async(find_tool)(NAME)).off


async def test_a_classed_one_stands_beside_ours_with_its_own_schema(classed):
    await classed("writes", repeatable=True)
    tool: Tool = (await sync_to_async(available_tools)())[NAME]
    assert (tool.effect, tool.is_idempotent, tool.outside, tool.source) == ("writes", True, True, "mcp.others")
    assert tool.schema["required"] == ["to"]


async def test_arguments_that_do_not_fit_its_schema_are_refused(classed):
    await classed()
    tool = (await sync_to_async(available_tools)())[NAME]
    with pytest.raises(ToolRefused, match=r"\$.times: 0 is less than the minimum of 1"):
        tool.read({"to": "mira", "times": 0})


async def test_it_is_done_once_when_somebody_has_approved_it(approved, going_on, folder):
    run = await going_on(approved)
    assert await result(run) == [("done", "Done: letter.")]
    assert [call["arguments"] for call in folder.calls] == [{"to": "mira"}]
    await assert_sound()


async def test_one_that_is_described_otherwise_after_its_approval_is_not_performed(approved, going_on, folder):
    folder.say(descriptions=OTHERWISE)
    run = await going_on(approved)
    assert (run.status, run.outcome, folder.calls) == ("finished", "failed", [])
    assert not (await McpTool.objects.aget(name="letter")).is_enabled
    assert (await gate_of(run)).used is None


async def test_an_approval_does_not_outlive_the_description_that_it_was_given_for(approved, going_on, folder, classed):
    folder.say(descriptions=OTHERWISE)
    await classed()  # an administrator was quicker than the engine
    run = await going_on(approved)
    gates = [gate.state async for gate in Gate.objects.filter(run=run).order_by("pk")]
    assert (run.status, gates, folder.calls) == ("waiting", ["approved", "pending"], [])


async def test_who_is_asked_about_what_it_was_is_asked_no_more(using, classed, others, folder):
    await classed()
    run = await using(one(NAME))
    folder.say(descriptions=OTHERWISE)
    told = await sync_to_async(McpTool.objects.record_listing)("others", await mcp.fetch_tool_list(others))
    assert ((await gate_of(run)).state, told) == ("void", [run.pk])
    assert (await Run.objects.aget(pk=run.pk)).status == "queued"


async def test_one_that_comes_back_as_it_was_stays_off(classed, others, folder):
    await classed()
    for descriptions in (OTHERWISE, {"letter": "Sends a letter to somebody."}):
        folder.say(descriptions=descriptions)
        await sync_to_async(McpTool.objects.record_listing)("others", await mcp.fetch_tool_list(others))
    assert not (await McpTool.objects.aget(name="letter")).is_enabled


async def test_what_it_brings_is_of_strangers_and_asks_a_person_ever_after(using, classed):
    await classed("reads")
    run = await using(one("mcp.others.news"), one("write"))
    gate = await gate_of(run)
    assert (await statuses(), gate.policy["who"], gate.tool) == (["done"], "person", "write")


async def test_a_read_that_breaks_is_tried_twice(using, classed, folder):
    await classed("reads")
    folder.say(call="die")
    run = await using(one("mcp.others.news"))
    assert (len(folder.calls), run.outcome, await statuses()) == (2, "failed", ["interrupted", "failed"])


async def test_of_a_letter_that_broke_a_person_says_what_became_of_it(approved, going_on, folder):
    folder.say(call="die")
    run = await going_on(approved)
    gate = await gate_of(run)
    assert (run.status, gate.kind, len(folder.calls)) == ("waiting", "uncertain", 1)
    assert "others gave no answer: it ended" in gate.text


async def test_a_server_that_is_away_has_done_nothing(approved, going_on, settings):
    await mcp.close()
    settings.MCP_SERVERS["others"]["command"] = ("/no/such/program",)
    run = await going_on(approved)
    assert [(status, "others cannot be reached" in said) for status, said in await result(run)] == [("failed", True)]


async def test_who_classes_what_he_has_not_read_classes_nothing(classed, others, folder):
    await classed()
    row = await McpTool.objects.aget(name="letter")
    folder.say(descriptions=OTHERWISE)
    await sync_to_async(McpTool.objects.record_listing)("others", await mcp.fetch_tool_list(others))
    assert not await sync_to_async(row.classify)("reads", False, False, None, row.definition)


async def test_what_was_cut_is_asked_about_though_the_tool_is_off_by_now(
    cut,
    classed,
    others,
    going_on,
    folder,
    mira,
):
    await classed("writes", outside=False)
    folder.say(call="hang")
    run = await cut(one(NAME))
    folder.say(call="", descriptions=OTHERWISE)
    await sync_to_async(McpTool.objects.record_listing)("others", await mcp.fetch_tool_list(others))
    run = await going_on(run)
    gate = await gate_of(run)
    assert (run.status, gate.kind) == ("waiting", "uncertain")
    await decide(gate.pk, mira, "answer", choice="do")
    run = await going_on(run)
    assert ([status for status, _ in await result(run)], len(folder.calls)) == (["interrupted", "failed"], 1)


async def test_who_cancels_a_run_cancels_the_call_that_is_under_way(classed, folder, mira, models):
    await classed("writes", outside=False)
    folder.say(call="hang")
    run = await queued("using", owner=mira)
    STEPS[run.pk] = (one(NAME),)
    engine = Worker(models=models)
    performing = asyncio.create_task(engine.run())
    await asyncio.to_thread(wait_until, lambda: folder.calls, "the call")
    await sync_to_async(run_control.cancel)(run.pk)
    engine.drop_run(run.pk)
    await asyncio.to_thread(wait_until, (folder.path / "cancelled").exists, "that the call is cancelled")
    await engine.stop(grace=0)
    await performing
    assert [(status, "nobody knows whether it happened" in said) for status, said in await result(run)] == [
        ("interrupted", True)
    ]
