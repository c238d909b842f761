"""Quotes are found where they stand, however they were folded, and not where they do not."""

import pytest

from engine.models import ToolCall
from inquiries.models import InquirySource
from inquiries.models.source_capture import has_no_text
from inquiries.quotes import (
    GAP_CHARACTERS,
    LONGEST,
    FoldedText,
    find_quote,
    fold_text,
    nearest,
    numbers,
    omitted_words,
    quote_problem,
    reused_quote,
    unknown_names,
    unsupported,
)
from tests.inquiries import altered

TEXT = "The device uses  1.5 million litres a\u00ad year – “no more”, said Dr. Müller.\n\nThe fee is not refundable."
SOURCE = FoldedText(TEXT)


def found(quote, text=TEXT):
    place = find_quote(quote, FoldedText(text))
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
    text = "The device uses at night and by day 1.5 litres a year. Whoever buys one has to pay. The fee is due."
    assert found("The device uses … litres a year [...] fee is due", text) == [
        "The device uses",
        "litres a year",
        "fee is due",
    ]
    assert found("is not refundable … The device uses") is None
    far = f"The fee is due. {'x ' * GAP_CHARACTERS} It is paid at once."
    assert found("The fee is due. … It is paid", far) is None


def test_an_ellipsis_of_the_source_is_a_sign_like_others():
    assert found("and so on … for ever", "He went and so on … for ever") == ["and so on … for ever"]
    assert found("and so on ... for ever", "He went and so on… for ever") == ["and so on", "for ever"]


@pytest.mark.parametrize(
    "quote",
    ["he device uses 1.5", "5 million litres a year", "uses  1.5 mill", "The device uses 1", "The device uses 1."],
)
def test_a_quote_cuts_no_word_and_no_number(quote):
    assert find_quote(quote, SOURCE) is None


def test_a_sign_before_a_number_belongs_to_it():
    assert found("5 degrees at night", "It was -5 degrees at night") is None
    assert found("5 degrees at night", "In winter–5 degrees at night") == ["5 degrees at night"]


@pytest.mark.parametrize(
    ("quote", "text"),
    [
        ("Yes, said he, we can", "Yes, said he, we can’t do it"),
        ("profit organisations must pay tax", "Non-profit organisations must pay tax"),
        ("about 106 people died", "about 10⁶ people died"),
        ("lasted 11⁄2 hours", "lasted 1½ hours"),
        ("5 million people died", "About .5 million people died"),
        ("population of 12", "a population of 12 000 people"),
        ("population of 12", "a population of 12\u202f000 people"),
        ("it costs 1", "it costs 1'000 francs"),
        ("it costs 3", "it costs 3-5 euros"),
        ("it costs 3", "it costs 3–5 euros"),
        ("at half past 10", "at half past 10:30"),
        ("$5 was it", "In all -$5 was it"),
        ("€5 was it", "−€5 was it"),
        ("5 degrees was it", "−  5 degrees was it"),
        ("गया वह नह", "गया वह नहीं"),
        ("可以进入", "你不可以进入"),
    ],
)
def test_a_cut_that_turns_the_meaning_is_refused_and_older_records_stand(quote, text):
    assert find_quote(quote, FoldedText(text)) is None
    assert reused_quote(quote, FoldedText(text))
    assert find_quote(text, FoldedText(text))


def test_a_quote_of_many_parts_is_refused_and_sought_no_longer_than_it_must_be():
    text, quote = FoldedText("a " * 100_000), " ... ".join(["a a"] * 35 + ["b b"])
    assert "36 parts" in quote_problem(quote)
    assert find_quote(quote, text) is reused_quote(quote, text) is None  # to try all of their places would never end


@pytest.mark.parametrize("between", ["not", "hardly", "as all of the doctors say never"])
def test_an_ellipsis_swallows_no_negation_and_no_few_words(between):
    source = FoldedText(f"The drug is {between} safe for children")
    assert find_quote("The drug is ... safe for children", source) is None
    assert omitted_words("The drug is ... safe for children", source) == between
    assert reused_quote("The drug is ... safe for children", source)


@pytest.mark.parametrize("quote", ["", "two words", "…", "x" * (LONGEST + 1), "The fee is … refundable"])
def test_what_is_too_short_or_too_long_is_no_quote(quote):
    assert quote_problem(quote)
    assert find_quote(quote, SOURCE) is None


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
    assert fold_text(plain) == plain


def test_true_quotes_are_found_in_their_places_and_altered_ones_nowhere():
    played = altered.play(seed=7, true=400, false=400)
    assert played.missed == []
    assert played.misplaced == []
    assert played.taken == []


def test_a_host_with_a_dot_behind_it_is_no_second_site():
    assert InquirySource(kind="page", address="https://blog.example./a").site == "blog.example"


def test_names_are_told_from_words_also_where_all_nouns_have_a_capital():
    told = {
        ("Sold by Siemens.", "It is sold."): ["Siemens"],
        ("ISO says so. N12 is fine.", "N14 is fine."): ["ISO", "N12"],
        ("Yes. The limit holds.", "A limit."): [],
        ("It is an ISO.", "In isolation."): ["ISO"],
        ("So says Doudna's team, by Pumps.", "Doudna and a pump."): [],
        ("Die Pumpe darf in den Handel. DIN sagt das.", "Wärmepumpen sind erlaubt."): ["DIN"],
    }
    assert {one: unknown_names(one[0], [one[1]]) for one in told} == told


def test_a_number_that_was_only_repeated_was_not_worked_out():
    asked = {
        "4711 = 4711": True,
        "-(4711) = -4711": True,
        "max(4711) = 4711": True,
        "1 + 2 = 3": False,
        "2^2 = 4": False,
    }
    assert {one: has_no_text(ToolCall(tool="figures.calculate", output=one)) for one in asked} == asked
