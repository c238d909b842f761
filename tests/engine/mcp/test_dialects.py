"""Schemas as servers write them: what is odd takes no other tool away, and older drafts mean what they meant."""

import json

from engine.mcp.dialects import modern
from engine.mcp.responses import parse_tool_list
from engine.mcp.schema_models import argument_problems, model_from_schema

LETTER = {"name": "letter", "inputSchema": {"type": "object", "properties": {"to": {"type": "string"}}}}
AT = {"a": {"type": "string"}}
DRAFT = "http://json-schema.org/draft-0{}/schema#"
NEXT = "https://json-schema.org/draft/2019-09/schema"


def properties(**more):
    return {"type": "object", "properties": more}


TAKEN = [  # a schema, arguments that fit it, arguments that do not
    (None, {"a": 1}, None),
    (True, {"a": 1}, None),
    ({}, {"a": 1}, None),
    ({"properties": AT}, {"a": "x"}, {"a": 1}),
    ({"type": ["object", "null"], "properties": AT}, {"a": "x"}, {"a": 1}),
    ({"$schema": DRAFT.format(4), "id": "http://a.example/x", **properties(**AT)}, {"a": "x"}, {"a": 1}),
    (properties(n={"minimum": 0, "exclusiveMinimum": True}), {"n": 1}, {"n": 0}),
    (properties(n={"minimum": 0, "exclusiveMinimum": False}), {"n": 0}, {"n": -1}),
    (properties(n={"maximum": 5, "exclusiveMaximum": True}), {"n": 4}, {"n": 5}),
    (properties(n={"exclusiveMinimum": 0}), {"n": 1}, {"n": 0}),
    (properties(l={"items": [{"type": "string"}, {"type": "integer"}]}), {"l": ["x", 1]}, {"l": [1, "x"]}),
    (properties(l={"items": [{}], "additionalItems": False}), {"l": [1]}, {"l": [1, 2]}),
    ({**properties(p={"$ref": "#/definitions/p"}), "definitions": {"p": {"type": "string"}}}, {"p": "x"}, {"p": 1}),
    ({"$schema": DRAFT.format(7), **properties(p={"if": {"type": "string"}, "then": {"minLength": 2}})}, {"p": "xx"},
     {"p": "x"}),
    ({**properties(p={"$ref": "#/$defs/p"}), "$defs": {"p": {"exclusiveMinimum": True, "minimum": 0}}}, {"p": 1},
     {"p": 0}),
    ({"$schema": NEXT, **properties(l={"items": [True, {"type": "null"}]})}, {"l": [1, None]}, {"l": [1, 2]}),
    ({"type": "object", "dependencies": {"a": ["b"]}}, {"a": 1, "b": 2}, {"a": 1}),
    ({"type": "object", "dependencies": {"a": {"required": ["b"]}}}, {"a": 1, "b": 2}, {"a": 1}),
    (properties(a=True, b=False), {"a": 1}, {"b": 1}),
    (properties(a={"type": ["string", "null"]}), {"a": None}, {"a": 1}),
    (properties(id={"type": "string"}, items={"type": "array"}), {"id": "x", "items": []}, {"id": 1}),
    ({**properties(p={"$ref": "#/properties/q"}, q={"type": "string"})}, {"p": "x"}, {"p": 1}),
]  # fmt: skip
LEFT_OUT = [
    7, "object", [], False,
    {"type": "string"}, {"type": ["string"]}, {"type": "object", "properties": 7},
    {"type": "object", "required": "a"}, properties(a={"type": "text"}), properties(a={"minimum": "1"}),
    properties(a={"$ref": "http://127.0.0.1:1/schema"}), properties(a={"$ref": "other.json#/a"}),
    properties(a={"$ref": "#/definitions/nothing"}),
]  # fmt: skip


def offered(schema):
    """Beside a tool that is as it should be."""
    odd = {"name": "odd"} | ({} if schema is None else {"inputSchema": schema})
    found = parse_tool_list([odd, LETTER])
    assert "letter" in [one.name for one in found.tools]
    return {one.name: one for one in found.tools}.get("odd"), found.left_out


def test_older_drafts_mean_what_they_meant():
    wrong = []
    for schema, fits, does_not in TAKEN:
        tool, left_out = offered(schema)
        if tool is None or argument_problems(modern(tool.schema), fits):
            wrong.append((schema, left_out or argument_problems(modern(tool.schema), fits)))
        elif does_not is not None and not argument_problems(modern(tool.schema), does_not):
            wrong.append((schema, does_not))
        else:
            model_from_schema(json.dumps(tool.schema)).model_validate(fits)
    assert wrong == []


def test_one_odd_tool_is_named_and_the_others_stay():
    found = {json.dumps(schema): offered(schema) for schema in LEFT_OUT}
    assert {schema: tool for schema, (tool, said) in found.items() if tool or "odd " not in "".join(said)} == {}
    assert [
        len(parse_tool_list([one, LETTER]).tools) for one in (7, None, {}, {"name": 3}, {"name": "a", "description": 4})
    ] == ([1] * 5)


def test_what_a_model_is_shown_stays_as_it_was_written():
    schema = properties(n={"minimum": 0, "exclusiveMinimum": True})
    assert offered(schema)[0].schema == schema
