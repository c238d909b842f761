"""Our server of the Model Context Protocol, by its official client over real connections."""

import asyncio
import json
import re
import sqlite3
import subprocess
import sys
import tomllib
from contextlib import asynccontextmanager
from http.client import HTTPConnection

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from tests.acceptance.site import ROOT, ServedSite, manage
from tests.acceptance.test_api import token_of

CONTENT = "I am going to travel to Japan next week."
DEBATE = {
    "question": "Shall we move?",
    "options": [{"word": "MOVE", "direction": "for"}, {"word": "STAY", "direction": "against"}],
    "members": [{"name": name, "who": "Somebody.", "model": "rehearsal/instant"} for name in ("Ada", "Ben")],
    "most": 6,
}
TASK = "Write to Ada Lovelace about the review."
FOR_PEOPLE = ("decide", "approve", "gate", "accept", "answer_gate", "decide_gate", "POST /gates/decide")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    with ServedSite(tmp_path_factory.mktemp("mcp"), MAGI_DEFAULT_MODEL="rehearsal/instant") as site:
        site.token = token_of(site)
        yield site


@asynccontextmanager
async def connected(site, token=""):
    headers = {"Authorization": f"Bearer {token or site.token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=70) as http:
        transport = streamable_http_client(f"{site.url}/mcp", http_client=http)
        async with Client(transport, cache=None) as client:
            yield client


def with_client(site, use, token=""):
    async def run():
        async with connected(site, token) as client:
            return await use(client)

    return asyncio.run(run())


def call(site, name, arguments, token=""):
    return with_client(site, lambda client: client.call_tool(name, arguments), token)


def count(site, table):
    with sqlite3.connect(f"file:{site.env['MAGI_DATA_DIR']}/magi.sqlite3?mode=ro", uri=True) as rows:
        return rows.execute(f"SELECT count(*) FROM {table}").fetchone()[0]


def test_every_kind_is_offered_and_no_gate(site):
    tools = {tool.name: tool for tool in with_client(site, lambda client: client.list_tools()).tools}
    begin = {"request_judgement", "hold_debate", "ask_inquiry", "start_plan", "start_mission"}
    assert begin | {"look", "list_runs", "cancel", "list_councils", "list_panels", "list_teams"} <= set(tools)
    assert not [name for name in tools if "gate" in name or "decide" in name or "approve" in name]
    assert "oneOf" not in tools["request_judgement"].input_schema
    assert tools["request_judgement"].input_schema["properties"]["wait"]["maximum"] == 50


def test_a_judgement_is_carried_to_its_end_in_one_call(site):
    said = call(site, "request_judgement", {"content": CONTENT, "council": "Magi"})
    found = said.structured_content
    assert found["status"] in ("approved", "rejected")
    assert not said.is_error
    assert json.loads(said.content[-1].text) == found


def test_what_is_not_over_is_looked_at_by_its_id_until_it_is(site):
    async def use(client):
        begun = await client.call_tool("hold_debate", {**DEBATE, "wait": 0})
        pk = begun.structured_content["id"]
        assert f"Look by its id: {pk}" in begun.content[0].text
        found = await client.call_tool("look", {"id": pk, "wait": 50})
        listed = await client.call_tool("list_runs", {"kind": "debate", "q": "move"})
        return pk, found.structured_content, listed.structured_content

    pk, found, listed = with_client(site, use)
    assert (found["status"], found["id"]) == ("finished", pk)
    assert pk in [run["id"] for run in listed["results"]]
    assert "messages" not in listed["results"][0]


def test_a_question_is_answered_and_its_source_and_record_are_read(site):
    asked = {"question": "Is the fee refundable?", "documents": [{"title": "terms.txt", "text": "It is refundable."}]}

    async def use(client):
        found = (await client.call_tool("ask_inquiry", asked)).structured_content
        source = await client.read_resource(f"magi://inquiries/{found['id']}/sources/1")
        record = await client.read_resource(f"magi://runs/{found['id']}/record")
        listed = await client.list_resources()
        templates = await client.list_resource_templates()
        with pytest.raises(MCPError):
            await client.read_resource(f"magi://runs/{found['id']}/gates")
        return found, source, record, listed, templates

    found, source, record, listed, templates = with_client(site, use)
    assert json.loads(source.contents[0].text)["text"] == "It is refundable."
    assert json.loads(record.contents[0].text)["id"] == found["id"]
    assert f"magi://runs/{found['id']}" in [str(one.uri) for one in listed.resources]
    assert {one.name for one in templates.resource_templates} == {"run", "record", "sources", "terminals"}


def test_a_model_cannot_decide_what_waits_for_a_person_whatever_its_token(site):
    token = manage("create_token", "admin", "--scopes", "submit,steer,decide", env=site.env).stdout.strip()

    async def use(client):
        begun = await client.call_tool("start_plan", {"task": TASK, "team": "People"})
        tried = [await client.call_tool(name, {"gate": 1, "decision": "approve"}) for name in FOR_PEOPLE]
        pk = begun.structured_content["id"]
        by_id = await client.call_tool("look", {"id": f"{pk}/../../gates/1/decide"})
        return begun, tried, by_id, await client.call_tool("look", {"id": pk})

    begun, tried, by_id, found = with_client(site, use, token)
    assert found.structured_content["status"] in ("running", "waiting")  # it is parked when all that it asks is written
    assert "which only people can" in begun.content[0].text
    assert all(one.is_error for one in [*tried, by_id])
    assert found.structured_content["gates"][-1]["state"] == "pending"
    assert count(site, "engine_gatedecision") == 0


def test_what_is_wrong_is_said_as_the_tools_error_and_nothing_is_begun(site):
    before = count(site, "engine_run")
    for name, arguments, said in (
        ("request_judgement", {"content": CONTENT, "council": "Nobody"}, "council"),
        ("request_judgement", {"content": "", "council": "Magi"}, "content"),
        ("request_judgement", {"content": CONTENT, "council": "Magi", "wait": 51}, "0 to 50"),
        ("request_judgement", {"content": CONTENT, "council": "Magi", "colour": "red"}, "colour"),
        ("look", {"id": "nothing"}, "id"),
        ("look", {"id": "6f9619ff-8b86-4011-b42d-00c04fc964ff"}, "no such run"),
        ("list_councils", {"x": 1}, "argument"),
        ("list_runs", {"kind": "poem"}, "kind"),
    ):
        found = call(site, name, arguments)
        assert found.is_error, name
        assert said in found.content[0].text
    assert count(site, "engine_run") == before


def test_a_key_begins_one_run_however_often_it_is_sent(site):
    asked = {"content": CONTENT, "council": "Magi", "key": "once", "wait": 0}

    async def use(client):
        return await asyncio.gather(*(client.call_tool("request_judgement", asked) for _ in range(6)))

    assert len({one.structured_content["id"] for one in with_client(site, use)}) == 1


def test_a_token_without_the_scope_reads_and_begins_nothing(site):
    token = manage("create_token", "admin", "--scopes", "steer", env=site.env).stdout.strip()
    assert "scope" in call(site, "request_judgement", {"content": CONTENT, "council": "Magi"}, token).content[0].text
    assert not call(site, "list_runs", {}, token).is_error


def post(site, body=b"{}", **headers):
    connection = HTTPConnection("127.0.0.1", site.port, timeout=60)
    named = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    named |= {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request("POST", "/mcp", body, named)
    return connection.getresponse()


def test_who_has_no_token_or_comes_from_another_page_or_sends_too_much_is_let_nowhere(site):
    bearer = {"Authorization": f"Bearer {site.token}"}
    refused = post(site)
    assert (refused.status, refused.headers["WWW-Authenticate"]) == (401, 'Bearer realm="magi"')
    assert post(site, Origin="http://evil.example", **bearer).status == 403
    assert post(site, b"x" * (1024 * 1024 + 1), **bearer).status == 413
    assert post(site, b"{", **bearer).status == 400


def test_the_documented_program_works_as_it_is_shown(site):
    text = (ROOT / "docs" / "mcp.md").read_text()
    [program] = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    env = site.env | {"MAGI_URL": site.url, "MAGI_TOKEN": site.token}
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() in ("approved", "rejected"), done.stderr


def test_what_is_documented_is_what_there_is(site):
    text = (ROOT / "docs" / "mcp.md").read_text()
    shown = set(re.findall(r"`(\w+)`", "".join(re.findall(r"^\| `.*?\|", text, re.MULTILINE))))
    assert {tool.name for tool in with_client(site, lambda client: client.list_tools()).tools} == shown
    for example in re.findall(r"```json\n(.*?)```", text, re.DOTALL):
        assert "/mcp" in json.dumps(json.loads(example))
    [codex] = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    assert tomllib.loads(codex)["mcp_servers"]["magi"]["url"].endswith("/mcp")
