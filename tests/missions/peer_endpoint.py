"""An endpoint of chat completions that says what it is told to, and writes down when it was asked and how much.

    python -m tests.missions.peer_endpoint

It prints its port. Then each line that comes is an order as JSON, and each is answered by a line: `play` with answers
by the names of agents, `look`, `go` on from where it is held, and `told` for what it has written down.
"""

import asyncio
import json
import re
import sys
import time
from collections.abc import Iterator
from typing import Any

NAMED = re.compile(r"You are ([^,]+), one of a crew")
COMMON = {"id": "chatcmpl-1", "created": 1_700_000_000, "model": "one"}
Message = dict[str, Any]


class PeerScript:
    """`says`: labels and messages; in place of one that is missing it is held until `go` brings it. `hold`: the number
    of the call that is held and never answered. Somebody without a script says `nothing`."""

    def __init__(self, says: dict[str, list[tuple[str, Message | None]]], nothing: Message, hold: int = 0) -> None:
        self._says, self._nothing, self._hold = says, nothing, hold
        self.calls: list[dict[str, Any]] = []
        self.held, self._go, self._brought = "", asyncio.Event(), None
        self._answered: tuple[float, str] | None = None

    @property
    def standing(self) -> dict[str, Any]:
        return {"calls": len(self.calls), "held": self.held, "left": sum(map(len, self._says.values()))}

    def go(self, brought: Message | None) -> None:
        self._brought = brought
        self._go.set()

    async def answer(self, asked: Message) -> tuple[str, Message] | None:
        now, before = time.monotonic(), self._answered
        call = {"messages": len(asked["messages"]), "tokens": tokens_of(asked)}
        call |= {"gap": now - before[0], "after": before[1]} if before else {}
        self.calls.append(call)
        if len(self.calls) == self._hold:
            await self._wait("hold")
            return None
        found = NAMED.search(str(asked["messages"][0]["content"]))
        left = self._says.get(found[1] if found else "", [])
        label, said = left.pop(0) if left else ("", self._nothing)
        return label, said or await self._wait("act")

    async def _wait(self, why: str) -> Any:
        self.held = why
        await self._go.wait()
        self.held, brought = "", self._brought
        self._go.clear()
        return brought

    def sent(self, label: str) -> None:
        self._answered = time.monotonic(), label


def tokens_of(asked: Message) -> int:
    """Of messages, tools and the form of the answer, four characters each: the same rule for everybody."""
    counted = [asked.get(name) for name in ("messages", "tools", "response_format")]
    return len(json.dumps([one for one in counted if one], ensure_ascii=False)) // 4


# ---- what goes over the wire ----------------------------------------------------------------------------------------


def whole(message: Message, usage: dict[str, int]) -> bytes:
    finish = "tool_calls" if "tool_calls" in message else "stop"
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", **message}}
    body = json.dumps({**COMMON, "object": "chat.completion", "choices": [choice], "usage": usage}).encode()
    return _head("application/json", len(body)) + body


def stream(message: Message, usage: dict[str, int]) -> bytes:
    def events() -> Iterator[str]:
        common = {**COMMON, "object": "chat.completion.chunk"}
        for delta, finish in ((message, None), ({}, "stop")):
            yield json.dumps({**common, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
        yield json.dumps({**common, "choices": [], "usage": usage})
        yield "[DONE]"

    body = "".join(f"data: {one}\n\n" for one in events()).encode()
    return _head("text/event-stream", len(body)) + body


def _head(kind: str, size: int) -> bytes:
    return f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {size}\r\n\r\n".encode()


class PeerEndpoint:
    script = PeerScript({}, {"content": "Nothing is played."})

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
                length = int(re.search(r"content-length: *(\d+)", head)[1])  # type: ignore[index]
                asked, script = json.loads(await reader.readexactly(length)), self.script
                if not (answer := await script.answer(asked)):
                    return
                usage = {"prompt_tokens": tokens_of(asked), "completion_tokens": 50, "total_tokens": 50}
                made = (stream if asked.get("stream") else whole)(answer[1], usage)
                script.sent(answer[0])
                writer.write(made)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def obey(self, do: str, **told: Any) -> Any:
        if do == "play":
            self.script = PeerScript(**told)
        elif do == "go":
            self.script.go(told["message"])
        return self.script.calls if do == "told" else self.script.standing


async def main() -> None:
    endpoint, orders = PeerEndpoint(), asyncio.StreamReader(limit=2**24)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(orders), sys.stdin)
    server = await asyncio.start_server(endpoint.serve, "127.0.0.1", 0, limit=2**20)
    print(server.sockets[0].getsockname()[1], flush=True)
    while line := await orders.readline():
        print(json.dumps(endpoint.obey(**json.loads(line))), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
