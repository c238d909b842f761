"""What is filled in on a PDF's pages, and written on them, as lines that say what they are."""

import io

from pypdf import PdfReader

from toolbox import pdf_signs, pdf_text

from . import pdfs
from .pdfs import field, marked, note, over

PAGE = pdfs.pdf("Rent 500 EUR a month\nDeposit 1,000 EUR\nNo pets.")
UNTIL_500 = 68.0  # where "500 EUR" begins in the first line
RADIO, COMBO, PASSWORD, PUSHED = 1 << 15, 1 << 17, 1 << 13, 1 << 16
ON = {"/N": {"/Yes": {}, "/Off": {}}}


def on(data: bytes) -> list[str]:
    return pdf_text.extract_pages(data)["pages"][0]["on"]


FIELDS = (
    (field("/Tx", "name", TU="Full name", V="Hana Kubo"), ["Field “Full name”: Hana Kubo"]),
    (field("/Tx", "note", V="Two\rlines"), ["Field “note”: Two lines"]),
    (field("/Tx", "form[0].note[0]"), ["Field “form[0].note”: (empty)"]),
    (field("/Tx", "pin", V="1234", Ff=PASSWORD), ["Field “pin”: (a password, which nobody is shown)"]),
    (field("/Btn", "agreed", V="/Yes", AS="/Yes", AP=ON), ["Field “agreed”: ticked"]),
    (field("/Btn", "agreed", AS="/Off", AP=ON), ["Field “agreed”: not ticked"]),
    (field("/Btn", "send", Ff=PUSHED), []),
    (field("/Ch", "land", V="de", Opt=[["de", "Germany"], ["fr", "France"]], Ff=COMBO), ["Field “land”: Germany"]),
    (field("/Ch", "days", V=["Mon", "Fri"], Opt=["Mon", "Tue", "Fri"]), ["Field “days”: Mon, Fri"]),
    (field("/Sig", "signature"), ["Field “signature”: (not signed)"]),
    (
        field("/Sig", "signature", V={"/Name": "Hana Kubo"}),
        ["Field “signature”: signed digitally by Hana Kubo; whether it holds was not checked"],
    ),
    (
        field("/Btn", "pay", Ff=RADIO, V="/1", Opt=["Cash", "Transfer"])
        | {"kids": [{"/AS": "/Off", "/AP": {"/N": {"/0": {}}}}, {"/AS": "/1", "/AP": {"/N": {"/1": {}}}}]},
        ["Field “pay”: Transfer"],
    ),
    (
        field("/Btn", "speaks") | {"kids": [{"/AS": "/German", "/TU": "German"}, {"/AS": "/Off", "/TU": "Czech"}]},
        ["Field “speaks” (German): ticked", "Field “speaks” (Czech): not ticked"],
    ),
    (field("/Tx", "total", V="7", F=2), ["(1 field that nobody sees on this page was left out.)"]),
)


def test_each_field_is_a_line_with_what_people_see_in_it():
    said = [(lines, on(marked(PAGE, one))) for one, lines in FIELDS]
    assert [(lines, found) for lines, found in said if found != lines] == []


def test_fields_stand_in_the_order_in_which_they_are_read():
    places = {"last": [50, 100, 90, 110], "right": [300, 700, 340, 710], "left": [50, 702, 90, 712]}
    fields = [field("/Tx", name, V=name, Rect=place) for name, place in places.items()]
    assert [line.partition(": ")[2] for line in on(marked(PAGE, *fields))] == ["left", "right", "last"]


MARKS = (
    (note("/Text", "Too much?", "Ada"), ["Comment by Ada: Too much?"]),
    (note("/Text", "Too much?"), ["Comment: Too much?"]),
    (note("/FreeText", "Agreed on 3 May"), ["Text box: Agreed on 3 May"]),
    (note("/Stamp", by="Ada", Name="/SBNotApproved"), ["Stamp by Ada: Not Approved"]),
    (
        note("/StrikeOut", "Was lowered.", "Ada", QuadPoints=over(0, UNTIL_500 + 10, 124)),
        ["Struck out: “500 EUR” in “Rent 500 EUR a month” (by Ada)", "Comment by Ada: Was lowered."],
    ),
    (note("/Highlight", "No pets.", QuadPoints=over(2, 50, 200)), ["Highlighted: “No pets.”"]),
    (
        note("/Underline", QuadPoints=[*over(0, 50, 300), *over(1, 50, 95)]),
        ["Underlined: “Rent 500 EUR a month Deposit”"],
    ),
    (note("/Highlight", QuadPoints=over(30, 50, 90)), ["Highlighted: a place without text"]),
    (
        note("/Caret", "net", "Ada", Rect=[120, 790, 126, 798]),
        ["To be inserted: “net” in “Rent 500 EUR a month” (by Ada)"],
    ),
    (
        note("/Square", "Check this", "Ada", Rect=[40, 782, 300, 796]),
        ["Drawn on the page: a rectangle at “Deposit 1,000 EUR” (by Ada)", "Comment by Ada: Check this"],
    ),
    (note("/FileAttachment", "plan.pdf", FS={"/UF": "plan.pdf"}), ["Attached file, which is not read: “plan.pdf”"]),
    (note("/Text", RC="<body><p>Rich <b>text</b></p></body>"), ["Comment: Rich text"]),
    (note("/Text", "Secret", F=2), ["(1 comment that nobody sees on this page was left out.)"]),
    (note("/Link", "Nothing"), []),
    (note("/Popup", "Nothing"), []),
    ({"/Subtype": 7, "/Rect": "none", "/Contents": {"/A": 1}}, []),
    (note("/Highlight", QuadPoints=[1, 2, "three"], Rect=[]), ["Highlighted: a place without text"]),
)


