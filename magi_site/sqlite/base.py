"""Django's SQLite backend with a pool of connections.

Each request opens a connection, and a new connection parses the whole schema before its first statement. With our
tables, indexes and triggers that takes 5 ms, more than most requests take otherwise.

Why so: engine/DESIGN.md, Runs, the queue and the writer.
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
    file: tuple[int, int]  # device and inode: the file may have been replaced since


_pools: dict[str, list[_PooledConnection]] = {}
_lock = threading.Lock()


class DatabaseWrapper(base.DatabaseWrapper):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._cursors: WeakSet[Any] = WeakSet()
        self._file: tuple[int, int] | None = None

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        self._file = _identity(conn_params["database"])
        connection = _take(str(conn_params["database"]), self._file) or super().get_new_connection(conn_params)
        self._file = self._file or _identity(conn_params["database"])  # connecting may have created the file
        connection.execute("PRAGMA foreign_keys = ON")  # the last user may have turned them off
        return connection

    def create_cursor(self, name: str | None = None) -> Any:
        cursor = super().create_cursor(name)
        self._cursors.add(cursor)
        return cursor

    def _close(self) -> None:
        for cursor in list(self._cursors):
            cursor.close()  # an unfinished cursor would keep its read snapshot open
        self._cursors.clear()
        if not self._return_to_pool():
            super()._close()  # type: ignore[misc] # of a class that has no stub

    def _return_to_pool(self) -> bool:
        if self.connection is None or self._file is None or self.errors_occurred:
            return False
        if self.in_atomic_block or self.connection.in_transaction:
            return False
        return _put(str(self.settings_dict["NAME"]), _PooledConnection(self.connection, self._file))


def _identity(database: str | Path) -> tuple[int, int] | None:
    try:
        found = os.stat(database)
    except OSError:  # in memory, or not there yet
        return None
    return found.st_dev, found.st_ino


def _take(database: str, file: tuple[int, int] | None) -> Any:
    with _lock:
        pool = _pools.get(database, [])
        while pool:
            pooled = pool.pop()
            if pooled.file == file:
                return pooled.connection
            pooled.connection.close()
    return None


def _put(database: str, pooled: _PooledConnection) -> bool:
    with _lock:
        pool = _pools.setdefault(database, [])
        if len(pool) >= MAX_POOLED:
            return False
        pooled.connection.isolation_level = None
        pool.append(pooled)
        return True


def close_pooled() -> None:
    with _lock:
        for pool in _pools.values():
            for pooled in pool:
                pooled.connection.close()
        _pools.clear()


os.register_at_fork(before=close_pooled)  # SQLite connections must not be used across a fork
