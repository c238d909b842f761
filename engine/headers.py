"""What may be written into a header of an email, of HTTP or of a push message: exactly what its reader sees.

A mail program, and a server of push messages, decodes `=?charset?encoding?text?=` (RFC 2047, and RFC 2231 with a
language) wherever it finds it: in pieces, in any case and within names. So a value with such a sign is another value
once it is read.
"""

from email.header import Header

ENCODED = "=?"  # begins every encoded word
MAX_LINE_CHARACTERS = 75  # of one encoded word, RFC 2047 section 2
_NO_FOLDING = 1_000_000


def header_complaint(value: str) -> str:
    """Why a reader would see another value, as the rest of a sentence: “is …” or “has …”. Empty if it is the same."""
    if not value.isprintable():
        return "is one line: take line breaks and characters that nobody sees out of it"
    if ENCODED in value:
        return (
            f"has “{ENCODED}”, which begins text in a code: write the characters themselves, or a space after the “=”"
        )
    return ""


def encode_header(value: str, *, folded: bool = True) -> str:
    """The value in ASCII, from which a reader decodes exactly this value. `folded`: in lines, as email has them."""
    if value.isascii():
        return value
    return Header(value, "utf-8", maxlinelen=MAX_LINE_CHARACTERS if folded else _NO_FOLDING).encode(linesep="\n")
