"""A model endpoint that speaks OpenAI's chat completions in a process of its own and misbehaves on request.

`python -m tests.endpoint` serves until SIGTERM; tests use `Endpoint`. A `Script` of `Rule`s says what is answered
next, the table `BEHAVIOURS` how, and `Weather` lets a share of the answers go wrong by chance. It writes to the
socket itself: a web framework would not let it break HTTP.
"""

import argparse
import asyncio
import contextlib
import functools
import gzip
import hashlib
import json
import os
import random
import signal
import socket
import stat
import struct
import subprocess
import sys
import time
import zlib
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from http.client import responses
from pathlib import Path
from typing import Any, NamedTuple, Self
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener

MODELS = ("gpt-5-mini", "gpt-5", "o4-mini")
HTML = "<!doctype html><html><title>{0}</title><h1>{0}</h1></html>"
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
class Rule:
    """One answer. Unknown names are refused, so that a slip in a test does not become a good answer."""

    behaviour: str = "good"
    decision: str = "approve"
    # {number} in it becomes the request's, so that an answer can be found again in a row
    reason: str = "The proposal meets the criteria. Its risks are known and small."
    content: str = ""  # raw: all of it
    delay: float | None = None  # seconds before anything is answered; None is the script's
    chunks: int = 12  # a streamed content comes in so many pieces
    chunk_delay: float = 0.0
    cut_after: int = 3  # cut_stream, cut_connection, stall: so many pieces come first
    megabytes: int = 60  # huge, gzip_bomb, gzip_line_breaks
    error: str = ""  # a name out of ERRORS; for status it brings the number too
    status: int | None = None  # status, redirect
    body: Any = None  # status: a string as it is, all else as JSON
    headers: dict[str, str] = field(default_factory=dict)  # status, redirect
    accepts: tuple[str, ...] = ()  # picky: the response formats that are not refused; "" is none at all
    usage: Any = None  # odd_usage: in place of the count
    later: float = 0.02  # answers_twice: seconds until the second answer
    index: Any = 1  # odd_index
    torrent: tuple[str, ...] = ()  # torrent: of which kinds, out of TORRENTS; all of them where none is named
    times: int = -1  # by_text: used up after so many; counting down from -1 never gets to 0

    def __post_init__(self) -> None:
        if self.behaviour not in BEHAVIOURS or self.error not in ("", *ERRORS) or {*self.torrent} - {*TORRENTS}:
            raise ValueError(f"no such behaviour, error or torrent: {self.behaviour} {self.error} {self.torrent}")


TROUBLE = (
    {"behaviour": "status", "error": "server_error"},
    {"behaviour": "cut_stream"},
    {"behaviour": "prose"},
    {"behaviour": "duplicate_keys"},
)


@dataclass
class Weather:
    """Chance, the same again for the same seed and number of a request: late answers, some objections, some trouble."""

    seed: int = 0
    trouble: float = 0.0  # the share of requests that is answered out of TROUBLE
    objections: float = 0.0  # the share that is answered with the opposite decision
    shortest_delay: float = 0.0
    longest_delay: float = 0.0
    slow: float = 0.0  # the share that is answered only after `slowness` seconds
    slowness: float = 0.0

    def over(self, rule: Rule, number: int) -> Rule:
        dice = random.Random(f"{self.seed} {number}")
        delay, trouble = dice.uniform(self.shortest_delay, self.longest_delay), dice.choice(TROUBLE)
        decision = opposite(rule.decision) if dice.random() < self.objections else rule.decision
        unlucky = trouble if dice.random() < self.trouble else {}
        delay = self.slowness if dice.random() < self.slow else delay
        return replace(rule, delay=delay, decision=decision, **unlucky)


