"""Random escape sequences, drawn by our emulator and by tmux: both screens and cursors have to be the same.

    python -m tests.missions.random_screens [--seed 1] [--count 500] [--length 12] [--rows 5] [--columns 10]

Each sequence follows from the seed and its number. One that differs is shortened until nothing of it can be left out,
and printed with both screens, together with all others that come to the same. Exit status 0 if none differs.
"""

import argparse
import random
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from pyte import charsets, modes

from missions.terminals.emulator import INSERTS, Emulator
from tests.missions.panes import Panes, missing

BATCH = 50  # sequences that tmux draws at once, each in a window
TEXTS = [b"a", b"bc", b"defgh", b"0123456789ABC", "漢".encode(), "é".encode(), b"e\xcc\x81", b" ", b"x"]
CONTROLS = [b"\r", b"\n", b"\r\n", b"\t", b"\b", b"\x0e", b"\x0f"]
PLAIN = [b"\x1b" + one for one in (b"7", b"8", b"D", b"E", b"M", b"H", b"c", b"(0", b"(B", b")0", b")B")]
MODES = [b"\x1b[" + one + end for one in (b"4", b"?6", b"?7", b"?47", b"?1047", b"?1049") for end in (b"h", b"l")]
NUMBERS = (b"", b"0", b"1", b"2", b"3", b"4", b"12")
ONE_NUMBER = b"ABCDEFG`dLMPSTXbJKZ@gsu"
SAVES = {b"\x1b7", b"\x1b[?1049h", *(b"\x1b[%bs" % number for number in NUMBERS)}
# tmux prints line drawing as the letters that were sent
AS_TYPED = {ord(sign): code for code, sign in enumerate(charsets.VT100_MAP) if ord(sign) > 127 and code < 127}
BEHIND = (b"\b", b"\t", b"D", b"d", b"X", b"P", b"@", b"J", b"K")
Tokens = tuple[bytes, ...]
Shown = tuple[str, tuple[int, int]]


def sequence(seed: int, number: int, length: int, rows: int, columns: int) -> Tokens:
    chance = random.Random(f"{seed} {number}")
    return without_known(tuple(_token(chance) for _ in range(length)), rows, columns)


def without_known(tokens: Tokens, rows: int, columns: int) -> Tokens:
    """Those that are not known to differ where they stand."""
    screen, found = Emulator(rows, columns), list[bytes]()
    for token in tokens:
        if not differs_knowingly(screen, found, token):
            screen.feed(token)
            found.append(token)
    return tuple(found)


def differs_knowingly(screen: Emulator, before: Sequence[bytes], token: bytes) -> bool:
    """Whether this is one of the differences that missions/DESIGN.md lists under Terminals."""
    reads_region = token.endswith(b";0r") or (token.endswith(b"r") and modes.DECOM in screen.mode)
    repeats = token.startswith(b"\x1b[") and token.endswith(b"b")
    begins_anew = token == b"\x1bc" and (screen.alternate or not SAVES.isdisjoint(before))
    return (
        reads_region
        or begins_anew
        or (repeats and not b"".join(before[-1:]).isascii())
        or _differs_at_cursor(screen, token)
        or _differs_at_wide_sign(screen, token)
    )


def _differs_at_cursor(screen: Emulator, token: bytes) -> bool:
    """By the room that is left in the row, or by the region."""
    top, bottom = screen.margins or (0, screen.lines - 1)
    x, y = screen.cursor.x, screen.cursor.y
    room = screen.columns - x
    fills = token.endswith(b"@") and token[2:-1].isdigit() and int(token[2:-1]) >= room
    return (
        fills
        or (room <= 0 and (token in MODES or token.endswith(BEHIND)))
        or (token == b"\b" and x == 0 and screen.buffer[y - 1].goes_on)
        or (token.endswith((b"L\r", b"M\r")) and not top <= y <= bottom)
        or (token in TEXTS and INSERTS in screen.mode and len(token) > room)
    )


def _differs_at_wide_sign(screen: Emulator, token: bytes) -> bool:
    row, x = screen.buffer[screen.cursor.y], screen.cursor.x
    erases = token.endswith((b"X", b"J", b"K")) and row[x + 1].data == ""
    return erases or (row[x].data == "" and (token in TEXTS or token.endswith((b"X", b"J", b"K"))))


