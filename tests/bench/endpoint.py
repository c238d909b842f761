"""An endpoint that costs little itself: what the address says of it, as in `/delay/1000/pieces/120/v1`, it does.

It answers as it is asked, whole or as a stream, and it keeps a connection for as long as the client does.
"""

import asyncio
import json

CONTENT = json.dumps(
    {
        "reason": " ".join(["The proposal meets the criteria, and its risks are known and small."] * 8),
        "decision": "approve",
    }
)
USAGE = {"prompt_tokens": 9_000, "completion_tokens": 140, "total_tokens": 9_140}  # of the longest that is asked
COMMON = {"id": "chatcmpl-1", "created": 1_700_000_000, "model": "gpt-5-mini"}


def whole() -> bytes:
    message = {"role": "assistant", "content": CONTENT, "refusal": None}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    body = json.dumps({**COMMON, "object": "chat.completion", "choices": [choice], "usage": USAGE}).encode()
    return _head("application/json", f"Content-Length: {len(body)}") + body


def stream(pieces: int) -> list[bytes]:
    """The head, then the pieces, then the end."""
    size = -(-len(CONTENT) // pieces)
    deltas = [{"content": CONTENT[at : at + size]} for at in range(0, len(CONTENT), size)]
    events = [_event(choices=[{"index": 0, "delta": delta, "finish_reason": None}]) for delta in deltas]
    events += [_event(choices=[{"index": 0, "delta": {}, "finish_reason": "stop"}]), _event(choices=[], usage=USAGE)]
    chunks = [f"{len(event):x}\r\n".encode() + event + b"\r\n" for event in [*events, b"data: [DONE]\n\n"]]
    return [_head("text/event-stream", "Transfer-Encoding: chunked"), *chunks, b"0\r\n\r\n"]


def _head(kind: str, size: str) -> bytes:
    return f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n{size}\r\n\r\n".encode()


def _event(**said: object) -> bytes:
    return b"data: " + json.dumps({**COMMON, "object": "chat.completion.chunk", **said}).encode() + b"\n\n"


WHOLE = whole()
STREAMS = {pieces: stream(pieces) for pieces in (1, 120)}


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            lines = head.lower().split("\r\n")
            length = next(int(line[15:]) for line in lines if line.startswith("content-length:"))
            asked = json.loads(await reader.readexactly(length))
            _, _, delay, _, pieces, *_ = head.split(" ", 2)[1].split("/")
            await asyncio.sleep(int(delay) / 1000)
            if asked.get("stream"):
                for chunk in STREAMS[int(pieces)]:
                    writer.write(chunk)
                    await asyncio.sleep(0)  # each piece in a packet of its own, as they come from a model
            else:
                writer.write(WHOLE)
            await writer.drain()
            if "connection: close" in lines:
                return
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def main() -> None:
    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=4096, limit=256 * 1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
