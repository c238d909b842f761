"""Detection of answers that repeat endlessly, which would otherwise run until the timeout."""

LOOKED_AT = 1_000  # characters that come between two looks
LEAST, LEAST_TIMES = 2_000, 6  # characters, and times, that a stretch of words repeats without a break
LEAST_OF_SIGNS = 4_000  # of a stretch without a letter: rules of tables and rows of numbers are long
END = 40  # characters by which the end is found again before it
LONGEST_STRETCH = 600


def repetition(text: str) -> str:
    """Return the stretch that the end of a text repeats; empty if there is none.

    Only exact repetition counts. Lists, tables and code repeat words and forms, but hardly ever whole lines for
    half a page.
    """
    end = text[-END:]
    before = text.rfind(end, max(0, len(text) - END - LONGEST_STRETCH), len(text) - 1)
    period = len(text) - len(end) - before
    if before < 0 or period < 1:
        return ""
    stretch = text[-period:]
    least = max(LEAST if any(sign.isalpha() for sign in stretch) else LEAST_OF_SIGNS, LEAST_TIMES * period)
    tail = text[-least:]
    return stretch if len(tail) == least and tail[period:] == tail[:-period] else ""


class LoopWatch:
    """Checks a growing text every LOOKED_AT characters, so that the cost of a piece does not depend on the text's
    length.
    """

    def __init__(self) -> None:
        self._tail = ""
        self._new: list[str] = []
        self._length = 0

    def add(self, piece: str) -> str:
        """Add a piece; return `repetition` of the text so far."""
        self._new.append(piece)
        self._length += len(piece)
        if self._length < LOOKED_AT:
            return ""
        self._tail = "".join([self._tail, *self._new])[-(LEAST_OF_SIGNS + LONGEST_STRETCH) :]
        self._new, self._length = [], 0
        return repetition(self._tail)
