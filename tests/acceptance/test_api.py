"""The HTTP API as a program uses it: a real server, real connections, the token that the command printed."""

import json
import re
import shutil
import subprocess
import sys
import threading
import time
from http.client import HTTPConnection

import pytest

from runs.api.waiting import KEEPALIVE_SECONDS
from tests.acceptance.cases import RELEASE
from tests.acceptance.pages import models_of
from tests.acceptance.site import ROOT, ServedSite, manage
from tests.conftest import agents, need
from tests.waiting import wait_until

ASKED = {"content": "I am going to travel to Japan next week.", "agents": agents()}


class CurlCaller:
    """Calls as curl would: one connection a call."""

    def __init__(self, site: ServedSite, token: str) -> None:
        self.site, self.token = site, token

    def open(self, method, path, content=None, **headers):
        connection = HTTPConnection("127.0.0.1", self.site.port, timeout=70)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        named["Authorization"] = f"Bearer {self.token}"
        if content is not None:
            named["Content-Type"] = "application/json"
        body = None if content is None else json.dumps(content)
        connection.request(method, f"/api/v1{path}", body, named)
        return connection.getresponse()

    def call(self, method, path, content=None, **headers):
        answer = self.open(method, path, content, **headers)
        return answer.status, json.loads(answer.read() or "null")

    def submit(self, **more):
        status, made = self.call("POST", "/judgements", ASKED | more)
        assert status == 202, made
        return f"/judgements/{made['id']}"


def events(answer):
    """Each event of a stream as (id, judgement)."""
    lines = {}
    for line in answer:
        name, _, value = line.decode().rstrip("\n").partition(": ")
        if name:
            lines[name] = value
        elif lines.get("event") == "judgement":
            yield int(lines["id"]), json.loads(lines["data"])
            lines = {}


def opened(caller, path):
    """A stream, as soon as there is a place for it: the server notices a moment later that somebody has left."""

    def answered():
        answer = caller.open("GET", f"{path}/events")
        return None if answer.status == 429 else answer

    return wait_until(answered, "there is a place for a stream")


def token_of(site: ServedSite) -> str:
    done = manage("create_token", "admin", "--name", "test", "--expires", "1", env=site.env)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture(scope="module")
def caller(endpoint, tmp_path_factory):
    with ServedSite(tmp_path_factory.mktemp("api"), **models_of(endpoint)) as site:
        yield CurlCaller(site, token_of(site))


@pytest.fixture(scope="module")
def waiting(tmp_path_factory):
    """A site whose judgements wait: it has no engine."""
    with ServedSite(tmp_path_factory.mktemp("waiting"), "--no-engine") as site:
        yield CurlCaller(site, token_of(site))


def test_a_judgement_is_submitted_waited_for_and_kept(caller):
    path = caller.submit(title="Japan")
    status, found = caller.call("GET", f"{path}?wait=60")
    assert (status, found["status"] in ("approved", "rejected"), found["title"]) == (200, True, "Japan")
    assert sum(len(agent["decisions"]) for agent in found["agents"]) == 9
    _, record = caller.call("GET", f"{path}/record")
    assert [entry["kind"] for entry in record["entries"]].count("attempt") == 9
    _, listed = caller.call("GET", "/judgements?q=japan")
    assert found["id"] in [one["id"] for one in listed["results"]]


def test_a_stream_tells_of_every_decision_and_ends(caller):
    path = caller.submit()
    found = list(events(caller.open("GET", f"{path}/events")))
    assert [revision for revision, _ in found] == sorted({revision for revision, _ in found})
    last = found[-1][1]
    assert last["status"] in ("approved", "rejected")
    assert last == caller.call("GET", path)[1]


