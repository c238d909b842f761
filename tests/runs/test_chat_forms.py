"""Answers in the form that a caller wants, and which forms are refused before anything is begun."""

import pytest

from runs.chat.structured_output import SchemaNotSupported, fields_for_schema
from runs.procedure.exposure import ChatField

FACTS = {
    "word": ChatField(words=("yes", "no")),
    "reason": ChatField(),
    "open": ChatField("boolean"),
    "reasons": ChatField("array"),
}


def schema(**properties):
    return {"type": "json_schema", "json_schema": {"schema": {"type": "object", "properties": properties}}}


@pytest.mark.parametrize("asked", [None, {}, {"type": "text"}])
def test_without_a_form_the_answer_is_a_text(asked):
    assert fields_for_schema(asked, FACTS) is None


def test_an_object_without_a_schema_has_all_that_is_known():
    assert fields_for_schema({"type": "json_object"}, FACTS) == list(FACTS)


@pytest.mark.parametrize(
    "wanted",
    [
        {"type": "string"},
        {"type": ["string", "null"]},
        {"enum": ["no", "yes", "perhaps"]},
        {"anyOf": [{"type": "null"}, {"type": "string"}]},
        {},
    ],
)
def test_what_holds_all_that_can_be_said_is_filled(wanted):
    assert fields_for_schema(schema(word=wanted), FACTS) == ["word"]


def test_names_come_in_the_order_of_the_schema():
    asked = schema(open={"type": "boolean"}, reasons={"type": "array", "items": {"type": "string"}}, word={})
    assert fields_for_schema(asked, FACTS) == ["open", "reasons", "word"]


def test_a_word_that_is_defined_elsewhere_is_looked_up():
    asked = schema(word={"$ref": "#/$defs/Word"})
    asked["json_schema"]["schema"]["$defs"] = {"Word": {"enum": ["yes", "no"], "type": "string"}}
    assert fields_for_schema(asked, FACTS) == ["word"]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (schema(score={"type": "number"}), "score"),
        (schema(word={"enum": ["yes"]}), "yes, no"),
        (schema(word={"const": "yes"}), "yes, no"),
        (schema(reason={"enum": ["a"]}), "any string"),
        (schema(reason={"type": "number"}), "any string"),
        (schema(reason={"type": "string", "maxLength": 5}), "any string"),
        (schema(reasons={"type": "array", "items": {"type": "object"}}), "any array"),
        (schema(), "properties"),
        ({"type": "json_schema"}, "schema"),
        ({"type": "grammar"}, "json_object"),
        ({"type": "json_schema", "json_schema": {"schema": {"type": "array"}}}, "object"),
        ({"type": "json_schema", "json_schema": 5}, "schema"),
    ],
)
def test_what_could_not_be_filled_is_refused_in_a_sentence(asked, said):
    with pytest.raises(SchemaNotSupported, match=said):
        fields_for_schema(asked, FACTS)


def test_definitions_that_name_each_other_end():
    asked = schema(word={"$ref": "#/$defs/A"})
    asked["json_schema"]["schema"]["$defs"] = {"A": {"$ref": "#/$defs/A"}}
    with pytest.raises(SchemaNotSupported):
        fields_for_schema(asked, FACTS)
