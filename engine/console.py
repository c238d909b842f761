"""What commands say to a terminal, and what goes into the log: texts of others in it change nothing there."""

import logging
import sys
from collections.abc import Iterable, Mapping
from io import TextIOBase
from textwrap import indent
from typing import Any, TextIO

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import Error as DBError

from . import database_errors, tables
from .text.invisible_chars import single_line, visible_text


class VisibleWriter(TextIOBase):
    """An output for people: what would steer a terminal, or hide in it, is written as a mark."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def write(self, text: str) -> int:
        return self._out.write(visible_text(text))

    def flush(self) -> None:
        self._out.flush()


class DatabaseCommand(BaseCommand):
    """A command that says in a sentence where the database was never migrated, whatever it would make of that."""

    needs_tables = True

    def execute(self, *args: Any, **options: Any) -> str | None:
        if self.needs_tables and _are_tables_missing():
            raise CommandError(f"{tables.MISSING} {tables.MISSING.advice}", returncode=database_errors.EXIT_STATUS)
        return super().execute(*args, **options)


def _are_tables_missing() -> bool:
    try:
        return tables.are_missing()
    except DBError:  # it is away or broken: the command says so in its own way
        return False


class ConsoleCommand(DatabaseCommand):
    """A command that writes sentences. One that writes a file to its output is no such command."""

    def create_parser(self, *args: Any, **kwargs: Any) -> CommandParser:
        self._parser = super().create_parser(*args, **kwargs)
        return self._parser

    def in_options(self, problems: Iterable[tuple[str, str]], called: Mapping[str, str], otherwise: str = "") -> str:
        """What is wrong by fields of a form, each under the option or argument of this command that it was given by.

        `called`: the `dest` of an option whose field has another name; `otherwise`: that of what no option gave.
        """
        return " ".join(
            ": ".join(filter(None, (*self._place(path, called, otherwise), sentence))) for path, sentence in problems
        )

    def _place(self, path: str, called: Mapping[str, str], otherwise: str) -> tuple[str, str]:
        """The option, and the rest of the path within what was given by it."""
        field, _, rest = path.partition(".")
        names = {action.dest: "".join(action.option_strings[:1]) or action.dest for action in self._parser._actions}
        if option := names.get(called.get(field, field)):
            return option, rest
        return names.get(otherwise, ""), path if otherwise else ""

    def execute(self, *args: Any, **options: Any) -> str | None:
        outputs = {name: VisibleWriter(options.get(name) or getattr(sys, name)) for name in ("stdout", "stderr")}
        return super().execute(*args, **{**options, **outputs})


class SingleLineFormatter(logging.Formatter):
    """One event, one line that begins with its time; a traceback stands indented below it."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        return single_line(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:
        return indent(visible_text(super().formatException(ei)), "    ")

    def formatStack(self, stack_info: str) -> str:
        return indent(visible_text(super().formatStack(stack_info)), "    ")
