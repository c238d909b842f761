"""What people hand in is read in the encoding that it certainly is in, or refused with what to do."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.decoding import UnknownEncoding, decoded

ENGLISH = "Deploy on Friday at 16:00.\r\nThe way back was tried: “yes”, £ 12 — 3 €.\n"
CYRILLIC = "Выпуск в пятницу в 16:00.\nОткат проверен.\n"
GREEK, HEBREW, EMOJI = "Ναι, την Παρασκευή.\n", "כן, ביום שישי.\n", "Ship it 🚀, said Ada.\n"
JAPANESE, CHINESE = "金曜日の16時に公開します。\n", "星期五下午四点发布。\n"
WIDE = ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")
TEXTS = (ENGLISH, CYRILLIC, GREEK, HEBREW, EMOJI, JAPANESE, CHINESE)

MARKED = [(f"\ufeff{text}".encode(name), text) for text in TEXTS for name in ("utf-8", *WIDE)]
UNMARKED = [(text.encode(name), text) for text in TEXTS[:5] for name in WIDE]
CERTAIN = [
    *MARKED,
    *UNMARKED,
    *[(text.encode(), text) for text in TEXTS],
    (JAPANESE.encode("iso2022_jp"), JAPANESE),
    (JAPANESE.encode("utf-32-le"), JAPANESE),
    (b"\x1b[31mred\x1b[0m (B\n", "\x1b[31mred\x1b[0m (B\n"),
    (b"", ""),
]
UNCERTAIN = [
    *["café £ 12\n".encode(name) for name in ("cp1252", "latin-1", "iso8859-15", "cp850", "mac-roman")],
    *["Příliš žluťoučký\n".encode(name) for name in ("cp1250", "iso8859-2")],
    *[CYRILLIC.encode(name) for name in ("koi8-r", "cp1251", "iso8859-5", "cp866")],
    *[JAPANESE.encode(name) for name in ("shift_jis", "euc_jp", "utf-16-le", "utf-16-be")],
    *[CHINESE.encode(name) for name in ("gb18030", "gbk", "utf-16-le")],
    *[GREEK.encode("cp1253"), HEBREW.encode("cp1255"), "안녕하세요\n".encode("euc_kr")],
    b"abc\0def\0", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", b"PK\x03\x04\x14\0\x06\0", b"\1\0\2\0\3\0", b"a\0b",
    b"\xff\xfea\0b", b"\xff\xfe\0\xd8a\0", b"\xef\xbb\xbfcaf\xe9", b"\xff\xfea\0\0\0", "é".encode()[:1],
]  # fmt: skip


def refusal(data):
    try:
        return f"taken as {decoded(data)}"
    except UnknownEncoding as error:
        return str(error)


def test_what_is_certain_is_read_without_its_mark():
    assert [(data, decoded(data).text) for data, text in CERTAIN if decoded(data).text != text] == []


def test_an_encoding_is_named_unless_it_is_utf_8():
    assert {decoded(text.encode()).converted_from for text in TEXTS} == {""}
    assert decoded("\ufeffone".encode()).converted_from == ""
    assert {decoded(data).converted_from for data, _ in UNMARKED} == {"UTF-16LE", "UTF-16BE", "UTF-32LE", "UTF-32BE"}


def test_what_is_uncertain_is_refused():
    found = {data: refusal(data) for data in UNCERTAIN}
    assert {data: said for data, said in found.items() if not said.startswith(("is no", "begins as UTF"))} == {}


def test_a_refusal_names_the_byte_its_place_and_what_to_do():
    said = refusal("One.\nThe café opens.\n".encode("latin-1"))
    assert said.startswith("is not in UTF-8: the byte 0xE9 in line 2 after “The caf” belongs to another encoding.")
    assert "iconv" in said


@given(st.binary(max_size=60))
def test_whatever_comes_is_read_or_refused(data):
    with suppress(UnknownEncoding):
        assert "\0" not in decoded(data).text


@pytest.mark.parametrize("name", ["utf-8", *WIDE])
@given(text=st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=60))
def test_what_has_a_mark_comes_back_as_it_was_written(name, text):
    assert decoded(f"\ufeff{text}".encode(name)).text == text


BY_NAME = (
    ("café".encode("latin-1"), "windows-1252", "café", "Windows-1252"),
    (b"12 \x80", "iso-8859-1", "12 €", "Windows-1252"),  # as browsers read it
    ("zł".encode("cp1250"), "cp1250", "zł", "Windows-1250"),
    ("請".encode("big5"), "Big5", "請", "BIG5"),
    ("café".encode(), "windows-1252", "café", ""),  # what the bytes say comes first
    ("one".encode("utf-16"), "windows-1252", "one", "UTF-16LE"),
    ("한글".encode("iso2022_kr"), "iso-2022-kr", "한글", "ISO2022-KR"),  # in signs of ASCII
)


def test_what_the_bytes_do_not_say_is_read_as_somebody_named():
    found = [(decoded(data, name).text, decoded(data, name).converted_from) for data, name, *_ in BY_NAME]
    assert found == [(text, taken) for _, _, text, taken in BY_NAME]


@pytest.mark.parametrize(
    ("data", "named", "said"),
    [
        (b"caf\xe9 \x81", "windows-1252", "is not in Windows-1252: the byte 0x81 in line 1 after “caf”"),
        (b"caf\xe9\x01", "windows-1252", "is not in Windows-1252: it would have signs that nobody writes."),
        (b"caf\xe9", "latin9000", "cannot be read. There is no encoding “latin9000”."),
        (b"%PDF-1.7 and more", "windows-1252", "is a PDF and no text."),
        (b"caf\xe9", "rot13", "cannot be read. There is no encoding “rot13”."),
        (b"\xef\xbb\xbfcaf\xe9", "windows-1252", "begins as UTF-8 does, and is broken from byte 3 on."),
    ],
)
def test_what_is_not_in_the_named_encoding_is_refused(data, named, said):
    with pytest.raises(UnknownEncoding) as refused:
        decoded(data, named)
    assert str(refused.value).startswith(said)
