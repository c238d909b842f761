"""Django's SQLite, with connections that are kept when they are closed, for whoever opens the next one.

A connection reads the whole schema before its first statement. With our tables, indexes and triggers that takes 5 ms,
more than most requests do otherwise, and each request has a connection of its own. PostgreSQL has a pool.

Why so: docs/decisions.md, Runs, the queue and the writer.
"""

import os
import threading
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakSet

from django.db.backends.sqlite3 import base

MAX_POOLED = 8


class _PooledConnection(NamedTuple):
    connection: Any
    file: tuple[int, int]  # which one was open: another may have been put in its place


_kept: dict[str, list[_PooledConnection]] = {}
_lock = threading.Lock()


class DatabaseWrapper(base.DatabaseWrapper):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._cursors: WeakSet[Any] = WeakSet()
        self._file: tuple[int, int] | None = None

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        self._file = _identity(conn_params["database"])
        connection = _take(str(conn_params["database"]), self._file) or super().get_new_connection(conn_params)
        self._file = self._file or _identity(conn_params["database"])  # it may just have been made
        connection.execute("PRAGMA foreign_keys = ON")  # whoever had it may have turned them off
        return connection

    def create_cursor(self, name: str | None = None) -> Any:
        cursor = super().create_cursor(name)
        self._cursors.add(cursor)
        return cursor

    def _close(self) -> None:
        for cursor in list(self._cursors):
            cursor.close()  # one that was not read to its end would hold on to what there was then
        self._cursors.clear()
        if not self._is_kept():
            super()._close()  # type: ignore[misc] # of a class that has no stub

    def _is_kept(self) -> bool:
        if self.connection is None or self._file is None or self.errors_occurred:
            return False
        if self.in_atomic_block or self.connection.in_transaction:
            return False
        return _keep(str(self.settings_dict["NAME"]), _PooledConnection(self.connection, self._file))


def _identity(database: str | Path) -> tuple[int, int] | None:
    try:
        found = os.stat(database)
    except OSError:  # in memory, or not there yet
        return None
    return found.st_dev, found.st_ino


def _take(database: str, file: tuple[int, int] | None) -> Any:
    with _lock:
        kept = _kept.get(database, [])
        while kept:
            one = kept.pop()
            if one.file == file:
                return one.connection
            one.connection.close()
    return None


def _keep(database: str, one: _PooledConnection) -> bool:
    with _lock:
        kept = _kept.setdefault(database, [])
        if len(kept) >= MAX_POOLED:
            return False
        one.connection.isolation_level = None
        kept.append(one)
        return True


def close_pooled() -> None:
    with _lock:
        for kept in _kept.values():
            for one in kept:
                one.connection.close()
        _kept.clear()


os.register_at_fork(before=close_pooled)  # no connection may be used on both sides
