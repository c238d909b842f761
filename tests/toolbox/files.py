"""Files as people attach them, made from nothing, and the lines that members are shown of each.

    python -m tests.toolbox.files FOLDER

writes them and prints the table.
"""

import os
import sys
from email.message import EmailMessage
from email.policy import SMTP
from pathlib import Path

import django

from . import pdfs
from .pdfs import field, marked, note, over

CP1252 = "windows-1252"
ON = {"/N": {"/Ja": {}, "/Off": {}}}


def letter(subject: str, *, sender: str = "Zoë Brûlé <zoe@example.org>", date: str = "Thu, 03 Sep 2026 10:00:00 +0200"):
    found = EmailMessage(policy=SMTP)
    found["From"], found["To"], found["Date"], found["Subject"] = sender, "Ben Ito <ben@example.org>", date, subject
    return found


def plain_mail() -> bytes:
    found = letter("Angebot für die Küche – gültig bis 30.9.")
    found["Cc"] = "Eve Ngo <eve@example.org>"
    found.set_content(
        "Lieber Ben,\n\ndas Angebot gilt für 14 Tage; Anzahlung 1.250,50 €.\n\nZoë\n", cte="quoted-printable"
    )
    found.add_attachment(b"%PDF-1.7", maintype="application", subtype="pdf", filename="Angebot Küche.pdf")
    found.add_attachment(b"x", maintype="image", subtype="png", filename="plan.png")
    return found.as_bytes()


def html_mail() -> bytes:
    found = letter("Your booking")
    hidden = '<div style="display:none">Free upgrade for whoever approves</div>'
    table = "<table><tr><td>Night</td><td>Price</td></tr><tr><td>3 Oct</td><td>&euro;&nbsp;120</td></tr></table>"
    found.set_content(
        f"<html><body>{hidden}<h1>Hello Ben</h1><p>Two nights, <b>not refundable</b>.</p>{table}</body></html>",
        "html",
        cte="base64",
    )
    return found.as_bytes()


def stub_mail() -> bytes:
    """As newsletters are: the text says to look elsewhere."""
    found = letter("Terms have changed")
    found.set_content("Please view this mail in HTML.\n")
    found.add_alternative("<p>The notice period is now <b>six</b> weeks.</p><img src='cid:logo'>", "html")
    found.get_payload()[1].add_related(b"x", "image", "png", cid="<logo>", filename="logo.png")
    return found.as_bytes()


def forwarded_mail() -> bytes:
    first = letter("Offer", sender="Ada Okafor <ada@example.org>", date="Tue, 01 Sep 2026 09:00:00 +0000")
    first.set_content("We offer 900 EUR.\n")
    found = letter("Fwd: Offer")
    found.set_content("See below. I would take it.\n")
    found.add_attachment(first)
    return found.as_bytes()


def old_mail() -> bytes:
    """A header and a body in Latin-1, folded and flowed, as programs of 2005 wrote them."""
    head = (
        "From: =?iso-8859-1?Q?J=F6rg_M=FCller?= <joerg@example.org>\nTo: ben@example.org\n"
        "Subject: =?iso-8859-1?Q?R=FCckfrage_zur?=\n =?iso-8859-1?Q?_K=FCndigung?=\n"
        "Date: Mon, 3 Oct 2005 08:00:00 +0200\n"
        "Content-Type: text/plain; charset=iso-8859-1; format=flowed\nContent-Transfer-Encoding: 8bit\n\n"
    )
    return (head + "Die Frist beträgt \nvier Wochen.\n> War sie nicht \n> drei?\n").encode("latin-1")


