"""The forms of answers as strict JSON schemas, with this debate's own names, options and numbers.

Numbers that do not exist yet are in them, up to the next full block: so a schema changes as rarely as the beginning of
the prompt that it travels with, and endpoints that keep either can use it again. What is named in vain the reader
finds. No length limits: some servers compile a schema into a grammar and break on large ones.
"""

from collections.abc import Callable, Sequence
from typing import Any

from ..rules.course import ABSTAIN, Turn, Why
from ..scaffold import number_of
from ..table import EVERYONE, Shape, Side, Table, View
from . import layers
from .notes import must_decide

BLOCK = 25  # of messages: the twenty of a span with their five notes
PLACES = (1, 2, 3)

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
TRUTH: Schema = {"type": "boolean"}
NUMBER: Schema = {"type": "integer"}


def answer_schema(table: Table, turn: Turn) -> Schema:
    """Of a message in this turn, or of a closing."""
    fields = layers.CLOSING if turn.why == Why.CLOSING else layers.FORMS[table.seats[turn.seat].kind]
    return schema_of(fields, table, turn.seat, must_decide(table, turn))


def schema_of(fields: Sequence[str], table: Table, seat: int, decides: bool) -> Schema:
    return strict_object({field: _FIELDS[field](table, seat, decides) for field in fields})


def strict_object(properties: dict[str, Schema]) -> Schema:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


MOST = {"speaking_to": 9, "points": 3, "moved_by": 10, "columns": 6, "rows": 20}  # of an honest answer


def bounded(schema: Schema) -> Schema:
    """The same with an end to each list, without which some models go on until their time is up."""
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


def one_of(words: Sequence[str]) -> Schema:
    return {"type": "string", "enum": [str(word) for word in words]}


def many(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def addressees(table: Table, seat: int) -> list[str]:
    """In the view of the minutes all of them: a list without one's own name would give it away."""
    own = table.names[seat] if table.view == View.PERSPECTIVE else ""
    return [*(name for name in table.names.values() if name != own), EVERYONE]


def _speaking_to(table: Table, seat: int, decides: bool) -> Schema:
    return many(one_of(addressees(table, seat)))


def _verdict(table: Table, seat: int, decides: bool) -> Schema:
    return one_of([*([] if decides else [""]), *table.words_of_options, ABSTAIN])


def _moved_by(table: Table, seat: int, decides: bool) -> Schema:
    return many({"type": "integer", "enum": list(range(1, _end_of_block(table) + 1))})


def _end_of_block(table: Table) -> int:
    return (table.course.newest // BLOCK + 1) * BLOCK


def _points(table: Table, seat: int, decides: bool) -> Schema:
    known = {
        "claim": TEXT,
        "option": one_of(table.words_of_options),
        "side": one_of(list(Side)),
        "document": one_of(["", *(document.id for document in table.documents)]),
        "line": NUMBER,
        "answers": one_of(["", *_numbers(table)]),
    }
    return many(strict_object(known))


def _numbers(table: Table) -> list[str]:
    """Of all points of the blocks before, and all that points of this block could have."""
    begins = _end_of_block(table) - BLOCK + 1
    before = [number for number in table.points if int(number.split(".")[0]) < begins]
    return [*before, *(number_of(message, place) for message in range(begins, begins + BLOCK) for place in PLACES)]


def _artifact(table: Table, seat: int, decides: bool) -> Schema:
    known = {
        "title": TEXT,
        "kind": one_of(list(Shape)),
        "text": TEXT,
        "columns": many(TEXT),
        "rows": many(many(TEXT)),
    }
    return {"anyOf": [{"type": "null"}, strict_object(known)]}


_FIELDS: dict[str, Callable[[Table, int, bool], Schema]] = {
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
