"""An email is parsed before it is sent, and shows its reader exactly what was approved."""

import random
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import SMTP
from email.policy import default as as_read

import pytest

from engine.models import Letter
from runs import mail_message
from runs.mail.delivery import SmtpServer
from runs.mail_message import UnfaithfulMessage, write_message
from tests.engine.test_headers import ENCODED_WORDS, MORE_THAN_A_LINE

SENDER = "magi@magi.example"
TO = "ito@example.com, o'neil+x@example.com"
HOSTILE_SUBJECTS = (
    "Grüße",
    "日本語の件名です。" * 20,
    "two  spaces " * 15 + "ü",
    'quotes " and \\ and (brackets) <a@b.example>',
    "=0d=0aBcc: x@evil.example",
    "?utf-8?q?no start?=",
    "e\u0301 with a combining sign",
    "👍" * 100,
    "x" * 200,
    "From: boss@example.com, Bcc: x@evil.example;",
)
HOSTILE_TEXTS = (
    "So.\n\nSubject: Other\nBcc: x@evil.example",
    "\n\n.\n..\nFrom me",
    "=?utf-8?q?stays_as_it_is_in_a_text?=",
    "日本 " * 400,
    "x" * 2_000,
    " spaces \t at ends \t \n",
    "\x0b\x0c\x1c\x85\u2028 no lines",
)


def letter(**values):
    return Letter(**{"to": TO, "subject": "Minutes", "text": "As approved."} | values)


def test_hostile_but_permitted_subjects_and_texts_are_read_as_they_were_approved():
    for subject in HOSTILE_SUBJECTS:
        for text in HOSTILE_TEXTS:
            read = message_from_bytes(write_message(SENDER, letter(subject=subject, text=text)), policy=as_read)
            shown = read.get_content().replace("\r\n", "\n").removesuffix("\n")
            assert (read["Subject"], shown) == (subject, text.removesuffix("\n"))
            assert sorted(read.keys()) == sorted(["From", "To", "Subject", "Message-ID", "Date", "Content-Type",
                                                  "Content-Transfer-Encoding", "MIME-Version"])  # fmt: skip


def test_any_mixture_of_signs_is_read_as_it_was_approved():
    chosen = random.Random(7)
    signs = ["a", " ", "  ", "ü", "日", '"', "(", "<", ">", ",", ";", "?", "=", "_", "@", "\\", "word" * 20, "\u0300"]
    for _ in range(300):
        subject = "".join(chosen.choices(signs, k=40))[:200].replace("=?", "= ?").strip()
        assert message_from_bytes(write_message(SENDER, letter(subject=subject)), policy=as_read)["Subject"] == subject


def test_a_sender_keeps_its_name():
    for sender in ("MAGI <a@magi.example>", '"Müller, J." <a@magi.example>', '"a \\"b\\" c" <a@magi.example>'):
        read = message_from_bytes(write_message(sender, letter()), policy=as_read)
        assert [one.addr_spec for one in read["From"].addresses] == ["a@magi.example"]
    assert read["From"].addresses[0].display_name == 'a "b" c'


def test_a_sender_is_named_after_its_server_where_nobody_is_named():
    for url in ("smtp://host.example", "smtp://127.0.0.1:25", "smtp://[::1]", "smtp://host?from=magi"):
        assert write_message(SmtpServer.of(url).sender, letter()).startswith(b"From: magi")


@pytest.mark.parametrize("place", ["subject", "to", "sender"])
def test_what_a_reader_would_decode_is_written_into_no_header(place):
    for value in (*ENCODED_WORDS, *MORE_THAN_A_LINE):
        fields = {"subject": value, "to": f"{value}@example.com", "sender": f"{value} <a@magi.example>"}
        given = {"sender": SENDER, place: fields[place]}
        with pytest.raises(UnfaithfulMessage, match="Nothing was sent"):
            write_message(given.pop("sender"), letter(**given))


def changed(name):
    """The message with another value in one place, as a library that errs would write it."""

    def write(sender, letter):
        message = EmailMessage(policy=SMTP)
        fields = {"From": sender, "To": letter.to, "Subject": letter.subject, "Message-ID": letter.message_id}
        for field, value in (fields | {"Date": "Thu, 26 Nov 2026 14:28:58 +0000"}).items():
            message[field] = "x@evil.example" if field == name else value
        message.set_content("Other." if name == "text" else letter.text)
        if name == "attachment":
            message.add_attachment(b"x", maintype="application", subtype="pdf")
        elif name not in (*fields, "text", "nothing"):
            message[name] = "x@evil.example"
        return message.as_bytes()

    return write


@pytest.mark.parametrize("name", ["From", "To", "Subject", "Message-ID", "Cc", "Bcc", "Reply-To", "text", "attachment"])
def test_what_a_library_wrote_otherwise_is_found(monkeypatch, name):
    monkeypatch.setattr(mail_message, "_written", changed(name))
    with pytest.raises(UnfaithfulMessage, match="A mail program would not show what was approved: it "):
        write_message(SENDER, letter())


def test_what_a_library_wrote_in_its_own_way_is_faithful(monkeypatch):
    monkeypatch.setattr(mail_message, "_written", changed("nothing"))
    assert write_message(SENDER, letter()).endswith(b"As approved.\r\n")