FORM = pdfs.pdf("Application for leave\nName:\nFrom / to:\nReason:\nPaid leave")
CONTRACT = pdfs.pdf("Lease\nRent 500 EUR a month, due on the 3rd.\nPets are allowed.\nDeposit: two months.")
FORMS = {
    "leave-filled.pdf": marked(
        FORM,
        field("/Tx", "name", TU="Name", V="Hana Kubo", Rect=[100, 780, 300, 794]),
        field("/Tx", "from", TU="From", V="2026-10-05", Rect=[100, 766, 180, 780]),
        field("/Tx", "to", TU="To", V="2026-10-16", Rect=[200, 766, 300, 780]),
        field("/Ch", "reason", V="par", Opt=[["hol", "Holiday"], ["par", "Parental leave"]], Rect=[100, 752, 300, 766]),
        field("/Btn", "paid", TU="Paid leave", V="/Ja", AS="/Ja", AP=ON, Rect=[130, 738, 140, 748]),
        field("/Sig", "signature", TU="Signature", Rect=[100, 700, 300, 730]),
    ),
    "leave-empty.pdf": marked(
        FORM,
        field("/Tx", "name", TU="Name", Rect=[100, 780, 300, 794]),
        field("/Btn", "paid", TU="Paid leave", AS="/Off", AP=ON, Rect=[130, 738, 140, 748]),
    ),
    "leave-scanned-form.pdf": marked(pdfs.SCANNED, field("/Tx", "name", TU="Name", V="Hana Kubo")),
    "lease-comments.pdf": marked(
        CONTRACT,
        note("/StrikeOut", "", "Ada Okafor", QuadPoints=over(1, 78, 126), Rect=[78, 783, 126, 796]),
        note("/Caret", "450 EUR", "Ada Okafor", Rect=[124, 776, 130, 784]),
        note("/Highlight", "Not with my allergy.", "Ben Ito", QuadPoints=over(2, 50, 150), Rect=[50, 769, 150, 782]),
        note("/Text", "We said one month.", "Ada Okafor", Rect=[300, 755, 310, 765]),
        note("/Text", "Agreed.", "Ben Ito", IRT=3),
    ),
    "lease-signed-by-hand.pdf": marked(
        CONTRACT,
        note("/FreeText", "Agreed on 3 May 2026, H. Kubo", Rect=[50, 600, 300, 620]),
        note("/Stamp", "", "Ben Ito", Name="/SBApproved", Rect=[300, 600, 400, 640]),
        note("/Ink", "", "Ben Ito", Rect=[50, 620, 120, 650]),
    ),
    "lease-exported.pdf": pdfs.pdf(f"{pdfs.drawn('Rent 500 EUR a month').decode()} 79 803.2 50 0.8 re f".encode()),
    "lease-owner.pdf": pdfs.encrypted(CONTRACT),
    "scan.pdf": pdfs.SCANNED,
    "scan-by-phone.pdf": pdfs.pdf(*[b"q 595 0 0 842 0 0 cm /Im1 Do Q " + pdfs.drawn("Scanned by a phone")] * 2),
    "letter-and-scan.pdf": pdfs.pdf("Cover letter", b"q 595 0 0 842 0 0 cm /Im1 Do Q " + pdfs.drawn("Page 2 of 2")),
    "scan-and-text.pdf": pdfs.pdf("Cover letter", pdfs.PICTURE_ALONE),
}
EXPORTS = {
    "umsatz-de.csv": 'Konto;Betrag;Text\r\n4400;"1.234,50";Büro, Köln\r\n4410;-980,00;Porto\r\n'.encode(CP1252),
    "ventes-fr.csv": "\ufeffDate;Montant;Libellé\r\n03/10/2026;1\u202f234,50 €;Fournitures\r\n".encode(),
    "sales-us.csv": b'Date,Amount,Note\r\n10/3/2026,"1,234.50","Desk, oak"\r\n10/4/2026,"$2,000.00",\r\n',
    "umsatz-ch.txt": "Konto\tBetrag\r\nMiete\t1'234.50\r\n".encode("utf-16"),
    "sep-de.csv": "sep=;\r\nArtikel;Preis\r\nTisch;99,90\r\n".encode("utf-8-sig"),
}
MAILS = {
    "angebot.eml": plain_mail(),
    "booking.eml": html_mail(),
    "terms.eml": stub_mail(),
    "forwarded.eml": forwarded_mail(),
    "kuendigung-2005.eml": old_mail(),
    "cut.eml": plain_mail()[:-40],
}
TEXTS = {"notes-latin1.txt": "Café Müller, 12 £".encode("latin-1"), "prices.xlsx": b"PK\3\4 and more"}
FILES = {**FORMS, **EXPORTS, **MAILS, **TEXTS}
NAMED = {"umsatz-de.csv": CP1252, "notes-latin1.txt": CP1252}  # what whoever attaches them says


def shown(name: str, encoding: str = "") -> list[str]:
    """The title and the lines that members are shown; the sentence where it is refused."""
    from engine.models import DocumentLimits
    from toolbox import documents  # which the command below can import only once Django is set up

    limits = DocumentLimits(number=20, size=2 * 2**20, characters=60_000)
    try:
        found = documents.read_document(name, FILES[name], limits, encoding=encoding)
    except documents.UnreadableDocument as error:
        return [f"Refused: {error}"]
    return [found.title, *found.lines]


def table() -> str:
    rows = ["| file | as attached | what members are shown |", "|---|---|---|"]
    for name in FILES:
        for encoding in dict.fromkeys(("", NAMED.get(name, ""))):
            title, *lines = shown(name, encoding)
            said = "<br>".join(f"{number}: {line}" for number, line in enumerate(lines, 1)).replace("|", "\\|")
            with_encoding = f", --encoding {encoding}" if encoding else ""
            rows.append(f"| {name}{with_encoding} | {title.replace('|', chr(92) + '|')} | {said} |")
    return "\n".join(rows)


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    django.setup()
    folder = Path(sys.argv[1])
    for name, data in FILES.items():
        (folder / name).write_bytes(data)
    print(table())
