"""Texts as search terms. No database is used, and the same rules apply to indexed texts and to queries.

Why so: runs/DESIGN.md, Finding.
"""

import re
import unicodedata
from hashlib import sha256

LONGEST_WORD = 64

# scripts that are written without spaces: Thai, Lao, Myanmar, Khmer, kana, bopomofo and Han
_ALONE = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u312f\u31a0-\u31bf\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_WORD = re.compile(rf"[{_ALONE}]|[^\W{_ALONE}]+")
_ID = re.compile(r"\b([0-9a-f]{8})(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", re.IGNORECASE)
_PLAIN = re.compile(r"[a-z0-9_]*")
_SHORT_ID = re.compile(r"[0-9a-f]{8}")

Term = str
"""A word, or the beginning of one with a star behind it, or a label."""


def index_words(text: str) -> list[str]:
    """Return the distinct words of a text without case, accents and punctuation, in order.

    In scripts without spaces each character is a word.
    """
    return list(dict.fromkeys(_split(text)))


def _split(text: str) -> list[str]:
    plain = text.lower() if text.isascii() else _plain(text)
    return [word[:LONGEST_WORD] for word in _WORD.findall(plain)]


def _plain(text: str) -> str:
    folded = unicodedata.normalize("NFKD", text).casefold()
    return "".join(char for char in unicodedata.normalize("NFKD", folded) if unicodedata.category(char)[0] != "M")


def label_term(name: str, value: object) -> Term:
    """Return the term for a property of a run, such as its outcome. No text contains it, and no word begins with it.

    A text that is no plain word, such as a custom outcome, is replaced by a digest that ignores case.
    """
    value = value.casefold() if isinstance(value, str) else value
    if isinstance(value, str) and not _PLAIN.fullmatch(value):
        value = sha256(value.encode()).hexdigest()[:16]
    return f"={name}={value}"


def labels_in(words: str) -> list[Term]:
    """Return the labels in a string of stored words."""
    return [word for word in words.split() if word.startswith("=")]


def query_terms(query: str) -> list[list[Term]]:
    """Return the terms of a query: a match has at least one of each list. The last word may be the beginning of a
    longer one.
    """
    words = _split(_ID.sub(r"\1", query))
    terms = {word: [word] for word in words}
    if words:
        terms[words[-1]] = [f"{words[-1]}*"]
    return [[*term, label_term("id", word)] if _SHORT_ID.fullmatch(word) else term for word, term in terms.items()]
