"""Base of commands that submit a run, execute it unless another worker does, and report its progress."""

import asyncio
import json
import logging
import re
import sys
from argparse import ArgumentParser
from collections.abc import Collection, Hashable, Iterator
from functools import partial
from typing import Any, Generic, NoReturn, TypeVar
from uuid import UUID

from channels.db import database_sync_to_async
from django.core.management.base import CommandError, CommandParser
from django.db import Error as DBError
from django.db.models import Model

from engine import console, database_errors, tables
from engine.audit import sealing
from engine.decoding import UnknownEncoding, decoded, encoding_named, no_encoding
from engine.llm.errors import AWAY
from engine.models import ModelCall, Run
from engine.text.invisible_chars import single_line

from .formatting import format_token_split, lost_time
from .procedure.spec import spec_of_run
from .questions import questions_of, sentences_of
from .run_object import run_object
from .site_url import address

# 64 is EX_USAGE of sysexits.h, since 1 and 2 are outcomes
WELL, OTHERWISE, NOTHING, WAITS, USAGE = 0, 1, 2, 3, 64
POLL_SECONDS = 0.2  # seconds
ENCODING = "encoding of a text that is not UTF-8 and does not state its own"
NO_UTF8 = re.compile("[\udc80-\udcff]")  # surrogates that Python makes of argument bytes that are not UTF-8

log = logging.getLogger(__name__)


Row = TypeVar("Row", bound=Model)  # of a procedure: its key is that of its run
ProgressLine = Iterator[tuple[Hashable, str]]
"""All lines so far, each with a key so that it is printed only once."""