def test_each_mark_is_a_line_that_says_what_it_is():
    said = [(lines, on(marked(PAGE, one))) for one, lines in MARKS]
    assert [(lines, found) for lines, found in said if found != lines] == []


def test_what_was_answered_to_a_comment_follows_it():
    thread = marked(
        PAGE,
        note("/Text", "Too much?", "Ada", Rect=[0, 100, 9, 110]),
        note("/Text", "Later", "Eve", Rect=[0, 50, 9, 60]),
        note("/Text", "It is usual.", "Ben", IRT=0),
        note("/Text", "Accepted set by Ada", "Ada", IRT=2, State="Accepted", StateModel="Review"),
    )
    assert on(thread) == [
        "Comment by Ada: Too much?",
        "Answer by Ben: It is usual.",
        "Marked as “Accepted” by Ada: Accepted set by Ada",
        "Comment by Eve: Later",
    ]


def test_a_form_that_only_one_program_shows_is_known():
    assert pdf_text.extract_pages(marked(PAGE, form={"/XFA": "<xdp/>"})) == {"refused": "xfa"}


SCAN = b"q 595 0 0 842 0 0 cm /Im1 Do Q "
PICTURES = (
    (SCAN + pdfs.drawn("Scanned by a phone"), True),
    (b"q 595 0 0 421 0 0 cm /Im1 Do Q q 595 0 0 421 0 421 cm /Im1 Do Q " + pdfs.drawn("In strips"), True),
    (SCAN + b"BT 3 Tr ET " + pdfs.drawn("A receipt that was recognised"), False),
    (SCAN + pdfs.drawn("\n".join(["A letter on paper with a picture."] * 9)), False),
    (pdfs.PICTURE_ALONE + pdfs.drawn("With a logo"), False),
)


def test_a_page_that_is_mostly_a_picture_is_known():
    found = [pdf_text.extract_pages(pdfs.pdf(page))["pages"][0]["picture"] for page, _ in PICTURES]
    assert found == [expected for _, expected in PICTURES]


def test_a_page_of_which_a_part_cannot_be_read_is_refused():
    """By what pypdf only warns of: a drawing within the page in a form that it does not know."""
    whole = pdfs.pdf(pdfs.drawn("Rent") + b" /Im1 Do")
    picture = b"/Subtype /Image /Width 1 /Height 1 /ColorSpace /DeviceGray /BitsPerComponent 8"
    unknown = b"/Subtype /Form /Filter /X /Resources << /Font << /F1 3 0 R >> >>".ljust(len(picture))
    assert pdf_text.extract_pages(whole.replace(picture, unknown)) == {"refused": "lost"}


def test_nonsense_on_a_page_keeps_nobody_from_what_is_marked():
    nonsense = b"[/x 5] Do <<>> Do /F1 Do 1 Tm (a) cm null Td [<<>> (b)] TJ Q Q "
    assert on(marked(pdfs.pdf(nonsense + pdfs.drawn("Rent")), note("/StrikeOut", QuadPoints=over(0, 50, 90)))) == [
        "Struck out: “Rent”"
    ]


def test_marks_on_a_turned_and_scaled_page_are_found():
    turned = pdfs.pdf(b"q 0 2 -2 0 400 100 cm BT /F1 12 Tf 14 TL 10 20 Td [(Rent ) -200 (500) ] TJ (EUR) ' ET Q")
    (page,) = PdfReader(io.BytesIO(turned)).pages
    signs = pdf_signs.signs_of(page)
    assert pdf_signs.text_of(signs[:8]) == "Rent 500"
    assert pdf_signs.line_around(signs, signs[5:6]) == "Rent 500"


def ruled(*rules: str) -> list[str]:
    """Over the first line of a page, whose words stand where they do in PAGE."""
    return on(pdfs.pdf(f"{' '.join(rules)} {pdfs.drawn('Rent 500 EUR a month').decode()}".encode()))


STRUCK = ["Struck out: “500 EUR” in “Rent 500 EUR a month”"]
RULES = (
    ("79 803.2 50 0.8 re f", STRUCK),
    ("0.8 w 79 803.6 m 129 803.6 l S", STRUCK),
    ("q 2 0 0 2 0 0 cm 39.5 401.6 25 0.4 re f Q", STRUCK),
    ("79 803.2 22 0.8 re f 101 803.2 28 0.8 re f", STRUCK),  # word by word
    ("79 798 50 0.8 re f", []),  # underlined
    (f"79 803.2 50 0.8 re f {'0 9 9 1 re f ' * 5_000}", []),  # a drawing
    ("79 803.2 50 9 re f", []),  # a box of colour
    ("40 803.2 500 0.8 re f", []),  # a rule across the page
)


def test_what_a_line_is_drawn_through_is_struck_out():
    found = {rule: ruled(rule) for rule, _ in RULES}
    assert {rule: found[rule] for rule, lines in RULES if found[rule] != lines} == {}
