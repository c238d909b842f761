"""What a text can be found by."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.text.search_terms import LONGEST_WORD, index_words, label_term, query_terms


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Ship 4.12 on Friday, ship it!", ["ship", "4", "12", "on", "friday", "it"]),
        ("Café CAFÉ cafe\u0301", ["cafe"]),
        ("Straße STRASSE", ["strasse"]),
        ("東京へ行く", ["東", "京", "へ", "行", "く"]),
        ("snake_case is one", ["snake_case", "is", "one"]),
        ("\x00 🎉 ** \" OR '", ["or"]),
        ("x" * 200, ["x" * LONGEST_WORD]),
    ],
)
def test_words_have_no_case_no_accents_and_no_signs(text, words):
    assert index_words(text) == words


@given(st.text())
def test_words_are_their_own_words(text):
    words = index_words(text)
    assert index_words(" ".join(words)) == words


@given(st.text())
def test_no_text_contains_a_label(text):
    assert not any("=" in word for word in index_words(text))


def test_no_word_is_the_beginning_of_a_label():
    assert index_words(label_term("council", 3)[0]) == []


@given(st.text(min_size=1))
def test_a_text_is_found_by_itself(text):
    sought = [term.rstrip("*") for group in query_terms(text) for term in group if "=" not in term]
    assert set(sought) <= set(index_words(text))


@given(st.text())
def test_a_label_is_one_word_that_the_index_keeps_whole(value):
    assert re.fullmatch(r"=outcome=[a-z0-9_]*", label_term("outcome", value))


def test_labels_of_texts_that_differ_by_more_than_case_differ():
    assert label_term("outcome", "HIRE ON CONDITIONS") == label_term("outcome", "hire on conditions")
    assert len({label_term("outcome", word) for word in ("A+", "A-", "A", "ä", "no_decision")}) == 5


def test_only_the_last_word_may_be_a_beginning():
    assert query_terms("new  tra") == [["new"], ["tra*"]]


def test_an_id_is_sought_among_the_ids_too():
    assert query_terms("deadbeef") == [["deadbeef*", label_term("id", "deadbeef")]]
    assert query_terms("DEADBEEF-0000-4000-8000-000000000000") == query_terms("deadbeef")
