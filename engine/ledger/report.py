"""Data of a verification: what it reads and what it finds."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.utils.dateformat import format as date_format

from .entries import ADOPTED, REDACTED


@dataclass(frozen=True)
class VerificationFault:
    """One fault: a message for people, its place, and technical details in `detail`.

    `run` and `seq` are None if the fault concerns the log or the whole database.
    """

    text: str
    run: UUID | None = None
    seq: int | None = None
    detail: str = ""
    where: str = "the log"  # if not in a run

    @property
    def place(self) -> str:
        where = f"record {self.run}" if self.run else self.where
        where += f", entry {self.seq}" if self.seq else ""
        return f"{where}: {self.detail}" if self.detail else where

    def __str__(self) -> str:
        return f"{self.text} ({self.place})"


@dataclass
class VerificationReport:
    """Result of a verification. `notices` are not faults: they name missing protection. `held` is a sentence that says
    with which checkpoints of this installation's own file the log was compared.
    """

    runs: int = 0  # without the chains that belong to none
    entries: int = 0
    redacted: int = 0
    adopted: int = 0
    leaves: int = 0
    since_checkpoint: int = 0
    faults: list[VerificationFault] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    held: str = ""


ReportLine = tuple[int, str, str, str]
"""An entry: its place, its kind, its line, its hash."""


@dataclass(frozen=True, slots=True)
class LogPosition:
    """A leaf of the log: the run's entries up to `seq` have been sealed since `at`."""

    index: int
    seq: int
    head: str
    at: datetime | None


class VerificationFinding(NamedTuple):
    """A `VerificationFault` of one run, before the run's id is added."""

    seq: int | None
    text: str
    detail: str = ""


@dataclass(frozen=True)
class StoredChain:
    """The rows of one run in the tables of the record."""

    entries: Sequence[ReportLine]
    leaves: Sequence[LogPosition]
    salts: dict[int, str]  # by the index of their leaf
    begun: int | None = None  # the leaf with which the log began; None in one that only older versions have written

    @property
    def adopted(self) -> bool:
        """Whether the run was sealed when the log began, later than it happened."""
        return any(kind == ADOPTED for _, kind, _, _ in self.entries)

    @property
    def redacted_up_to(self) -> int:
        """The sequence number of the newest redaction; 0 if there is none."""
        return max((seq for seq, kind, _, _ in self.entries if kind == REDACTED), default=0)

    def leaf_of(self, seq: int) -> LogPosition | None:
        """Return the first leaf that covers the entry; None if there is none."""
        return next((leaf for leaf in self.leaves if leaf.seq >= seq), None)

    def salt_of(self, seq: int) -> bytes | None:
        """Return the key of the entry's texts; None if it is erased."""
        leaf = self.leaf_of(seq)
        salt = self.salts.get(leaf.index) if leaf else None
        return bytes.fromhex(salt) if salt else None

    def since(self, seq: int) -> str:
        """Return when an entry was sealed, for the end of a message: a difference came later."""
        leaf = self.leaf_of(seq)
        return f"after {format_utc_minute(leaf.at)}" if leaf and leaf.at else "after it was sealed"


EMPTY_CHAIN = StoredChain((), (), {})


def format_utc_minute(at: datetime) -> str:
    return f"{date_format(at, 'j F Y')}, {at:%H:%M} UTC"
