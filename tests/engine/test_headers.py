"""What goes into a header of an email or a push message is read there as it is written."""

from email.header import decode_header, make_header

from engine.headers import encode_header, header_complaint

ENCODED_WORDS = (
    "=?utf-8?q?Minutes=0d=0aReply-To:_x@evil.example?=",
    "=?UTF-8?B?TWludXRlcw==?=",
    "=?Iso-8859-1?Q?a?= =?iso-8859-1?q?b?=",
    "=?utf-8*en?q?with_a_language?=",
    "Minutes=?utf-8?q?_of_today?=",
    "=?utf-8?q?without an end",
    "(=?utf-8?q?in_brackets?=)",
    '"=?utf-8?q?in_quotes?="',
)
MORE_THAN_A_LINE = ("a\nb", "a\r\n b", "a\rb", "a\x00b", "a\u2028b", "a\u0085b", "a\x0bb", "=\u200b?utf-8?q?a?=")
PERMITTED = (
    "Grüße",
    "2 + 2 =4?",
    "Is x =\u00a0?".replace("\u00a0", " "),
    "?= and = ?",
    "日本 " * 40,
    "a  b" * 50,
    "“=”",
    "",
)


def test_encoded_words_in_any_form_are_refused_and_the_sentence_says_what_to_do():
    said = {value: header_complaint(value) for value in ENCODED_WORDS}
    assert {value for value, why in said.items() if "write the characters themselves" not in why} == set()


def test_more_than_one_line_is_refused():
    said = {value: header_complaint(value) for value in MORE_THAN_A_LINE}
    assert {value for value, why in said.items() if not why.startswith("is one line")} == set()


def test_what_is_permitted_is_read_as_it_was_written():
    for value in PERMITTED:
        assert header_complaint(value) == ""
        for folded in (True, False):
            written = encode_header(value, folded=folded)
            assert (str(make_header(decode_header(written))), written.isascii()) == (value, True)
            assert folded or "\n" not in written
