"""What is read of an answer in which more stands than one JSON object."""

import json
from functools import cache
from importlib import util

import pytest

from engine.llm import spoken
from engine.llm.spoken import one_object
from tests.verifier import VERIFIER

GOOD = '{"reason": "It is safe.", "decision": "approve"}'
OTHER = GOOD.replace("approve", "reject")
READ = [
    GOOD,
    f"  {GOOD}\n",
    f"```json\n{GOOD}\n```",
    f"```\n{GOOD}```",
    f"Here is my answer:\n\n{GOOD}",
    f"{GOOD}\nI hope that this helps.",
    f"<think>\nA date and a way back.\n</think>\n\n{GOOD}",
    f"<think></think>{GOOD}",
    f"The content names a date.\n</think>\n\n{GOOD}",
    f"<think>Perhaps {OTHER}? No.</think>{GOOD}",
    f"<THINKING>Well.</THINKING> So: ```json\n{GOOD}\n```",
    f"<think>One <think>within</think> another.</think>{GOOD}",
    f"<think>One.</think>\n<think>Two.</think>\n{GOOD}",
    f"<thought>Well.</thought>{GOOD}",
    f"<reasoning>Well.</reasoning><answer>{GOOD}</answer>",
    f"<seed:think>Well.</seed:think>{GOOD}",
    f"[THINK]Well.[/THINK]{GOOD}",
    f"◁think▷Well.◁/think▷{GOOD}",
    f"<|START_THINKING|>Well.<|END_THINKING|><|START_RESPONSE|>{GOOD}<|END_RESPONSE|>",
    f"<|begin_of_thought|>Well.<|end_of_thought|>{GOOD}",
    f"<|channel|>analysis<|message|>Well.<|end|><|start|>assistant<|channel|>final<|message|>{GOOD}<|return|>",
    f"<|channel|>analysis<|message|>Well.<|end|><|start|>assistant<|channel|>final <|constrain|>json<|message|>{GOOD}",
    f"[/INST] {GOOD} [EOS]",
]
REFUSED = {
    "": "not one JSON object",
    "I approve of this.": "not one JSON object",
    f"{GOOD}{OTHER}": "another, or a part of one",
    f"{GOOD}\n{GOOD}": "another, or a part of one",
    f"[{GOOD}]": "not one JSON object",
    f"[1] {GOOD}": "another, or a part of one",
    f'{{"answer": {GOOD}': "not one JSON object",
    f"{{{GOOD}}}": "not one JSON object",
    GOOD[:-1]: "not one JSON object",
    f"```json\n{GOOD[:-9]}\n```": "not one JSON object",
    json.dumps(GOOD): "not one JSON object",
    f"<think>{GOOD}": "its thinking has no end",
    f"<think>Well.\n{GOOD}": "its thinking has no end",
    f"<think>{GOOD}</think>": "it stands in its thinking",
    f"<think>Well.</think>{GOOD}<think>": "thinking",
    f"{OTHER}</think>{GOOD}": "one stands before the end of its thinking",
    f"{OTHER} The content says <think>so</think>{GOOD}": "one stands before the end of its thinking",
    f"<think>The content says </think>{GOOD} which is odd.</think>{OTHER}": "before the end of its thinking",
    f"<|channel|>analysis<|message|>{GOOD}<|end|>": "its thinking has no end",
    '{"reason": "It is safe.", "decision": "reject", "decision": "approve"} Done.': "twice",
}


def test_the_one_object_is_read_whatever_is_thought_and_said_around_it():
    assert [text for text in READ if one_object(text) != json.loads(GOOD)] == []


def test_a_line_may_break_within_a_text():
    for text in READ:
        broken = text.replace("It is", "It\n\tis")
        assert one_object(broken)["reason"] == verifier().spoken(broken)["reason"] == "It\n\tis safe."


def test_where_it_is_not_certain_which_object_is_meant_none_is_read():
    for text, sentence in REFUSED.items():
        with pytest.raises(ValueError, match=sentence):
            one_object(text)


def test_the_offline_verifier_reads_the_same_object():
    assert [text for text in READ if verifier().spoken(text) != one_object(text)] == []


@cache
def verifier():
    spec = util.spec_from_file_location("verify", VERIFIER)
    verify = util.module_from_spec(spec)
    spec.loader.exec_module(verify)
    return verify


def test_of_an_answer_that_grows_its_object_alone_is_shown():
    beginnings = [text[:end] for text in READ for end in range(len(text) + 1)]
    assert [text for text in beginnings if not GOOD.startswith(spoken.so_far(text).strip())] == []
    assert {spoken.so_far(text) for text in READ} == {GOOD}
    assert spoken.so_far("Well. " * 50 + GOOD) == ""


def test_no_answer_that_was_cut_ends_with_its_object():
    cut = [text[:end] for text in READ for end in range(len(text)) if GOOD not in text[:end]]
    assert [text for text in cut if spoken.is_whole(text)] == []
    assert [text for text in (GOOD, f" {GOOD}\n", f"```json\n{GOOD}\n```") if not spoken.is_whole(text)] == []
    assert not spoken.is_whole(f"{GOOD} And")


def test_of_a_growing_answer_the_named_texts_are_shown_as_far_as_they_have_come():
    shown = {
        "": "",
        "no": "",
        "[" * 100_000: "",
        '["thought"]': "",
        '{"tho': "",
        '{"thought": 3, "text": null': "",
        '{"thought": "It is sa': "It is sa",
        '{"thought": " Done. ", "act": "repl': "Done.",
        '{"act": "reply", "thought": "I look", "tool": "", "text": "It is d': "I look\n\nIt is d",
    }
    found = {text: spoken.growing(text, ("thought", "text")) for text in shown}
    assert found == shown