class Script:
    """What is answered next: the first of `by_text` found in the messages, else the queue, else the default.

    A rule stands there beside a text, or beside several that must all be found.

    The weather is over the default alone. With a `ledger`, the path of a file, a request becomes one line there in
    place of a record here, so that the memory stays flat however many come.
    """

    def __init__(
        self,
        default: dict | None = None,
        queue: Iterable[dict] = (),
        by_text: Iterable[tuple[str | list[str], dict]] = (),
        delay: float = 0.0,
        weather: dict | None = None,
        ledger: str = "",
        models: Iterable[str] = MODELS,
    ) -> None:
        self.default = Rule(**default or {})
        self.queue = [Rule(**rule) for rule in queue]
        self.by_text = [([parts] if isinstance(parts, str) else parts, Rule(**rule)) for parts, rule in by_text]
        self.delay = delay
        self.models = list(models)
        self.weather = Weather(**weather) if weather is not None else None
        self.ledger = open(ledger, "a", buffering=1) if ledger else None  # noqa: SIM115

    def close(self) -> None:
        if self.ledger:
            self.ledger.close()

    def choose(self, text: str, number: int) -> Rule:
        for parts, rule in self.by_text:
            if rule.times != 0 and all(part in text for part in parts):
                rule.times -= 1
                return rule
        if self.queue:
            return self.queue.pop(0)
        return self.weather.over(self.default, number) if self.weather else self.default


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

    rule: Rule
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

    def completion(self, message: dict, finish: str = "stop") -> dict[str, Any]:
        choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
        return self.document("chat.completion", [choice]) | {"usage": self.usage(message)}

    def usage(self, message: dict) -> dict[str, int]:
        asked, said = len(text_of(self.record["messages"])) // 4 + 1, len(str(message)) // 4 + 1
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


async def huge(to: Exchange) -> None:
    to.rule = replace(to.rule, chunks=to.rule.megabytes, reason="a" * to.rule.megabytes * 1_000_000)
    await to.says(to.good())


FORMAT_REFUSED = "Invalid parameter: 'response_format' of type '{0}' is not supported with this model."


async def picky(to: Exchange) -> None:
    asked = (to.record["body"].get("response_format") or {}).get("type", "")
    if asked in to.rule.accepts:
        return await to.says(to.good())
    message = {"message": FORMAT_REFUSED.format(asked), "type": "invalid_request_error", "code": None}
    await to.whole(to.rule.status or 400, {"error": message})


async def thinking(to: Exchange) -> None:
    """Three megabytes of thoughts in a field of their own, as gateways pass them on, before a short answer."""
    await to.head(200, EVENTS)
    thought = framed(to.chunk({"reasoning": "Let me think. " * 20}))
    for _ in range(100):
        await to.send(thought * 70)
    await to.send(framed(to.chunk({"content": to.good()})) + framed(to.chunk({}, "stop")) + framed(b"[DONE]") + END)


async def open_end(to: Exchange) -> None:
    """All of an answer, on a connection that stays open."""
    await to.begin({"content": to.good()})
    await to.send(framed(to.chunk({}, "stop")) + framed(b"[DONE]"))
    await asyncio.Event().wait()


async def no_stream_options(to: Exchange) -> None:
    if to.record["body"].get("stream_options") is None:
        return await to.says(to.good())
    await to.whole(400, {"error": {"message": "Unrecognized request argument supplied: stream_options"}})


