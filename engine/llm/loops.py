"""A text whose end repeats: a model that goes round in circles, and would until its time is over."""

LOOKED_AT = 1_000  # characters that come between two looks
LEAST, LEAST_TIMES = 2_000, 6  # characters, and times, that a stretch of words repeats without a break
LEAST_OF_SIGNS = 4_000  # of a stretch without a letter: rules of tables and rows of numbers are long
END = 40  # characters by which the end is found again before it
LONGEST_STRETCH = 600


def repetition(text: str) -> str:
    """The stretch that the end of a text repeats again and again; empty where it does not.

    Only what is the same sign by sign counts. Lists, tables and code repeat words and forms, and hardly ever whole
    lines for half a page.
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
    """Looks at a text that grows, now and then: what a piece costs does not grow with it."""

    def __init__(self) -> None:
        self._tail = ""
        self._new: list[str] = []
        self._length = 0

    def add(self, piece: str) -> str:
        """As `repetition`, of all that has come."""
        self._new.append(piece)
        self._length += len(piece)
        if self._length < LOOKED_AT:
            return ""
        self._tail = "".join([self._tail, *self._new])[-(LEAST_OF_SIGNS + LONGEST_STRETCH) :]
        self._new, self._length = [], 0
        return repetition(self._tail)
