"""What people attach becomes lines that can be cited, or a sentence that says why it does not."""

import math
from hashlib import sha256
from subprocess import run
from sys import executable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.models import DocumentLimits
from engine.models.documents import LINE_LENGTH
from tests.toolbox import pdfs
from toolbox import limited_process
from toolbox.documents import UnreadableDocument, document_from_text, lines_of, read_document
from toolbox.openers import LATE, PDF, REFUSED, STOPPED
from toolbox.pdf_text import MOST_PAGES

LIMITS = DocumentLimits(number=8, size=2 * 2**20, characters=60_000)


def lines(name, data):
    return list(read_document(name, data, LIMITS).lines)


def refusal(name, data, until=math.inf):
    with pytest.raises(UnreadableDocument) as refused:
        read_document(name, data, LIMITS, until)
    return str(refused.value)


# ---- text -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("notes.txt", "text"),
        ("notes", "text"),
        ("run.log", "text"),
        ("README.md", "markdown"),
        ("A.MARKDOWN", "markdown"),
        ("prices.csv", "csv"),
    ],
)
def test_its_name_says_what_it_is(name, kind):
    assert read_document(name, b"Something.", LIMITS).kind == kind


def test_its_digest_is_that_of_the_file_as_it_came():
    data = "\ufeffOne.\r\n\r\n\r\nTwo.  \r\n\r\n".encode()
    found = read_document("C:\\people\\hana\\notes.txt", data, LIMITS)
    assert (found.title, found.lines) == ("notes.txt", ("One.", "", "Two."))
    assert found.digest == sha256(data).hexdigest()


def test_a_long_line_is_broken_between_words_and_a_long_word_where_it_must_be():
    long = " ".join(["supervision"] * 40)
    broken = lines_of(long)
    assert " ".join(broken) == long
    assert [len(line) for line in lines_of("x" * 400)] == [160, 160, 80]
    assert lines_of("    indented") == ["    indented"]


@given(st.text(max_size=2_000))
def test_no_line_is_too_long_and_no_word_is_lost(text):
    try:
        found = document_from_text("notes", text, LIMITS)
    except UnreadableDocument:
        return
    assert all(len(line) <= LINE_LENGTH and "\n" not in line for line in found.lines)
    assert "".join("".join(found.lines).split()) == "".join(text.replace("\0", "\ufffd").split())
    assert all((found.lines[0], found.lines[-1]))


