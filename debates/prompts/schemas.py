"""Formats of answers as strict JSON schemas, with this debate's own names, options and numbers.

They include numbers that do not exist yet, up to the next full block: so a schema changes as rarely as the beginning
of its prompt, and endpoints can cache both. The reader reports numbers that do not exist. No length limits: some
servers compile a schema into a grammar and break on large ones.
"""

from collections.abc import Callable, Sequence
from typing import Any

from ..prompt_context import EVERYONE, AnswerShape, PointSide, PromptContext, PromptView
from ..rules.state import ABSTAIN, TurnReason, TurnState
from ..xml_messages import number_of
from . import system_prompts
from .timekeeper_notes import must_decide

BLOCK_MESSAGES = 25  # messages: the twenty of a span with their five notes
POINT_NUMBERS = (1, 2, 3)

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
TRUTH: Schema = {"type": "boolean"}
NUMBER: Schema = {"type": "integer"}


def answer_schema(table: PromptContext, turn: TurnState) -> Schema:
    """Return the schema of a message in this turn, or of a closing."""
    fields = (
        system_prompts.CLOSING if turn.why == TurnReason.CLOSING else system_prompts.FORMS[table.seats[turn.seat].kind]
    )
    return schema_of(fields, table, turn.seat, must_decide(table, turn))


def schema_of(fields: Sequence[str], table: PromptContext, seat: int, decides: bool) -> Schema:
    return strict_object({field: _FIELDS[field](table, seat, decides) for field in fields})


def strict_object(properties: dict[str, Schema]) -> Schema:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


MOST = {"speaking_to": 9, "points": 3, "moved_by": 10, "columns": 6, "rows": 20}  # maximum items of an honest answer


def bounded(schema: Schema) -> Schema:
    """Return the schema with a maximum for each list, without which some models continue until the timeout."""
    if schema.get("type") != "object":
        return schema
    return {**schema, "properties": {name: _ended(name, one) for name, one in schema["properties"].items()}}


def _ended(name: str, schema: Schema) -> Schema:
    if "anyOf" in schema:
        return {"anyOf": [bounded(one) for one in schema["anyOf"]]}
    if schema.get("type") != "array":
        return schema
    items = bounded(schema["items"])
    if items.get("type") == "array":
        items = {**items, "maxItems": MOST["columns"]}
    return {**schema, "items": items, "maxItems": MOST[name]}


def enum_of(words: Sequence[str]) -> Schema:
    return {"type": "string", "enum": [str(word) for word in words]}


def array_of(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def addressees(table: PromptContext, seat: int) -> list[str]:
    """Return the possible recipients. In the minutes view these are all members: a list without the member's own
    letter would reveal it."""
    own = table.names[seat] if table.view == PromptView.PERSPECTIVE else ""
    return [*(name for name in table.names.values() if name != own), EVERYONE]


def _speaking_to(table: PromptContext, seat: int, decides: bool) -> Schema:
    return array_of(enum_of(addressees(table, seat)))


def _verdict(table: PromptContext, seat: int, decides: bool) -> Schema:
    return enum_of([*([] if decides else [""]), *table.words_of_options, ABSTAIN])


def _moved_by(table: PromptContext, seat: int, decides: bool) -> Schema:
    return array_of({"type": "integer", "enum": list(range(1, _end_of_block(table) + 1))})


def _end_of_block(table: PromptContext) -> int:
    return (table.course.newest // BLOCK_MESSAGES + 1) * BLOCK_MESSAGES


def _points(table: PromptContext, seat: int, decides: bool) -> Schema:
    known = {
        "claim": TEXT,
        "option": enum_of(table.words_of_options),
        "side": enum_of(list(PointSide)),
        "document": enum_of(["", *(document.id for document in table.documents)]),
        "line": NUMBER,
        "answers": enum_of(["", *_numbers(table)]),
    }
    return array_of(strict_object(known))


def _numbers(table: PromptContext) -> list[str]:
    """Return the numbers of all points of earlier blocks, and all possible ones of this block."""
    begins = _end_of_block(table) - BLOCK_MESSAGES + 1
    before = [number for number in table.points if int(number.split(".")[0]) < begins]
    return [
        *before,
        *(number_of(message, place) for message in range(begins, begins + BLOCK_MESSAGES) for place in POINT_NUMBERS),
    ]


def _artifact(table: PromptContext, seat: int, decides: bool) -> Schema:
    known = {
        "title": TEXT,
        "kind": enum_of(list(AnswerShape)),
        "text": TEXT,
        "columns": array_of(TEXT),
        "rows": array_of(array_of(TEXT)),
    }
    return {"anyOf": [{"type": "null"}, strict_object(known)]}


_FIELDS: dict[str, Callable[[PromptContext, int, bool], Schema]] = {
    "speaking_to": _speaking_to,
    "expects_answer": lambda *_: TRUTH,
    "content": lambda *_: TEXT,
    "points": _points,
    "artifact": _artifact,
    "verdict": _verdict,
    "verdict_reasoning": lambda *_: TEXT,
    "moved_by": _moved_by,
    "withdrawn": lambda *_: TRUTH,
    "confidence": lambda *_: {"type": "integer", "enum": list(range(101))},
    "words": lambda *_: TEXT,
}
