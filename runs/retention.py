"""How long texts are kept: the numbers and the words. True on paper.

Why so: docs/decisions.md, Rehearsal, redaction, retention.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from django.db.models import Q

HALF_YEAR = 183
LONGEST_DAYS = 36_500
OBLIGATION = (
    "Laws may ask you to keep logs longer: the EU AI Act, for one, asks those who use high-risk systems to keep theirs "
    "for at least six months."
)


INSTALLATION = "this installation"
KeptFor = Mapping[tuple[int, str], "Q"]
"""For how many days, and by whose word, the texts of which runs are kept; not those that are kept for ever."""
RetentionSpan = tuple[datetime | None, datetime | None, int]
"""What was submitted from one moment (None: ever) to another (None: now), and for how many days its texts are kept."""


def minimum_days(days: int, floor: int) -> int:
    """0 is for ever, and as a floor none."""
    return max(days, floor) if days else 0


def retention_spans(changes: Sequence[tuple[datetime, int]]) -> list[RetentionSpan]:
    """What was said of it, oldest first, as what holds for which runs: the longest time said since each was
    submitted. So a longer time holds for all, a shorter one for later runs alone."""
    found: list[RetentionSpan] = []
    longest, until = changes[-1][1], None
    for said, days in reversed(changes):
        longest = max(longest, days) if longest and days else 0
        if found and found[-1][2] == longest:
            found[-1] = (said, found[-1][1], longest)
        else:
            found.append((said, until, longest))
        until = said
    found[-1] = (None, *found[-1][1:])
    return found[::-1]


def is_below_half_year(days: int) -> bool:
    """Shorter than six months; 0 is for ever."""
    return 0 < days < HALF_YEAR


def format_days(days: int) -> str:
    """As in "Texts are kept ..."."""
    if not days:
        return "for ever"
    return f"for {_days(days)}{', shorter than six months' if is_below_half_year(days) else ''}"


def reason(days: int, whose: str) -> str:
    """Why texts were erased whose time was over; `whose` word it was that they are kept so long."""
    return f"Kept for {_days(days)}, as {whose} says."


def _days(days: int) -> str:
    return "1 day" if days == 1 else f"{days:,} days"
