"""How many tokens a text is, by two estimates that err to either side, and what there is room for."""

import base64
import json
from hashlib import sha256

import pytest

from engine.llm.streaming import _cached
from engine.llm.tokens import fewer_tokens_of, room_of, tokens_of, too_long, unread

KEYS = [sha256(bytes([number])) for number in range(100)]
# a text, and how few and how many tokens it is for five tokenizers: o200k, cl100k, Llama 2 and 3, Mistral
MEASURED = {
    "prose": ("The company will keep all of the information that people have given to it. " * 60, 901, 903),
    "long words": ("international administration telecommunications responsibility " * 60, 241, 362),
    "capitals": ("THE SUPPLIER SHALL DELIVER ALL GOODS AND PAY ALL COSTS OF INSURANCE. " * 60, 1_081, 1_682),
    "indented": ("\n".join([" " * 60 + "return value"] * 100), 399, 700),
    "lines": (f"{'=' * 79}\n{'-' * 79}\n" * 30, 120, 452),
    "contents": (f"Contents{'.' * 90}12\n" * 50, 300, 552),
    "objects": (
        json.dumps([{"id": number, "name": f"user {number}", "tags": ["a", "b"]} for number in range(100)]),
        2_401,
        2_582,
    ),
    "escaped": (json.dumps('line one\n\tline two "quoted" \\ path\n' * 100), 1_202, 1_603),
    "addresses": ("https://example.com/path/to/resource?query=value&other=thing\n" * 60, 900, 1_201),
    "digits": ("\n".join(f"{number * 7919},{number * 104729}" for number in range(1_000, 1_300)), 2_399, 5_438),
    "hashes": ("\n".join(key.hexdigest() for key in KEYS), 3_782, 5_821),
    "base64": (base64.b64encode(b"".join(key.digest() for key in KEYS)).decode(), 2_916, 3_510),
    "German": (
        "Die Änderungen bedürfen der Schriftform und der Unterschrift der Geschäftsführung. " * 60,
        1_021,
        1_442,
    ),
    "Russian": ("Договор может быть изменён в любое время по соглашению сторон. " * 60, 841, 1_501),
    "Arabic": ("يمكن تعديل هذا العقد في أي وقت باتفاق الطرفين. " * 60, 721, 2_582),
    "Hindi": ("यह अनुबंध दोनों पक्षों की सहमति से किसी भी समय बदला जा सकता है। " * 60, 1_201, 3_842),
    "Chinese": ("公司应当在每个季度结束后的三十日内向主管部门提交财务报告，并说明资金的使用情况。" * 60, 1_620, 3_122),
    "Chinese of long tokens": ("中华人民共和国人工智能技术有限公司有关问题的工作人员" * 60, 540, 1_682),
    "Japanese": ("この契約は、両当事者の合意により、いつでも変更することができます。" * 60, 1_143, 2_342),
    "Korean": ("이 계약은 양 당사자의 합의에 따라 언제든지 변경될 수 있습니다. " * 60, 1_141, 3_542),
    "Thai": ("สัญญานี้สามารถเปลี่ยนแปลงได้ทุกเมื่อโดยความยินยอมของทั้งสองฝ่าย" * 60, 1_500, 4_022),
    "emoji": ("👍🏽🎉😀🚀❤️" * 200, 1_402, 4_802),
    "one letter": ("x" * 8_000, 1_000, 4_001),
}
SENT = [{"role": "system", "content": "You judge."}, {"role": "user", "content": MEASURED["prose"][0]}]


def test_no_honest_count_is_under_half_of_the_estimate():
    """With a fifth to spare, for tokenizers that were not measured."""
    found = {name: (fewer_tokens_of(text) / 2, few) for name, (text, few, _) in MEASURED.items()}
    assert {name: both for name, both in found.items() if both[0] > 0.8 * both[1]} == {}


def test_what_is_to_fit_is_rather_counted_too_high():
    """Emoji and one letter without end, of which nothing is written, apart; and Llama 2 takes some scripts to bytes."""
    spared = {"emoji", "one letter", "Arabic", "Korean", "Hindi", "Chinese", "Japanese"}
    found = {name: (tokens_of(text), many) for name, (text, _, many) in MEASURED.items() if name not in spared}
    assert {name: both for name, both in found.items() if both[0] < 0.8 * both[1]} == {}


def test_a_server_that_read_a_part_is_known_by_its_own_count():
    assert unread(SENT, 300).startswith("The server read 300 of about 1,1")
    assert "declare `context`" in unread(SENT, 300)
    assert unread(SENT, 900) == ""


@pytest.mark.parametrize("counted", [None, 0, 1])
def test_a_count_that_is_none_says_nothing(counted):
    assert unread(SENT, counted) == ""


@pytest.mark.parametrize(
    ("usage", "cached"),
    [
        ({"prompt_tokens": 900}, 0),
        ({"prompt_tokens": 900, "prompt_tokens_details": {"cached_tokens": 800}}, 0),  # they are among the 900
        ({"prompt_tokens": 100, "prompt_tokens_details": {"cached_tokens": 800}}, 800),
        ({"prompt_tokens": 100, "cache_read_input_tokens": 700, "cache_creation_input_tokens": 50}, 750),
        ({"prompt_tokens": 100, "prompt_tokens_details": {"cached_tokens": "many"}, "cache_read_input_tokens": -1}, 0),
        ({"prompt_tokens": 100, "prompt_tokens_details": "none"}, 0),
    ],
)
def test_tokens_out_of_a_cache_count_where_they_were_not_counted(usage, cached):
    assert _cached(usage) == cached


def test_a_limit_is_that_of_prompt_and_answer_together(settings):
    settings.PROVIDERS = {"small": {"base_url": "http://127.0.0.1:9/v1", "api_key": "", "contexts": {"x": 2_000}}}
    assert too_long("small/x", 1_300, "this") == ""
    assert too_long("small/x", 1_301, "this") == "small/x reads 2,000 tokens at most, and this may come to 2,001."
    assert [too_long(model, 10**9, "this") for model in ("small/y", "nobody/x", "")] == ["", "", ""]
    assert (room_of(["small/x", "small/y", ""]), room_of(["small/y"])) == (1_300, None)
