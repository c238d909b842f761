"""Tools that read and change files of the workspace, through descriptors and without a shell."""

import asyncio
import difflib
import fnmatch
import re
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

from pydantic import Field

from engine.db import reader
from engine.models import Effect, ToolCall
from engine.tools import Tool, ToolRefused, ToolUse

from .. import publishing, workspace
from ..models import FileVersion
from ..workspace_files import LONGEST, FileProblem, Workspace, digest_of, relative_path, text_of
from .output import SHOWN, MissionToolArgumentsBase, cut_text, tool_text
from .path_resolver import resolve_path

LINES = 400
NEW_FILE = "new"
DIGEST = re.compile(r"[0-9a-fA-F]{8,64}")  # whole or a prefix
LONGEST_LINE = 2_000


class ReadFileArguments(MissionToolArgumentsBase):
    path: str
    start_line: int = Field(default=1, ge=1)
    end_line: int | None = Field(default=None, ge=1)


class WriteFileArguments(MissionToolArgumentsBase):
    path: str
    content: str = Field(max_length=LONGEST)
    expect: str | None = Field(default=None, description=f"its digest as it was read, or {NEW_FILE}")


class EditFileArguments(MissionToolArgumentsBase):
    path: str
    target_text: str = Field(min_length=1)
    replacement_text: str
    occurrence: int | None = Field(default=None, ge=1)


class ListFilesArguments(MissionToolArgumentsBase):
    path: str = "."
    depth: int = Field(default=1, ge=1, le=3)


class FindFilesArguments(MissionToolArgumentsBase):
    glob: str = Field(min_length=1, max_length=400, description="as in src/*.py or *.md")


def _within(do: Callable[[Any, Workspace], str]) -> Callable[[Any, ToolUse], Awaitable[str]]:
    async def perform(asked: Any, use: ToolUse) -> str:
        try:
            return await asyncio.to_thread(do, *await resolve_path(asked, use))
        except FileProblem as problem:
            raise ToolRefused(str(problem)) from problem

    return perform


def _text(place: Workspace, path: str) -> str:
    data = place.read(path)
    text = text_of(data)
    if data and not text:
        raise FileProblem(
            "binary", f"{path} is no text in UTF-8, or too long: {len(data):,} bytes. Read it by a command."
        )
    return text


def read_file(asked: ReadFileArguments, place: Workspace) -> str:
    text = _text(place, asked.path)
    lines = text.splitlines()
    end = min(asked.end_line or asked.start_line + LINES - 1, asked.start_line + LINES - 1, len(lines))
    shown = [f"{n:>5} {_short(line)}" for n, line in enumerate(lines[asked.start_line - 1 : end], asked.start_line)]
    body = cut_text("\n".join(shown), "read fewer lines at once")
    return tool_text("read_file", body, path=asked.path, lines=len(lines), digest=digest_of(text.encode())[:16])


def _short(line: str) -> str:
    return line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]} … {len(line) - LONGEST_LINE:,} more"


def write_file(asked: WriteFileArguments, place: Workspace) -> str:
    before = _digest(place, asked.path)
    after = digest_of(asked.content.encode())
    if before != after:
        _refuse_unexpected(asked.path, asked.expect, before)
    place.write(asked.path, asked.content.encode())
    return tool_text("write_to_file", path=asked.path, digest_before=before and before[:16], digest=after[:16])


def _refuse_unexpected(path: str, expect: str | None, before: str | None) -> None:
    """Raise FileProblem if the file is not as the agent expects. `before`: its digest; None if it does not exist."""
    if expect == NEW_FILE and before is not None:
        raise FileProblem("changed_meanwhile", f"{path} is there already.")
    if expect in (None, NEW_FILE):
        return
    if before is None:
        raise FileProblem("not_found", f"{path} is not there: write it without “expect”, or with “{NEW_FILE}”.")
    if not DIGEST.fullmatch(expect or ""):
        wanted = f"the digest of {path} is wanted there, which is “{before[:16]}”, or leave it out"
        raise FileProblem("no_digest", f"“expect” is “{(expect or '')[:60]}”: {wanted}.")
    if not before.startswith((expect or "").lower()):
        raise FileProblem("changed_meanwhile", f"{path} is not as you have read it: read it again.")


def _digest(place: Workspace, path: str) -> str | None:
    try:
        return digest_of(place.read(path))
    except FileProblem as problem:
        if problem.code == "not_found":
            return None
        raise


def edit_file(asked: EditFileArguments, place: Workspace) -> str:
    after, at = replace_once(_text(place, asked.path), asked)
    place.write(asked.path, after.encode())
    return _edited(asked, after, at)


