import os
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from django.db import Error

from engine import console
from engine.audit.full_verification import verify_all
from engine.audit.verification import verify_one
from engine.ledger.checkpoints import read_anchor
from engine.ledger.report import VerificationFault, VerificationReport
from engine.plurals import counted

BROKEN = 1
USAGE = 64
MOST_SHOWN = 20


class Command(console.ConsoleCommand):
    help = (
        "Verify the record: hashes, rows, rules and the log. Exit status 0: intact; 1: not, and the first bad record."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("ids", nargs="*", type=UUID, metavar="ID", help="only these records")
        parser.add_argument("--all", action="store_true", help="everything, and the log itself (the default)")
        parser.add_argument("--anchor", type=Path, metavar="FILE", help="checkpoints that were kept elsewhere")
        parser.add_argument(
            "--no-checkpoint-file", action="store_true", help="hold it not against the checkpoints written here"
        )

    def handle(self, *, ids: list[UUID], all: bool, anchor: Path | None, **options: Any) -> None:
        if ids and (all or anchor):
            raise CommandError("Name records, or verify --all with an --anchor, not both.", returncode=USAGE)
        file = None if options["no_checkpoint_file"] else settings.CHECKPOINT_FILE
        try:
            faults = self._verify_some(ids) if ids else self._verify_all(anchor, file)
        except Error as error:
            raise CommandError(f"The database cannot be read: {error}", returncode=BROKEN) from error
        if faults:
            self._show(faults)

    def _verify_some(self, ids: list[UUID]) -> list[VerificationFault]:
        found = []
        for pk, kept, faults in map(verify_one, ids):
            found += faults
            if not faults:
                note = ", redacted" if kept.redacted_up_to else ""
                entries = (
                    f"{counted(len(kept.entries), 'entry', 'entries')}{note}"
                    if kept.entries
                    else "not over, nothing is sealed yet"
                )
                self.stdout.write(f"{pk}: intact, {entries}")
        return found

    def _verify_all(self, anchor: Path | None, file: Path | None) -> list[VerificationFault]:
        try:
            report = verify_all(read_anchor(anchor) if anchor else None, os.cpu_count() or 1, file)
        except (OSError, ValueError) as error:
            raise CommandError(f"The anchor cannot be read: {error}", returncode=USAGE) from error
        self.stdout.write(f"{_summary(report)} {report.held if file else NOT_HELD}".rstrip())
        for notice in report.notices:
            self.stderr.write(f"Notice: {notice}.")
        return report.faults

    def _show(self, faults: list[VerificationFault]) -> None:
        for fault in faults[:MOST_SHOWN]:
            self.stderr.write(str(fault))
        more = len(faults) - MOST_SHOWN
        raise CommandError(
            f"The record is not intact. First: {faults[0]}" + (f" ({more} more are not shown)" if more > 0 else ""),
            returncode=BROKEN,
        )


NOT_HELD = "Held against no checkpoint of its own, as told."


def _summary(report: VerificationReport) -> str:
    entries = _number(report.entries, "entry", "entries")
    records = f"{_number(report.runs, 'record', 'records')} with {entries}, {report.redacted:,} redacted"
    if report.adopted:
        later = "later than it" if report.adopted == 1 else "later than they"
        records += f", {report.adopted:,} sealed when the log began, {later} happened"
    leaves = _number(report.leaves, "leaf", "leaves")
    return f"{records}; {leaves} in the log, {report.since_checkpoint:,} of them since the last checkpoint."


def _number(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"
