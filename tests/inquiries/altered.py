"""True quotes of made-up sources, folded at random, and the same altered by one character: `python -m
tests.inquiries.altered` tries ten thousand of each and says what was found."""

import random
import re
import sys
import time
from argparse import ArgumentParser
from dataclasses import dataclass, field

from inquiries.quotes import FoldedText, find_quote, fold_text

SYLLABLES = "ka lo mi ter den ver sal ou ran bi stu ek or pla in tö né ß ж 海 wei ал".split()
SPACES = [" ", "  ", "\n", "\u00a0", "\t", "\u2009", " \u200b"]
QUOTES, DASHES = ["'", '"', "“", "”", "‘", "’", "«", "»"], ["-", "–", "—", "\u2011", "\u2212"]
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"


@dataclass
class AlteredQuotes:
    """Quotes that went wrong: true ones that were not found, or not there, and altered ones that were."""

    true: int = 0
    false: int = 0
    missed: list[str] = field(default_factory=list)
    misplaced: list[str] = field(default_factory=list)
    taken: list[str] = field(default_factory=list)


def play(seed: int, true: int, false: int) -> AlteredQuotes:
    dice = random.Random(seed)
    played = AlteredQuotes()
    while played.true < true or played.false < false:
        text = _text(dice)
        source = FoldedText(text)
        for start, end in _spans(dice, text, 40):
            quote = _refolded(dice, text[start:end])
            if played.true < true:
                _try_true(played, source, quote, start, end)
            if played.false < false and (wrong := _altered(dice, quote)):
                _try_false(played, source, wrong)
    return played


def _try_true(played: AlteredQuotes, source: FoldedText, quote: str, start: int, end: int) -> None:
    played.true += 1
    place = find_quote(quote, source)
    if place is None:
        played.missed.append(quote)
    elif fold_text(source.original[place.start : place.end]) != fold_text(source.original[start:end]):
        played.misplaced.append(quote)


def _try_false(played: AlteredQuotes, source: FoldedText, wrong: str) -> None:
    """Unless the altered one happens to stand there, as whole words."""
    if re.search(rf"(?<!\w){re.escape(fold_text(wrong))}(?!\w)", source.text):
        return
    played.false += 1
    if find_quote(wrong, source):
        played.taken.append(wrong)


def _text(dice: random.Random) -> str:
    return "".join(_word(dice) + _between(dice) for _ in range(dice.randrange(200, 900)))


def _word(dice: random.Random) -> str:
    if dice.random() < 0.1:
        return dice.choice([str(dice.randrange(10_000)), f"{dice.randrange(100)}.{dice.randrange(1, 100)}", "½", "ﬁne"])
    return "".join(dice.choice(SYLLABLES) for _ in range(dice.randrange(1, 5)))


def _between(dice: random.Random) -> str:
    sign = dice.choices(["", ", ", ". ", "-", " – ", " “"], [80, 8, 6, 2, 2, 2])[0]
    return sign or dice.choice(SPACES)


def _spans(dice: random.Random, text: str, number: int) -> list[tuple[int, int]]:
    """Runs of four to twenty whole words, as far as they are quotes."""
    words = [found.span() for found in re.finditer(r"\w+(?:[.,]\w+)*", text)]
    spans = []
    for _ in range(number):
        first = dice.randrange(len(words) - 21)
        start, end = words[first][0], words[first + dice.randrange(4, 21)][1]
        before, behind = text[:start], text[end:]
        if (
            end - start <= 250
            and not re.search(r"[\w.,\-–]$", before)
            and not _goes_on(before, text[start:end], behind)
        ):
            spans.append((start, end))
    return spans


def _goes_on(before: str, quote: str, behind: str) -> bool:
    """Whether the last word does behind it, or a number in threes at either end."""
    if re.match(r"[\w.,]|-\w", behind) or (re.match(r"\s*\d{3}(?!\d)", behind) and re.search(r"\d$", quote)):
        return True
    return bool(re.search(r"\d\s*$", before) and re.match(r"\d{3}(?!\d)", quote))


def _refolded(dice: random.Random, quote: str) -> str:
    """Other signs for the same: spaces, dashes, quotation marks, and hyphens that nobody sees."""
    quote = re.sub(r"\s[\s\u200b]*", lambda _: dice.choice(SPACES[:6]), quote)
    quote = re.sub("[“”\"']", lambda _: dice.choice(QUOTES), quote)
    quote = re.sub("[-–—]", lambda _: dice.choice(DASHES), quote)
    at = dice.randrange(1, len(quote))
    return quote[:at] + dice.choice(["", "\u00ad"]) + quote[at:]


def _altered(dice: random.Random, quote: str) -> str:
    """By one letter or digit: another, one more, or one less."""
    places = [at for at, sign in enumerate(quote) if sign.isascii() and sign.isalnum()]
    if not places:
        return ""
    at, new = dice.choice(places), dice.choice(LETTERS)
    wrong = dice.choice(
        [quote[:at] + new + quote[at + 1 :], quote[:at] + new + quote[at:], quote[:at] + quote[at + 1 :]]
    )
    return wrong if fold_text(wrong) != fold_text(quote) else ""


def main() -> int:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quotes", type=int, default=10_000)
    asked = parser.parse_args()
    began = time.process_time()
    played = play(asked.seed, asked.quotes, asked.quotes)
    wrong = {name: len(getattr(played, name)) for name in ("missed", "misplaced", "taken")}
    said = ", ".join(f"{name} {number}" for name, number in wrong.items())
    print(f"{played.true:,} true, {played.false:,} altered: {said}; {time.process_time() - began:.1f} s of processor")
    for name in wrong:
        for quote in getattr(played, name)[:5]:
            print(f"  {name}: {quote!r}")
    return 1 if any(wrong.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
