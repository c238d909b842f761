"""The characters that a terminal sends for text, keys and pasted text.

Why so: missions/DESIGN.md, Terminals.
"""

from string import ascii_lowercase

ARROWS = {"up": "A", "down": "B", "right": "C", "left": "D", "home": "H", "end": "F"}
KEYS = {
    **{"enter": "\r", "esc": "\x1b", "tab": "\t", "shift-tab": "\x1b[Z", "backspace": "\x7f"},
    **{"insert": "\x1b[2~", "delete": "\x1b[3~", "page-up": "\x1b[5~", "page-down": "\x1b[6~"},
    **{f"f{number}": f"\x1bO{sign}" for number, sign in enumerate("PQRS", 1)},
    **{f"f{number}": f"\x1b[{code}~" for number, code in enumerate((15, 17, 18, 19, 20, 21, 23, 24), 5)},
    **{f"ctrl-{sign}": chr(ord(sign) - 96) for sign in ascii_lowercase},
}
NAMES = (*KEYS, *ARROWS)
PASTE_BEGINS, PASTE_ENDS = "\x1b[200~", "\x1b[201~"


def of_key(name: str, *, application: bool) -> str:
    """`application`: the program has turned on application cursor keys, which changes arrows."""
    return f"\x1b{'O' if application else '['}{ARROWS[name]}" if name in ARROWS else KEYS[name]


def of_text(text: str, *, by_lines: bool, pasted: bool = False) -> str:
    """The characters for a text.

    by_lines: the terminal is in canonical mode; otherwise line breaks become the Enter key
    pasted: put the text between the marks of bracketed paste
    """
    if not by_lines:
        text = text.replace("\r\n", "\n").replace("\n", "\r")
    if not pasted:
        return text
    return f"{PASTE_BEGINS}{text.replace(PASTE_ENDS, '')}{PASTE_ENDS}"