def _edited(asked: EditFileArguments, after: str, at: int) -> str:
    first = max(1, after.count("\n", 0, at) - 1)
    last = first + asked.replacement_text.count("\n") + 4
    around = [f"{n:>5} {_short(line)}" for n, line in enumerate(after.splitlines(), 1) if first <= n <= last]
    return tool_text(
        "edit_file",
        cut_text("\n".join(around), "read the file"),
        path=asked.path,
        digest=digest_of(after.encode())[:16],
    )


async def settle_edit(call: ToolCall, use: ToolUse) -> str | None:
    """After a crash: edit the file if it is as last stored, report success if it has the edit already; else None."""
    asked = EditFileArguments.model_validate_json(call.arguments)
    place = workspace.workspace(use.run.pk)
    kept = await reader.read_for_worker(partial(_kept, use.run.pk, relative_path(asked.path)))
    try:
        now = await asyncio.to_thread(_text, place, asked.path)
        after, at = replace_once(kept or now, asked)
        if now == kept:
            return await asyncio.to_thread(edit_file, asked, place)
    except FileProblem:
        return None
    return _edited(asked, after, at) if now == after else None


def _kept(mission: UUID, path: str) -> str:
    return FileVersion.objects.text_of(mission, path, publishing.first_text(mission, path) or "")


def replace_once(text: str, asked: EditFileArguments) -> tuple[str, int]:
    """The edited text and the offset of the edit. Raises FileProblem."""
    places = _places(text, asked.target_text)
    if not places:
        raise FileProblem("no_match", f"That text does not stand in {asked.path}.{_nearest(text, asked.target_text)}")
    if len(places) > 1 and asked.occurrence is None:
        lines = ", ".join(str(text.count("\n", 0, at) + 1) for at in places[:20])
        raise FileProblem("several", f"That text stands {len(places)} times, in lines {lines}: say which occurrence.")
    if (asked.occurrence or 1) > len(places):
        raise FileProblem("no_match", f"That text stands {len(places)} times.")
    at = places[(asked.occurrence or 1) - 1]
    return text[:at] + asked.replacement_text + text[at + len(asked.target_text) :], at


def _places(text: str, target: str) -> list[int]:
    found, at = [], text.find(target)
    while at >= 0:
        found.append(at)
        at = text.find(target, at + len(target))
    return found


def _nearest(text: str, target: str) -> str:
    first = next((line for line in target.splitlines() if line.strip()), "")
    near = difflib.get_close_matches(first, text.splitlines()[:5_000], 1, 0.5)
    return f" The nearest line is: {near[0][:300]}" if near else ""


def list_files(asked: ListFilesArguments, place: Workspace) -> str:
    found, more = place.listed(asked.path, asked.depth)
    lines = [f"{one.kind:<6} {one.size:>10} {one.path}" for one in found]
    return tool_text("ls", cut_text("\n".join(lines), "look into one folder"), entries=len(found), left_out=more)


def find_files(asked: FindFilesArguments, place: Workspace) -> str:
    found, _ = place.listed(".", 64, 20_000)
    names = [
        one.path
        for one in found
        if one.kind == "file"
        and (fnmatch.fnmatch(one.path, asked.glob) or fnmatch.fnmatch(Path(one.path).name, asked.glob))
    ]
    return tool_text("find_files", cut_text("\n".join(names[:500]), "ask for fewer"), found=len(names))


TOOLS = (
    Tool(
        "read_file",
        "Reads lines of a text file of the workspace.",
        ReadFileArguments,
        Effect.READS,
        perform=_within(read_file),
        shown=SHOWN,
        kept=SHOWN,
    ),
    Tool(
        "ls",
        "Lists a folder of the workspace.",
        ListFilesArguments,
        Effect.READS,
        perform=_within(list_files),
        shown=SHOWN,
        kept=SHOWN,
    ),
    Tool(
        "find_files",
        "Finds files of the workspace by a pattern of their names.",
        FindFilesArguments,
        Effect.READS,
        perform=_within(find_files),
        shown=SHOWN,
        kept=SHOWN,
    ),
    Tool(
        "write_to_file",
        "Writes a whole text file of the workspace; folders that are missing are made.",
        WriteFileArguments,
        Effect.WRITES,
        perform=_within(write_file),
        contained=True,
        repeatable=True,
        shown=SHOWN,
        kept=SHOWN,
    ),
    Tool(
        "edit_file",
        "Replaces a text in a file of the workspace; it has to stand there exactly once, or say which occurrence.",
        EditFileArguments,
        Effect.WRITES,
        perform=_within(edit_file),
        settle=settle_edit,
        contained=True,
        when_cut="tell",
        shown=SHOWN,
        kept=SHOWN,
    ),
)
