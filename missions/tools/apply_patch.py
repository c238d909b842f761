"""The tool that applies a patch to the workspace, to all of its files or to none."""

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial

from pydantic import Field

from engine.db import reader
from engine.models import Effect, ToolCall
from engine.tools import Tool, ToolRefused, ToolUse

from .. import patches, publishing, workspace
from ..models import FileVersion
from ..patches import FilePatch
from ..workspace_files import LONGEST, FileProblem, Workspace, digest_of, relative_path, text_of
from .output import SHOWN, MissionToolArgumentsBase, tool_text

Texts = Mapping[str, str | None]


class ApplyPatchArguments(MissionToolArgumentsBase):
    patch: str = Field(min_length=1, max_length=LONGEST, description="a unified difference, as diff -u and git write")


async def apply_patch(asked: ApplyPatchArguments, use: ToolUse) -> str:
    try:
        return await asyncio.to_thread(_apply, asked, workspace.workspace(use.run.pk))
    except FileProblem as problem:
        raise ToolRefused(str(problem)) from problem


def _apply(asked: ApplyPatchArguments, place: Workspace) -> str:
    read = patches.parse_patch(asked.patch)
    before = _texts(place, read)
    after = patches.apply_patch(read, before)
    _write(place, before, after)
    return _told(read, after)


def _texts(place: Workspace, read: Sequence[FilePatch]) -> Texts:
    return {one.path: _text(place, one.path) for one in read}


def _text(place: Workspace, path: str) -> str | None:
    try:
        data = place.read(path)
    except FileProblem as problem:
        if problem.code == "not_found":
            return None
        raise
    text = text_of(data)
    if data and not text:
        raise FileProblem(
            "binary", f"{path} is no text in UTF-8, or too long: {len(data):,} bytes. Read it by a command."
        )
    return text


def _write(place: Workspace, before: Texts, after: Texts) -> None:
    """Write all files. If one cannot be written, restore those before it and raise FileProblem."""
    done: list[str] = []
    try:
        for path, text in after.items():
            _put(place, path, text)
            done.append(path)
    except FileProblem:
        for path in done:
            _put(place, path, before[path])
        raise


def _put(place: Workspace, path: str, text: str | None) -> None:
    if text is not None:
        place.write(path, text.encode())
    else:
        place.remove(path)


def _told(read: Sequence[FilePatch], after: Texts) -> str:
    letters = {one.path: "A" if one.new else "D" if one.gone else "M" for one in read}
    digests = {path: digest_of(text.encode())[:16] if text is not None else "" for path, text in after.items()}
    lines = [f"{letters[path]} {path} {digest}".rstrip() for path, digest in digests.items()]
    return tool_text("apply_patch", "\n".join(lines), files=len(lines))


async def settle(call: ToolCall, use: ToolUse) -> str | None:
    """Finish the patch after a crash if each file is either as it was last stored or already patched; else None."""
    asked = ApplyPatchArguments.model_validate_json(call.arguments)
    try:
        read = patches.parse_patch(asked.patch)
        before = {one.path: await reader.read(partial(_kept, use, one.path)) for one in read}
        after = patches.apply_patch(read, before)
        return await asyncio.to_thread(_finished, workspace.workspace(use.run.pk), read, before, after)
    except FileProblem:
        return None


def _kept(use: ToolUse, path: str) -> str | None:
    pk, path = use.run.pk, relative_path(path)
    if path in FileVersion.objects.digests(pk):
        return FileVersion.objects.text_of(pk, path)
    return None if path in FileVersion.objects.paths(pk) else publishing.first_text(pk, path)


def _finished(place: Workspace, read: Sequence[FilePatch], before: Texts, after: Texts) -> str | None:
    now = _texts(place, read)
    if any(now[path] not in (before[path], after[path]) for path in after):
        return None
    _write(place, now, {path: text for path, text in after.items() if now[path] != text})
    return _told(read, after)


TOOLS = (
    Tool(
        "apply_patch",
        "Changes text files of the workspace by a unified difference: all that it says, or nothing. Files are made and "
        "taken away by /dev/null.",
        ApplyPatchArguments,
        Effect.WRITES,
        perform=apply_patch,
        settle=settle,
        contained=True,
        when_cut="tell",
        shown=SHOWN,
        kept=SHOWN,
    ),
)
