import io
import sys
from argparse import ArgumentTypeError
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from engine.audit import bundles
from engine.console import DatabaseCommand
from engine.ledger import checkpoints
from runs.procedure.spec import specs
from runs.record.export import evidence_bundle, table
from runs.site_url import address

USAGE = 64


class Command(DatabaseCommand):
    help = "Write the records of all runs that are over, oldest first. tools/verify.py verifies them."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--since", type=_day, metavar="DATE", help="only what was submitted then or later")
        parser.add_argument("--format", choices=["jsonl", "csv"], default="jsonl")
        parser.add_argument(
            "--kind", choices=list(specs()), default=next(iter(specs())), help="of a CSV, which has one"
        )
        parser.add_argument("--anchor", type=Path, metavar="FILE", help="prove them by this checkpoint, kept elsewhere")

    def handle(self, *, since: datetime | None, format: str, kind: str, anchor: Path | None, **options: Any) -> None:
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8")
        for text in table(specs()[kind], since, address()) if format == "csv" else _bundle(since, anchor):
            self.stdout.write(text, ending="")


def _bundle(since: datetime | None, anchor: Path | None) -> Iterator[str]:
    pks = bundles.runs_since(since)  # before the checkpoint, so that it covers all of them
    return evidence_bundle(pks, _tree(anchor))


def _tree(anchor: Path | None) -> bundles.LogTree | None:
    try:
        checkpoints.make_and_send()
        return bundles.tree(checkpoints.read_anchor(anchor) if anchor else None)
    except checkpoints.LogInconsistent as error:
        raise CommandError(str(error)) from error
    except (OSError, ValueError) as error:
        raise CommandError(f"The anchor cannot be used: {error}", returncode=USAGE) from error


def _day(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC)
    except ValueError as error:
        raise ArgumentTypeError(f"“{text}” is no date; write it as in 2026-11-21") from error
