"""Retention periods of texts: their computation and wording.

Why so: runs/DESIGN.md, Rehearsal, redaction, retention.
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
"""Runs by the days of their retention and who sets it; runs that are kept for ever are left out."""
RetentionSpan = tuple[datetime | None, datetime | None, int]
"""Runs submitted from one time (None: ever) to another (None: now), and the days of their retention."""


def minimum_days(days: int, floor: int) -> int:
    """Apply the installation's minimum. 0 days means for ever; a floor of 0 means no minimum."""
    return max(days, floor) if days else 0


def retention_spans(changes: Sequence[tuple[datetime, int]]) -> list[RetentionSpan]:
    """Convert changes, oldest first, to the retention of runs by their time of submission.

    For each run the longest retention set since its submission applies. So a longer one applies to all runs, a shorter
    one only to later runs.
    """
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
    """Return whether it is shorter than six months; 0 means for ever."""
    return 0 < days < HALF_YEAR


def format_days(days: int) -> str:
    """Complete the sentence "Texts are kept …"."""
    if not days:
        return "for ever"
    return f"for {_days(days)}{', shorter than six months' if is_below_half_year(days) else ''}"


def reason(days: int, whose: str) -> str:
    """Return the reason for a redaction at the end of the retention, which `whose` set."""
    return f"Kept for {_days(days)}, as {whose} says."


def _days(days: int) -> str:
    return "1 day" if days == 1 else f"{days:,} days"
