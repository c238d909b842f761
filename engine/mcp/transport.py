"""Transports to MCP servers that limit the size of a message.

The client library's own pipe buffers a line of any length, and its own HTTP client a body of any length.
"""

import asyncio
import os
import signal
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
import httpx2
from mcp.client.stdio import get_default_environment
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from .config import MAX_MESSAGE_BYTES, McpServer

MESSAGE_TOO_LARGE = f"it sent more than {MAX_MESSAGE_BYTES // 1024**2} MB at once, and the connection was closed"
COMPRESSED_TEXT = "it packs its answers although it was asked not to"
EXIT_GRACE = 2.0  # seconds for a server to end by itself once nobody speaks to it
KILL_GRACE = 1.0


def open_transport(server: McpServer, why: list[str]) -> Any:
    """Return the streams to this server. The reason is appended to `why` if this side ends them."""
    return _by_pipe(server, why) if server.command else _by_http(server, why)


@asynccontextmanager
async def _by_pipe(server: McpServer, why: list[str]) -> AsyncIterator[Any]:
    pipes: Any = {"stdin": PIPE, "stdout": PIPE, "stderr": DEVNULL}
    env = {**get_default_environment(), **server.env}
    process = await asyncio.create_subprocess_exec(
        *server.command, **pipes, env=env, limit=MAX_MESSAGE_BYTES, start_new_session=True
    )
    incoming, coming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    going, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_read, process, incoming, why)
            tasks.start_soon(_write, process, outgoing)
            try:
                yield coming, going
            finally:
                tasks.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await _end(process)


async def _read(process: asyncio.subprocess.Process, incoming: Any, why: list[str]) -> None:
    assert process.stdout  # noqa: S101 - for the type checker
    async with incoming:
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            try:
                while line := await process.stdout.readline():
                    await incoming.send(_message(line))
            except ValueError:  # a line beyond the limit
                why.append(MESSAGE_TOO_LARGE)
                return
        why.append("it ended")


def _message(line: bytes) -> SessionMessage | Exception:
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError:
        return ValueError("A line of the server is no message.")  # without a word of it


async def _write(process: asyncio.subprocess.Process, outgoing: Any) -> None:
    assert process.stdin  # noqa: S101 - for the type checker
    async with outgoing:
        with suppress(ConnectionError):
            async for message in outgoing:
                said = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                process.stdin.write(f"{said}\n".encode())
                await process.stdin.drain()


async def _end(process: asyncio.subprocess.Process) -> None:
    """Close the server's input, wait EXIT_GRACE seconds, then kill its process group."""
    assert process.stdin  # noqa: S101 - for the type checker
    process.stdin.close()
    with suppress(TimeoutError):
        async with asyncio.timeout(EXIT_GRACE):
            await process.wait()
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    with suppress(TimeoutError):
        async with asyncio.timeout(KILL_GRACE):
            await process.wait()
    # otherwise unread output keeps the pipe open; no public method closes it
    process._transport.close()  # type: ignore[attr-defined]


@asynccontextmanager
async def _by_http(server: McpServer, why: list[str]) -> AsyncIterator[Any]:
    timeout = httpx2.Timeout(server.timeout, read=None)  # a call has an end of its own
    transport = _Bounded(why)
    async with (
        httpx2.AsyncClient(headers=dict(server.headers), timeout=timeout, transport=transport) as client,
        streamable_http_client(server.url, http_client=client, max_sse_event_size=MAX_MESSAGE_BYTES) as streams,
    ):
        yield streams


class _Bounded(httpx2.AsyncBaseTransport):
    def __init__(self, why: list[str]) -> None:
        self._inner, self._why = httpx2.AsyncHTTPTransport(), why

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        request.headers["accept-encoding"] = "identity"  # what is packed has no length before it is opened
        response = await self._inner.handle_async_request(request)
        if response.headers.get("content-encoding", "identity") != "identity":
            await response.aclose()
            self._why.append(COMPRESSED_TEXT)
            raise httpx2.RemoteProtocolError(COMPRESSED_TEXT)
        response.stream = _Counted(response.stream, self._why)
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()


class _Counted(httpx2.AsyncByteStream):
    def __init__(self, stream: Any, why: list[str]) -> None:
        self._stream, self._why = stream, why

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = MAX_MESSAGE_BYTES
        async for part in self._stream:
            left -= len(part)
            if left < 0:
                self._why.append(MESSAGE_TOO_LARGE)
                raise httpx2.ReadError(MESSAGE_TOO_LARGE)
            yield part

    async def aclose(self) -> None:
        await self._stream.aclose()
