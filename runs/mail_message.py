"""An email as bytes that show exactly what was approved to every reader.

The bytes are parsed again, as a mail program would, before anything is sent. Some patch releases of Python write the
content of an encoded word (RFC 2047) as further headers and as text above the approved one (3.11.7, 3.12.1). Others
lose one of two spaces where a long subject is folded (3.11.7). Comparing also finds unknown defects.
"""

from collections import Counter
from email import message_from_bytes
from email.errors import MessageError
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP, EmailPolicy
from email.policy import default as as_read
from email.utils import format_datetime

from engine.headers import encode_header, header_complaint
from engine.models import Letter

HEADERS = Counter(
    ["from", "to", "subject", "message-id", "date", "content-type", "content-transfer-encoding", "mime-version"]
)
WHAT_TO_DO = "Nothing was sent. Have it written again, in plain characters."


class UnfaithfulMessage(Exception):
    """A mail program would show something else than what was approved. The message says what, and what to do."""


class _AsGiven(EmailPolicy):
    """Writes headers as they are given; Python's own policy decodes them first."""

    def header_store_parse(self, name: str, value: str) -> tuple[str, str]:
        return name, value


AS_WRITTEN = _AsGiven(linesep=SMTP.linesep, refold_source="none")


def write_message(sender: str, letter: Letter) -> bytes:
    """Return the email as bytes. `sender` is an address, optionally with a name. Raises UnfaithfulMessage."""
    try:
        data = _written(sender, letter)
        differing = _complaints(sender, letter) or _differences(data, sender, letter)
    except (MessageError, ValueError, LookupError) as error:  # the library's parsers raise all of these
        raise UnfaithfulMessage(f"No mail program can read this as an email: {error}. {WHAT_TO_DO}") from error
    if differing:
        raise UnfaithfulMessage(
            f"A mail program would not show what was approved: {'; '.join(differing)}. {WHAT_TO_DO}"
        )
    return data


def _written(sender: str, letter: Letter) -> bytes:
    name, address = _name_and_address(sender)
    message = EmailMessage(policy=AS_WRITTEN)
    message["From"] = f"{_quoted(name)} <{address}>" if name else address
    message["To"] = ",\n ".join(letter.recipients)
    message["Subject"] = encode_header(letter.subject)
    message["Message-ID"], message["Date"] = letter.message_id, format_datetime(letter.made)
    message.set_content(letter.text)
    return message.as_bytes()


def _name_and_address(sender: str) -> tuple[str, str]:
    """Parse the sender. `email.utils.parseaddr` of Debian's Python 3.11.2 rejects an address at an IP number."""
    found = as_read.header_factory("From", sender).addresses
    return (found[0].display_name, found[0].addr_spec) if found else ("", sender)


def _quoted(name: str) -> str:
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"' if name.isascii() else encode_header(name)


def _complaints(sender: str, letter: Letter) -> list[str]:
    values = (("the subject", letter.subject), ("a recipient", letter.to), ("the sender in EMAIL_URL", sender))
    return [f"{what} {complaint}" for what, value in values if (complaint := header_complaint(value))]


def _differences(data: bytes, sender: str, letter: Letter) -> list[str]:
    """Return what a reader would see differently from what was approved, each as a clause."""
    read = message_from_bytes(data, policy=as_read)
    if Counter(name.lower() for name in read) != HEADERS or read.defects or read.get_content_type() != "text/plain":
        return ["it has other headers or parts than ours"]
    name, address = _name_and_address(sender)
    shown_and_approved = {
        "another sender": (_addresses(read["From"]), [(name, _plain(address))]),
        "other recipients": (_addresses(read["To"]), [("", _plain(one)) for one in letter.recipients]),
        "another subject": (read["Subject"].strip(), letter.subject.strip()),
        "another Message-ID": (read["Message-ID"], letter.message_id),
        "another text": (_lines(read.get_content()), _lines(letter.text)),
    }
    return [f"it shows {what}" for what, (shown, approved) in shown_and_approved.items() if shown != approved]


def _plain(address: str) -> str:
    """Remove unnecessary quotes, as parsers do. A sender may be local, without a host."""
    return Address(addr_spec=address).addr_spec if "@" in address else address


def _addresses(header: object) -> list[tuple[str, str]]:
    return [(one.display_name, one.addr_spec) for one in getattr(header, "addresses", ())]


def _lines(text: str) -> list[str]:
    """Split into lines, ignoring a line break at the end, which nobody sees."""
    return text.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n").split("\n")
