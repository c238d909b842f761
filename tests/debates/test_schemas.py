import json

import pytest

from debates import prompts
from debates.rules.state import TurnReason, TurnState

from .golden import debate, scripted
from .held import NAMES, hold, opened

TURN = TurnState(99, 2, TurnReason.DRAW)


def objects(schema):
    if schema.get("type") == "object":
        yield schema
    for inner in (*schema.get("properties", {}).values(), *schema.get("anyOf", ()), schema.get("items", {})):
        if inner:
            yield from objects(inner)


def enums(schema):
    found = len(schema.get("enum", ()))
    inner = (*schema.get("properties", {}).values(), *schema.get("anyOf", ()), schema.get("items") or {})
    return found + sum(enums(one) for one in inner if one)


def properties(turn=TURN, table=None):
    return prompts.answer_schema(table or debate(5, 21), turn)["properties"]


def test_a_schema_has_the_names_options_and_documents_of_its_debate():
    fields = properties()
    assert fields["speaking_to"]["items"]["enum"] == [NAMES[0], *NAMES[2:5], "everyone"]
    assert fields["verdict"]["enum"] == ["", "HIRE", "HIRE ON CONDITIONS", "DO NOT HIRE", "ABSTAIN"]
    point = fields["points"]["items"]["properties"]
    assert point["option"]["enum"] == ["HIRE", "HIRE ON CONDITIONS", "DO NOT HIRE"]
    assert point["document"]["enum"] == ["", "A1", "A2"]
    assert {"", *debate(5, 21).points} <= set(point["answers"]["enum"])
    assert set(range(1, 29)) <= set(fields["moved_by"]["items"]["enum"])


def test_what_is_said_comes_before_the_verdict():
    assert list(properties()) == list(prompts.FORMS["member"])
    assert list(properties(TurnState(99, 2, TurnReason.CLOSING))) == [
        "content",
        "verdict",
        "verdict_reasoning",
        "moved_by",
    ]


@pytest.mark.parametrize("why", [TurnReason.ROLL_CALL, TurnReason.CLOSING])
def test_who_must_decide_has_no_empty_verdict(why):
    assert "" not in properties(TurnState(99, 2, why), opened(5))["verdict"]["enum"]
    assert "" in properties(TurnState(99, 2, why), debate(5, 21))["verdict"]["enum"]


@pytest.mark.parametrize("form", ["message", "closing", "first", "timekeeper"])
def test_every_object_is_strict(form):
    table = debate(5, 21)
    made = {
        "message": prompts.message_spec(table, TURN),
        "closing": prompts.message_spec(table, TurnState(99, 2, TurnReason.CLOSING)),
        "first": prompts.first_verdict_spec(table, 2),
        "timekeeper": prompts.timekeeper_spec(table, 0, "So it is."),
    }[form]
    assert made.name == form
    for one in objects(made.schema):
        assert one["required"] == list(one["properties"])
        assert one["additionalProperties"] is False


def lists(schema):
    if schema.get("type") == "array":
        yield schema
    for inner in (*schema.get("properties", {}).values(), *schema.get("anyOf", ()), schema.get("items", {})):
        yield from lists(inner) if inner else ()


def test_every_list_of_a_message_has_an_end_where_servers_take_one():
    for turn in (TURN, TurnState(99, 2, TurnReason.CLOSING)):
        form = prompts.message_spec(debate(5, 21), turn)
        assert [one for one in lists(form.schema) if "maxItems" in one] == []
        assert [one for one in lists(form.exact_schema) if "maxItems" not in one] == []
    assert form.exact_schema["properties"].keys() == form.schema["properties"].keys()


def test_a_schema_changes_with_the_blocks_and_not_with_each_message():
    schemas = [json.dumps(prompts.answer_schema(table, TURN)) for table in growing(24)]
    assert len(set(schemas)) == 2


def growing(messages):
    table = opened(5)
    for number in range(1, messages):
        table = hold(table, scripted, number)
        yield table


def test_a_schema_has_fewer_than_a_thousand_values_at_message_200():
    assert enums(prompts.answer_schema(debate(5, 200), TURN)) < 1000


def test_a_form_shows_reads_and_complains():
    made = prompts.message_spec(debate(5, 21), TURN)
    assert made.preview('{"content": "It is so') == "It is so"
    assert made.read('{"content": "It is so, by and large."}').content == "It is so, by and large."
    assert "could not be used: It is late. Answer again" in made.complaint("It is late.")
    assert prompts.first_verdict_spec(debate(5, 21), 2).preview('{"verdict_reasoning": "Beca') == "Beca"
    assert prompts.timekeeper_spec(debate(5, 21), 0, "").preview('{"words": "Hur') == "Hur"
