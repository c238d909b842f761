"""Words of a text, and the part of it that is shown."""

import unicodedata
from collections.abc import Iterable, Sequence

from engine.text.invisible_chars import escape_char

NUMBERS = "no one two three four five six seven eight nine".split()


def in_words(number: int) -> str:
    return NUMBERS[number] if number < len(NUMBERS) else str(number)


def every(number: int) -> str:
    return "Both" if number == 2 else f"All {in_words(number)}"


def last_words(text: str, count: int = 12) -> str:
    return " ".join(text.split()[-count:])[-200:]


def clean_text(text: str, most: int) -> str:
    """Return a text that every page and database accepts: trimmed, cut, control characters made visible."""
    shown = text.strip()
    if not shown.isprintable():
        shown = "".join(char if char in "\n\t" or not _controls(char) else escape_char(char) for char in shown)
    return shown if len(shown) <= most else f"{shown[: most - 2]} …"


def _controls(char: str) -> bool:
    return unicodedata.category(char) in ("Cc", "Cs")


def join_names(some: Iterable[str], last: str = "and") -> str:
    names = list(some)
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} {last} {names[-1]}"


def count_noun(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def word_overlap(said: Sequence[str], before: Sequence[str], width: int = 8) -> float:
    """Return the share of `said` that `before` contains, by sequences of `width` words. Shorter texts are equal or
    not."""
    if len(said) < width:
        return float(list(said) == list(before))
    now, then = _stretches(said, width), _stretches(before, width)
    return len(now & then) / len(now)


def _stretches(said: Sequence[str], width: int) -> set[tuple[str, ...]]:
    return {tuple(said[place : place + width]) for place in range(len(said) - width + 1)}
