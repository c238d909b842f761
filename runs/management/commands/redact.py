from typing import Any
from uuid import UUID

from django.core.management.base import CommandError, CommandParser

from engine import console
from engine.models import Run
from runs.procedure.spec import specs
from runs.record.redaction import due_runs, redact_due, redact_run, wipe_database_files

USAGE = 64
LEFT = "The free room of the database's files may still hold some of it. `redact --wipe` rewrites them."
MOST_LISTED = 1_000


class Command(console.ConsoleCommand):
    help = "Erase the texts of runs for good: on somebody's demand, or of all whose time is over (--due)."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("ids", nargs="*", type=UUID, metavar="ID", help="these runs")
        parser.add_argument("--reason", default="", help="who demands it and why; stays in the record")
        parser.add_argument("--names", action="store_true", help="erase who asked and who cancelled too")
        parser.add_argument("--due", action="store_true", help="all that were kept for as long as they are to be")
        parser.add_argument("--wipe", action="store_true", help="rewrite the database's files without what was erased")
        parser.add_argument("--dry-run", action="store_true", help="with --due: only say which these are")

    def handle(
        self, *, ids: list[UUID], reason: str, names: bool, due: bool, wipe: bool, dry_run: bool, **options: Any
    ) -> None:
        misplaced = (dry_run and not due) or ((reason or names) and not ids)
        if misplaced or [bool(ids), due, wipe].count(True) != 1:
            raise CommandError("Name runs and a --reason, or say --due, or --wipe.", returncode=USAGE)
        if dry_run:
            self._list_due()
        elif due:
            self._redact_due()
        elif wipe:
            self._wipe(whole=True)
        else:
            self._redact(ids, reason.strip(), names)

    def _redact(self, ids: list[UUID], reason: str, names: bool) -> None:
        if not reason:
            raise CommandError("Say who demands it and why: --reason. It stays in the record.", returncode=USAGE)
        for pk in ids:
            if not Run.objects.filter(pk=pk, procedure__in=specs()).exists():
                raise CommandError(f"There is no run {pk}.", returncode=USAGE)
        refused = [pk for pk in ids if not self._redacted(pk, reason, names)]
        self._wipe()
        if refused:
            raise CommandError(f"{len(refused)} of {len(ids)} were left as they are.")

    def _redacted(self, pk: UUID, reason: str, names: bool) -> bool:
        try:
            redact_run(pk, "", reason, names=names)
        except ValueError as error:
            self.stderr.write(f"{pk}: {error}")
            return False
        self.stdout.write(f"{pk}: redacted")
        for made in Run.objects.filter(pk__in=Run.objects.descendants_of(pk), redacted=None).order_by("created", "pk"):
            self.stdout.write(f"{made.pk}: made by it, and not redacted with it; it may repeat its texts")
        return True

    def _wipe(self, *, whole: bool = False) -> None:
        if not wipe_database_files(whole=whole):
            self.stderr.write(LEFT)

    def _list_due(self) -> None:
        found = due_runs(MOST_LISTED + 1)
        for pk, reason in found[:MOST_LISTED]:
            self.stdout.write(f"{pk}: {reason}")
        self.stdout.write(f"{'More than ' if len(found) > MOST_LISTED else ''}{len(found[:MOST_LISTED]):,} are due.")

    def _redact_due(self) -> None:
        before = Run.objects.exclude(redacted=None).count()
        while redact_due():
            pass
        self.stdout.write(f"{Run.objects.exclude(redacted=None).count() - before:,} redacted.")
