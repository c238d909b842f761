"""Sessions with MCP servers: one per server and event loop, opened on first use and closed after five idle minutes."""

import asyncio
import importlib
import logging
from asyncio import AbstractEventLoop
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

from engine.models.mcp_tools import ToolListing
from engine.version import VERSION

from . import responses
from .config import McpServer

if TYPE_CHECKING:
    from mcp import Client

T = TypeVar("T")

log = logging.getLogger(__name__)

IDLE = 300.0  # seconds
CLOSED, TOO_LATE = -32000, -32001  # the client's own codes for what did not come to its end


class ServerUnavailable(Exception):
    """The server cannot be reached. The message is for people. Nothing was sent to any of its tools."""


class McpServerError(Exception):
    """The server answered that the call failed, in its own words."""


class CallInterrupted(Exception):
    """The call was sent and no answer came: it may have happened. The message is for people."""


class McpSession:
    """A session in its own task, because the client library must be closed by the task that opened it."""

    def __init__(self, server: McpServer) -> None:
        self.server = server
        self.why: list[str] = []
        self._users = 0
        self._news = asyncio.Event()
        self._retired = self._closed = False
        self._client: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._keep(), name=f"MCP server {server.name}")
        self._task.add_done_callback(self._ended)

    @property
    def is_closed(self) -> bool:
        return self._retired or self._task.done()

    def close_when_idle(self) -> None:
        """Accept no new users; calls in progress continue."""
        self._retired = True
        self._news.set()

    async def close(self) -> None:
        """End the session. Its task is cancelled only before the session is open: afterwards the server's process
        could remain.
        """
        self._closed = True
        self._news.set()
        if not self.opened:
            self._task.cancel()
        await asyncio.wait({self._task})

    async def ask(self, question: "Callable[[Client], Awaitable[T]]", seconds: float) -> T:
        """Run `question` with the open client. Raises TimeoutError after `seconds`, ServerUnavailable, or the client's
        errors.
        """
        client = await self._opened()
        self._users += 1
        try:
            async with asyncio.timeout(seconds):
                return await question(client)
        finally:
            self._users -= 1
            self._news.set()

    @property
    def opened(self) -> bool:
        return self._client.done()

    async def _opened(self) -> "Client":
        either: set[asyncio.Future[Any]] = {self._task, self._client}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if self.opened and not self._task.done():
            return self._client.result()
        error = None if self._task.cancelled() else self._task.exception()
        raise ServerUnavailable(f"{self.server} cannot be reached: {self.what_failed(error)}.") from error

    def what_failed(self, error: BaseException | None) -> str:
        """Return the reason in a few words that fit into a sentence."""
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        if isinstance(error, TimeoutError):
            return f"it does not answer within {self.server.timeout:g} s"
        said = self.why or [str(getattr(error, "message", error or "")).rstrip(".") or type(error).__name__]
        return self.server.clean(said[0])[:300]

    async def _keep(self) -> None:
        # on a thread: the import must not delay other runs
        pipes, mcp = await asyncio.to_thread(_loaded)
        async with AsyncExitStack() as stack:
            us = mcp.types.Implementation(name="magi", version=VERSION)
            client = mcp.Client(pipes.open_transport(self.server, self.why), cache=None, client_info=us)
            async with asyncio.timeout(self.server.timeout):
                await stack.enter_async_context(client)
            self._client.set_result(client)
            await self._until_nobody_needs_it()

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Remove the session, and log its error in case that nobody awaits it."""
        _ending.get(task.get_loop(), set()).discard(self)
        if not task.cancelled() and (error := task.exception()):
            log.info("The session with %s is over: %s.", self.server.name, self.what_failed(error))

    async def _until_nobody_needs_it(self) -> None:
        while not self._closed and (self._users or not self._retired):
            self._news.clear()
            try:
                async with asyncio.timeout(None if self._users else IDLE):
                    await self._news.wait()
            except TimeoutError:
                self._retired = True


_kept: "WeakKeyDictionary[AbstractEventLoop, dict[str, McpSession]]" = WeakKeyDictionary()
_ending: "WeakKeyDictionary[AbstractEventLoop, set[McpSession]]" = (
    WeakKeyDictionary()
)  # which nobody begins with any more


def _session(server: McpServer) -> McpSession:
    mine = _kept.setdefault(asyncio.get_running_loop(), {})
    before = mine.get(server.name)
    if before and not before.is_closed and before.server == server:
        return before
    if before:
        before.close_when_idle()
        _ending.setdefault(asyncio.get_running_loop(), set()).add(before)
    mine[server.name] = McpSession(server)
    return mine[server.name]


async def close() -> None:
    """Close all sessions of this event loop, including those that are about to end."""
    loop = asyncio.get_running_loop()
    mine = {*_kept.pop(loop, {}).values(), *_ending.pop(loop, set())}
    await asyncio.gather(*(session.close() for session in mine))


async def fetch_tool_list(server: McpServer) -> ToolListing:
    """Return what the server offers now, over a new session that is closed afterwards. Raises ServerUnavailable."""
    session = McpSession(server)
    try:
        return await _listing(session)
    finally:
        await session.close()


async def tool_list(server: McpServer) -> ToolListing:
    """As `fetch_tool_list` over the shared session. One that has died since its last use is reopened."""
    return (await _asked(server))[1]


async def call(server: McpServer, tool: str, definition: str, arguments: Mapping[str, Any]) -> str:
    """Return the tool's answer to these arguments. Nothing is sent unless the tool's current definition is
    `definition`.

    Raises ServerUnavailable before the call, McpServerError for the server's errors, and CallInterrupted if there
    is no answer.
    """
    session, listing = await _asked(server)
    if definition not in {one.definition for one in listing.tools if one.name == tool}:
        raise ServerUnavailable(f"{server} describes {tool} otherwise by now: an administrator has to class it again.")
    result = await _called(session, tool, arguments)
    text = server.clean(responses.result_text(result))
    if result.is_error:
        raise McpServerError(f"{tool} answers that it failed: {text}")
    return text


async def _asked(server: McpServer) -> tuple[McpSession, ToolListing]:
    session = _session(server)
    fresh = not session.opened
    try:
        return session, await _listing(session)
    except ServerUnavailable:
        session.close_when_idle()
        if fresh:
            raise
    session = _session(server)
    return session, await _listing(session)


async def _listing(session: McpSession) -> ToolListing:
    found, cursor = list[Any](), None
    try:
        while len(found) <= responses.MOST_TOOLS:
            page = await session.ask(partial(_page, cursor), session.server.timeout)
            found, cursor = [*found, *page["tools"]], page.get("nextCursor")
            if not isinstance(cursor, str) or not cursor or not page["tools"]:
                break
    except TimeoutError as error:
        raise ServerUnavailable(
            f"{session.server} does not list its tools within {session.server.timeout:g} s."
        ) from error
    except _failures() as error:
        raise ServerUnavailable(f"{session.server} does not list its tools: {session.what_failed(error)}.") from error
    # on a thread: to check a large schema takes a second
    listing = await asyncio.to_thread(_without_secrets, session.server, found)
    for one in listing.left_out:
        if (said := (session.server.name, one)) not in _named:  # once, not with each call
            _named.add(said)
            log.warning("A tool of %s is left out: %s.", session.server, one)
    return listing


def _without_secrets(server: McpServer, found: list[Any]) -> ToolListing:
    return responses.parse_tool_list(
        server.without_secrets(found)
    )  # the client reads nothing that is too deep for that


_named: set[tuple[str, str]] = set()


async def _page(cursor: str | None, client: "Client") -> Any:
    """Request one page of tools, unparsed: the client's own `list_tools` rejects the whole list if one tool is
    invalid.
    """
    from mcp.types import ListToolsRequest, ListToolsResult, PaginatedRequestParams, Tool

    asked = ListToolsRequest(params=PaginatedRequestParams(cursor=cursor))
    data, options = asked.model_dump(by_alias=True, mode="json", exclude_none=True), dict[str, Any]()
    session: Any = client.session
    session._stamp(data, options)
    told = await session._dispatcher.send_raw_request(data["method"], data.get("params"), options)
    if not isinstance(told.get("tools"), list):
        raise ValueError("its answer holds no list of tools")
    known = []
    for one in told["tools"]:
        with suppress(ValueError):
            known.append(Tool.model_validate(one, by_name=False))
    session._absorb_tool_listing(ListToolsResult(tools=known), complete=False)  # which arguments go as headers, too
    return told


async def _called(session: McpSession, tool: str, arguments: Mapping[str, Any]) -> Any:
    """Call the tool exactly once. The client's own `call_tool` would send it again after a schema change, and would
    validate the result by the server's schema, whose patterns may take forever.
    """
    server = session.server

    async def once(client: "Client") -> Any:
        from mcp.types import CallToolRequest, CallToolRequestParams, CallToolResult

        asked = CallToolRequest(params=CallToolRequestParams(name=tool, arguments=dict(arguments)))
        return await client.session.send_request(asked, CallToolResult)

    try:
        return await session.ask(once, server.timeout)
    except TimeoutError as error:
        session.close_when_idle()
        raise CallInterrupted(f"{server} did not answer within {server.timeout:g} s.") from error
    except asyncio.CancelledError:
        session.close_when_idle()  # it may still be at it
        raise
    except _failures() as error:
        if getattr(error, "code", CLOSED) not in (CLOSED, TOO_LATE):
            raise McpServerError(f"{server} answers: {session.what_failed(error)}.") from error
        session.close_when_idle()
        raise CallInterrupted(f"{server} gave no answer: {session.what_failed(error)}.") from error


def _failures() -> tuple[type[Exception], ...]:
    """Return the client's exceptions. Unreadable data raises ValueError or RuntimeError, a closed pipe OSError."""
    from anyio import BrokenResourceError, ClosedResourceError
    from mcp import MCPError

    return MCPError, OSError, ValueError, RuntimeError, BrokenResourceError, ClosedResourceError


def _loaded() -> tuple[Any, Any]:
    return importlib.import_module(".transport", __package__), importlib.import_module("mcp")
