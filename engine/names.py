"""Which names people cannot tell from one another: one definition for all doors that refuse a taken or reserved name.

Names are kept and looked up as they are written. This is for refusals alone: of two names that look the same the one
that came second is not taken, whatever its letters are called in Unicode.
"""

import unicodedata
from collections.abc import Iterable

from .text.invisible_chars import is_invisible

# letters of other scripts, and odd ones of our own, that are drawn as these of the Latin script are, or nearly so;
# what NFKD takes apart (accents, full width, mathematical and circled letters, ligatures) needs no line
_DRAWN_AS = {
    "A": "АΑᎪꓮᴀ",
    "B": "ВΒᏴꓐʙ",
    "C": "СϹᏟꓚᴄⅭ",
    "D": "ᎠꓓᴅĐ",
    "E": "ЕΕᎬꓰᴇ",
    "F": "ꓝϜ",
    "G": "ԌᏀꓖɢ",
    "H": "НΗᎻꓧʜĦ",
    "I": "ІΙӀᏆꓲɪ",
    "J": "ЈͿᎫꓙᴊ",
    "K": "КΚᏦꓗᴋ",
    "L": "ᏞꓡʟԼŁ",
    "M": "МΜᎷꓟᴍ",
    "N": "ΝꓠɴՈ",
    "O": "ОΟՕꓳᴏØ",
    "P": "РΡᏢꓑᴘ",
    "Q": "Ԛ",
    "R": "ᎡᏒꓣʀ",
    "S": "ЅᏚꓢՏꜱ",
    "T": "ТΤᎢꓔᴛŦ",
    "U": "ՍꓴᴜᏌ",
    "V": "ѴᏙꓦᴠ",
    "W": "ԜᎳꓪᴡ",
    "X": "ХΧꓫ",
    "Y": "УΥҮꓬʏᎩ",
    "Z": "ΖᏃꓜᴢ",
    "a": "аαɑ",
    "b": "ьЬƅᏏ",
    "c": "сϲ",
    "d": "ԁđ",
    "e": "еεҽ",
    "g": "ɡցᶃ",
    "h": "һհħᏂ",
    "i": "іιıɩӏ",
    "j": "јϳյ",
    "k": "кκ",
    "l": "ł",
    "m": "м",
    "n": "пηոռ",
    "o": "оοօø",
    "p": "рρ",
    "q": "ԛգզ",
    "r": "гꭇ",
    "s": "ѕꜱ",
    "t": "тτŧ",
    "u": "υսᴜ",
    "v": "νѵᴠ",
    "w": "ԝωѡᴡ",
    "x": "хχ",
    "y": "уγү",
    "z": "ᴢ",
    "ae": "ӕ",
}
_LOOKS = str.maketrans({drawn: latin for latin, many in _DRAWN_AS.items() for drawn in many})
_MARKS = ((0x300, 0x36F), (0x483, 0x489), (0x1AB0, 0x1AFF), (0x1DC0, 0x1DFF), (0x20D0, 0x20FF), (0xFE20, 0xFE2F))


def look_alike(name: str, others: Iterable[str]) -> str | None:
    """The first of the others that people would take for this name."""
    keys = _keys(name)
    return next((other for other in others if keys & _keys(other)), None)


def _keys(name: str) -> set[str]:
    """As it is spelled, and as it is drawn: two names look the same where they have one of these in common."""
    text = unicodedata.normalize("NFKD", "".join(char for char in name if not is_invisible(char)))
    text = " ".join("".join(map(_plain, text)).split())
    return {_folded(text), _folded(text.translate(_LOOKS))} - {""}


def _plain(char: str) -> str:
    """Accents are drawn small, and dashes are alike; marks of scripts that have no letters without them stay."""
    if any(first <= ord(char) <= last for first, last in _MARKS) or is_invisible(char):
        return ""
    return "-" if unicodedata.category(char) == "Pd" else char


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKD", text.casefold())
