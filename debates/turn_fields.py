"""Additional fields of the form of a person's turn, as in the API: points that cite and answer, and a table or
text."""

import re
from collections.abc import Mapping
from typing import Any

from .prompt_context import AnswerShape, PointSide, PromptContext
from .rules.state import TurnState

PLACES = (1, 2, 3)
POINT = ("claim", "side", "option", "document", "line", "answers")
SAYS_SOMETHING = ("claim", "document", "line", "answers")  # the other fields always have a value
SHAPES = {
    "": "Nothing",
    AnswerShape.TEXT: "A text",
    AnswerShape.TABLE: "A table",
    AnswerShape.BARS: "A table, drawn as bars",
}
SIDES = {PointSide.FOR: "For", PointSide.AGAINST: "Against"}
RULE = re.compile(r"[\s|:+-]*-[\s|:+-]*")  # line below the head of a Markdown table
LABEL_LENGTH = 80


def shown(table: PromptContext, turn: TurnState, typed: Mapping[str, str]) -> dict[str, Any]:
    """Return the context of the template: choices, and the values typed before."""
    points = [{"number": place, **{name: typed.get(f"p{place}-{name}", "") for name in POINT}} for place in PLACES]
    artifact = {name: typed.get(f"artifact-{name}", "") for name in ("kind", "title", "text")}
    return {
        "points": points,
        "artifact": artifact,
        "more": any(map(_is_said, points)) or bool(artifact["kind"] or artifact["text"]),
        "sides": [(side.value, word) for side, word in SIDES.items()],
        "shapes": [(str(shape), word) for shape, word in SHAPES.items()],
        "documents": [(one.id, f"{one.id}: {one.title}"[:LABEL_LENGTH], len(one.lines)) for one in table.documents],
        "known": list(_points_of_others(table, turn)),
    }


def _points_of_others(table: PromptContext, turn: TurnState) -> list[tuple[str, str]]:
    """Return number and text of all points of other members, newest first."""
    speakers = {message.number: message for message in table.course.messages}
    found = []
    for number, point in table.points.items():
        message = speakers[int(number.partition(".")[0])]
        if message.seat != turn.seat:
            found.append((number, f"{number} {table.speaker(message)}: {point.claim}"[:LABEL_LENGTH]))
    return found[::-1]


def _is_said(point: Mapping[str, Any]) -> bool:
    return any(str(point[name]).strip() for name in SAYS_SOMETHING)


def read(typed: Mapping[str, str]) -> dict[str, Any]:
    """Return `points` and `artifact` as a model would give them. A line that is no number becomes -1, which no
    document has."""
    points = [{name: typed.get(f"p{place}-{name}", "").strip() for name in POINT} for place in PLACES]
    said: dict[str, Any] = {"points": [{**one, "line": _number(one["line"])} for one in points if _is_said(one)]}
    kind, text = typed.get("artifact-kind", ""), typed.get("artifact-text", "")
    if kind or text.strip():
        said["artifact"] = _artifact(kind or AnswerShape.TEXT.value, typed.get("artifact-title", ""), text)
    return said


def _number(text: str) -> int:
    return 0 if not text else int(text) if re.fullmatch(r"[0-9]{1,6}", text) else -1


def _artifact(kind: str, title: str, text: str) -> dict[str, Any]:
    if kind == AnswerShape.TEXT:
        return {"kind": kind, "title": title, "text": text.replace("\r\n", "\n")}
    columns, *rows = [_cells(line) for line in text.splitlines() if line.strip() and not RULE.fullmatch(line)] or [[]]
    return {"kind": kind, "title": title, "columns": columns, "rows": rows}


def _cells(line: str) -> list[str]:
    """Return the cells of a line, separated by tabs as copied from a spreadsheet, or by vertical bars."""
    if "\t" in line:
        return [cell.strip() for cell in line.split("\t")]
    return [cell.strip() for cell in line.strip().strip("|").split("|")]
