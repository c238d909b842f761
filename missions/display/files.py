"""Differences between the workspace and its first state: by files, lines and words."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache

from runs.text_diff import Kind, TextPiece, compare_texts

from ..models import FileVersion, Mission
from ..models.files import diff_of_versions, first_versions, newest_file_versions

WORDS = {"A": ("approve", "added"), "M": ("pending", "changed"), "D": ("reject", "removed")}
CONTEXT_LINES = 3  # unchanged lines shown around a change
LONGEST, SHOWN_LINES = 400_000, 2_000
MAX_WORD_DIFF_LINES = 60  # longer blocks are not compared word by word


@dataclass(frozen=True)
class ChangedFileView:
    """`digest` and `size` are those of the newest version; of a removed file `size` is the last one.

    `has_lines` is false for binary files, of which no text is stored.
    """

    path: str
    change: str
    state: str
    word: str
    added: int
    removed: int
    empty: bool = False  # on both sides
    digest: str = ""
    size: int = 0
    has_lines: bool = True


@dataclass(frozen=True)
class DiffLineView:
    """`kind` is "added", "removed", "same", or "place" where lines are left out.

    `pieces` are pairs of text and whether it differs.
    """

    number: int
    kind: str
    pieces: tuple[tuple[str, bool], ...]


@dataclass(frozen=True)
class FileDiff:
    file: ChangedFileView
    lines: tuple[DiffLineView, ...]
    left_out: int = 0


Versions = Mapping[str, FileVersion]
Changed = tuple[str, FileVersion | None, FileVersion | None]


def changed_files(mission: Mission) -> Iterator[ChangedFileView]:
    for path, before, after in _changed(mission):
        yield _file(path, before, after)


def file_diffs(mission: Mission, most: int = SHOWN_LINES) -> list[FileDiff]:
    return _diffs(_changed(mission), most)


def differences_of(before: Versions, after: Versions, most: int = SHOWN_LINES) -> list[FileDiff]:
    """The differences between the files at two moments."""
    return _diffs(_changes(before, after), most)


def _diffs(changed: Iterable[Changed], most: int) -> list[FileDiff]:
    found = []
    for path, before, after in changed:
        old, new = _text(before), _text(after)
        lines = tuple(_lines(old, new)) if len(old) + len(new) <= LONGEST else ()
        found.append(FileDiff(_file(path, before, after), lines[:most], max(0, len(lines) - most)))
    return found


def _changed(mission: Mission) -> Iterator[Changed]:
    versions = list(mission.files.all())
    yield from _changes(first_versions(versions), newest_file_versions(versions))


def _changes(first: Versions, last: Versions) -> Iterator[Changed]:
    for path in sorted(first.keys() | last.keys()):
        before, after = first.get(path), last.get(path)
        if (before and before.digest) != (after and after.digest):
            yield path, before, after


def _text(version: FileVersion | None) -> str:
    return version.text if version else ""


def _file(path: str, before: FileVersion | None, after: FileVersion | None) -> ChangedFileView:
    change = "A" if before is None else "D" if after is None else "M"
    empty = not any(one.size for one in (before, after) if one)
    counts = _counts(_text(before), _text(after))
    there = [one for one in (before, after) if one]
    has_lines = all(one.text or not one.size for one in there)
    digest = after.digest if after else ""
    return ChangedFileView(path, change, *WORDS[change], *counts, empty, digest, there[-1].size, has_lines)


@lru_cache(maxsize=128)  # live pages are rendered again at each change
def _counts(old: str, new: str) -> tuple[int, int]:
    lines = diff_of_versions("", old, new)[2:]
    added, removed = (sum(line.startswith(sign) for line in lines) for sign in "+-")
    return added, removed


# ---- lines ----------------------------------------------------------------------------------------------------


def _lines(old: str, new: str) -> Iterator[DiffLineView]:
    before, after = old.splitlines(), new.splitlines()
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    for group in matcher.get_grouped_opcodes(CONTEXT_LINES):
        if group[0][3] > 0:
            yield DiffLineView(0, "place", ())
        for verb, old_from, old_to, new_from, new_to in group:
            if verb == "equal":
                for number in range(new_from, new_to):
                    yield DiffLineView(number + 1, "same", ((after[number], False),))
            else:
                yield from _replaced(before[old_from:old_to], after[new_from:new_to], old_from, new_from)


def _replaced(old: Sequence[str], new: Sequence[str], old_from: int, new_from: int) -> Iterator[DiffLineView]:
    """The lines of one replaced block; compared word by word if both sides have the same number of lines."""
    pairs = list(zip(old, new, strict=True)) if len(old) == len(new) <= MAX_WORD_DIFF_LINES else []
    pieces = [compare_texts(*pair) for pair in pairs]
    sides: list[tuple[Kind, int, Sequence[str]]] = [("removed", old_from, old), ("added", new_from, new)]
    for kind, begin, lines in sides:
        for number, line in enumerate(lines):
            yield DiffLineView(begin + number + 1, kind, _side(pieces[number], kind) if pairs else ((line, False),))


def _side(pieces: Sequence[TextPiece], kind: Kind) -> tuple[tuple[str, bool], ...]:
    return tuple((one.text, one.kind == kind) for one in pieces if one.kind in (kind, "same", "folded"))
