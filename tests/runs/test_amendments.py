import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runs.text_diff import compare_texts, text_amendments

PROSE = "We deploy on Friday. The rollback takes six minutes. On call is L. Haddad."


def marked(before, after):
    signs = {"same": "{}", "added": "[+{}]", "removed": "[-{}]", "folded": "<{}>"}
    return "".join(signs[piece.kind].format(piece.text) for piece in compare_texts(before, after))


def test_only_the_words_that_differ_are_marked():
    after = PROSE.replace("Friday", "Monday")
    assert marked(PROSE, after) == (
        "We deploy on [-Friday][+Monday]. The rollback takes six minutes. On call is L. Haddad."
    )


def test_words_are_never_cut():
    assert marked("a useful thing to do", "a useless thing to do") == "a [-useful][+useless] thing to do"


def test_words_beside_each_other_are_one_phrase():
    assert marked("it takes about six minutes here", "it takes around seven minutes here") == (
        "it takes [-about six][+around seven] minutes here"
    )


def test_a_sentence_that_was_written_anew_is_replaced_as_a_whole():
    after = PROSE.replace("The rollback takes six minutes.", "Nobody has tried the way back so far.")
    assert "[-The rollback takes six minutes][+Nobody has tried the way back so far]. " in marked(PROSE, after)


def test_the_mark_at_the_end_of_a_word_does_not_make_it_another_word():
    assert marked("It takes six minutes.", "It takes six minutes, no more.") == "It takes six minutes[+, no more]."


def test_a_line_that_came_is_added_and_one_that_went_removed():
    assert marked("one\ntwo\nthree\n", "one\nthree\nfour\n") == "one\n[-two\n]three\n[+four\n]"


def test_a_line_break_that_was_added_is_seen():
    assert marked("one two", "one\ntwo") == "one[- ][+\n]two"


def test_a_long_stretch_that_stays_is_folded_between_words():
    stays = " ".join(f"word{number}" for number in range(200))
    folded, shown, *_ = pieces = compare_texts(f"{stays} old", f"{stays} new")
    assert [piece.kind for piece in pieces] == ["folded", "same", "removed", "added"]
    assert folded.text + shown.text == f"{stays} "
    assert len(shown.text) < 200
    assert shown.text.startswith("word")


def test_the_middle_of_a_long_stretch_is_folded_and_both_its_ends_are_shown():
    stays = " ".join(f"word{number}" for number in range(200))
    kinds = [piece.kind for piece in compare_texts(f"old {stays} old", f"new {stays} new")]
    assert kinds == ["removed", "added", "same", "folded", "same", "removed", "added"]


texts = st.text(alphabet="ab .\n", max_size=80)


@given(texts, texts)
def test_both_texts_can_be_read_from_the_changes(before, after):
    pieces = compare_texts(before, after)
    assert "".join(piece.text for piece in pieces if piece.kind != "added") == before
    assert "".join(piece.text for piece in pieces if piece.kind != "removed") == after


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["a ", "a\n", "ab. ", "a", "a b\n\n"])
def test_the_longest_contents_are_compared_in_time(unit):
    before = (unit * 20_000)[:20_000]
    after = "".join(f"{i % 97} " if i % 7 == 0 else char for i, char in enumerate(before))[:20_000]
    began = time.monotonic()
    compare_texts(before, after)
    assert time.monotonic() - began < 5


def test_a_long_row_of_marks_is_compared():
    """In hundredths of a second: by a quadratic pattern it took minutes."""
    marks = "!" * 19_000
    assert [piece.kind for piece in compare_texts(f"{marks}x", f"{marks}y")] == ["removed", "added"]


def test_texts_that_are_equal_are_no_amendments():
    before = {"Title": "T", "Content": "one", "Agent 1, name": "A"}
    after = {"Title": "T", "Content": "two", "Agent 1, name": "A"}
    assert [amendment.name for amendment in text_amendments(before, after)] == ["Content"]
