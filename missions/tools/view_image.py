"""A tool for images. Models are sent text only, so it answers with the kind and size of the file."""

import asyncio

from engine.models import Effect
from engine.tools import Tool, ToolRefused, ToolUse

from ..workspace_files import FileProblem, Workspace
from .output import SHOWN, MissionToolArgumentsBase
from .path_resolver import resolve_path

MAX_BYTES = 4_000_000  # bytes
FILE_SIGNATURES = {"png": b"\x89PNG\r\n\x1a\n", "jpeg": b"\xff\xd8\xff"}
NOT_SHOWN_TEXT = (
    "no_pictures: models are sent text alone here, so {path} ({kind}, {size:,} bytes) cannot be shown to you. "
)
BY_COMMAND = "What is in it can be found out by a command, as its size, its colours or the text in it."


class ViewImageArguments(MissionToolArgumentsBase):
    path: str


async def view_image(asked: ViewImageArguments, use: ToolUse) -> str:
    try:
        kind, size = await asyncio.to_thread(kind_of, *await resolve_path(asked, use))
    except FileProblem as problem:
        raise ToolRefused(str(problem)) from problem
    raise ToolRefused(NOT_SHOWN_TEXT.format(path=asked.path, kind=kind, size=size) + BY_COMMAND)


def kind_of(asked: ViewImageArguments, place: Workspace) -> tuple[str, int]:
    """Kind and size in bytes of an image. Raises FileProblem."""
    data = place.read(asked.path, MAX_BYTES)
    kind = next((kind for kind, begins in FILE_SIGNATURES.items() if data.startswith(begins)), "")
    if not kind:
        raise FileProblem("no_picture", f"{asked.path} is neither png nor jpeg.")
    return kind, len(data)


TOOLS = (
    Tool(
        "view_image",
        "Looks at a png or jpeg of the workspace, where you can be shown one.",
        ViewImageArguments,
        Effect.READS,
        perform=view_image,
        shown=SHOWN,
        kept=SHOWN,
    ),
)
