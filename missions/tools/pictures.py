"""Looking at a picture. No model is sent one: whoever asks reads what kind of file it is, and that it stays unseen."""

import asyncio

from engine.models import Effect
from engine.tools import Refused, Tool, Use

from ..files import FileProblem, Workspace
from .places import placed
from .said import SHOWN, Arguments

LARGEST = 4_000_000  # bytes
BEGINS = {"png": b"\x89PNG\r\n\x1a\n", "jpeg": b"\xff\xd8\xff"}
UNSEEN = "no_pictures: models are sent text alone here, so {path} ({kind}, {size:,} bytes) cannot be shown to you. "
BY_COMMAND = "What is in it can be found out by a command, as its size, its colours or the text in it."


class ViewImage(Arguments):
    path: str


async def view_image(asked: ViewImage, use: Use) -> str:
    try:
        kind, size = await asyncio.to_thread(kind_of, *await placed(asked, use))
    except FileProblem as problem:
        raise Refused(str(problem)) from problem
    raise Refused(UNSEEN.format(path=asked.path, kind=kind, size=size) + BY_COMMAND)


def kind_of(asked: ViewImage, place: Workspace) -> tuple[str, int]:
    """And its size. FileProblem."""
    data = place.read(asked.path, LARGEST)
    kind = next((kind for kind, begins in BEGINS.items() if data.startswith(begins)), "")
    if not kind:
        raise FileProblem("no_picture", f"{asked.path} is neither png nor jpeg.")
    return kind, len(data)


TOOLS = (
    Tool(
        "view_image",
        "Looks at a png or jpeg of the workspace, where you can be shown one.",
        ViewImage,
        Effect.READS,
        perform=view_image,
        shown=SHOWN,
        kept=SHOWN,
    ),
)
