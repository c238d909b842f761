"""The endpoint that stands for all models in tests answers as it is told, and remembers what it was asked."""

import asyncio
import contextlib
import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from http.client import HTTPConnection

import pytest
from openai import APITimeoutError, AsyncOpenAI, OpenAI, RateLimitError

from tests.endpoint import ScriptedEndpoint
from tests.endpoint.script import TROUBLE
from tests.endpoint.wire import fingerprint
from tests.waiting import wait_until


@pytest.fixture(scope="module")
def process() -> Iterator[ScriptedEndpoint]:
    with ScriptedEndpoint() as endpoint:
        yield endpoint


@pytest.fixture
def endpoint(process: ScriptedEndpoint) -> ScriptedEndpoint:
    process.reset()
    return process


@pytest.fixture
def client(endpoint: ScriptedEndpoint) -> Iterator[OpenAI]:
    with OpenAI(base_url=endpoint.base_url, api_key="sk-test", max_retries=0, timeout=5) as client:
        yield client


def ask(client: OpenAI, text: str = "Shall we?", **options):
    return client.chat.completions.create(model="gpt-5", messages=[{"role": "user", "content": text}], **options)


def decision(client: OpenAI, text: str = "Shall we?") -> str:
    return json.loads(ask(client, text).choices[0].message.content)["decision"]


def test_an_unstreamed_answer_is_a_completion_by_the_asked_model(endpoint, client):
    endpoint.script(default={"decision": "reject", "reason": "Zu früh. Später ja."})
    answer = ask(client)
    assert answer.model == "gpt-5-2026-11"
    assert answer.choices[0].finish_reason == "stop"
    assert json.loads(answer.choices[0].message.content) == {"decision": "reject", "reason": "Zu früh. Später ja."}
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens


def test_a_streamed_answer_comes_in_pieces_with_the_usage_last(endpoint, client):
    endpoint.script(default={"reason": "Zu früh. Später ja.", "chunks": 5})
    *chunks, last = ask(client, stream=True, stream_options={"include_usage": True})
    pieces = [piece for chunk in chunks if (piece := chunk.choices[0].delta.content)]
    assert len(pieces) == 5
    assert json.loads("".join(pieces)) == {"decision": "approve", "reason": "Zu früh. Später ja."}
    assert chunks[-1].choices[0].finish_reason == "stop"
    assert (last.choices, last.usage.prompt_tokens) == ([], 3)


def test_a_text_goes_before_the_queue_and_the_queue_before_the_default(endpoint, client):
    endpoint.script(
        default={"decision": "third"},
        queue=[{"decision": "first"}, {"decision": "second"}],
        by_text=[["bridge", {"decision": "once", "times": 1}]],
    )
    asked = ["road", "a bridge", "another bridge", "road", "road"]
    assert [decision(client, text) for text in asked] == ["first", "once", "second", "third", "third"]


async def test_requests_are_remembered_and_overlap_in_time(endpoint):
    endpoint.script(delay=0.5)
    async with AsyncOpenAI(base_url=endpoint.base_url, api_key="sk-test") as client:
        await asyncio.gather(*(ask(client, f"Case {number}") for number in range(3)))
    requests = endpoint.requests()
    assert {request["messages"][0]["content"] for request in requests} == {"Case 0", "Case 1", "Case 2"}
    assert [(request["number"], request["behaviour"]) for request in requests] == [(n, "good") for n in (1, 2, 3)]
    assert requests[0]["authorization"] == "Bearer sk-test"
    assert max(request["received"] for request in requests) < min(request["finished"] for request in requests)


def test_a_status_carries_its_code_and_headers(endpoint, client):
    endpoint.script(default={"behaviour": "status", "error": "insufficient_quota", "headers": {"Retry-After": "7"}})
    with pytest.raises(RateLimitError) as caught:
        ask(client)
    assert (caught.value.status_code, caught.value.code) == (429, "insufficient_quota")
    assert caught.value.response.headers["retry-after"] == "7"


def test_a_followed_redirect_is_recorded(endpoint, client):
    endpoint.script(default={"behaviour": "redirect", "status": 307})
    assert decision(client) == "approve"
    assert [request["path"] for request in endpoint.requests()] == ["/v1/chat/completions", "/redirected"]


def test_a_client_that_leaves_is_recorded(endpoint, client):
    endpoint.script(default={"behaviour": "hang"})
    with pytest.raises(APITimeoutError):
        ask(client, timeout=0.1)
    wait_until(lambda: endpoint.counts().get("left"), "that it left is recorded")
    assert [request["finished"] for request in endpoint.requests()] == [None]


def test_a_misspelt_script_is_refused(endpoint):
    for rule in ({"behaviour": "godo"}, {"raeson": "because"}, {"behaviour": "status", "error": "quota"}):
        with pytest.raises(ValueError, match=r"godo|raeson|quota"):
            endpoint.script(default=rule)


NUMBERED = {"reason": "Answer {number}."}
ROUGH = {"seed": 7, "trouble": 0.4, "objections": 0.5, "longest_delay": 0.01}


def behaviours(endpoint: ScriptedEndpoint, count: int) -> list[str]:
    """How so many requests are answered, one after the other."""
    connection = HTTPConnection(endpoint.base_url.split("/")[2])
    for number in range(count):
        connection.request("POST", "/v1/chat/completions", json.dumps({"messages": [{"content": f"Case {number}"}]}))
        connection.getresponse().read()
    connection.close()
    return [request["behaviour"] for request in endpoint.requests()]


def test_the_weather_is_the_same_again_for_the_same_seed(endpoint):
    seen = []
    for seed in (7, 7, 8):
        endpoint.reset()
        endpoint.script(weather=ROUGH | {"seed": seed})
        seen.append(behaviours(endpoint, 40))
    assert seen[0] == seen[1] != seen[2]
    assert {rule["behaviour"] for rule in TROUBLE} < set(seen[0])
    assert 8 <= 40 - seen[0].count("good") <= 24


def test_a_ledger_says_in_one_line_what_was_asked_and_answered(endpoint, client, tmp_path):
    endpoint.script(default=NUMBERED, weather={"objections": 1}, ledger=f"{tmp_path}/ledger")
    assert decision(client, "Shall we?") == "reject"
    wait_until(lambda: endpoint.counts().get("finished"), "the line that is written after the answer")
    [line] = map(json.loads, (tmp_path / "ledger").read_text().splitlines())
    assert line["asked"] == fingerprint([{"role": "user", "content": "Shall we?"}])
    assert (line["number"], line["behaviour"], line["decision"], line["reason"]) == (1, "good", "reject", "Answer 1.")
    assert line["left"] is None
    assert endpoint.counts() == {"received": 1, "finished": 1, "good": 1}


def test_the_process_ends_when_the_one_that_started_it_is_killed():
    code = (
        "from tests.endpoint import ScriptedEndpoint; "
        "print(ScriptedEndpoint().__enter__().base_url, flush=True); input()"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        address = parent.stdout.readline().decode().split("/")[2].split(":")
        socket.create_connection(address).close()
        parent.kill()
    wait_until(lambda: not listens(address), "it listens no more")


def listens(address):
    with contextlib.suppress(ConnectionRefusedError), socket.create_connection(address):
        return True
    return False
