"""Answers in the form that a caller wants, and which forms are refused before anything is begun."""

import pytest

from runs.as_model import Fact
from runs.chat.forms import Unfit, names_wanted

FACTS = {"word": Fact(words=("yes", "no")), "reason": Fact(), "open": Fact("boolean"), "reasons": Fact("array")}


def schema(**properties):
    return {"type": "json_schema", "json_schema": {"schema": {"type": "object", "properties": properties}}}


@pytest.mark.parametrize("asked", [None, {}, {"type": "text"}])
def test_without_a_form_the_answer_is_a_text(asked):
    assert names_wanted(asked, FACTS) is None


def test_an_object_without_a_schema_has_all_that_is_known():
    assert names_wanted({"type": "json_object"}, FACTS) == list(FACTS)


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
    assert names_wanted(schema(word=wanted), FACTS) == ["word"]


def test_names_come_in_the_order_of_the_schema():
    asked = schema(open={"type": "boolean"}, reasons={"type": "array", "items": {"type": "string"}}, word={})
    assert names_wanted(asked, FACTS) == ["open", "reasons", "word"]


def test_a_word_that_is_defined_elsewhere_is_looked_up():
    asked = schema(word={"$ref": "#/$defs/Word"})
    asked["json_schema"]["schema"]["$defs"] = {"Word": {"enum": ["yes", "no"], "type": "string"}}
    assert names_wanted(asked, FACTS) == ["word"]


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
    with pytest.raises(Unfit, match=said):
        names_wanted(asked, FACTS)


def test_definitions_that_name_each_other_end():
    asked = schema(word={"$ref": "#/$defs/A"})
    asked["json_schema"]["schema"]["$defs"] = {"A": {"$ref": "#/$defs/A"}}
    with pytest.raises(Unfit):
        names_wanted(asked, FACTS)
