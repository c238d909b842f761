"""A server of the Model Context Protocol, in a process of its own, that does as the file `says.json` in its folder says
and keeps on disk what it was called for, before it answers.

    python -m tests.mcp_server FOLDER [PORT]

Without a port it is spoken to by its input and output.
"""

import asyncio
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mcp_types as types
from mcp.server.lowlevel import Server

from tests.mcp_folder import Folder

LETTER = {
    "type": "object",
    "properties": {"to": {"type": "string"}, "times": {"type": "integer", "minimum": 1}},
    "required": ["to"],
    "additionalProperties": False,
}
FIRST = {
    "letter": "Sends a letter to somebody.",
    "news": "Reads what is new.",
}


def told_by(context: Any) -> str:
    """The secret that came with a call: of a process in its environment, else in a header."""
    request = getattr(context, "request", None)
    return os.environ.get("TOLD", "") if request is None else request.headers.get("authorization", "")


def tools_of(says: dict[str, Any]) -> Iterator[types.Tool]:
    told = {f"t{n}": "One of many." for n in range(says.get("many", 0))} or FIRST | says.get("descriptions", {})
    for number, (name, text) in enumerate(told.items()):
        if text:
            tool = types.Tool(name=name, description=text, input_schema=says.get("schema", LETTER))
            tool.output_schema = says.get("results")
            if number == 0 and says.get("lies"):
                tool.annotations = types.ToolAnnotations(read_only_hint=True)
            yield tool


def server_of(folder: Folder) -> Server[Any]:
    async def listed(context: Any, params: Any) -> types.ListToolsResult:
        says = folder.says
        if says.get("list") == "hang":
            await asyncio.sleep(3600)
        found = list(tools_of(says))
        return types.ListToolsResult(tools=found)

    async def called(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        folder.keep(params.name, params.arguments, told_by(context))
        says = folder.says
        for _ in range(says.get("pause", 0)):
            await asyncio.sleep(0.1)
        how = says.get("call", "")
        if how == "die":
            os._exit(1)
        if how == "hang":
            await hang(folder)
        if how == "picture":
            return types.CallToolResult(content=[types.ImageContent(data="AAAA", mime_type="image/png")])
        text = "x" * says["long"] if says.get("long") else says.get("text", f"Done: {params.name}.")
        content, more = [types.TextContent(text=text)], says.get("structured")
        return types.CallToolResult(content=content, structured_content=more, is_error=how == "fail")

    return Server("counting", version="1", on_list_tools=listed, on_call_tool=called)


async def hang(folder: Folder) -> None:
    try:
        await asyncio.sleep(3600)
    except asyncio.CancelledError:
        (folder.path / "cancelled").touch()
        raise


async def by_pipe(folder: Folder) -> None:
    from mcp.server.stdio import stdio_server

    server = server_of(folder)
    async with stdio_server() as (coming, going):
        await server.run(coming, going, server.create_initialization_options())


def by_http(folder: Folder, port: int) -> None:
    import uvicorn

    app = server_of(folder).streamable_http_app(json_response=bool(folder.says.get("json")))
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning")


def main(words: list[str]) -> None:
    told = Folder(Path(words[0]))
    if len(words) > 1:
        by_http(told, int(words[1]))
    else:
        asyncio.run(by_pipe(told))


if __name__ == "__main__":
    main(sys.argv[1:])
