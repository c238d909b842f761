"""Counts what the database is asked, by threads."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connections
from django.db.backends.signals import connection_created

from engine.db import reader


class Statements:
    """Of threads whose names begin so, in the order in which they came."""

    def __init__(self, *threads: str) -> None:
        self.threads = threads
        self.made: list[str] = []

    def begin(self, connection: Any, **_: object) -> None:
        connection.execute_wrappers.append(self)

    def __call__(self, execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        ours = threading.current_thread().name.startswith(self.threads)
        if ours and not sql.startswith(("BEGIN", "SAVEPOINT", "RELEASE")):
            self.made.append(sql)
        return execute(sql, params, many, context)

    def beginning(self, words: str) -> int:
        return sum(sql.startswith(words) for sql in self.made)


@contextmanager
def counted(*threads: str) -> Iterator[Statements]:
    """By connections that are opened meanwhile; that of the reader is."""
    found = Statements(*threads)
    reader.close()
    connection_created.connect(found.begin)
    try:
        yield found
    finally:
        connection_created.disconnect(found.begin)
        for connection in connections.all():
            connection.execute_wrappers.clear()
