"""What is otherwise in the workspace than at the beginning, file by file, line by line, word by word."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache

from runs.text_diff import Kind, TextPiece, compare_texts

from ..models import FileVersion, Mission
from ..models.files import diff_of_versions, first_versions, newest_file_versions

WORDS = {"A": ("approve", "added"), "M": ("pending", "changed"), "D": ("reject", "removed")}
CONTEXT_LINES = 3  # lines that stay beside what changed
LONGEST, SHOWN_LINES = 400_000, 2_000
WORDS_BESIDE = 60  # pairs of lines of one place that are compared word by word


@dataclass(frozen=True)
class ChangedFileView:
    """`digest`: of what is in it now; `size`: then, or before it was removed. `has_lines`: it is kept as text."""

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
    """`kind`: added, removed, same, or place, which leaves something out. `pieces`: what of it is otherwise."""

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
    return _shown(_changed(mission), most)


def differences_of(before: Versions, after: Versions, most: int = SHOWN_LINES) -> list[FileDiff]:
    """Between what was there at two moments."""
    return _shown(_otherwise(before, after), most)


def _shown(changed: Iterable[Changed], most: int) -> list[FileDiff]:
    found = []
    for path, before, after in changed:
        old, new = _text(before), _text(after)
        lines = tuple(_lines(old, new)) if len(old) + len(new) <= LONGEST else ()
        found.append(FileDiff(_file(path, before, after), lines[:most], max(0, len(lines) - most)))
    return found


def _changed(mission: Mission) -> Iterator[Changed]:
    versions = list(mission.files.all())
    yield from _otherwise(first_versions(versions), newest_file_versions(versions))


def _otherwise(first: Versions, last: Versions) -> Iterator[Changed]:
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


@lru_cache(maxsize=128)  # a page is drawn again and again
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
    """Line beside line where there are as many: what of them is otherwise stands out."""
    pairs = list(zip(old, new, strict=True)) if len(old) == len(new) <= WORDS_BESIDE else []
    pieces = [compare_texts(*pair) for pair in pairs]
    sides: list[tuple[Kind, int, Sequence[str]]] = [("removed", old_from, old), ("added", new_from, new)]
    for kind, begin, lines in sides:
        for number, line in enumerate(lines):
            yield DiffLineView(begin + number + 1, kind, _side(pieces[number], kind) if pairs else ((line, False),))


def _side(pieces: Sequence[TextPiece], kind: Kind) -> tuple[tuple[str, bool], ...]:
    return tuple((one.text, one.kind == kind) for one in pieces if one.kind in (kind, "same", "folded"))
