"""What a terminal shows, as text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from missions.terminals.screen import Screen


def shown(*pieces):
    screen = Screen()
    for piece in pieces:
        screen.feed(piece)
    return screen.text


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (b"one\r\ntwo\r\n", "one\ntwo\n"),
        (b"10 %\r20 %\r100 %\r\n", "100 %\n"),
        (b"abc\b\bX", "aXc"),
        (b"a\tb", "a       b"),
        (b"long line\r\x1b[Kshort", "short"),
        (b"abcdef\x1b[3G\x1b[1KX", "  Xdef"),
        (b"\x1b]0;title\x07a\x1b]8;;http://x\x1b\\b\x1b]52;c;aGk=\x07c\x1bP1$r\x1b\\d", "abcd"),
        (b"\x1b[6n\x1b[c\x1b[?25l\x1b(Bhere\x1b=", "here"),
        (b"\xff\xfe\xc3", "��"),
        (b"bell\x07 null\x00", "bell null"),
    ],
)
def test_what_is_meant_for_a_terminal_becomes_text_or_nothing(said, text):
    assert shown(said) == text


def test_colours_are_eight_and_neighbours_stand_together():
    screen = Screen()
    screen.feed(b"a\x1b[31mred\x1b[1;92mgreen\x1b[0mplain\x1b[38;5;31mstill\x1b[38;2;1;31;2mso")
    assert screen.lines[0].pieces == [("a", ""), ("red", "red"), ("green", "green"), ("plainstillso", "")]


def test_what_an_editor_draws_is_not_kept_and_what_was_there_before_is():
    screen = Screen()
    screen.feed(b"$ vim\r\n\x1b[?1049h\x1b[2Jtext in the editor")
    assert screen.other_screen
    screen.feed(b"\x1b[?1049lback")
    assert (screen.other_screen, screen.text) == (False, "$ vim\nback")


def test_an_escape_that_never_ends_does_not_swallow_what_follows():
    assert shown(b"\x1b]0;" + b"x" * 10_000, b"\r\nstill here").endswith("still here")


@given(st.lists(st.sampled_from([b"a", b"\xc3\xa4", b"\r", b"\n", b"\x1b[31m", b"\x1b[K", b"\x1b]0;t\x07", b"\b"])))
def test_it_does_not_matter_where_it_is_cut(said):
    whole = b"".join(said)
    assert shown(whole) == shown(*(whole[place : place + 1] for place in range(len(whole))))


@given(st.binary(max_size=300))
def test_whatever_is_said_only_signs_that_can_be_printed_are_shown(said):
    assert all(sign.isprintable() or sign in "\n�" for sign in shown(said))
