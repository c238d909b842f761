import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from debates import prompts
from debates.rules.state import TurnReason, TurnState

from .golden import debate
from .strategies import few

TURN = TurnState(99, 2, TurnReason.DRAW)
SAID = " ".join(f"word{number}" for number in range(40))
REST = "and this is the rest of it."
POINT = {"claim": "She led it.", "option": "HIRE", "side": "for", "document": "A1", "line": 3, "answers": ""}

WHOLE = {
    "speaking_to": ["Hana Kubo"],
    "expects_answer": True,
    "content": SAID,
    "points": [POINT],
    "artifact": None,
    "verdict": "HIRE",
    "verdict_reasoning": "She led it.",
    "moved_by": [],
    "withdrawn": False,
}


def up_to(mark):
    text = json.dumps(WHOLE)
    return text[: text.index(mark) + len(mark)]


CUT = up_to("word35")


def test_a_cut_answer_is_asked_for_the_rest_after_its_own_words():
    request = prompts.member_messages(debate(5, 21), TURN)
    *before, part, asked = prompts.continuation_messages(request, [CUT])
    assert before == request
    assert json.loads(part["content"])["content"].endswith("word35")
    words = " ".join(f"word{number}" for number in range(24, 36))
    assert asked["content"].startswith(f"Your message was cut off after the words “…{words}”.")
    assert [one["role"] for one in (part, asked)] == ["assistant", "user"]


def test_too_little_is_not_gone_on_from():
    parts = ["", "no JSON", "[1]", "null", '{"content": 7', up_to("word20"), up_to("Hana")]
    assert [part for part in parts if prompts.continuation_messages([], [part]) is not None] == []


def test_the_parts_are_one_message_with_one_space_between_them():
    rest = {"content": REST, "verdict": "HIRE", "verdict_reasoning": "So it is.", "speaking_to": ["everyone"]}
    answer = prompts.read_answer(debate(5, 21), TURN, prompts.join_parts([CUT, json.dumps(rest)]))
    assert answer.content == f"{SAID[: SAID.index(' word36')]} {REST}"
    assert (answer.verdict, answer.to, answer.wants_answer) == ("HIRE", (3,), True)


def test_after_two_cut_parts_the_text_ends_as_one_that_was_cut():
    joined = json.loads(prompts.join_parts([CUT, '{"content": "and so on']))
    assert joined["content"].endswith("word35 and so on…")
    assert joined.keys() == {"speaking_to", "expects_answer", "content"}


@pytest.mark.parametrize(
    ("mark", "kept"),
    [
        ('"claim": "She', []),
        ('"line": 3', []),
        ('"answers": ""}', [POINT]),
        ('"verdict": "HI', [POINT]),
    ],
)
def test_a_point_counts_where_all_of_it_came(mark, kept):
    rest = {"content": REST, "points": [POINT | {"line": 4}]}
    joined = json.loads(prompts.join_parts([up_to(mark), json.dumps(rest)]))
    assert joined["points"] == [*kept, POINT | {"line": 4}]
    assert "verdict" not in joined


@few
@given(st.integers(0, len(json.dumps(WHOLE))), st.text())
def test_any_beginning_of_an_answer_can_be_joined(length, text):
    whole = json.dumps(WHOLE | {"content": f"{SAID} {text}"})
    joined = prompts.join_parts([whole[:length], json.dumps({"content": REST, "verdict": ""})])
    assert prompts.read_answer(debate(5, 21), TURN, joined).content.endswith(REST)


@few
@given(st.text())
def test_words_that_are_quoted_stay_on_their_line(text):
    part = json.dumps({"content": f"{SAID} {text} end"})[:-2]
    assert len(prompts.continuation_messages([], [part])[-1]["content"].split("\n")) == 1
