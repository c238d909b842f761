"""The MCP server, created for each request: no state is kept between requests, so any process can answer.

Its libraries are loaded with the first request. Why so: runs/DESIGN.md, Other doors.
"""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponse

from engine.text.invisible_chars import visible_json
from engine.version import VERSION
from runs.api.errors import ApiError

from . import resources, tools

INSTRUCTIONS = (
    "MAGI decides. Have something judged, debated, answered, planned or pursued, wait for what comes of it, and obey "
    "it: what failed or is not over is no approval. What waits for a person at a gate, people alone decide, on a page."
)


async def answer(request: HttpRequest) -> HttpResponse:
    """Respond to one message of an authenticated client."""
    if wrong := _wrong(request):
        return wrong
    await sync_to_async(_load, thread_sensitive=False)()
    return await _through(request)


PARSE_ERROR, INVALID_REQUEST = -32700, -32600  # error codes of JSON-RPC
MEDIA_TYPE = "application/json"


def _wrong(request: HttpRequest) -> HttpResponse | None:
    """Return the error for a body that is no message, as the MCP transport defines it; None if it is one."""
    if request.content_type != MEDIA_TYPE:
        return _error(415, INVALID_REQUEST, f"Send it as {MEDIA_TYPE}.")
    try:
        message = json.loads(request.body)
    except (ValueError, RecursionError):
        return _error(400, PARSE_ERROR, "This is no JSON.")
    if isinstance(message, list):
        said = "Send one message at a time: the protocol has known no batches since 2025-06-18."
        return _error(400, INVALID_REQUEST, said)
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        return _error(400, INVALID_REQUEST, "This is no message of JSON-RPC 2.0.")
    return None


def _error(status: int, code: int, sentence: str) -> HttpResponse:
    # no id, since it could not be read
    said = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": sentence}}
    return HttpResponse(json.dumps(said), status=status, content_type=MEDIA_TYPE)


def _load() -> None:
    """Import the library, which takes seconds once, outside the event loop."""
    import mcp.server.streamable_http_manager  # noqa: F401


# ---- ASGI adapter -----------------------------------------------------------------------------------------


@dataclass
class _Caught:
    """Collects what an ASGI application sends."""

    status: int = 500
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    body: bytes = b""

    async def send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status, self.headers = message["status"], list(message.get("headers", ()))
        elif message["type"] == "http.response.body":
            self.body += message.get("body", b"")

    def answer(self) -> HttpResponse:
        named = {name.decode("latin-1"): value.decode("latin-1") for name, value in self.headers}
        kept = {name: value for name, value in named.items() if name.lower() != "content-length"}
        return HttpResponse(self.body, status=self.status, headers=kept)


async def _through(request: HttpRequest) -> HttpResponse:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from mcp.server.transport_security import TransportSecuritySettings

    unchecked = TransportSecuritySettings(enable_dns_rebinding_protection=False)  # the site has checked host and origin
    manager = StreamableHTTPSessionManager(
        _server(request), json_response=True, stateless=True, security_settings=unchecked
    )
    caught = _Caught()
    async with manager.run():
        await manager.handle_request(_scope(request), _receiving(request.body), caught.send)
    return caught.answer()


def _scope(request: HttpRequest) -> dict[str, Any]:
    named = {name.lower(): value for name, value in request.headers.items()} | {
        "content-length": str(len(request.body))
    }
    named.setdefault("accept", "*/*")  # in HTTP, a missing Accept header means anything
    headers = [(name.encode("latin-1"), value.encode("latin-1", "replace")) for name, value in named.items()]
    where = {"path": request.path, "raw_path": request.path.encode(), "query_string": b"", "root_path": ""}
    return {
        **{"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": request.method},
        **{"scheme": request.scheme, "headers": headers, "client": None, "server": None, "state": {}, **where},
    }


def _receiving(body: bytes) -> Callable[[], Any]:
    parts = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Any:
        if parts:
            return parts.pop()
        await asyncio.Event().wait()  # a disconnect ends this request like any other

    return receive


# ---- handlers ---------------------------------------------------------------------------------------------


def _server(request: HttpRequest) -> Any:
    from mcp.server.lowlevel import Server

    return Server(
        "magi",
        version=VERSION,
        title="MAGI",
        instructions=INSTRUCTIONS,
        on_list_tools=_listed,
        on_call_tool=_calling(request),
        on_list_resources=_listing(request),
        on_list_resource_templates=_templates,
        on_read_resource=_reading(request),
    )


async def _listed(context: Any, params: Any) -> Any:
    import mcp_types as types

    return types.ListToolsResult(tools=[_tool(types, one) for one in tools.exposed_tools()])


def _tool(types: Any, tool: tools.ExposedTool) -> Any:
    hints = types.ToolAnnotations(read_only_hint=tool.reads, destructive_hint=tool.name == "cancel")
    return types.Tool(name=tool.name, description=tool.what, input_schema=dict(tool.takes), annotations=hints)


def _calling(request: HttpRequest) -> Any:
    import mcp_types as types

    async def called(context: Any, params: Any) -> Any:
        try:
            told = await tools.call_tool(request, params.name, params.arguments or {})
        except ApiError as refusal:
            return types.CallToolResult(content=[types.TextContent(text=_in_words(refusal))], is_error=True)
        said = [told.hint] if told.hint else []
        content = [types.TextContent(text=text) for text in [*said, visible_json(told.content)]]
        structured = json.loads(visible_json(told.content))
        return types.CallToolResult(content=content, structured_content=structured, is_error=told.failed)

    return called


def _in_words(refusal: ApiError) -> str:
    return " ".join([refusal.detail, *(f"{path}: {message}" for path, message in refusal.errors)])


async def _templates(context: Any, params: Any) -> Any:
    import mcp_types as types

    found = [
        types.ResourceTemplate(name=one.name, uri_template=one.uri, description=one.what, mime_type=resources.JSON)
        for one in resources.resource_templates()
    ]
    return types.ListResourceTemplatesResult(resource_templates=found)


def _listing(request: HttpRequest) -> Any:
    import mcp_types as types

    async def listed(context: Any, params: Any) -> Any:
        found = await resources.newest_resources(request)
        return types.ListResourcesResult(
            resources=[types.Resource(name=name, uri=uri, mime_type=resources.JSON) for uri, name in found]
        )

    return listed


def _reading(request: HttpRequest) -> Any:
    import mcp_types as types
    from mcp.shared.exceptions import MCPError

    async def was_read(context: Any, params: Any) -> Any:
        try:
            text = await resources.read_resource(request, str(params.uri))
        except ApiError as refusal:
            raise MCPError(types.INVALID_PARAMS, _in_words(refusal)) from refusal
        part = types.TextResourceContents(uri=params.uri, text=text, mime_type=resources.JSON)
        return types.ReadResourceResult(contents=[part])

    return was_read
