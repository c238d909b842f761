"""Callers of the HTTP API, and what they look for in its answers."""

import json

from django.test import Client

from magi_site.models import Token
from runs.procedure.schemas import ProblemOut

API = "/api/v1"


def bearer(user, **more):
    return {"Authorization": f"Bearer {Token.objects.make(user, **more).secret}"}


class ApiCaller:
    def __init__(self, user, **more):
        """`more`: of the token, as its scopes."""
        self.client = Client(headers=bearer(user, **more))

    def get(self, path, **query):
        return self.client.get(f"{API}{path}", query_params=query)

    def post(self, path, content=None, content_type="application/json", **headers):
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        body = content if isinstance(content, (bytes, str)) else json.dumps(content)
        return self.client.post(f"{API}{path}", b"" if content is None else body, content_type, headers=named)

    def put(self, path, content):
        return self.client.put(f"{API}{path}", json.dumps(content), "application/json")

    def patch(self, path, content):
        return self.client.patch(f"{API}{path}", json.dumps(content), "application/json")


def problem(answer, status):
    assert answer.status_code == status, answer.content
    assert answer.headers["Content-Type"] == "application/problem+json"
    content = answer.json()
    ProblemOut.model_validate(content)
    assert content["status"] == status
    return content


def fields(answer, status=422):
    return {error["path"]: error["message"] for error in problem(answer, status)["errors"]}


async def messages(answer, name="judgement"):
    """Each event as (id, data) until the stream ends."""
    text = ""
    async for piece in answer.streaming_content:
        text += piece.decode()
        while "\n\n" in text:
            message, _, text = text.partition("\n\n")
            lines = dict(line.split(": ", 1) for line in message.split("\n"))
            if "event" in lines:
                assert lines["event"] == name
                yield int(lines["id"]), json.loads(lines["data"])
