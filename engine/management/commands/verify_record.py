import os
from pathlib import Path
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser

from engine.verification import Problem, Report, verify_all, verify_one

BROKEN = 1
USAGE = 64
MOST_SHOWN = 20


class Command(BaseCommand):
    help = (
        "Verify the record: hashes, rows, rules and the log. Exit status 0: intact; 1: not, and the first bad record."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("ids", nargs="*", type=UUID, metavar="ID", help="only these judgements")
        parser.add_argument("--all", action="store_true", help="everything, and the log itself (the default)")
        parser.add_argument("--anchor", type=Path, metavar="FILE", help="checkpoints that were kept elsewhere")

    def handle(self, *, ids: list[UUID], all: bool, anchor: Path | None, **options: Any) -> None:
        if ids and (all or anchor):
            raise CommandError("Name judgements, or verify --all with an --anchor, not both.", returncode=USAGE)
        problems = self._verify_some(ids) if ids else self._verify_all(anchor)
        if problems:
            self._show(problems)

    def _verify_some(self, ids: list[UUID]) -> list[Problem]:
        found = []
        for pk, kept, problems in map(verify_one, ids):
            found += problems
            if not problems:
                note = ", redacted" if kept.redacted_up_to else ""
                entries = f"{len(kept.entries)} entries{note}" if kept.entries else "not over, nothing is sealed yet"
                self.stdout.write(f"{pk}: intact, {entries}")
        return found

    def _verify_all(self, anchor: Path | None) -> list[Problem]:
        try:
            report = verify_all(anchor.read_text() if anchor else "", processes=os.cpu_count() or 1)
        except (OSError, ValueError) as error:
            raise CommandError(f"The anchor cannot be read: {error}", returncode=USAGE) from error
        self.stdout.write(_summary(report))
        for notice in report.notices:
            self.stderr.write(f"Notice: {notice}.")
        return report.problems

    def _show(self, problems: list[Problem]) -> None:
        for problem in problems[:MOST_SHOWN]:
            self.stderr.write(str(problem))
        more = len(problems) - MOST_SHOWN
        raise CommandError(
            f"The record is not intact. First: {problems[0]}" + (f" ({more} more are not shown)" if more > 0 else ""),
            returncode=BROKEN,
        )


def _summary(report: Report) -> str:
    records = f"{report.runs:,} records with {report.entries:,} entries, {report.redacted:,} redacted"
    log = f"{report.leaves:,} leaves in the log, {report.since_checkpoint:,} of them since the last checkpoint"
    return f"{records}; {log}."
