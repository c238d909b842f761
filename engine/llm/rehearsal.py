"""The rehearsal: an endpoint inside this process that needs no provider, behind the same client code.

It calls no model. Procedures register how their answer formats are rehearsed; the answer is streamed word by word
as a chat completion. `rehearsal/magi` takes about as long as reading aloud, `rehearsal/instant` no time.
"""

import asyncio
import json
import re
import zlib
from collections.abc import AsyncIterator

import httpx2

from engine.runtime.procedure import TruncatedAnswer, procedures

PACE_BY_MODEL = {"magi": 0.03, "instant": 0.0}


class RehearsalTransport(httpx2.AsyncBaseTransport):
    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        sent = await request.aread()
        body = json.loads(sent)
        model, form_name = body["model"], body["response_format"]["json_schema"]["name"]
        if model not in PACE_BY_MODEL:
            message = f"The rehearsal knows {' and '.join(PACE_BY_MODEL)}, not {model}."
            return httpx2.Response(404, json={"error": {"message": message, "code": "model_not_found"}})
        whose = next((one for one in procedures().values() if form_name in one.rehearsals), None)
        if whose is None:
            message = f"Nothing is registered to rehearse {form_name}."
            return httpx2.Response(400, json={"error": {"message": message}})
        text, pace = whose.rehearsals[form_name](body["messages"]), PACE_BY_MODEL[model] / whose.rehearsal_speed
        headers = {"content-type": "text/event-stream"}
        # the first word comes later, as from a model; the delay differs from request to request
        delay = pace * (10 + zlib.crc32(sent) % 50)
        return httpx2.Response(200, headers=headers, stream=_Stream(model, text, delay, pace))


class _Stream(httpx2.AsyncByteStream):
    def __init__(self, model: str, text: str, delay: float, pace: float) -> None:
        self._model, self._text, self._delay, self._pace = f"rehearsal-{model}", text, delay, pace

    async def __aiter__(self) -> AsyncIterator[bytes]:
        await asyncio.sleep(self._delay)
        for word in re.findall(r"\s*\S+\s*", self._text):
            yield self._chunk({"content": word})
            await asyncio.sleep(self._pace)
        yield self._chunk({}, finish="length" if isinstance(self._text, TruncatedAnswer) else "stop")
        yield b"data: [DONE]\n\n"

    def _chunk(self, delta: dict[str, str], finish: str | None = None) -> bytes:
        chunk = {"model": self._model, "choices": [{"delta": delta, "finish_reason": finish}]}
        return f"data: {json.dumps(chunk)}\n\n".encode()
