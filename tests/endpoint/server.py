"""The server that answers, remembers what it was asked, and is told what to do."""

import asyncio
import contextlib
import json
import os
import signal
import stat
import time
from collections import Counter
from dataclasses import replace
from typing import Any, NamedTuple

from tests.endpoint.behaviours import BEHAVIOURS
from tests.endpoint.script import EndpointScript, ScriptRule
from tests.endpoint.wire import Exchange, Wire, fingerprint, text_of


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


class EndpointServer:
    def __init__(self) -> None:
        self.script = EndpointScript()
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
                return self.follow(EndpointScript())
            case "POST /control/script":
                try:
                    return self.follow(EndpointScript(**body))
                except (TypeError, ValueError, OSError) as error:
                    return 400, str(error)
        return 404, {"error": {"message": f"Invalid URL ({line})", "type": "invalid_request_error"}}

    def follow(self, script: EndpointScript) -> tuple[int, None]:
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

    def remember(self, request: Received, connection: int) -> tuple[ScriptRule, dict[str, Any]]:
        messages = request.body.get("messages", [])
        self.counts["received"] += 1
        number = self.counts["received"]
        refusal = self.script.tier.refusal(request.at) if self.script.tier else None
        usual = ScriptRule() if request.path == "/redirected" else None
        rule = refusal or usual or self.script.choose(text_of(messages), number)
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
    server = await asyncio.start_server(EndpointServer().serve, "127.0.0.1", port, backlog=1000)
    host, port = server.sockets[0].getsockname()
    print(f"listening on http://{host}:{port}/v1", flush=True)
    await stop.wait()