class RunCommand(console.ConsoleCommand, Generic[Row]):
    """Prints progress on stderr, and the result on stdout and as the exit status.

    A subclass defines its arguments, `submit` and further lines. Outcomes in `well` exit with 0.
    """

    needs_tables = False  # the command creates them
    requires_system_checks = []  # they import all pages, and none is needed here
    well: Collection[str] = ()
    nothing = "Nothing came of it"  # as in "Nothing came of it: the disk is full."
    otherwise = False
    encoding = ""  # for texts that do not declare theirs

    # ---- for subclasses -----------------------------------------------------------------------------------

    def add_own_arguments(self, parser: ArgumentParser) -> None:
        """Add arguments other than --json and --no-wait."""

    def submit(self, options: dict[str, Any]) -> Row:
        """Submit the run. Raises CommandError, as from `usage_error`, if it is refused."""
        raise NotImplementedError

    def report_start(self, row: Row) -> Iterator[str]:
        """Yield the first lines."""
        raise NotImplementedError

    def new_lines(self, row: Row) -> ProgressLine:
        return iter(())

    def word(self, row: Any) -> str:
        """Return the result in a few words for people; programs use the exit status or --json."""
        return spec_of_run(row.run).status_label(row.run)

    def text_of(self, given: str, name: str) -> str:
        """Return the value of an argument, or standard input for "-", decoded from the bytes of the user's shell."""
        if given != "-" and not NO_UTF8.search(given):
            return given
        whose = "Standard input" if given == "-" else "It"
        try:
            data = sys.stdin.buffer.read() if given == "-" else given.encode(errors="surrogateescape")
            found = decoded(data, self.encoding)
        except UnknownEncoding as error:
            raise usage_error(f"{name}: {whose} {error}") from error
        if found.converted_from:
            self._say(f"{name}: {whose} was read as {found.converted_from}.")
        return found.text.replace("\r\n", "\n").replace("\r", "\n")

    def status_of(self, run: Run) -> int:
        """Return the exit status for a finished run."""
        return WELL if run.outcome in self.well else OTHERWISE

    # ---- the shell ----------------------------------------------------------------------------------------

    def create_parser(self, *args: Any, **kwargs: Any) -> CommandParser:
        parser = super().create_parser(*args, **kwargs)
        setattr(parser, "error", partial(_usage_error, parser))  # argparse would exit with 2  # noqa: B010
        return parser

    def add_arguments(self, parser: ArgumentParser) -> None:
        self.add_own_arguments(parser)
        parser.add_argument("--encoding", metavar="NAME", default="", help=f"{ENCODING}, such as windows-1252")
        parser.add_argument("--json", action="store_true", help="print it as the API shows it")
        parser.add_argument("--no-wait", action="store_true", help="only submit, and print the id")

    def run_from_argv(self, argv: list[str]) -> None:
        """Map other failures to a different status, because 1 means a negative outcome."""
        try:
            super().run_from_argv(argv)
        except SystemExit as end:
            sys.exit(NOTHING if end.code == OTHERWISE and not self.otherwise else end.code)
        except DBError as error:
            if not (found := database_errors.problem_of(error) or tables.lacking(error)):
                log.exception("%s: something broke.", self.nothing)
            else:
                self._say(f"{self.nothing}: {found.reason}. {found.advice}")
            sys.exit(NOTHING)
        except Exception:
            # The boundary to the shell: an internal error is not an outcome.
            log.exception("%s: something broke.", self.nothing)
            sys.exit(NOTHING)

    def handle(self, **options: Any) -> None:
        self.encoding = checked_encoding(options["encoding"])
        tables.migrate()
        sealing.adopt_unsealed_runs()
        submitted = self.submit(options)
        if options["no_wait"]:
            self.stdout.write(str(submitted.pk))
            return
        run = Run.objects.get(pk=submitted.pk)
        try:
            asyncio.run(self._follow(run))
        except KeyboardInterrupt:
            self._say(f"Left. {spec_of_run(run).noun.capitalize()} {run.pk} goes on where an engine runs.")
            sys.exit(130)
        self._end(spec_of_run(run).rows().get(pk=run.pk), options["json"])

    def _end(self, row: Any, as_json: bool) -> NoReturn:
        calls = row.run.calls.all()
        if said := [*format_token_split(calls), *filter(None, [lost_time(calls)])]:
            self._say(f"Used {', '.join(said)}.")
        # as ASCII, so that the result can be printed in every terminal encoding
        self.stdout.write(json.dumps(run_object(row, address())) if as_json else self.word(row))
        self.stdout.flush()
        status = self._status(row.run)
        self.otherwise = status == OTHERWISE
        sys.exit(status)

    def _status(self, run: Run) -> int:
        if run.status == Run.Status.WAITING:
            return WAITS
        if run.status != Run.Status.FINISHED:
            return NOTHING
        return self.status_of(run)

    # ---- progress -----------------------------------------------------------------------------------------

    async def _follow(self, run: Run) -> None:
        """Execute this run here, unless another worker claims it first, and report its progress."""
        from engine.queue.worker import (
            Worker,  # imports everything that calls models, so only after submission
        )

        engine = Worker(only=run.pk)
        performing = asyncio.create_task(engine.run())
        told: set[Hashable] = set()
        run.revision = -1  # nothing reported yet
        try:
            while not await database_sync_to_async(self._tell_news)(run, told):
                await asyncio.wait([performing], timeout=POLL_SECONDS)
                if performing.done():
                    performing.result()
                    raise CommandError(f"The engine ended before the {spec_of_run(run).noun} did.", returncode=NOTHING)
        finally:
            await engine.stop(grace=0)
            await performing

    def _tell_news(self, run: Run, told: set[Hashable]) -> bool:
        """Print new lines on stderr; return True when there is nothing left to follow."""
        revision, status = Run.objects.values_list("revision", "status").get(pk=run.pk)
        if revision == run.revision:
            return self.wait_for_person(run.pk, status)
        run.revision, row = revision, spec_of_run(run).rows().get(pk=run.pk)
        if not told:
            told.add("")
            for sentence in self.report_start(row):
                self._say(sentence)
        for key, sentence in (*_failures(row.run), *self.new_lines(row)):
            if key not in told:
                told.add(key)
                self._say(sentence)
        if row.run.is_ended and row.run.error:
            self._say(row.run.error["message"])
        return self.wait_for_person(run.pk, row.run.status)

    def wait_for_person(self, pk: UUID, status: str) -> bool:
        """Return whether there is nothing left to follow."""
        return _rests(pk, status)

    def _say(self, sentence: str) -> None:
        self.stderr.write(single_line(sentence))


def _rests(pk: UUID, status: str) -> bool:
    """Return whether the run is over, or waits while none of its descendants is active."""
    at_work = (Run.Status.QUEUED, Run.Status.RUNNING)
    if status != Run.Status.WAITING:
        return status not in at_work
    return not Run.objects.of_root(pk).filter(status__in=at_work).exists()


def _failures(run: Run) -> ProgressLine:
    """Yield failed attempts, and providers that runs wait for."""
    calls = list(run.calls.order_by("pk").defer("prompt", "answer"))
    yield from sentences_of(questions_of(run, calls, spec_of_run(run).asker))
    for call in (one for one in calls if one.status == ModelCall.Status.FAILED and one.error_code != AWAY):
        yield call.pk, f"  {call.step}, attempt {call.attempt}: {call.error}"


def checked_encoding(name: str) -> str:
    if name and not encoding_named(name):
        raise usage_error(f"--encoding: {no_encoding(name)}")
    return name


def usage_error(sentence: str) -> CommandError:
    return CommandError(sentence, returncode=USAGE)


def _usage_error(parser: CommandParser, message: str) -> NoReturn:
    parser.print_usage(sys.stderr)
    parser.exit(USAGE, f"{parser.prog}: {single_line(message)}\n")
