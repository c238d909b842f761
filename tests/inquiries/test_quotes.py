"""Quotes are found where they stand, however they were folded, and not where they do not."""

import pytest

from inquiries.quotes import BETWEEN, LONGEST, Folded, complaint, find, fold, nearest, numbers, unsupported
from tests.inquiries import altered

TEXT = "The device uses  1.5 million litres a\u00ad year – “no more”, said Dr. Müller.\n\nThe fee is not refundable."
SOURCE = Folded(TEXT)


def found(quote, text=TEXT):
    place = find(quote, Folded(text))
    return [text[part.start : part.end] for part in place.parts] if place else None


@pytest.mark.parametrize(
    ("quote", "stands"),
    [
        ("uses 1.5 million litres a year", "uses  1.5 million litres a\u00ad year"),
        ("a year - 'no more', said", "a\u00ad year – “no more”, said"),
        ("said Dr. Mu\u0308ller. The fee", "said Dr. Müller.\n\nThe fee"),
        ("The fee is not refundable.", "The fee is not refundable."),
        ("the fee is not", None),  # case stays
        ("fee is refundable", None),
    ],
)
def test_a_quote_is_found_in_the_original_text_whatever_its_signs(quote, stands):
    assert found(quote) == (stands and [stands])


def test_an_ellipsis_splits_a_quote_into_parts_that_follow_each_other():
    assert found("The device uses … litres a year [...] is not refundable") == [
        "The device uses",
        "litres a\u00ad year",
        "is not refundable",
    ]
    assert found("is not refundable … The device uses") is None
    far = f"The fee is due. {'x ' * BETWEEN} It is paid at once."
    assert found("The fee is due. … It is paid", far) is None


def test_an_ellipsis_of_the_source_is_a_sign_like_others():
    assert found("and so on … for ever", "He went and so on … for ever") == ["and so on … for ever"]
    assert found("and so on ... for ever", "He went and so on… for ever") == ["and so on", "for ever"]


@pytest.mark.parametrize(
    "quote",
    ["he device uses 1.5", "5 million litres a year", "uses  1.5 mill", "The device uses 1", "The device uses 1."],
)
def test_a_quote_cuts_no_word_and_no_number(quote):
    assert find(quote, SOURCE) is None


def test_a_sign_before_a_number_belongs_to_it():
    assert found("5 degrees at night", "It was -5 degrees at night") is None
    assert found("5 degrees at night", "In winter–5 degrees at night") == ["5 degrees at night"]


@pytest.mark.parametrize("quote", ["", "two words", "…", "x" * (LONGEST + 1), "The fee is … refundable"])
def test_what_is_too_short_or_too_long_is_no_quote(quote):
    assert complaint(quote)
    assert find(quote, SOURCE) is None


def test_scripts_without_spaces_are_quoted_from_within_a_sentence():
    assert found("本合同自签字", "第一条 本合同自签字之日起生效。") == ["本合同自签字"]
    assert found("ｆｕｌｌ wide signs", "These are full wide signs.") == ["full wide signs"]
    assert found("\u1112\u1161\u11ab 국어 문장 입니다", "이것은 한 국어 문장 입니다.") == ["한 국어 문장 입니다"]


def test_signs_that_become_several_are_marked_whole():
    assert found("the finest ﬁsh here", "It is the finest fish here, 2½ kg") == ["the finest fish here"]
    assert found("kg: 2 1⁄2 of it", "In kg: 2 ½ of it") == ["kg: 2 ½ of it"]


def test_a_near_miss_is_named():
    assert nearest("The fee is never refundable.", SOURCE) == "The fee is not refundable."
    assert nearest("Something altogether different stands here", SOURCE) == ""


def test_numbers_that_carry_nothing_are_told():
    assert numbers("1,000 and 1.000,5 and 3.14 in 2024, 0.125") == ["1000", "1000.5", "3.14", "2024", "0.125"]
    assert numbers("The N12 costs 5") == ["5"]
    assert unsupported("It rose by 12 % to 1,000.", ["from 880 to 1000"]) == ["12"]


def test_folding_keeps_what_is_only_ascii():
    plain = "Nothing is changed: (a+b)*2 = 7/2."
    assert fold(plain) == plain


def test_true_quotes_are_found_in_their_places_and_altered_ones_nowhere():
    played = altered.play(seed=7, true=400, false=400)
    assert played.missed == []
    assert played.misplaced == []
    assert played.taken == []
