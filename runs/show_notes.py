"""What the record notes of the links, badges and accounts that show it; and the rows of these, held against that.

Notes are sealed, these rows are what is asked when somebody comes. One that shows nothing any more is held against
nothing.

Why so: runs/DESIGN.md, Sharing.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple, Self
from uuid import UUID

from django.utils.dateformat import format as date_format

from engine.models import Review
from engine.text.invisible_chars import single_line

from .models import AccessGrant, BadgeLink, ShareLink
from .models.grants import TO_LENGTH

Shown = ShareLink | BadgeLink | AccessGrant

RESERVED = re.compile(
    r"(?:Link|Badge) \d+ (?:made\b|ended\.)[^\n]*"
    r"|Given to [^\n]*: to be seen until it is taken back\.[^\n]*"
    r"|Taken back from [^\n]*\."
)
NUMBERED = re.compile(r"(Given to|Taken back from) (.*), number (\d+)\.")


def made_note(row: Shown) -> str:
    by = f"Account {row.by_id} shows it"
    if isinstance(row, ShareLink):
        return f"{_made_before(row)} {by}."
    if isinstance(row, BadgeLink):
        return f"{_made_before(row)} {by} until {_day(row.until)}."
    to = f"account {row.user_id}" if row.user_id else f"group {row.group_id}"
    return f"{_made_before(row)} {by} to {to}, number {row.pk}."


def ended_note(row: Shown) -> str:
    if isinstance(row, AccessGrant):
        return f"Taken back from {single_line(row.to)}, number {row.pk}."
    return f"{_name(row)} ended."


def is_reserved(text: str) -> bool:
    """Whether it reads as one of these notes: people write none of them."""
    return RESERVED.fullmatch(text.strip()) is not None


def misshown(runs: Collection[UUID]) -> Iterator[tuple[UUID, str]]:
    """Which of these are shown otherwise than was noted, or after it was noted that it ends."""
    still = {"run__in": runs, "run__redacted": None, "ended": None, "by__isnull": False}
    found: list[Shown] = [
        one for model in (ShareLink, BadgeLink, AccessGrant) for one in model.objects.filter(**still).order_by("pk")
    ]
    rows = [(row.run_id, row) for row in found if row.run_id]
    if not rows:
        return
    of_runs = _Notes.of({run for run, _ in rows})
    left: Counter[tuple[UUID, str]] = Counter()
    for run, row in rows:
        notes = of_runs[run]
        if not notes.tell_of(row):
            yield run, f"{_name(row)} shows it otherwise than is noted."
        elif ended_note(row) in notes.texts:
            yield run, f"{_name(row)} was ended and shows it again."
        elif isinstance(row, AccessGrant) and made_note(row) not in notes.texts:
            left[run, row.to] += 1
            if left[run, row.to] > notes.not_taken_back(row):
                yield run, f"{_name(row)} was ended and shows it again."


class _Notes(NamedTuple):
    """Of one run: all of them, and which account wrote which."""

    texts: Counter[str]
    by: set[tuple[str, int | None]]

    @classmethod
    def of(cls, runs: Collection[UUID]) -> dict[UUID, Self]:
        found: dict[UUID, Self] = defaultdict(lambda: cls(Counter(), set()))
        notes = Review.objects.filter(run__in=runs, kind=Review.Kind.NOTE)
        for run, text, author in notes.values_list("run", "text", "author"):
            found[run].texts[text] += 1
            found[run].by.add((text, author))
        return found

    def tell_of(self, row: Shown) -> bool:
        if made_note(row) in self.texts:
            return True
        before = _made_before(row)
        if isinstance(row, AccessGrant) and len(row.to) == TO_LENGTH:  # a longer name was noted whole
            return any(text.startswith(before.partition(": ")[0]) and by == row.by_id for text, by in self.by)
        return (before, row.by_id) in self.by

    def not_taken_back(self, given: AccessGrant) -> int:
        """How many were given it under this name and have it still, of before notes had numbers."""
        to = single_line(given.to)
        numbered = [found.groups() for found in map(NUMBERED.fullmatch, self.texts) if found]
        told = {number for begins, _, number in numbered if begins == "Given to"}
        late = sum(name == to and number not in told for begins, name, number in numbered if begins != "Given to")
        if len(given.to) == TO_LENGTH:
            return self.texts.total()
        return self.texts[_made_before(given)] - self.texts[f"Taken back from {to}."] - late


def _made_before(row: Shown) -> str:
    """As it was noted before notes told accounts."""
    if isinstance(row, ShareLink):
        to = f" for {single_line(row.for_whom)}" if row.for_whom else ""
        return f"{_name(row)} made{to}: it shows this record, read only, until {_day(row.until)}."
    if isinstance(row, BadgeLink):
        return f"{_name(row)} made: anyone with its address sees the outcome."
    return f"Given to {single_line(row.to)}: to be seen until it is taken back."


def _name(row: Shown) -> str:
    names = {ShareLink: "Link", BadgeLink: "Badge", AccessGrant: "Given record"}
    return f"{names[type(row)]} {row.pk}"


def _day(moment: Any) -> str:
    return date_format(moment, "j F Y, H:i") + " UTC"
