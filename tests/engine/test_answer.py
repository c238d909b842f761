"""An answer, read piece by piece, without a wire."""

import json
import random
import time
from string import ascii_letters

import pytest

from engine.llm import streaming
from engine.llm.client import SignsOfLife
from engine.llm.errors import UnusableAnswer
from engine.llm.providers import Provider
from engine.llm.streaming import ReplyReader

KEY = "sk-canary-1234567890"
PROVIDER = Provider("openai", "http://127.0.0.1:9/v1", KEY)
GOOD = '{"reason": "It is safe.", "decision": "approve"}'


def read(*bodies, streamed=True):
    """The text of an answer whose events, or whose one body, are these."""
    reader = ReplyReader(lambda: None, PROVIDER)
    for body in bodies:
        data = json.dumps({"choices": body}).encode()
        reader.feed(b"data: %b\n\n" % data if streamed else data)
    reader.close()
    return reader.reply.text


def choice(text=GOOD, finish="stop", kind="delta", **other):
    return {"index": 0, kind: {"content": text}, "finish_reason": finish} | other


@pytest.mark.parametrize("index", [0, None])
def test_the_first_choice_counts_also_without_a_number(index):
    assert read([choice(index=index)]) == GOOD
    assert read([choice(index=index, kind="message")], streamed=False) == GOOD


def test_a_refusal_that_is_none_is_none_whatever_it_is_written_as():
    said = [{"content": GOOD, "refusal": none} for none in (None, "", False)]
    assert [read([choice(delta=one)]) for one in said] == [GOOD] * 3
    for refusal in (True, "I will not."):
        with pytest.raises(UnusableAnswer, match="declined"):
            read([choice(delta={"content": GOOD, "refusal": refusal})])


@pytest.mark.parametrize("index", [1, -1, 2**70, "0", "1", True, 0.5, [], {}])
def test_a_choice_of_another_number_is_no_answer(index):
    with pytest.raises(UnusableAnswer):
        read([choice(index=index)])
    with pytest.raises(UnusableAnswer):
        read([choice(index=index, kind="message")], streamed=False)


def test_pieces_of_two_choices_are_not_joined():
    with pytest.raises(UnusableAnswer, match="several answers in place of one"):
        read([choice('{"reason": "It is safe.", "decision": ', None)], [choice('"approve"}', index=1)])


@pytest.mark.parametrize("second", [choice(), choice(index=1), choice("", None), choice(index=None), {}])
@pytest.mark.parametrize("streamed", [True, False])
def test_two_choices_at_once_are_no_answer(second, streamed):
    with pytest.raises(UnusableAnswer, match="several answers in place of one"):
        read([choice(kind="delta" if streamed else "message"), second], streamed=streamed)


def piece(text, **other):
    return b"data: %b\n\n" % json.dumps({"choices": [{"delta": {"content": text}} | other]}).encode()


@pytest.mark.slow
def test_a_piece_costs_the_same_however_much_came_before():
    reader, took, dice = ReplyReader(lambda: None, PROVIDER), [], random.Random(1)
    pieces = [piece(letter) for letter in ascii_letters]
    for _ in range(10):
        data = b"".join(dice.choices(pieces, k=20_000))  # no letter again and again: a loop would be ended
        began = time.thread_time()
        reader.feed(data)
        took.append(time.thread_time() - began)
    assert min(took[5:]) < 2 * min(took[:5])


@pytest.mark.parametrize("line", [b"\n", b": still here\n", b'data: {"choices": []}\n', piece("")])
def test_lines_that_say_nothing_come_to_an_end(line, monkeypatch):
    monkeypatch.setattr(streaming, "MAX_LINES", 10_000)
    reader = ReplyReader(lambda: None, PROVIDER)
    reader.feed(piece("a") + line * 4_990)
    with pytest.raises(UnusableAnswer, match="The answer has no end: more than a million lines came"):
        reader.feed(line * 5_020)


COUNTED = "".join(map(str, range(1000)))[:1024]  # goes round in no circle that is looked for


@pytest.mark.parametrize("name", ["content", "refusal"])
def test_neither_an_answer_nor_a_refusal_grows_without_end(name):
    reader = ReplyReader(lambda: None, PROVIDER)
    kilobyte = b"data: %b\n" % json.dumps({"choices": [{"delta": {name: COUNTED}}]}).encode()
    reader.feed(kilobyte * 256)
    with pytest.raises(UnusableAnswer, match="longer than 256 kB"):
        reader.feed(kilobyte)


@pytest.mark.parametrize("spelled", [KEY, KEY.replace("-", "\\u002D"), "\\u0073k-canary\\u002d1234567890"])
def test_a_key_is_taken_out_of_an_answer_however_it_is_spelled(spelled):
    said = read([choice(GOOD.replace("safe", spelled))])
    assert json.loads(said)["reason"] == "It is [key]."


def test_what_is_kept_of_an_answer_that_broke_off_does_not_end_in_half_a_key():
    reader = ReplyReader(lambda: None, PROVIDER)
    reader.feed(piece(f"Your key is {KEY[:-1]}"))
    assert reader.raw == "Your key is [key]"


SIGNS = (  # what comes, and how long somebody may be silent from then on
    (b": ping\n\n", 300),
    (b'data: {"cho', None),  # no whole line: bytes that drip are no sign
    (b'ices": [{"delta": {"role": "assistant", "content": ""}}]}\n\n', 300),
    (b'data: {"choices": [{"delta": {"reasoning_content": "It names"}}]}\n\n', 120),
    (b": ping\n\n", None),
    (b'data: {"choices": [{"delta": {"reasoning_content": " a date."}}]}\n\n', 120),
    (b'data: {"choices": [{"delta": {"content": "Yes"}}]}\n\n', 120),
    (b'data: {"choices": [{"delta": {"content": ""}}]}\n\n', None),
    (b'event: ping\ndata: {"type": "ping"}\n\n', None),
)


def test_any_whole_line_is_a_sign_of_life_while_a_model_reads_and_then_what_it_writes_alone():
    grown = []
    reader = ReplyReader(lambda: grown.append(1), PROVIDER)
    life, found = SignsOfLife(reader, first=300, silence=120), []
    for data, _ in SIGNS:
        reader.feed(data)
        found.append((data, life.next()))
    assert found == list(SIGNS)
    assert len(grown) == 3  # twice it thought: who watches hears that it reads no more