def test_a_stream_that_broke_goes_on_where_it_was(waiting):
    path = waiting.submit()
    first = waiting.open("GET", f"{path}/events")
    revision, _ = next(events(first))
    first.close()
    again = waiting.open("GET", f"{path}/events", Last_Event_ID=str(revision))
    assert waiting.call("POST", f"{path}/cancel")[0] == 202
    rest = list(events(again))
    assert [judgement["status"] for _, judgement in rest] == ["cancelled"]
    over = waiting.open("GET", f"{path}/events", Last_Event_ID=str(rest[-1][0]))
    assert (over.status, over.read()) == (204, b"")


@pytest.mark.slow
def test_a_stream_that_goes_on_answers_before_anything_is_to_be_told(waiting):
    path = waiting.submit()
    revision, _ = next(events(waiting.open("GET", f"{path}/events")))
    began = time.monotonic()
    waiting.open("GET", f"{path}/events", Last_Event_ID=str(revision))
    assert time.monotonic() - began < KEEPALIVE_SECONDS - 5


def test_streams_that_are_left_give_their_places_back(waiting):
    path = waiting.submit()
    for _ in range(60):
        answer = waiting.open("GET", f"{path}/events")
        assert answer.status == 200
        next(events(answer))
        answer.close()


def test_calls_that_wait_have_an_end_in_number(waiting):
    path = waiting.submit()
    open_ones = [opened(waiting, path) for _ in range(100)]
    assert {answer.status for answer in open_ones} == {200}
    refused = waiting.open("GET", f"{path}?wait=5")
    assert (refused.status, refused.headers["Retry-After"]) == (429, "5")
    assert waiting.call("GET", path)[0] == 200
    for answer in open_ones:
        answer.close()


def test_a_wait_ends_when_the_judgement_is_cancelled(waiting):
    path = waiting.submit()
    opened(waiting, path).close()
    found = []
    waits = threading.Thread(target=lambda: found.append(waiting.call("GET", f"{path}?wait=60")))
    waits.start()
    assert waiting.call("POST", f"{path}/cancel")[1]["status"] == "cancelled"
    waits.join(60)
    assert found[0][1]["status"] == "cancelled"


def test_what_failed_is_retried(caller, endpoint):
    put = [{"name": each.name, "model": each.model, "criteria": each.criteria} for each in RELEASE.members]
    endpoint.script(by_text=RELEASE.rules({(1, 1): {"behaviour": "prose"}}))
    path = caller.submit(content=RELEASE.content, agents=put)
    failed = caller.call("GET", f"{path}?wait=60")[1]
    assert (failed["status"], failed["error"]["code"], failed["error"]["agent"]) == ("error", "unusable_answer", "A")
    endpoint.script(by_text=RELEASE.rules())
    assert caller.call("POST", f"{path}/retry")[0] == 202
    assert caller.call("GET", f"{path}?wait=60")[1]["status"] == "approved"


def test_one_request_sent_many_times_at_once_submits_once(caller):
    answers = []

    def submit():
        answers.append(caller.call("POST", "/judgements", ASKED, Idempotency_Key="once"))

    callers = [threading.Thread(target=submit) for _ in range(12)]
    for each in callers:
        each.start()
    for each in callers:
        each.join()
    assert {status for status, _ in answers} == {202}
    assert len({judgement["id"] for _, judgement in answers}) == 1


@pytest.mark.slow
def test_the_documented_calls_work_as_they_are_shown(tmp_path):
    need("curl", bool(shutil.which("curl")), "curl is not installed")
    with ServedSite(tmp_path) as site:
        examples = re.findall(r"```sh\n(.*?)```", (ROOT / "docs" / "api.md").read_text(), re.DOTALL)
        script = "".join(examples).replace("http://127.0.0.1:8000", site.url)
        script = script.replace(".venv/bin/python", sys.executable)
        script = re.sub(r"\b\w+\.(?:json|bundle|mbox)\b", lambda name: str(tmp_path / name[0]), script)
        done = subprocess.run(
            ["sh", "-e"], input=script, cwd=ROOT, env=site.env, capture_output=True, text=True, timeout=240
        )
    assert done.returncode == 0, done.stderr
    assert "event: judgement" in done.stdout
    assert '"entries":[{' in done.stdout
