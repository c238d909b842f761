"""Limits of questions, answers and inquiries."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

QUESTION_LENGTHS = (3, 4_000)
RESULT_LENGTH = 4_000
TRACE_LENGTH = 2_500
STEP_LENGTHS = (10, 400)
STEPS = 8  # of research, and the same number of the expert
CLAIMS = 12  # of one submission
QUOTES = 12  # of one claim
MAX_PARALLEL = 3  # uses of tools in one answer
MAX_SUBMISSIONS = 3  # refused ones, after which the try fails
MAX_REPEATED_CALLS = 3  # equal tool calls in a try, after which it must submit
MOVES_OF_A_STEP = 40  # in all tries
HINTS = 20
SOURCES, READ = 200, 20_000_000  # of one inquiry: sources, and characters in all
PAUSES = (30, 60, 120, 240, 480)  # seconds after the first, second ... network error in a row


@dataclass(frozen=True)
class LimitRange:
    least: int
    usual: int
    most: int

    def complaint(self, name: str, value: int) -> str:
        if self.least <= value <= self.most:
            return ""
        return f"{name} is a number from {self.least:,} to {self.most:,}."


@dataclass(frozen=True)
class InquiryLimits:
    """Limits of one inquiry: moves per try, tokens per step, minutes of work, web pages. `patience`: factor of the
    pauses after network errors. `sites`: number of sites that a claim needs if it rests on web pages only."""

    moves: int = 12
    tokens: int = 60_000
    minutes: int = 30
    patience: int = 1
    pages: int = 40
    sites: int = 1

    @classmethod
    def of(cls, kept: Mapping[str, Any]) -> "InquiryLimits":
        """Read stored limits. Raises ValueError with a sentence if one is out of range."""
        limits = cls(**{name: kept[name] for name in BOUNDS if name in kept})
        for name, bound in BOUNDS.items():
            if complaint := bound.complaint(name, getattr(limits, name)):
                raise ValueError(complaint)
        return limits


BOUNDS = {
    "moves": LimitRange(1, 12, 40),
    "tokens": LimitRange(4_000, 60_000, 2_000_000),
    "minutes": LimitRange(1, 30, 1_440),
    "patience": LimitRange(0, 1, 10),
    "pages": LimitRange(0, 40, 200),
    "sites": LimitRange(1, 1, 2),
}
assert [field.name for field in fields(InquiryLimits)] == list(BOUNDS)  # noqa: S101 - each has its bound


def question_problem(question: str) -> str:
    """Return why a text is no valid question, in a sentence; empty if it is one."""
    least, most = QUESTION_LENGTHS
    text = question.strip()
    if not text:
        return "Write a question. It is empty."
    if len(text) > most:
        return f"A question has at most {most:,} characters. This has {len(text):,}: attach the rest as a document."
    if len(text) < least or sum(char.isalnum() for char in text) < 2:
        return f"A question has at least {least} characters, two of them letters or digits."
    return ""


def retry_pause(errors: int) -> int:
    """Return the seconds before the next try, after this number of network errors in a row."""
    return PAUSES[min(errors, len(PAUSES)) - 1] if errors > 0 else 0
