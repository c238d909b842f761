"""Files as people attach them: members are shown what people see of them."""

import pytest

from engine.models import DocumentLimits
from toolbox.documents import AS_CSV, AS_MAIL, AS_PDF, UnreadableDocument, read_document

from .files import FILES, NAMED, shown

LIMITS = DocumentLimits(number=20, size=2 * 2**20, characters=60_000)

SEEN = {
    "leave-filled.pdf": ["Field “Name”: Hana Kubo", "Field “reason”: Parental leave", "Field “Paid leave”: ticked"],
    "leave-empty.pdf": ["Field “Name”: (empty)", "Field “Paid leave”: not ticked"],
    "leave-scanned-form.pdf": ["(Page 1 has no text that could be read.)", "Field “Name”: Hana Kubo"],
    "lease-comments.pdf": [
        "Struck out: “500 EUR” in “Rent 500 EUR a month, due on the 3rd.” (by Ada Okafor)",
        "Comment by Ben Ito: Not with my allergy.",
        "Answer by Ben Ito: Agreed.",
    ],
    "lease-signed-by-hand.pdf": ["Stamp by Ben Ito: Approved", "Text box: Agreed on 3 May 2026, H. Kubo"],
    "lease-exported.pdf": ["Struck out: “500 EUR” in “Rent 500 EUR a month”"],
    "lease-owner.pdf": ["Pets are allowed."],
    "scan.pdf": ["Refused: scan.pdf has no text, only pictures."],
    "scan-by-phone.pdf": ["Refused: scan-by-phone.pdf has hardly any text, only pictures."],
    "letter-and-scan.pdf": ["Cover letter", "Page 2 of 2", "(Most of page 2 is a picture, which was not read.)"],
    "scan-and-text.pdf": ["Cover letter", "(Page 2 has no text that could be read.)"],
    "umsatz-de.csv": ["umsatz-de.csv (Windows-1252)", "4400 | 1.234,50 | Büro, Köln"],
    "ventes-fr.csv": ["03/10/2026 | 1 234,50 € | Fournitures"],
    "sales-us.csv": ["10/3/2026 | 1,234.50 | Desk, oak"],
    "umsatz-ch.txt": ["umsatz-ch.txt (UTF-16LE)", "Miete\t1'234.50"],
    "sep-de.csv": ["Tisch | 99,90"],
    "angebot.eml": [
        "From: Zoë Brûlé <zoe@example.org>",
        "Subject: Angebot für die Küche – gültig bis 30.9.",
        "das Angebot gilt für 14 Tage; Anzahlung 1.250,50 €.",
        "Attached file, which is not read: “Angebot Küche.pdf”",
    ],
    "booking.eml": ["Two nights, not refundable.", "3 Oct | € 120", "(Parts that its HTML hides were left out: 1.)"],
    "terms.eml": ["The notice period is now six weeks."],
    "forwarded.eml": ["Attached mail:", "From: Ada Okafor <ada@example.org>", "We offer 900 EUR."],
    "kuendigung-2005.eml": ["Subject: Rückfrage zur Kündigung", "Die Frist beträgt vier Wochen."],
    "cut.eml": ["Refused: cut.eml is cut off: a part of the mail has no end."],
    "prices.xlsx": [
        "Refused: prices.xlsx is neither text in UTF-8 nor a PDF. Save the sheet that matters as CSV (UTF-8)"
    ],
    "notes-latin1.txt": ["notes-latin1.txt (Windows-1252)", "Café Müller, 12 £"],
}


def test_members_are_shown_of_each_file_what_people_see():
    assert SEEN.keys() == FILES.keys()
    said = {name: shown(name, NAMED.get(name, "")) for name in FILES}
    lacking = {
        name: (lines, said[name])
        for name, lines in SEEN.items()
        if [line for line in lines if not any(one.startswith(line) for one in said[name])]
    }
    assert lacking == {}


def test_an_encoding_that_nobody_named_is_not_guessed():
    assert ["is not in UTF-8" in shown(name)[0] for name in NAMED] == [True, True]
    assert "There is no encoding “latin9000”." in shown("angebot.eml", "latin9000")[0]


def test_a_page_that_was_saved_is_read_in_the_charset_that_it_names():
    pages = {
        '<meta charset="iso-8859-1"><p>Caf\xe9</p><p hidden>No</p>': "latin-1",
        '<meta charset="utf-16"><p>Caf\xe9</p><p hidden>No</p>': "utf-8",  # it cannot be: it was read in ASCII
        "<p>Caf\xe9</p><p hidden>No</p>": "utf-16",
    }
    found = [read_document("page.html", text.encode(name), LIMITS).lines for text, name in pages.items()]
    assert found == [("Café", "(Parts that the page hides were left out: 1.)")] * 3


def test_what_an_office_program_saved_is_refused_with_what_to_do():
    said = {}
    for name, data in {
        "a.xlsx": b"PK\3\4",
        "b.docx": b"PK\3\4",
        "c.rtf": b"{\\rtf1",
        "d.msg": b"\xd0\xcf\x11\xe0",
    }.items():
        with pytest.raises(UnreadableDocument) as refused:
            read_document(name, data, LIMITS)
        said[name] = str(refused.value).partition("a PDF. ")[2]
    assert said == {"a.xlsx": AS_CSV, "b.docx": AS_PDF, "c.rtf": AS_PDF, "d.msg": AS_MAIL}
