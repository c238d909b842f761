"""Arguments are checked by a schema that strangers wrote, and it does nothing to us."""

import json

import pytest
from pydantic import ValidationError

from engine.mcp.schema_models import argument_problems, model_from_schema

A_LETTER = {
    "type": "object",
    "properties": {"to": {"type": "string"}, "times": {"type": "integer", "maximum": 3}},
    "required": ["to"],
    "additionalProperties": False,
}
FOR_EVER = {"type": "object", "properties": {"to": {"type": "string", "pattern": "^(a+)+$"}}}
ELSEWHERE = {"type": "object", "properties": {"to": {"$ref": "http://127.0.0.1:1/schema"}}}
DOUBLED = {
    "type": "object",
    "$ref": "#/$defs/40",
    "$defs": {str(n): {"allOf": [{"$ref": f"#/$defs/{n - 1}"}] * 2} for n in range(1, 41)} | {"0": {"type": "object"}},
}
ITSELF = {"type": "object", "$ref": "#"}


def refused(schema, arguments):
    with pytest.raises(ValidationError) as error:
        model_from_schema(json.dumps(schema)).model_validate(arguments)
    return error.value.errors()[0]["msg"]


def test_each_thing_that_is_wrong_is_told_with_its_place():
    said = refused(A_LETTER, {"times": 4, "cc": "b"})
    for one in ("$: 'to' is a required property", "$.times: 4 is greater", "'cc'"):
        assert one in said


def test_what_fits_comes_back_as_it_was():
    assert model_from_schema(json.dumps(A_LETTER)).model_validate({"to": "mira"}).model_dump(mode="json") == {
        "to": "mira"
    }


def test_what_is_no_object_is_refused():
    assert "dictionary" in refused(A_LETTER, ["mira"])


def test_a_pattern_that_would_take_for_ever_is_not_run():
    assert argument_problems(FOR_EVER, {"to": "a" * 9 + "!"}) == []  # which does not fit it


def test_nothing_is_fetched_from_anywhere():
    assert argument_problems(ELSEWHERE, {"to": "mira"}) == ["its schema names another that is not there"]


def test_a_schema_that_names_itself_for_ever_ends():
    assert argument_problems(ITSELF, {}) == ["its schema cannot be followed to its end"]


def test_a_few_lines_that_stand_for_a_million_millions_end():
    assert argument_problems(DOUBLED, {}) == ["its schema cannot be followed to its end"]


MANY_WRONG = {"type": "object", "required": [f"a{n}" for n in reversed(range(1_500))]}
OTHER_RULES = FOR_EVER["properties"]["to"] | {"$schema": "https://json-schema.org/draft/2020-12/schema"}
NESTED = {"type": "string"}
for _ in range(6):
    NESTED = {"allOf": [NESTED] * 5}


def test_a_part_that_names_another_kind_of_schema_runs_no_pattern_either():
    assert argument_problems({"type": "object", "properties": {"to": OTHER_RULES}}, {"to": "a" * 9 + "!"}) == []


def test_the_first_of_very_many_complaints_are_told_at_once():
    # of the first 50 that are found, in the order of their texts
    assert argument_problems(MANY_WRONG, {})[0] == "$: 'a1450' is a required property"


def test_a_schema_that_is_looked_at_again_and_again_ends():
    everything = {"type": "object", "additionalProperties": NESTED}
    assert argument_problems(everything, dict.fromkeys(map(str, range(100)), "")) == [
        "its schema cannot be followed to its end"
    ]