def test_a_line_of_two_megabytes_takes_no_time():
    assert len(lines("one.txt", b"x" * LIMITS.size)) == -(-LIMITS.size // LINE_LENGTH)


def test_what_was_pasted_is_called_as_its_author_says():
    found = document_from_text("Letter of a student", "She listens.", LIMITS)
    assert (found.title, found.kind, found.lines) == ("Letter of a student", "text", ("She listens.",))


def test_a_name_is_as_long_as_a_title_may_be():
    assert len(read_document(f"{'n' * 200}.txt", b"x", LIMITS).title) == 120


@pytest.mark.parametrize(
    ("name", "data", "sentence"),
    [
        ("a.txt", b"", "a.txt is empty."),
        ("a.md", b" \n\t\n", "a.md is empty."),
        ("cv.docx", b"PK\x03\x04\x14\0\x06\0", "cv.docx is neither text in UTF-8 nor a PDF."),
        (
            "a.txt",
            "Müller".encode("latin-1"),
            "a.txt is not in UTF-8: the byte 0xFC in line 1 after “M” belongs to another encoding.",
        ),
        ("a.txt", b"x" * (2 * 2**20 + 1), "a.txt has 2.0 MB, and 2 MB are the most."),
        (f"{'n' * 99}.txt", b"", f"{'n' * 59}… is empty."),
        ("", b"", "A document without a name is empty."),
    ],
)
def test_what_cannot_be_read_is_named_with_what_to_do(name, data, sentence):
    said = refusal(name, data)
    assert said.startswith(sentence)
    assert len(said) > len(sentence)


# ---- CSV --------------------------------------------------------------------------------------------------


def test_a_record_is_a_line_whatever_stands_in_its_cells():
    assert lines("a.csv", b'name,note\nHana,"two\nlines, and a comma"\n') == [
        "name | note",
        "Hana | two lines, and a comma",
    ]


CSVS = {  # what comes, and its records; a cell that is cut in two, or two that are one, is a wrong one
    b"name;price\nTea;1,20\n": ["name | price", "Tea | 1,20"],
    b"Name, first;Sum, EUR;Day\nM, Max;1.234,50;1.2.\nB, Eva;980,00;2.2.\n": [
        "Name, first | Sum, EUR | Day", "M, Max | 1.234,50 | 1.2.", "B, Eva | 980,00 | 2.2."],
    b"a,b;c,d\n1,5;2,5\n": ["a,b | c,d", "1,5 | 2,5"],
    b"a, b;c\n1;2\n3, 4;5;6\n7, 8;9\n1, 2;3\n4, 5;6\n7, 8;9\n": [
        "a, b | c", "1 | 2", "3, 4 | 5 | 6", "7, 8 | 9", "1, 2 | 3", "4, 5 | 6", "7, 8 | 9"],
    b"a\tb, c\n1,5\t2;5\n": ["a | b, c", "1,5 | 2;5"],
    b"a|b\n1,5|x;y\n": ["a | b", "1,5 | x;y"],
    b'name,note\nHana,"a; b"\nKim,"c; d"\n': ["name | note", "Hana | a; b", "Kim | c; d"],
    b'"Last, first","Sum"\n"M, Max","1,234.50"\n': ["Last, first | Sum", "M, Max | 1,234.50"],
    b'a, "b, c"\nd, "e, f"\n': ["a | b, c", "d | e, f"],
    b'a;b\n1;"two\r\nlines; and 1,5"\n': ["a | b", "1 | two lines; and 1,5"],
    b'a,b\n1,"say ""hi, you"""\n': ["a | b", '1 | say "hi, you"'],
    b"Report of 2026\n\nday;sum\n1.2.;1,50\n2.2.;2,50\n": [
        "Report of 2026", "", "day | sum", "1.2. | 1,50", "2.2. | 2,50"],
    b"sep=;\na,1;b\n1,2;3,4\n": ["a,1 | b", "1,2 | 3,4"],
    b'"sep=,"\r\na,b\r\n1;2,3\r\n': ["a | b", "1;2 | 3"],
    b"sum, EUR\n1\n2\n": ["sum, EUR", "1", "2"],
    b"one\ntwo\n": ["one", "two"],
    b"a;b\rc;1,5\r": ["a | b", "c | 1,5"],
    "\ufeffa;b\n1,5;2\n".encode(): ["a | b", "1,5 | 2"],
    "a;b\nÄ;1,5\n".encode("utf-16"): ["a | b", "Ä | 1,5"],
    b"a;b\nx | y;1\n": ["a | b", "x|y | 1"],
    b"a,b,c\n1,2\n1,2,3,4\n": ["a | b | c", "1 | 2", "1 | 2 | 3 | 4"],
}  # fmt: skip


def test_no_cell_is_cut_and_no_two_become_one():
    found = {data: lines("a.csv", data) for data in CSVS}
    assert {data: found[data] for data in CSVS if found[data] != CSVS[data]} == {}


def test_what_was_converted_is_said_beside_its_name():
    found = read_document("prices.csv", "a;b\n1,5;2\n".encode("utf-16"), LIMITS)
    assert (found.title, found.digest) == ("prices.csv (UTF-16LE)", sha256("a;b\n1,5;2\n".encode("utf-16")).hexdigest())
    assert read_document("a.txt", "\ufeffOne.".encode(), LIMITS).title == "a.txt"


def test_a_broken_one_is_refused_with_the_line():
    assert refusal("a.csv", b'a,b\n"c,d\n').startswith("a.csv cannot be read as CSV: in line 2,")


# ---- PDF --------------------------------------------------------------------------------------------------


def test_a_pdf_is_read_page_after_page():
    read_lines = ["Curriculum vitae", "Hana Kubo", "Twelve years of supervision.", "", "References on request."]
    assert lines("cv.pdf", pdfs.CV) == read_lines
    assert read_document("cv", pdfs.CV, LIMITS).kind == "pdf"


def test_what_only_its_owners_password_protects_opens_without_one():
    found = {method: lines("cv.pdf", pdfs.encrypted(pdfs.CV, method=method)) for method in pdfs.METHODS}
    assert {method: said for method, said in found.items() if said != lines("cv.pdf", pdfs.CV)} == {}


def test_a_page_without_text_among_others_is_said_to_be_there():
    mixed = pdfs.pdf("Text.", pdfs.PICTURE_ALONE, "More.")
    assert lines("a.pdf", mixed) == ["Text.", "", "(Page 2 has no text that could be read.)", "", "More."]


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (pdfs.CV[:500], "is broken."),
        (b"%PDF-1.4\n" + bytes(range(1, 256)), "is broken."),
        (b"No PDF at all.", "is broken."),
        (pdfs.CV[:-40], "is broken."),
        (pdfs.encrypted(pdfs.CV)[:900], "is broken."),
        (pdfs.encrypted(pdfs.SCANNED), "has no text, only pictures."),
        (b"%PDF-1.7\n%%EOF\n", "is broken."),
        *[(pdfs.encrypted(pdfs.CV, "secret", method), "asks for a password.") for method in pdfs.METHODS],
        (pdfs.SCANNED, "has no text, only pictures."),
        (pdfs.UNPACKING, "unpacks to more than can be read."),
        (pdfs.pdf(*["x"] * (MOST_PAGES + 1)), "has more than 200 pages."),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_pdf_that_cannot_be_read_is_named_with_what_to_do(data, sentence):
    said = refusal("cv.pdf", data)
    assert said.startswith(f"cv.pdf {sentence}")
    assert len(said) > len(sentence) + 10


def test_one_that_takes_too_long_is_ended():
    with pytest.raises(limited_process.ProcessTimedOut):
        limited_process.run_limited(PDF, pdfs.SLOW, limited_process.ProcessLimits(seconds=1.0))


def test_one_for_which_no_time_is_left_is_not_begun():
    over = 0.0  # long ago, by any clock
    assert refusal("cv.pdf", pdfs.SLOW, over) == f"cv.pdf {LATE}"
    assert read_document("cv.md", b"Hana Kubo", LIMITS, over).lines == ("Hana Kubo",)


def test_every_end_of_a_child_has_its_words():
    assert STOPPED.keys() == set(limited_process.ProcessStopped.__subclasses__())
    assert f"{MOST_PAGES} pages" in REFUSED["pages"]


def test_what_opens_them_is_never_loaded_here():
    told = (
        "import django, sys; django.setup(); import toolbox.documents; print([m for m in sys.modules if 'pypdf' in m])"
    )
    env = {"DJANGO_SETTINGS_MODULE": "tests.settings"}
    assert run([executable, "-c", told], capture_output=True, text=True, env=env).stdout == "[]\n"
