"""Comparison of two runs of one procedure: sentences about the differences; the last says what is equal.

Why so: runs/DESIGN.md, Finding.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..formatting import format_usage
from ..procedure.comparison_parts import ComparisonResult, Difference
from ..procedure.spec import ProcedureSpec, RunDisplay
from ..text_diff import TextAmendment, text_amendments
from .rows import RunRow, build_rows, procedure_rows

AnyFace = ProcedureSpec[Any, Any]


@dataclass(frozen=True)
class RunComparison:
    """One of the two runs: its letter, list row, display and usage."""

    letter: str
    row: RunRow
    display: RunDisplay
    used: str
    redacted: bool


def compare_runs(face: AnyFace, rows: Sequence[Any]) -> dict[str, Any]:
    """Return the context of the page for two rows that were read with `rows` of their procedure."""
    calls = [face.calls_shown(row, face.calls(row)) for row in rows]
    displays = [face.display(face.snapshot(row, some)) for row, some in zip(rows, calls, strict=True)]
    heads = _heads(face, rows)
    both = [
        RunComparison(letter, heads[str(row.pk)], display, format_usage(some), bool(row.run.redacted))
        for letter, row, display, some in zip("AB", rows, displays, calls, strict=True)
    ]
    erased = any(one.redacted for one in both)
    told = face.compared(displays[0], displays[1], erased)
    amended = [] if erased else text_amendments(*(_asked(face, row) for row in rows))
    return {
        "both": both,
        "erased": erased,
        "amended": [*amended, *told.amended],
        "differs": list(_differs(both, amended, told, erased)),
        "told": told,
    }


def _heads(face: AnyFace, rows: Sequence[Any]) -> Mapping[str, RunRow]:
    found = build_rows(face.rows().model._default_manager.filter(pk__in=[row.pk for row in rows]), face)
    return {row.id: row for row in procedure_rows(list(found))}


def _asked(face: AnyFace, row: Any) -> dict[str, str]:
    """Return the title and all prompts of the run, by name."""
    return {"Title": row.run.title} | face.prompts(row)


# ---- sentences --------------------------------------------------------------------------------------------


def _differs(
    both: Sequence[RunComparison], amended: Sequence[TextAmendment], told: ComparisonResult, erased: bool
) -> Iterator[Difference]:
    same = [] if amended or erased else ["text"]
    if erased:
        yield Difference("writes", "The text.", "It cannot be told any more, for texts were erased.")
    elif amended:
        yield Difference("writes", "The text.", " ".join(map(_amended, amended)))
    if (words := [_came_to(one) for one in both])[0] != words[1]:
        yield Difference("seal", "The outcome.", f"{words[0]} in A, {words[1]} in B.")
    else:
        same.append("outcome")
    yield from told.differs
    yield _rest([*same, *told.same])


def _amended(one: TextAmendment) -> str:
    a, b = (sum(_words(piece.text) for piece in one.pieces if piece.kind == kind) for kind in ("removed", "added"))
    return f"{one.name}: {a:,} word{'' if a == 1 else 's'} in A alone, {b:,} in B alone."


def _words(text: str) -> int:
    return len(re.findall(r"\w+", text))


def _came_to(one: RunComparison) -> str:
    """Return the outcome in words, with the override if there is one."""
    stamp = one.display.stamp
    return f"{one.display.word} ({stamp.word.lower()})" if stamp and stamp.by_a_person else one.display.word


def _rest(same: Sequence[str]) -> Difference:
    if not same:
        return Difference("dash", "Nothing else is the same", "of what is compared here.")
    listed = same[0] if len(same) == 1 else f"{', '.join(same[:-1])} and {same[-1]}"
    return Difference("dash", "Not the rest.", f"The same {listed}.")
