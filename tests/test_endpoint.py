import asyncio
import contextlib
import json
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest
from openai import APITimeoutError, AsyncOpenAI, OpenAI, OpenAIError, RateLimitError

from tests.endpoint import Endpoint
from tests.endpoint.behaviours import BEHAVIOURS
from tests.endpoint.script import TROUBLE
from tests.endpoint.wire import fingerprint

ENDLESS = {"hang", "drip_headers", "drip_body", "endless", "open_end", "stall", "torrent", "informational"}
TOO_MUCH = {"gzip_line_breaks"}  # for a client that takes every line as it comes


@pytest.fixture(scope="module")
def process() -> Iterator[Endpoint]:
    with Endpoint() as endpoint:
        yield endpoint


@pytest.fixture
def endpoint(process: Endpoint) -> Endpoint:
    process.reset()
    return process


@pytest.fixture
def client(endpoint: Endpoint) -> Iterator[OpenAI]:
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
    endpoint.script(delay=0.2)
    async with AsyncOpenAI(base_url=endpoint.base_url, api_key="sk-test") as client:
        await asyncio.gather(*(ask(client, f"Case {number}") for number in range(3)))
    requests = endpoint.requests()
    assert {request["messages"][0]["content"] for request in requests} == {"Case 0", "Case 1", "Case 2"}
    assert [(request["number"], request["behaviour"]) for request in requests] == [(n, "good") for n in (1, 2, 3)]
    assert requests[0]["authorization"] == "Bearer sk-test"
    assert max(request["received"] for request in requests) < min(request["finished"] for request in requests)


def test_a_cut_stream_ends_without_a_finish_reason(endpoint, client):
    endpoint.script(default={"behaviour": "cut_stream", "cut_after": 2})
    chunks = list(ask(client, stream=True))
    assert len([chunk for chunk in chunks if chunk.choices[0].delta.content]) == 2
    assert not any(chunk.choices[0].finish_reason for chunk in chunks)


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
    end = time.monotonic() + 30
    while not endpoint.counts().get("left") and time.monotonic() < end:
        time.sleep(0.01)
    [request] = endpoint.requests()
    assert request["finished"] is None
    assert request["left"] - request["received"] < 1


def test_a_connection_serves_one_good_answer_after_another(endpoint):
    connection = HTTPConnection(endpoint.base_url.split("/")[2])
    for number in range(3):
        connection.request("POST", "/v1/chat/completions", json.dumps({"stream": number == 1, "messages": []}))
        first, _ = connection.sock, connection.getresponse().read()
        assert connection.sock is first
    connection.close()


@pytest.mark.parametrize("name", sorted(BEHAVIOURS.keys() - ENDLESS - TOO_MUCH))
def test_the_endpoint_gets_over_every_behaviour(endpoint, name):
    endpoint.script(queue=[{"behaviour": name, "megabytes": 1}] * 2)
    with OpenAI(base_url=endpoint.base_url, api_key="sk-test", max_retries=0) as client:
        for stream in (True, False):
            with contextlib.suppress(OpenAIError, ValueError, TypeError, RecursionError):
                list(ask(client, stream=stream))
        assert decision(client) == "approve"
    asked = [request for request in endpoint.requests() if request["path"] != "/redirected"]
    assert [request["behaviour"] for request in asked] == [name, name, "good"]


def test_a_misspelt_script_is_refused(endpoint):
    for rule in ({"behaviour": "godo"}, {"raeson": "because"}, {"behaviour": "status", "error": "quota"}):
        with pytest.raises(ValueError, match=r"godo|raeson|quota"):
            endpoint.script(default=rule)


NUMBERED = {"reason": "Answer {number}."}
ROUGH = {"seed": 7, "trouble": 0.4, "objections": 0.5, "longest_delay": 0.01}


def behaviours(endpoint: Endpoint, count: int) -> list[str]:
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


def test_a_share_of_the_requests_is_slow(endpoint):
    endpoint.script(weather={"seed": 7, "slow": 0.2, "slowness": 0.2})
    behaviours(endpoint, 20)
    seconds = [request["finished"] - request["received"] for request in endpoint.requests()]
    assert 1 <= len([second for second in seconds if second >= 0.2]) <= 8


def test_the_weather_leaves_what_is_scripted_alone(endpoint, client):
    endpoint.script(queue=[{"reason": "Queued."}], by_text=[["bridge", {"reason": "Named."}]], weather={"trouble": 1})
    reasons = [json.loads(ask(client, text).choices[0].message.content)["reason"] for text in ("a bridge", "road")]
    assert reasons == ["Named.", "Queued."]
    with pytest.raises((OpenAIError, ValueError)):
        decision(client)


def test_an_answer_can_carry_the_number_of_its_request(endpoint, client):
    endpoint.script(default=NUMBERED)
    reasons = [json.loads(ask(client).choices[0].message.content)["reason"] for _ in range(3)]
    assert reasons == ["Answer 1.", "Answer 2.", "Answer 3."]


def test_a_ledger_says_in_one_line_what_was_asked_and_answered(endpoint, client, tmp_path):
    endpoint.script(default=NUMBERED, weather={"objections": 1}, ledger=f"{tmp_path}/ledger")
    assert decision(client, "Shall we?") == "reject"
    while not endpoint.counts().get("finished"):  # the line is written after the answer
        time.sleep(0.01)
    [line] = map(json.loads, (tmp_path / "ledger").read_text().splitlines())
    assert line["asked"] == fingerprint([{"role": "user", "content": "Shall we?"}])
    assert (line["number"], line["behaviour"], line["decision"], line["reason"]) == (1, "good", "reject", "Answer 1.")
    assert line["left"] is None
    assert endpoint.counts() == {"received": 1, "finished": 1, "good": 1}


def test_with_a_ledger_the_memory_stays_flat(endpoint, tmp_path):
    endpoint.script(weather=ROUGH | {"longest_delay": 0}, ledger=f"{tmp_path}/ledger")
    connection = HTTPConnection(endpoint.base_url.split("/")[2])
    sizes = []
    for number in range(1200):
        body = json.dumps({"messages": [{"content": str(number) * 8000}], "stream": True})
        connection.request("POST", "/v1/chat/completions", body)
        connection.getresponse().read()
        if number in (200, 1199):
            sizes.append(resident_kilobytes(endpoint))
    connection.close()
    assert sizes[1] - sizes[0] < 2_000  # the bodies are 30 MB
    assert endpoint.requests() == []


def resident_kilobytes(endpoint: Endpoint) -> int:
    status = Path(f"/proc/{endpoint.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1])


def test_the_process_ends_when_the_one_that_started_it_is_killed():
    code = "from tests.endpoint import Endpoint; print(Endpoint().__enter__().base_url, flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        address = parent.stdout.readline().decode().split("/")[2].split(":")
        socket.create_connection(address).close()
        parent.kill()
    end = time.monotonic() + 30
    while listens(address):
        assert time.monotonic() < end, "it still listens"
        time.sleep(0.05)


def listens(address):
    with contextlib.suppress(ConnectionRefusedError), socket.create_connection(address):
        return True
    return False
