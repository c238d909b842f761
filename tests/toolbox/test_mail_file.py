"""A mail is what people see of it, and not its code."""

from email.message import EmailMessage

import pytest

from toolbox.mail_file import read

HEAD = "From: a@example.org\nSubject: S\n"


def of(head: str, body: str | bytes = "", named: str = ""):
    data = body if isinstance(body, bytes) else body.encode()
    found = read(f"{HEAD}{head}\n".encode() + data, named)
    return found["lines"][3:] if "lines" in found else found["refused"]


def in_parts(*parts: str, kind: str = "mixed", end: str = "--b--\n") -> tuple[str, str]:
    return f'Content-Type: multipart/{kind}; boundary="b"\n', "".join(f"--b\n{part}\n" for part in parts) + end


TEXT, HTML = "Content-Type: text/plain\n\nThe fee is 500.", "Content-Type: text/html\n\n<p>The fee is <b>500</b>.</p>"
MORE, HIDES = HTML.replace("500", "900"), "Content-Type: text/html\n\n<p hidden>Yes!</p><p>No.</p>"
INVITATION = "Content-Type: text/calendar\n\nBEGIN:VCALENDAR"
PICTURE = "Content-Type: image/png\nContent-Disposition: inline; filename*=utf-8''k%C3%BCche.png\n\nx"
AS_FILE = "Content-Type: text/plain; name=log.txt\nContent-Disposition: attachment\n\nsecret"
MAIL = "Content-Type: message/rfc822\n\nFrom: b@example.org\nSubject: T\n\nInside."
INSIDE = ["Attached mail:", "From: b@example.org", "Subject: T", "", "Inside.", "(End of the attached mail.)"]
SEEN = (
    (of("", "One.\n\n\nTwo.  \n\n"), ["One.", "", "", "Two."]),
    (of("", ""), ["(This mail has no text.)"]),
    (of("Content-Type: text/html\n", "<title>T</title><p>One.<br>Two."), ["One.", "Two."]),
    (of(*in_parts(TEXT, HTML, kind="alternative")), ["The fee is 500."]),
    (of(*in_parts(TEXT, MORE, kind="alternative")), ["The fee is 900."]),
    (
        of(*in_parts(TEXT, INVITATION, kind="alternative"))[2:],
        ["Attached file, which is not read: without a name (text/calendar)"],
    ),
    (of(*in_parts(HIDES)), ["No.", "", "(Parts that its HTML hides were left out: 1.)"]),
    (of(*in_parts(TEXT, PICTURE))[2:], ["Attached file, which is not read: “küche.png”"]),
    (
        of(*in_parts(TEXT, 'Content-Type: image/png; name="küche.png"\n\nx'))[2:],
        ["Attached file, which is not read: “küche.png”"],
    ),
    (of(*in_parts(TEXT, AS_FILE))[2:], ["Attached file, which is not read: “log.txt”"]),
    (of(*in_parts(TEXT, MAIL))[3:], INSIDE),
    (of("Content-Transfer-Encoding: quoted-printable\n", "caf=C3=A9 =\n1"), ["café 1"]),
    (of("Content-Transfer-Encoding: base64\n", "Y2Fmw6k=  \n"), ["café"]),
    (of("Content-Type: text/plain; charset=iso-8859-1\n", b"\x80 12 f\xfcr"), ["€ 12 für"]),
    (of("Content-Type: text/plain; charset=no-such\n", "café"), ["café"]),
    (of("", b"caf\xe9", "latin-1"), ["café"]),
    (of("Content-Type: text/plain; format=flowed; delsp=yes\n", "over \nlong\n-- \nZ"), ["overlong", "--", "Z"]),
)
REFUSED = (
    (of("", b"caf\xe9"), "encoding"),
    (of("Content-Type: multipart/encrypted; boundary=b\n", "--b\n\nx\n--b--\n"), "encrypted"),
    (of("Content-Type: application/pkcs7-mime\n", "x"), "encrypted"),
    (of("", "-----BEGIN PGP MESSAGE-----\nx"), "encrypted"),
    (of(*in_parts(TEXT, end="")), "cut"),
    (of("Content-Type: multipart/mixed\n", "x"), "broken"),
    (of("Content-Transfer-Encoding: base64\n", "Y2Fmw"), "broken"),
    (of(*in_parts(*[TEXT] * 600)), "nested"),
)


def test_a_mail_is_what_people_see_of_it():
    assert [(found, lines) for found, lines in SEEN if found != lines] == []


def test_what_cannot_be_read_whole_is_refused():
    assert [(found, why) for found, why in REFUSED if found != why] == []


@pytest.mark.parametrize("data", [b"", b"Just a text.\n", b"\xff\xfeF\0r\0o\0m\0", b"{}"])
def test_what_is_no_mail_is_said_to_be_none(data):
    assert read(data) == {"refused": "no mail"}


def test_mails_within_each_other_have_an_end():
    found = EmailMessage()
    for _ in range(12):
        outer = EmailMessage()
        outer["Subject"] = "S"
        outer.set_content("x")
        outer.add_attachment(found)
        found = outer
    assert read(found.as_bytes())["refused"] == "nested"


def test_words_of_headers_are_read_and_stay_as_they_are_where_they_cannot_be():
    heads = ("=?utf-8?B?Y2Fm?= =?utf-8?B?w6k=?=", "=?utf-8?Q?f=C3=BCr?= 2", "=?no-such?Q?x?=", "=?utf-8?B?/?=")
    found = [read(f"Subject: {head}\n\nx".encode())["lines"][0].removeprefix("Subject: ") for head in heads]
    assert found == ["café", "für 2", *heads[2:]]
