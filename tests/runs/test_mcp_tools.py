"""What the tools of our MCP server take is put together once, and what its door answers."""

import json
from unittest.mock import ANY

import pytest
from asgiref.sync import sync_to_async
from django.test import AsyncClient, RequestFactory

from runs.api.errors import ApiError
from runs.mcp import tools
from tests.callers import bearer


def test_the_list_of_tools_is_made_once_and_is_the_same_each_time(monkeypatch):
    first = tools.exposed_tools()
    monkeypatch.setattr(tools, "_schema", lambda asked: 1 / 0)
    assert tools.exposed_tools() == first
    assert len(first) > 10


def test_another_set_of_kinds_has_tools_of_its_own(monkeypatch):
    kinds = {name: face for name, face in tools.specs().items() if name == "judgement"}
    monkeypatch.setattr(tools, "specs", lambda: kinds)
    assert {tool.name for tool in tools.exposed_tools()} == {
        "request_judgement",
        "list_councils",
        "look",
        "list_runs",
        "cancel",
    }


def test_a_model_lists_runs_in_short():
    (listed,) = (tool for tool in tools.exposed_tools() if tool.name == "list_runs")
    assert "full" not in listed.takes["properties"]


@pytest.mark.django_db(transaction=True)
async def test_a_list_is_short_and_has_all_of_one_by_its_name(mira, council):
    request = RequestFactory().post("/mcp", headers=await sync_to_async(bearer)(mira))
    listed, one = [
        (await tools.call_tool(request, "list_councils", asked)).content for asked in ({}, {"name": council.name})
    ]
    (short,) = listed["results"]
    assert [agent["name"] for agent in short["agents"]] == [agent["name"] for agent in one["agents"]]
    assert ("criteria" in short["agents"][0], bool(one["agents"][0]["criteria"])) == (False, True)
    for wrong in ({"name": "Nobody"}, {"name": 3}, {"full": True}):
        with pytest.raises(ApiError):
            await tools.call_tool(request, "list_councils", wrong)


PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
BEGIN = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "one", "version": "1"}}
BOTH = "application/json, text/event-stream"
SENT = {  # method, message, headers and type of what is sent; status and code of the error that comes
    "no Accept": ("POST", PING, {}, 200, None),
    "any": ("POST", PING, {"Accept": "*/*"}, 200, None),
    "any application": ("POST", PING, {"Accept": "application/*"}, 200, None),
    "JSON alone": ("POST", PING, {"Accept": "application/json"}, 200, None),
    "both": ("POST", PING, {"Accept": BOTH}, 200, None),
    "a page": ("POST", PING, {"Accept": "text/html"}, 406, -32600),
    "a batch": ("POST", [PING, PING], {}, 400, -32600),
    "an empty batch": ("POST", [], {}, 400, -32600),
    "a text": ("POST", "ping", {}, 400, -32600),
    "nothing": ("POST", None, {}, 400, -32600),
    "no version of JSON-RPC": ("POST", {"id": 1, "method": "ping"}, {}, 400, -32600),
    "another version of JSON-RPC": ("POST", PING | {"jsonrpc": "1.0"}, {}, 400, -32600),
    "no JSON": ("POST", b"{", {}, 400, -32700),
    "very deep": ("POST", b"[" * 100_000, {}, 400, -32700),
    "no UTF-8": ("POST", b'{"a": "\xe9"}', {}, 400, -32700),
    "a notification": ("POST", {"jsonrpc": "2.0", "method": "notifications/initialized"}, {}, 202, None),
    "an answer": ("POST", {"jsonrpc": "2.0", "id": 7, "result": {}}, {}, 202, None),
    "no such method": ("POST", PING | {"method": "nothing/there"}, {}, 200, -32601),
    "a known version": ("POST", PING, {"MCP-Protocol-Version": "2025-06-18"}, 200, None),
    "an old version": ("POST", PING, {"MCP-Protocol-Version": "2024-11-05"}, 200, None),
    "an unknown version": ("POST", PING, {"MCP-Protocol-Version": "1900-01-01"}, 400, ANY),
    "a version that is none": ("POST", PING, {"MCP-Protocol-Version": "yes"}, 400, ANY),
    "begin": ("POST", PING | {"method": "initialize", "params": BEGIN}, {}, 200, None),
    "begin in the future": (
        "POST", PING | {"method": "initialize", "params": BEGIN | {"protocolVersion": "2999-01-01"}}, {}, 200, None),
    "begin without a word": ("POST", PING | {"method": "initialize"}, {}, 200, ANY),
    "another type": ("POST", PING, {"Content-Type": "text/plain"}, 415, -32600),
    "a form": ("POST", b"a=b", {"Content-Type": "application/x-www-form-urlencoded"}, 415, -32600),
    "a session of elsewhere": ("POST", PING, {"Mcp-Session-Id": "abc"}, 200, None),
    "a stream": ("GET", None, {"Accept": "text/event-stream"}, 405, None),
    "an end": ("DELETE", None, {"Mcp-Session-Id": "abc"}, 405, None),
    "a change": ("PUT", PING, {}, 405, None),
}  # fmt: skip


@pytest.mark.django_db(transaction=True)
async def test_the_door_answers_whatever_comes_as_the_protocol_says(mira):
    named, found = await sync_to_async(bearer)(mira), {}
    for name, (method, message, headers, _, _) in SENT.items():
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        kind = headers.get("Content-Type", "application/json")
        own = {**named, **{one: said for one, said in headers.items() if one != "Content-Type"}}
        for address in ("/mcp", "/mcp/"):
            answer = await AsyncClient().generic(method, address, body, kind, headers=own)
            told = json.loads(answer.content) if answer.content.strip() not in (b"", b"null") else {}
            found[name, address] = answer.status_code, told.get("error", {}).get("code")
    expected = {(name, address): one[3:] for name, one in SENT.items() for address in ("/mcp", "/mcp/")}
    assert {name: said for name, said in found.items() if said != expected[name]} == {}