@functools.cache
def packed(character: bytes, megabytes: int) -> bytes:
    """A thousand times as much as it looks."""
    packer = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)
    first, again = (packer.compress(character * (1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    return first + again * (megabytes - 1)  # after a full flush every megabyte looks the same


def unpacks_to(character: bytes) -> Callable[[Exchange], Awaitable[None]]:
    return lambda to: to.whole(200, packed(character, to.rule.megabytes), {"Content-Encoding": "gzip"})


async def gzipped(to: Exchange) -> None:
    await to.whole(200, gzip.compress(dump(to.completion({"content": to.good()}))), {"Content-Encoding": "gzip"})


async def answers_twice(to: Exchange) -> None:
    """The second answer comes when the first is over, or while the next request on this connection is answered."""
    await to.says(to.good())
    approval = {"decision": "approve", "reason": to.rule.reason}
    late = to.completion({"content": dump(approval).decode()})
    asyncio.create_task(send_late(to, late))  # noqa: RUF006 - ends by itself, soon


async def send_late(to: Exchange, late: dict[str, Any]) -> None:
    await asyncio.sleep(to.rule.later)
    with contextlib.suppress(ConnectionError):
        await to.whole(200, late)


def choice(to: Exchange, text: str, **other: Any) -> dict[str, Any]:
    kind = "delta" if to.streamed else "message"
    return {"index": 0, kind: {"content": text}, "finish_reason": "stop"} | other


async def two_choices(to: Exchange) -> None:
    await to.payload(to.right() | {"choices": [choice(to, to.good(), index=index) for index in (0, 1)]})


async def two_choices_unstreamed(to: Exchange) -> None:
    whole = to.completion({"content": to.good()})
    await to.whole(200, whole | {"choices": [{**whole["choices"][0], "index": index} for index in (0, 1)]})


async def mixed_choices(to: Exchange) -> None:
    """Two answers, their pieces by turns. The beginning of one and the end of the other make a third."""
    await to.head(200, EVENTS)
    good = to.good()
    end = len(to.good(reason="")) - 2
    for index, text in ((0, good[:end]), (1, good[end:])):
        await to.send(framed(to.document("chat.completion.chunk", [choice(to, text, index=index)])))
    await to.send(framed(b"[DONE]") + END)


async def no_index(to: Exchange) -> None:
    named = choice(to, to.good())
    del named["index"]
    await to.payload(to.right() | {"choices": [named]})


async def not_utf8(to: Exchange) -> None:
    to.rule = replace(to.rule, reason="Trop risqué.")
    await to.payload(dump(to.right()).decode().encode("latin-1"))  # wrong in one byte, right in all else


async def status(to: Exchange) -> None:
    error = to.error()
    number = to.rule.status or ERRORS[error["error"]["code"]][0]
    usual = HTML.format("502 Bad Gateway") if number == 502 else error
    await to.whole(number, usual if to.rule.body is None else to.rule.body, to.rule.headers)


async def drip_headers(to: Exchange) -> None:
    await to.send(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    await to.send_for_ever(b"a")


async def drip_body(to: Exchange) -> None:
    await to.head(200, EVENTS)
    await to.send(b'7\r\ndata: "\r\n')
    await to.send_for_ever(b"1\r\na\r\n")  # one string: bytes arrive all the time, an event never does


async def endless(to: Exchange) -> None:
    await to.head(200, EVENTS)
    await to.send_for_ever(framed(to.chunk({"content": "and "})))


TORRENTS: dict[str, Callable[[Exchange], bytes]] = {  # what comes again and again, as fast as it is read
    "characters": lambda to: framed(to.chunk({"content": "a"})),
    "characters_alike": lambda to: framed(b'{"choices":[{"delta":{"content":"\\n"}}]}'),
    "empty_pieces": lambda to: framed(b'{"choices":[{"delta":{"content":""}}]}'),
    "no_pieces": lambda to: framed(b'{"choices":[]}'),
    "thoughts": lambda to: framed(to.chunk({"reasoning": "and "})),
    "refusals": lambda to: framed(to.chunk({"refusal": "a"})),
    "empty_lines": lambda to: b"8000\r\n%b\r\n" % (b"\n" * 0x8000),
    "comments": lambda to: b"8000\r\n%b\r\n" % (b": \n\n" * 0x2000),
    "empty_data": lambda to: b"8000\r\n%b\r\n" % (b"data:\n\n\n" * 0x1000),
    "small_chunks": lambda to: b"1\r\n\n\r\n",
}


async def torrent(to: Exchange) -> None:
    """Without end and without a pause. Several kinds take turns."""
    await to.head(200, EVENTS)
    kinds = to.rule.torrent or tuple(TORRENTS)
    await pour(to, TORRENTS[kinds[to.record["number"] % len(kinds)]](to))


async def pour(to: Wire, piece: bytes) -> None:
    much = piece * (1 + 0x10000 // len(piece))
    while True:
        await to.send(much)
        await asyncio.sleep(0)


async def informational(to: Exchange) -> None:
    """Heads that announce an answer, without end."""
    await pour(to, b"HTTP/1.1 103 Early Hints\r\n\r\n")


async def stall(to: Exchange) -> None:
    """The first pieces of an answer, then blanks without end: a reason that has grown so far and grows no further."""
    at_once = replace(to, rule=replace(to.rule, chunk_delay=0))
    await at_once.begin({"content": to.good()}, to.rule.cut_after)
    await to.send_for_ever(framed(to.chunk({"content": " "})))


async def close_at_once(to: Exchange) -> None:
    to.writer.close()


async def reset(to: Exchange) -> None:
    # closing with a linger time of 0 sends RST in place of FIN
    to.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    to.writer.transport.abort()


async def cut_stream(to: Exchange) -> None:
    await to.begin({"content": to.good()}, to.rule.cut_after)
    await to.send(END)


async def cut_connection(to: Exchange) -> None:
    await to.begin({"content": to.good()}, to.rule.cut_after)
    await to.send(b'40\r\ndata: {"id"')
    to.writer.close()


async def error_in_stream(to: Exchange) -> None:
    await to.begin({"content": to.good()}, 2)
    await to.send(framed(to.error()) + END)


async def garbage(to: Exchange) -> None:
    await to.send(b"SSH-2.0-OpenSSH_9.2\r\n\x00\xff\xfe\r\n\r\n")
    to.writer.close()


async def half_headers(to: Exchange) -> None:
    await to.send(b"HTTP/1.1 200 OK\r\nContent-Type: app")
    to.writer.close()


async def half_chunk(to: Exchange) -> None:
    await to.head(200, EVENTS)
    await to.send(b"ffff\r\ndata: ")
    to.writer.close()


async def short_body(to: Exchange) -> None:
    await to.head(200, {"Content-Type": "application/json", "Content-Length": 5000})
    await to.send(b'{"choices": [')
    to.writer.close()


BEHAVIOURS: dict[str, Callable[[Exchange], Awaitable[Any]]] = {
    # what the model says
    "good": lambda to: to.says(to.good()),
    "raw": lambda to: to.says(to.rule.content),
    "prose": lambda to: to.says(f"I would {to.rule.decision} this. {to.rule.reason}"),
    "fenced": lambda to: to.says(f"```json\n{to.good()}\n```"),
    "two_objects": lambda to: to.says(f"{to.good()}\n{to.good(decision=opposite(to.rule.decision))}"),
    "duplicate_keys": lambda to: to.says(f'{{"decision": "{opposite(to.rule.decision)}", {to.good()[1:]}'),
    "wrong_enum": lambda to: to.says(to.good(decision="maybe")),
    "upper_case": lambda to: to.says(to.good(decision=to.rule.decision.upper())),
    "extra_field": lambda to: to.says(to.good(confidence=0.9)),
    "empty_reason": lambda to: to.says(to.good(reason="")),
    "missing_reason": lambda to: to.says(dump({"decision": to.rule.decision}).decode()),
    "huge": huge,
    "one_word_reason": lambda to: to.says(to.good(reason="Unsafe.")),
    "reason_with_nul": lambda to: to.says(to.good(reason="Quite\x00safe, as far as can be seen.")),
    "spaces": lambda to: to.says("   \n"),
    "colon": lambda to: to.says(":"),
    "null_content": lambda to: to.answer({"content": None}),
    "trailing_text": lambda to: to.says(f"{to.good()} I hope that this helps."),
    "boolean": lambda to: to.says(to.good(decision=True)),
    "cyrillic": lambda to: to.says(to.good(decision="\u0430pprove")),
    "list": lambda to: to.says(f"[{to.good()}]"),
    "odd_usage": lambda to: to.payload(to.right() | {"usage": to.rule.usage}),
    "other_model": lambda to: to.payload(to.right() | {"model": "quite-another-model"}),
    # how the model ends
    "finish_length": lambda to: to.says(to.good()[:40], "length"),
    "finish_filter": lambda to: to.says(to.good()[:40], "content_filter"),
    "refusal": lambda to: to.answer({"content": None, "refusal": "I'm sorry, I cannot help with that."}),
    # bodies that are wrong in themselves: as they are, or as the one event of a stream where that was asked for
    "not_json": lambda to: to.payload(b"upstream connect error"),
    "truncated_json": lambda to: to.payload(dump(to.right())[:150]),
    "deep": lambda to: to.payload(b'{"choices": %b%b}' % (b"[" * 100_000, b"]" * 100_000)),
    "not_utf8": not_utf8,
    "no_choices": lambda to: to.payload(to.right() | {"choices": []}),
    "choices_null": lambda to: to.payload(to.right() | {"choices": None}),
    "message_missing": lambda to: to.payload(to.right() | {"choices": [{"index": 0, "finish_reason": "stop"}]}),
    "content_list": lambda to: to.payload(to.right() | {"choices": [{"message": {"content": ["a"]}}]}),
    "null_body": lambda to: to.payload(b"null"),
    "list_body": lambda to: to.payload(b"[]"),
    "number_body": lambda to: to.payload(b"42"),
    "string_body": lambda to: to.payload(b'"approve"'),
    "two_choices": two_choices,
    "two_choices_unstreamed": two_choices_unstreamed,
    "mixed_choices": mixed_choices,
    "odd_index": lambda to: to.payload(to.right() | {"choices": [choice(to, to.good(), index=to.rule.index)]}),
    "no_index": no_index,
    "finish_tool": lambda to: to.says(to.good(), "tool_calls"),
    # what some servers do not take
    "picky": picky,
    "thinking": thinking,
    "open_end": open_end,
    "no_stream_options": no_stream_options,
    # never a stream
    "gzip_bomb": unpacks_to(b"\0"),
    "gzip_line_breaks": unpacks_to(b"\n"),
    "gzipped": gzipped,
    "wrong_type": lambda to: to.whole(200, to.completion({"content": to.good()}), {"Content-Type": "text/plain"}),
    "binary_type": lambda to: to.whole(
        200, to.completion({"content": to.good()}), {"Content-Type": "application/octet-stream"}
    ),
    "answers_twice": answers_twice,
    "good_unstreamed": lambda to: to.whole(200, to.completion({"content": to.good()})),
    "html": lambda to: to.whole(200, HTML.format("Welcome to the guest network")),
    "empty": lambda to: to.whole(200, b""),
    "error_in_200": lambda to: to.whole(200, to.error()),
    "status": status,
    "redirect": lambda to: to.whole(to.rule.status or 302, b"", {"Location": "/redirected"} | to.rule.headers),
    # never an end; the client has to leave
    "hang": lambda to: asyncio.Event().wait(),
    "drip_headers": drip_headers,
    "drip_body": drip_body,
    "endless": endless,
    "stall": stall,
    "torrent": torrent,
    "informational": informational,
    # broken off
    "close_at_once": close_at_once,
    "reset": reset,
    "garbage": garbage,
    "bad_status_line": lambda to: to.send(b"HTTP/9.9 what\r\n\r\n"),
    "half_headers": half_headers,
    "half_chunk": half_chunk,
    "short_body": short_body,
    # always a stream
    "cut_stream": cut_stream,
    "cut_connection": cut_connection,
    "error_in_stream": error_in_stream,
}


class Received(NamedTuple):
    at: float
    method: str
    path: str
    headers: dict[str, str]
    body: Any


async def receive(reader: asyncio.StreamReader) -> Received | None:
    """The next request on a connection, None when the client has left. Bodies are JSON of a stated length."""
    try:
        first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").strip().split("\r\n")
        at = time.time()
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
    except asyncio.IncompleteReadError:
        return None
    method, path, _ = first.split(" ")
    return Received(at, method, path.partition("?")[0], headers, json.loads(body or b"{}"))


async def client_left(reader: asyncio.StreamReader) -> None:
    # looked at now and then: to wait by reading would take the first byte of the next request
    while not reader.at_eof() and not reader.exception():
        await asyncio.sleep(0.02)


class Server:
    def __init__(self) -> None:
        self.script = Script()
        self.records: list[dict[str, Any]] = []
        self.counts: Counter[str] = Counter()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer), contextlib.suppress(ConnectionError):
            while not writer.is_closing() and (request := await receive(reader)):
                match request.method, request.path:
                    case ("POST", "/v1/chat/completions") | (_, "/redirected"):
                        await self.complete(request, reader, writer)
                    case method, path:
                        await Wire(writer).whole(*self.plain(f"{method} {path}", request.body))

    def plain(self, line: str, body: Any) -> tuple[int, Any]:
        match line:
            case "GET /v1/models":
                return 200, {"object": "list", "data": [{"id": name, "object": "model"} for name in self.script.models]}
            case "GET /control/requests":
                return 200, self.records
            case "GET /control/counts":
                return 200, self.counts
            case "POST /control/reset":
                self.records, self.counts = [], Counter()
                return self.follow(Script())
            case "POST /control/script":
                try:
                    return self.follow(Script(**body))
                except (TypeError, ValueError, OSError) as error:
                    return 400, str(error)
        return 404, {"error": {"message": f"Invalid URL ({line})", "type": "invalid_request_error"}}

    def follow(self, script: Script) -> tuple[int, None]:
        self.script.close()
        self.script = script
        return 200, None

    async def complete(self, request: Received, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = writer.get_extra_info("peername")[1]
        exchange = Exchange(writer, *self.remember(request, connection))
        answer = asyncio.create_task(self.answer(exchange))
        leaving = asyncio.create_task(client_left(reader))
        await asyncio.wait({answer, leaving}, return_when=asyncio.FIRST_COMPLETED)
        leaving.cancel()
        if exchange.record["finished"] is None:
            exchange.record["left"] = time.time()
        self.counts["left" if exchange.record["left"] else "finished"] += 1
        if self.script.ledger:
            self.script.ledger.write(json.dumps(entry(exchange)) + "\n")
        if not answer.cancel():
            answer.result()

    def remember(self, request: Received, connection: int) -> tuple[Rule, dict[str, Any]]:
        messages = request.body.get("messages", [])
        self.counts["received"] += 1
        number = self.counts["received"]
        rule = Rule() if request.path == "/redirected" else self.script.choose(text_of(messages), number)
        self.counts[rule.behaviour] += 1
        record = {
            "number": number,
            "path": request.path,
            "received": request.at,
            "finished": None,
            "left": None,
            "authorization": request.headers.get("authorization"),
            "cookie": request.headers.get("cookie"),
            "connection": connection,
            "model": request.body.get("model"),
            "messages": messages,
            "body": request.body,
            "behaviour": rule.behaviour,
        }
        if not self.script.ledger:
            self.records.append(record)
        return replace(rule, reason=rule.reason.replace("{number}", str(number))), record

    async def answer(self, to: Exchange) -> None:
        await asyncio.sleep(self.script.delay if to.rule.delay is None else to.rule.delay)
        await BEHAVIOURS[to.rule.behaviour](to)
        to.record["finished"] = time.time()


def entry(exchange: Exchange) -> dict[str, Any]:
    """The line of the ledger: what was asked, in short, and what was answered."""
    record, rule = exchange.record, exchange.rule
    asked = {name: record[name] for name in ("number", "behaviour", "received", "finished", "left")}
    return asked | {"asked": fingerprint(record["messages"]), "decision": rule.decision, "reason": rule.reason}


async def main(port: int) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    # a pipe belongs to the process that started this one and closes even when that is killed
    if stat.S_ISFIFO(os.fstat(0).st_mode):
        loop.add_reader(0, stop.set)
    server = await asyncio.start_server(Server().serve, "127.0.0.1", port, backlog=1000)
    host, port = server.sockets[0].getsockname()
    print(f"listening on http://{host}:{port}/v1", flush=True)
    await stop.wait()


class Endpoint:
    """The endpoint in another process; use as a context manager. `base_url` is for OPENAI_BASE_URL."""

    base_url: str

    def __enter__(self) -> Self:
        command = [sys.executable, "-m", "tests.endpoint"]
        folder = Path(__file__).parent.parent
        self._process = subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        line = self._process.stdout.readline().decode()
        if not line:
            raise RuntimeError("the endpoint did not start")
        self.base_url = line.split()[-1]
        return self

    def __exit__(self, *_: object) -> None:
        with self._process:
            self._process.terminate()

    @property
    def pid(self) -> int:
        return self._process.pid

    def script(self, **script: Any) -> None:
        """The arguments of `Script`, in place of the script before. ValueError when one is not understood."""
        self._control("script", script)

    def requests(self) -> list[dict[str, Any]]:
        """`finished` is None until all of the answer was sent, `left` is when a client went before that."""
        return self._control("requests")

    def counts(self) -> dict[str, int]:
        """How many requests were received, finished and left, and how many were answered by each behaviour."""
        return self._control("counts")

    def reset(self) -> None:
        self._control("reset", {})

    def _control(self, name: str, body: dict | None = None) -> Any:
        request = Request(self.base_url.removesuffix("v1") + f"control/{name}")
        request.data = None if body is None else json.dumps(body).encode()
        try:
            with build_opener(ProxyHandler({})).open(request, timeout=30) as response:
                return json.load(response)
        except HTTPError as error:
            with error:
                raise ValueError(error.read().decode()) from None


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="A model endpoint that misbehaves on request.")
    parser.add_argument("--port", type=int, default=0)
    asyncio.run(main(parser.parse_args().port))
