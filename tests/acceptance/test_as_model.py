"""Councils, panels, teams and crews, asked by the official client of language models over real connections."""

import asyncio
import json
import sqlite3
from enum import StrEnum

import openai
import pytest
from openai import AsyncOpenAI, OpenAI
from pydantic import BaseModel

from tests.acceptance.site import ServedSite, manage
from tests.acceptance.test_api import token_of

CONTENT = "I am going to travel to Japan next week."


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    with ServedSite(tmp_path_factory.mktemp("model"), MAGI_DEFAULT_MODEL="rehearsal/instant") as site:
        yield site


@pytest.fixture(scope="module")
def client(site):
    with OpenAI(base_url=f"{site.url}/v1", api_key=token_of(site)) as client:
        yield client


@pytest.fixture
def unhurried(tmp_path):
    """Asks models that answer as fast as one reads: of what is over at once nothing is heard before."""
    with (
        ServedSite(tmp_path, MAGI_DEFAULT_MODEL="rehearsal/magi") as site,
        OpenAI(base_url=f"{site.url}/v1", api_key=token_of(site)) as client,
    ):
        yield client


def asked(client, model="council/Magi", content=CONTENT, **more):
    return client.chat.completions.create(model=model, messages=[{"role": "user", "content": content}], **more)


def runs_of(site):
    with sqlite3.connect(f"file:{site.env['MAGI_DATA_DIR']}/magi.sqlite3?mode=ro", uri=True) as rows:
        return rows.execute("SELECT count(*) FROM engine_run").fetchone()[0]


def test_what_can_be_asked_is_listed_and_looked_up(client):
    names = [one.id for one in client.models.list()]
    assert {"council/Magi", "inquiry/documents"} <= set(names)
    assert {name.partition("/")[0] for name in names} == {"council", "panel", "inquiry", "team", "crew"}
    assert client.models.retrieve("council/Magi").id == "council/Magi"


def test_the_verdict_is_the_answer_with_its_reasons(client, site):
    said = asked(client, temperature=0, user="me")
    text = said.choices[0].message.content
    assert text.split("\n")[0] in ("APPROVED", "REJECTED")
    assert "A rehearsal: no model was asked." in text
    assert len([line for line in text.split("\n") if "approves (" in line or "rejects (" in line]) == 3
    assert text.endswith(f"{site.url}/judgements/{said.id.removeprefix('chatcmpl-')}/")
    assert said.choices[0].finish_reason == "stop"


def test_a_stream_says_what_happens_and_then_the_same(unhurried):
    heard, text, usage = [], "", None
    for chunk in asked(unhurried, stream=True, stream_options={"include_usage": True}):
        usage = chunk.usage or usage
        for choice in chunk.choices:
            heard.append(getattr(choice.delta, "reasoning_content", None) or "")
            text += choice.delta.content or ""
    assert text.split("\n")[0] in ("APPROVED", "REJECTED")
    assert "".join(heard).strip()
    assert usage is not None


def test_the_answer_has_the_form_that_is_asked_for(client):
    class Verdict(StrEnum):
        APPROVED = "approved"
        REJECTED = "rejected"

    class Gate(BaseModel):
        verdict: Verdict
        approved: bool
        reasons: list[str]

    messages = [{"role": "user", "content": CONTENT}]
    found = client.chat.completions.parse(model="council/Magi", messages=messages, response_format=Gate)
    gate = found.choices[0].message.parsed
    assert (gate.verdict == Verdict.APPROVED) is gate.approved
    assert len(gate.reasons) == 3
    whole = json.loads(asked(client, response_format={"type": "json_object"}).choices[0].message.content)
    assert whole["decision"] in ("approve", "reject")


@pytest.mark.parametrize(("prefix", "content"), [("panel", "Shall we move?"), ("inquiry", "What is a receipt?")])
def test_other_kinds_answer_likewise(client, prefix, content):
    name = next(one.id for one in client.models.list() if one.id.startswith(prefix))
    said = asked(client, name, content, timeout=60)
    word = said.choices[0].message.content.split("\n")[0]
    assert word
    assert word == word.upper()


def test_many_are_asked_at_once(site):
    async def all_at_once():
        async with AsyncOpenAI(base_url=f"{site.url}/v1", api_key=token_of(site)) as client:
            return await asyncio.gather(*(asked(client, content=f"{CONTENT} {n}") for n in range(8)))

    assert len({said.id for said in asyncio.run(all_at_once())}) == 8


def test_the_same_key_brings_the_same_answer(client, site):
    key = {"Idempotency-Key": "once"}
    one = asked(client, extra_headers=key)
    before = runs_of(site)
    assert asked(client, extra_headers=key).choices == one.choices
    assert runs_of(site) == before
    with pytest.raises(openai.BadRequestError, match="another request before"):
        asked(client, content="Something else", extra_headers=key)


def refused(kind, client, *said, **asked_for):
    with pytest.raises(kind) as error:
        asked(client, *said, **asked_for)
    return error.value.body, error.value.response.headers["x-should-retry"]


def test_what_is_wrong_is_said_in_the_clients_own_errors_and_nothing_is_begun(client, site):
    before = runs_of(site)
    body, again = refused(openai.NotFoundError, client, "council/Nobody")
    assert (body["code"], body["param"], again) == ("model_not_found", "model", "false")
    assert "council/Magi" in body["message"]
    assert refused(openai.BadRequestError, client, content="")[0]["param"] == "messages"
    assert refused(openai.BadRequestError, client, content="x" * 20_001)[0]["param"] == "messages"
    assert refused(openai.BadRequestError, client, n=2)[0]["param"] == "n"
    assert refused(openai.BadRequestError, client, tool_choice="required")[0]["param"] == "tool_choice"
    picture = [{"type": "image_url", "image_url": {"url": "data:,"}}]
    assert refused(openai.BadRequestError, client, content=picture)[0]["param"] == "messages"
    form = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object", "properties": {"a": {}}}}}
    assert refused(openai.BadRequestError, client, response_format=form)[0]["param"] == "response_format"
    assert runs_of(site) == before


def test_a_token_is_needed_that_may_submit(site):
    with OpenAI(base_url=f"{site.url}/v1", api_key="magi_no") as nobody:
        body, again = refused(openai.AuthenticationError, nobody)
        assert (body["code"], again) == ("invalid_api_key", "false")
    secret = manage("create_token", "admin", "--scopes", "steer", env=site.env).stdout.strip()
    with OpenAI(base_url=f"{site.url}/v1", api_key=secret) as steerer:
        assert "scope" in refused(openai.PermissionDeniedError, steerer)[0]["message"]


def test_what_is_not_there_is_refused_in_the_same_shape(client):
    with pytest.raises(openai.NotFoundError) as error:
        client.embeddings.create(model="council/Magi", input="x")
    assert error.value.body["message"]
