"""What goes over a connection: heads, bodies, pieces of a stream, and the usual answers made of them."""

import asyncio
import hashlib
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import responses
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.endpoint.script import ScriptRule

EVENTS = {"Content-Type": "text/event-stream; charset=utf-8", "Transfer-Encoding": "chunked"}
END = b"0\r\n\r\n"
ERRORS = {  # by OpenAI's `code`: status, type, message
    "context_length_exceeded": (400, "invalid_request_error", "The maximum context length is 8192 tokens."),
    "content_filter": (400, "invalid_request_error", "The prompt triggered the content management policy."),
    "invalid_api_key": (401, "invalid_request_error", "Incorrect API key provided: sk-te**st."),
    "unsupported_country_region_territory": (403, "request_forbidden", "Country or region not supported"),
    "model_not_found": (404, "invalid_request_error", "The model `{model}` does not exist."),
    "rate_limit_exceeded": (429, "requests", "Rate limit reached for {model} on requests per min (RPM)."),
    "insufficient_quota": (429, "insufficient_quota", "You exceeded your current quota."),
    "server_error": (500, "server_error", "The server had an error while processing your request."),
    "overloaded": (503, "server_error", "The engine is currently overloaded, please try again later."),
}


@dataclass
class Wire:
    writer: asyncio.StreamWriter

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def head(self, status: int, headers: dict[str, Any]) -> None:
        lines = [
            f"HTTP/1.1 {status} {responses.get(status, '-')}",
            *(f"{k}: {v}" for k, v in headers.items()),
        ]
        await self.send("\r\n".join([*lines, "", ""]).encode("latin-1"))

    async def whole(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
        data = body if isinstance(body, bytes) else body.encode() if isinstance(body, str) else dump(body)
        kind = "text/html" if data.startswith(b"<") else "application/json"
        await self.head(status, {"Content-Type": kind, "Content-Length": len(data)} | (headers or {}))
        await self.send(data)


@dataclass
class Exchange(Wire):
    """One request for a completion, and the rule to answer it by."""

    rule: "ScriptRule"
    record: dict[str, Any]

    @property
    def streamed(self) -> bool:
        return bool(self.record["body"].get("stream"))

    def document(self, kind: str, choices: list[dict]) -> dict[str, Any]:
        name, model = f"chatcmpl-{self.record['number']}", f"{self.record['model']}-2026-11"
        return {"id": name, "object": kind, "created": int(time.time()), "model": model, "choices": choices}

    def chunk(self, delta: dict, finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return self.document("chat.completion.chunk", [choice])

    def completion(self, message: dict, finish: str | None = "stop") -> dict[str, Any]:
        choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
        return self.document("chat.completion", [choice]) | {"usage": self.usage(message)}

    def usage(self, message: dict) -> dict[str, int]:
        asked, said = len(text_of(self.record["messages"])) // 4 + 1, len(str(message)) // 4 + 1
        asked = min(asked, self.rule.window or asked)
        return {"prompt_tokens": asked, "completion_tokens": said, "total_tokens": asked + said}

    def good(self, **other: Any) -> str:
        return dump({"decision": self.rule.decision, "reason": self.rule.reason} | other).decode()

    def right(self) -> dict[str, Any]:
        message = {"content": self.good()}
        return self.chunk(message, "stop") if self.streamed else self.completion(message)

    def error(self) -> dict[str, Any]:
        like = [code for code, (number, *_) in ERRORS.items() if number == self.rule.status]
        code = self.rule.error or (like or ["server_error"])[0]
        _, kind, message = ERRORS[code]
        message = message.format(model=self.record["model"])
        return {"error": {"message": message, "type": kind, "param": None, "code": code}}

    def pieces(self, text: str) -> Iterator[str]:
        size = max(1, -(-len(text) // self.rule.chunks))
        return (text[start : start + size] for start in range(0, len(text), size))

    async def begin(self, message: dict[str, Any], most: int | None = None) -> None:
        """A stream up to its finish_reason, or only its first pieces."""
        await self.head(200, EVENTS)
        await self.send(framed(self.chunk({"role": "assistant", **dict.fromkeys(message)})))
        deltas = [{name: piece} for name, text in message.items() for piece in self.pieces(text or "")]
        for delta in deltas[:most]:
            await self.send(framed(self.chunk(delta)))
            await asyncio.sleep(self.rule.chunk_delay)

    async def answer(self, message: dict[str, Any], finish: str = "stop") -> None:
        if not self.streamed:
            return await self.whole(200, self.completion(message, finish))
        await self.begin(message)
        await self.send(framed(self.chunk({}, finish)))
        if (self.record["body"].get("stream_options") or {}).get("include_usage"):
            await self.send(framed(self.document("chat.completion.chunk", []) | {"usage": self.usage(message)}))
        # one write: a client that leaves after [DONE] has been sent the whole answer
        await self.send(framed(b"[DONE]") + END)

    async def says(self, content: str, finish: str = "stop") -> None:
        await self.answer({"content": content}, finish)

    async def payload(self, data: Any) -> None:
        if not self.streamed:
            return await self.whole(200, data)
        await self.head(200, EVENTS)
        await self.send(framed(data) + framed(b"[DONE]") + END)

    async def send_for_ever(self, data: bytes) -> None:
        while True:
            await self.send(data)
            await asyncio.sleep(self.rule.chunk_delay or 0.1)


def opposite(decision: str) -> str:
    return "reject" if decision == "approve" else "approve"


def dump(value: Any) -> bytes:
    # JSON can name half a surrogate pair, UTF-8 cannot
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")


def framed(data: Any) -> bytes:
    event = b"data: %b\n\n" % (data if isinstance(data, bytes) else dump(data))
    return b"%x\r\n%b\r\n" % (len(event), event)


def text_of(messages: list[dict]) -> str:
    contents = [message.get("content") or "" for message in messages]
    parts = [[{"text": content}] if isinstance(content, str) else content for content in contents]
    return "\n".join(part.get("text", "") for content in parts for part in content)


def fingerprint(messages: list[dict]) -> str:
    """Stands for the messages of a request in the ledger: a row that was sent as they are has the same."""
    return hashlib.blake2b(json.dumps(messages, sort_keys=True).encode(), digest_size=16).hexdigest()
