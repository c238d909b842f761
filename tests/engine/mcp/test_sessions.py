"""What a server of others does to us, and what we make of it."""

import subprocess
import sys

import pytest

from engine import mcp
from engine.mcp import sessions


async def said(server, tool="letter", **arguments):
    listing = await mcp.tool_list(server)
    definition = next(one.definition for one in listing.tools if one.name == tool)
    return await mcp.call(server, tool, definition, {"to": "mira"} | arguments)


async def test_its_tools_are_listed_with_what_a_model_would_be_told(others):
    listing = await mcp.fetch_tool_list(others)
    assert next((one.name, one.description) for one in listing.tools) == ("letter", "Sends a letter to somebody.")
    assert listing.tools[0].schema["required"] == ["to"]


async def test_a_call_is_made_once_and_its_text_comes_back(others, folder):
    assert await said(others) == "Done: letter."
    assert [(call["name"], call["arguments"]) for call in folder.calls] == [("letter", {"to": "mira"})]


async def test_nothing_is_sent_to_a_tool_that_is_described_otherwise(others, folder):
    listing = await mcp.tool_list(others)
    folder.say(descriptions={"letter": "Sends all letters to everybody."})
    with pytest.raises(mcp.ServerUnavailable, match="describes letter otherwise by now"):
        await mcp.call(others, "letter", listing.tools[0].definition, {"to": "mira"})
    assert folder.calls == []


async def test_one_that_hangs_is_given_up_at_its_time(others, folder, settings):
    settings.MCP_SERVERS["others"]["timeout"] = 8.0
    folder.say(call="hang")
    with pytest.raises(mcp.CallInterrupted, match="others did not answer within 8 s"):
        await said(mcp.servers()["others"])
    assert len(folder.calls) == 1


async def test_one_that_dies_in_mid_call_has_perhaps_done_it(others, folder):
    folder.say(call="die")
    with pytest.raises(mcp.CallInterrupted, match="others gave no answer: it ended"):
        await said(others)
    folder.say(call="")
    assert await said(others) == "Done: letter."  # another is started


async def test_more_than_ten_megabytes_close_the_connection(others, folder):
    folder.say(long=11 * 1024 * 1024)
    with pytest.raises(mcp.CallInterrupted, match="it sent more than 10 MB at once, and the connection was closed"):
        await said(others)
    assert sessions._session(others).opened is False  # which is another one


async def test_what_hides_in_a_result_is_made_visible(others, folder):
    folder.say(text="Read\x1b[2J\u202ethis\x00.")
    assert await said(others) == "Read‹U+001B›[2J‹U+202E›this\\x00."


async def test_what_comes_is_held_against_no_schema_of_the_servers_own(others, folder):
    """A pattern of it could hold up all that the engine does."""
    to = {"type": "string", "pattern": "^(a+)+$"}
    folder.say(results={"type": "object", "properties": {"to": to}}, structured={"to": "a" * 9 + "!"})
    assert await said(others) == "Done: letter."  # what it sent does not fit


async def test_of_endlessly_many_tools_the_first_are_listed(others, folder):
    folder.say(many=300)
    listing = await mcp.fetch_tool_list(others)
    assert (len(listing.tools), listing.left_out) == (
        200,
        ("there are more than 200, and the others are not looked at",),
    )


async def test_a_picture_is_named_and_left_out(others, folder):
    folder.say(call="picture")
    assert await said(others) == "[image/png, 3 bytes, left out]"


async def test_a_failure_is_told_in_the_servers_own_words(others, folder):
    folder.say(call="fail", text="No such person.")
    with pytest.raises(mcp.McpServerError, match=r"letter answers that it failed: No such person\."):
        await said(others)


async def test_a_command_that_is_not_there_is_said(settings):
    settings.MCP_SERVERS = {"none": {"command": ("/no/such/program",)}}
    with pytest.raises(mcp.ServerUnavailable, match=r"none cannot be reached: .*No such file"):
        await mcp.fetch_tool_list(mcp.servers()["none"])


async def test_a_list_that_never_comes_ends(others, folder, settings):
    settings.MCP_SERVERS["others"]["timeout"] = 8.0
    folder.say(list="hang")
    with pytest.raises(mcp.ServerUnavailable, match="others does not list its tools within 8 s"):
        await mcp.fetch_tool_list(mcp.servers()["others"])


async def test_what_it_is_told_in_secret_is_in_no_text_of_it(others, folder, settings):
    settings.MCP_SERVERS["others"]["env"] = {"TOLD": "swordfish-1234"}
    folder.say(text="Your key is swordfish-1234.")
    assert await said(mcp.servers()["others"]) == "Your key is [key]."
    assert folder.calls[0]["told"] == "swordfish-1234"


async def test_nor_is_it_in_what_it_says_of_its_tools(others, folder, settings):
    settings.MCP_SERVERS["others"]["env"] = {"TOLD": "swordfish-1234"}
    schema = {"type": "object", "properties": {"swordfish-1234": {"enum": ["swordfish-1234"]}}}
    folder.say(descriptions={"a swordfish-1234": "Odd.", "letter": "By swordfish-1234."}, schema=schema)
    listing = await mcp.fetch_tool_list(mcp.servers()["others"])
    assert "By [key]." in [one.description for one in listing.tools]
    assert ("'a [key]' is no name" in listing.left_out, "swordfish" in str(listing)) == (True, False)


async def test_it_is_told_nothing_else_of_our_environment(others, folder, monkeypatch):
    monkeypatch.setenv("TOLD", "a secret of ours")
    await said(others)
    assert folder.calls[0]["told"] == ""


async def test_tools_that_cannot_be_offered_are_named(others, folder):
    folder.say(descriptions={"news": "", "no name": "Has a blank.", "long": "x" * 9_000})
    listing = await mcp.fetch_tool_list(others)
    assert [one.name for one in listing.tools] == ["letter"]
    assert listing.left_out == ("'no name' is no name", "long has a description of more than 8,000 characters")


async def test_a_schema_that_is_none_is_left_out(others, folder):
    folder.say(schema={"type": "object", "properties": 7})
    assert (await mcp.fetch_tool_list(others)).left_out[0] == "letter has no schema of an object"


async def test_an_idle_session_is_closed_and_another_opened(others, monkeypatch):
    monkeypatch.setattr(sessions, "IDLE", 0.05)
    await said(others)
    first = sessions._session(others)
    await first._task
    assert (await said(others), sessions._session(others) is first) == ("Done: letter.", False)


def test_no_process_loads_the_client_at_its_start():
    loaded = (
        "import django; django.setup(); import sys, magi_site.asgi, engine.queue.worker; print('mcp' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
