"""Unified diffs: parsed, and applied to texts as a whole or not at all. This module does not access files.

Why so: missions/DESIGN.md, Missions.
"""

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from .workspace_files import FileProblem

NOTHING = "/dev/null"
HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@")
UNSUPPORTED_LINES = ("GIT binary patch", "Binary files ", "rename from ", "copy from ")
NO_END = "\\ No newline"
MOST_FILES = 50


@dataclass(frozen=True)
class Hunk:
    """`line` is the first line according to the header, from 1; all lines include their line ends."""

    line: int
    before: Sequence[str]
    after: Sequence[str]


@dataclass(frozen=True)
class FilePatch:
    path: str
    hunks: Sequence[Hunk]
    new: bool = False
    gone: bool = False


def parse_patch(patch: str) -> list[FilePatch]:
    """Parse a patch of at most MOST_FILES files. Raises FileProblem, which names the wrong line."""
    lines = (patch.rstrip("\n") + "\n").splitlines(keepends=True)
    if untaken := next((line.strip() for line in lines if line.startswith(UNSUPPORTED_LINES)), ""):
        raise FileProblem("not_taken", f"Only lines of text are changed by a patch, not: {untaken[:200]}")
    starts = [at for at in range(len(lines) - 2) if _begins(lines[at : at + 3])]
    if not starts:
        raise FileProblem("no_patch", "It has no three lines that begin with ---, then +++, then @@.")
    found = [_file(lines[at:end], at + 1) for at, end in zip(starts, [*starts[1:], len(lines)], strict=True)]
    if len(found) > MOST_FILES:
        raise FileProblem("too_many", f"It changes {len(found)} files, and {MOST_FILES} are taken.")
    paths = [one.path for one in found]
    if twice := next((path for path in paths if paths.count(path) > 1), ""):
        raise FileProblem("no_patch", f"{twice} stands there twice.")
    return found


def _begins(lines: Sequence[str]) -> bool:
    return all(line.startswith(sign) for line, sign in zip(lines, ("--- ", "+++ ", "@@"), strict=True))


def _file(lines: Sequence[str], at: int) -> FilePatch:
    old, new = (_path(line) for line in lines[:2])
    if old == new == NOTHING:
        raise FileProblem("no_patch", f"Line {at}: it names no file.")
    if (old.startswith("a/") and new.startswith("b/")) or NOTHING in (old, new):
        old, new = (re.sub("^[ab]/", "", one) for one in (old, new))
    if NOTHING not in (old, new) and old != new:
        raise FileProblem("not_taken", f"Line {at}: {old} would become {new}. Move files by a command.")
    hunks = list(_hunks(lines[2:], at + 2))
    return FilePatch(old if new == NOTHING else new, hunks, new=old == NOTHING, gone=new == NOTHING)


def _path(line: str) -> str:
    return line[4:].split("\t")[0].strip()


def _hunks(lines: Sequence[str], at: int) -> Iterator[Hunk]:
    starts = [n for n, line in enumerate(lines) if line.startswith("@@")]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        if (head := HUNK.match(lines[start])) is None:
            raise FileProblem("no_patch", f"Line {at + start}: it is no @@ -from,lines +to,lines @@.")
        yield Hunk(int(head[1]), *_sides(lines[start + 1 : end], at + start + 1))


def _sides(lines: Sequence[str], at: int) -> tuple[list[str], list[str]]:
    before, after = list[str](), list[str]()
    for number, line in enumerate(lines, at):
        if line.startswith("diff --git "):
            break  # begins the next file
        if line.startswith(NO_END):
            _without_end(lines[number - at - 1][:1], before, after)
            continue
        sign, text = (line[:1], line[1:]) if line.strip("\r\n") else (" ", line)  # models omit the blank of empty lines
        if sign not in " +-":
            raise FileProblem("no_patch", f"Line {number}: it begins with none of blank, + and -.")
        if sign in " -":
            before.append(text)
        if sign in " +":
            after.append(text)
    return before, after


def _without_end(sign: str, before: list[str], after: list[str]) -> None:
    """Remove the line end of the last line; the patch marks it as "No newline at end of file"."""
    for side in [before] * (sign in " -") + [after] * (sign in " +"):
        side[-1] = side[-1].rstrip("\r\n")


def apply_patch(patches: Sequence[FilePatch], texts: Mapping[str, str | None]) -> dict[str, str | None]:
    """The new text of each file; None for removed and missing files. Raises FileProblem if a hunk does not fit."""
    return {one.path: _applied(one, texts[one.path]) for one in patches}


def _applied(one: FilePatch, text: str | None) -> str | None:
    if one.new and text is not None:
        raise FileProblem("changed_meanwhile", f"{one.path} is there already.")
    if not one.new and text is None:
        raise FileProblem("not_found", f"There is nothing at {one.path}.")
    lines = (text or "").splitlines(keepends=True)
    shift = 0
    for number, hunk in enumerate(one.hunks, 1):
        at = _place(one.path, number, lines, hunk, shift)
        lines[at : at + len(hunk.before)] = hunk.after
        shift = at - (hunk.line - 1) + len(hunk.after) - len(hunk.before)
    if one.gone and lines:
        raise FileProblem("no_match", f"{one.path} has more lines than would be taken away.")
    return None if one.gone else "".join(lines)


def _place(path: str, number: int, lines: Sequence[str], hunk: Hunk, shift: int) -> int:
    """The index of a hunk's first line: where its header says, or else the only place where its lines occur.

    Models often count lines wrongly.
    """
    before, size = list(hunk.before), len(hunk.before)
    stated = max(0, hunk.line - 1 + shift) if before else max(0, hunk.line + shift)
    if list(lines[stated : stated + size]) == before and stated <= len(lines):
        return stated
    found = [at for at in range(len(lines) - size + 1) if list(lines[at : at + size]) == before] if before else []
    if len(found) == 1:
        return found[0]
    if found:
        places = ", ".join(str(at + 1) for at in found[:20])
        raise FileProblem("several", f"Hunk {number} of {path} fits at lines {places}: say where by its first line.")
    raise FileProblem("no_match", f"Hunk {number} of {path} fits nowhere.{_nearest(lines, before)}")


def _nearest(lines: Sequence[str], before: Sequence[str]) -> str:
    """A sentence with the first line that does not occur in the file, and the most similar line there."""
    missing = next((line for line in before if line not in lines), "").strip("\r\n")
    near = difflib.get_close_matches(missing, [line.strip("\r\n") for line in lines[:5_000]], 1, 0.5)
    there = f" The nearest line is: {near[0][:300]}" if near else ""
    return f" No line is: {missing[:300]}{there}" if missing else " Its lines do not stand together."
