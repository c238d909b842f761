"""What commands say to a terminal, and what goes into the log: texts of others in it change nothing there."""

import logging
import sys
from io import TextIOBase
from textwrap import indent
from typing import Any, TextIO

from django.core.management.base import BaseCommand

from .hidden import in_one_line, visible_text


class Marking(TextIOBase):
    """An output for people: what would steer a terminal, or hide in it, is written as a mark."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def write(self, text: str) -> int:
        return self._out.write(visible_text(text))

    def flush(self) -> None:
        self._out.flush()


class Command(BaseCommand):
    """A command that writes sentences. One that writes a file to its output is no such command."""

    def execute(self, *args: Any, **options: Any) -> str | None:
        outputs = {name: Marking(options.get(name) or getattr(sys, name)) for name in ("stdout", "stderr")}
        return super().execute(*args, **{**options, **outputs})


class Lines(logging.Formatter):
    """One event, one line that begins with its time; a traceback stands indented below it."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        return in_one_line(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:
        return indent(visible_text(super().formatException(ei)), "    ")

    def formatStack(self, stack_info: str) -> str:
        return indent(visible_text(super().formatStack(stack_info)), "    ")
