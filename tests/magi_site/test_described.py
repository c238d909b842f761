"""What the API's description says of lengths and types is what it takes: `python -m tests.fuzzed` in short."""

import json

import pytest
from django.test import Client

from magi_site import chat_endpoint
from magi_site.api import api
from runs.chat.schemas import ChatErrorResponse
from tests.callers import API, ApiCaller, bearer, fields

pytestmark = pytest.mark.django_db

MEMBERS = [{"name": name, "who": "Somebody.", "model": "rehearsal/instant"} for name in ("Ada", "Ben")]
TAKEN = {
    "/judgements": {"content": "Go?", "council": "Magi"},
    "/debates": {"question": "Go?", "options": [{"word": "GO"}, {"word": "STAY"}], "members": MEMBERS},
    "/inquiries": {"question": "What is restarted first?", "model": "rehearsal/instant"},
    "/plans": {"task": "Write a letter."},
    "/missions": {"goal": "Say what is there.", "model": "rehearsal/instant"},
    "/memories": {"name": "Reviews", "text": "On Mondays."},
    "/webhooks": {"address": "https://example.org/"},
}
SIGNS = {"boolean": (0, "true"), "integer": (True, "1"), "string": (0,)}


def resolved(schema, described):
    return described["components"]["schemas"][schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema


def forms_of(schema, described):
    """All that a value may be."""
    return [resolved(one, described) for one in schema.get("anyOf", [schema])]


def wrong_values(schema, described):
    """What the description forbids, by lengths and types alone."""
    forms = forms_of(schema, described)
    types = {one.get("type") for one in forms}
    if longest := max((one.get("maxLength", 0) for one in forms), default=0):
        yield "x" * (longest + 1)
    if len(types - {"null"}) == 1:
        yield from SIGNS.get(next(iter(types - {"null"})), ())


@pytest.mark.parametrize("path", TAKEN)
def test_no_field_takes_what_its_description_forbids(path, mira, council):
    described = api.get_openapi_schema()
    body = described["paths"][f"{API}{path}"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    caller, taken = ApiCaller(mira, scopes=["submit", "webhooks"]), []
    for name, schema in resolved(body, described)["properties"].items():
        for value in wrong_values(schema, described):
            answer = caller.post(path, TAKEN[path] | {name: value})
            if answer.status_code != 422 or not any(one.split(".")[0] == name for one in fields(answer)):
                taken.append((name, str(value)[:20], answer.status_code))
    assert taken == []


def test_no_list_takes_what_its_description_forbids(mira):
    described, taken = api.get_openapi_schema(), []
    caller = ApiCaller(mira)
    for path, operations in described["paths"].items():
        for one in () if "{" in path else operations.get("get", {}).get("parameters", ()):
            longest = max((form.get("maxLength", 0) for form in forms_of(one["schema"], described)), default=0)
            answer = caller.get(path.removeprefix(API), **{one["name"]: "x" * (longest + 1)}) if longest else None
            if answer is not None and one["name"] not in fields(answer):
                taken.append((path, one["name"]))
    assert taken == []


@pytest.mark.parametrize(
    ("path", "at", "body"),
    [
        ("/v1/models/{name}", "/v1/models/nothing", None),
        ("/v1/chat/completions", "/v1/chat/completions", {}),
        (
            "/v1/chat/completions",
            "/v1/chat/completions",
            {"model": "x", "messages": [{"role": "user", "content": "Go?"}]},
        ),
    ],
)
def test_what_stands_where_a_model_does_refuses_as_it_is_described(mira, path, at, body):
    client = Client(headers=bearer(mira))
    answer = client.get(at) if body is None else client.post(at, json.dumps(body), "application/json")
    operation = chat_endpoint.api.get_openapi_schema()["paths"][path]["get" if body is None else "post"]
    assert answer.headers["Content-Type"] in operation["responses"][answer.status_code]["content"]
    ChatErrorResponse.model_validate(answer.json())