def _token(chance: random.Random) -> bytes:
    kind = chance.random()
    if kind < 0.4:
        return chance.choice(TEXTS)
    if kind < 0.5:
        return chance.choice(CONTROLS)
    if kind < 0.6:
        return chance.choice(PLAIN)
    if kind < 0.7:
        return chance.choice(MODES)
    if kind < 0.8:
        return b"\x1b[%d;%d%b" % (chance.randrange(8), chance.randrange(12), chance.choice([b"H", b"f", b"r"]))
    number = chance.choice(NUMBERS)
    verb = chance.choice(ONE_NUMBER)
    # to which column these lead is a known difference
    return b"\x1b[%b%c%b" % (number, verb, b"\r" if verb in b"LM" else b"")


def ours(tokens: Tokens, rows: int, columns: int) -> Shown:
    screen = Emulator(rows, columns)
    screen.feed(b"".join(tokens))
    lines = ("".join(text for text, _ in row).rstrip() for row in screen.rows)
    return "\n".join(lines).rstrip("\n").translate(AS_TYPED), screen.place


def compared(panes: Panes, sequences: Sequence[Tokens], rows: int, columns: int) -> list[tuple[Shown, Shown]]:
    """Our screen and that of tmux for each."""
    found = []
    for begin in range(0, len(sequences), BATCH):
        part = sequences[begin : begin + BATCH]
        theirs = panes.replayed_together([b"".join(one) for one in part], rows, columns)
        found += [(ours(one, rows, columns), shown) for one, shown in zip(part, theirs, strict=True)]
    return found


def shortened(panes: Panes, tokens: Tokens, rows: int, columns: int) -> Tokens:
    """Without all that it needs not to differ."""
    while True:
        parts = (tokens[:at] + tokens[at + 1 :] for at in range(len(tokens)))
        shorter = list(dict.fromkeys(without_known(one, rows, columns) for one in parts))
        both = compared(panes, shorter, rows, columns)
        differing = [one for one, (mine, theirs) in zip(shorter, both, strict=True) if mine != theirs]
        if not differing:
            return tokens
        tokens = differing[0]


def kind_of(tokens: Tokens) -> str:
    """The tokens with any number as n and any text as text."""
    words = (
        "text" if one in TEXTS else repr(re.sub(rb"(?<=[\[;])(?!\?)[0-9]+", b"n", one))[2:-1].replace("\\x1b", "ESC ")
        for one in tokens
    )
    return ", ".join(words)


def main(asked: argparse.Namespace) -> bool:
    size = asked.rows, asked.columns
    folder = Path(tempfile.mkdtemp(prefix="magi-screens-"))
    panes, began = Panes(folder), time.monotonic()
    try:
        every = [sequence(asked.seed, number, asked.length, *size) for number in range(asked.count)]
        both = compared(panes, every, *size)
        differing = [one for one, (mine, theirs) in zip(every, both, strict=True) if mine != theirs]
        kinds: dict[str, list[Tokens]] = {}
        for one in differing:
            short = shortened(panes, one, *size)
            kinds.setdefault(kind_of(short), []).append(short)
        for lines in _told(panes, kinds, *size):
            print(lines, flush=True)
    finally:
        panes.close()
        shutil.rmtree(folder, ignore_errors=True)
    seconds = time.monotonic() - began
    print(f"{len(differing)} of {asked.count} differ at {size[0]}x{size[1]}, in {seconds:.0f} s.")
    return not differing


def _told(panes: Panes, kinds: dict[str, list[Tokens]], rows: int, columns: int) -> Iterator[str]:
    for kind, examples in sorted(kinds.items(), key=lambda pair: -len(pair[1])):
        [(mine, theirs)] = compared(panes, examples[:1], rows, columns)
        yield f"{len(examples)}: {kind}\n    {b''.join(examples[0])!r}\n    ours {mine}\n    tmux {theirs}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Compare random screens with those of tmux.")
    for name, usual in (("seed", 1), ("count", 500), ("length", 12), ("rows", 5), ("columns", 10)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    if lacking := missing():
        sys.exit(lacking)
    sys.exit(0 if main(parser.parse_args()) else 1)
