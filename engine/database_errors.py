"""A database that cannot be used: what its errors mean, in words, and how to find out before somebody needs it.

Why so: engine/DESIGN.md, Runs, the queue and the writer.
"""

import logging
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.db import Error as DBError
from django.db import InterfaceError, InternalError, OperationalError, connection
from django.utils import timezone

# InternalError: what PostgreSQL says of a connection that it ended itself, or of a server that became read-only
UNREACHABLE = (OperationalError, InterfaceError, InternalError)

EXIT_STATUS = 69  # EX_UNAVAILABLE of sysexits.h, of every command that ends for it


@dataclass(frozen=True)
class DatabaseProblem:
    """`reason` as a part of a sentence, `advice` for whoever runs this, `wait` in seconds before another try."""

    reason: str
    advice: str
    wait: int = 60

    def __str__(self) -> str:
        return f"{self.reason[0].upper()}{self.reason[1:]}."


FULL = DatabaseProblem("the disk of the database is full", "Make room on it; what waits goes on by itself.")
READ_ONLY = DatabaseProblem(
    "the database can only be read", "Let it be written: its file, its folder, or the server's settings."
)
DAMAGED = DatabaseProblem(
    "the database is damaged", "Stop everything, copy its files as they are, and restore a backup: docs/operations.md."
)
BUSY = DatabaseProblem(
    "the database is busy with something that takes long", "Find out what holds it, and wait.", wait=10
)
UNREADABLE = DatabaseProblem(
    "the file of the database cannot be read or written", "Look at the disk and at whose the file is."
)
CONNECTION_LOST = DatabaseProblem(
    "the database does not answer", "Check DATABASE_URL, and that the server runs.", wait=10
)

SQLITE = {
    "SQLITE_FULL": FULL,
    "SQLITE_READONLY": READ_ONLY,
    "SQLITE_CORRUPT": DAMAGED,
    "SQLITE_NOTADB": DAMAGED,
    "SQLITE_BUSY": BUSY,
    "SQLITE_LOCKED": BUSY,
    "SQLITE_IOERR": UNREADABLE,
    "SQLITE_CANTOPEN": UNREADABLE,
}
POSTGRESQL = {
    "53100": FULL,
    "25006": READ_ONLY,
    "XX001": DAMAGED,
    "XX002": DAMAGED,
    "40001": BUSY,
    "40P01": BUSY,
    "55P03": BUSY,
    "57014": BUSY,
}
SERVER_ERRORS = ("", "08", "53", "57", "58")  # classes of PostgreSQL's states that are no fault of a statement


def problem_of(error: BaseException | None) -> DatabaseProblem | None:
    """What is wrong with the database where this is an error of it as a whole; None for all others."""
    return next((found for found in map(_of_driver, _causes(error)) if found), None)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        # what broke while one was handled may be a fault of ours
        error = error.__cause__ or (error.__context__ if isinstance(error, DBError) else None)


def _of_driver(error: BaseException) -> DatabaseProblem | None:
    if name := getattr(error, "sqlite_errorname", None):
        return next((trouble for begin, trouble in SQLITE.items() if str(name).startswith(begin)), None)
    if not type(error).__module__.startswith("psycopg"):
        return None
    state = getattr(error, "sqlstate", None) or ""
    if trouble := POSTGRESQL.get(state):
        return trouble
    away = type(error).__name__ in ("InterfaceError", "PoolTimeout", "PoolClosed") or _is_operational(error)
    return CONNECTION_LOST if away and state[:2] in SERVER_ERRORS else None


def _is_operational(error: BaseException) -> bool:
    return any(kind.__name__ == "OperationalError" for kind in type(error).__mro__)


class DatabaseErrorFilter(logging.Filter):
    """A line in the log in place of a traceback, which would say where the database was wanted and nothing else."""

    def filter(self, record: logging.LogRecord) -> bool:
        if record.exc_info and (trouble := problem_of(record.exc_info[1])):
            record.msg, record.args = f"{record.getMessage()}: {trouble} {trouble.advice}", ()
            record.exc_info = record.exc_text = None
        return True


# ---- found before it is met ---------------------------------------------------------------------------------

MIN_FREE_BYTES = 10_000_000  # bytes that the disk of a SQLite file must have free
PROBE_TIMEOUT = 2.0  # seconds that a probe waits for a lock
PROBE = "probe"
MAX_REPORTED = 5  # of the file that are told


def probe_database() -> DatabaseProblem | None:
    """Whether the database takes a write: one row is moved. Raises what is no trouble of the database as a whole."""
    try:
        if not _has_room():
            return FULL
        _write()
    except DBError as error:
        if trouble := problem_of(error):
            return trouble
        raise
    return None


def _has_room() -> bool:
    file = _file()
    if not file:
        return True
    disk = os.statvfs(os.path.dirname(file))
    return disk.f_bavail * disk.f_frsize >= MIN_FREE_BYTES


def _file() -> str:
    """The file of SQLite; empty where there is none."""
    name = str(connection.settings_dict["NAME"]) if connection.vendor == "sqlite" else ""
    return os.path.abspath(name) if os.path.exists(name) else ""


def _write() -> None:
    from .models import WriterMarker  # which knows what follows from these errors

    with _impatience():
        moved = {"moved": timezone.now()}
        if not WriterMarker.objects.filter(pk=PROBE).update(**moved):
            WriterMarker.objects.bulk_create([WriterMarker(pk=PROBE, batch=0, **moved)], ignore_conflicts=True)


@contextmanager
def _impatience() -> Iterator[None]:
    """On SQLite: whoever holds the lock is waited for a moment only."""
    if connection.vendor != "sqlite":
        yield
        return
    _wait_for_locks(PROBE_TIMEOUT)
    try:
        yield
    finally:
        _wait_for_locks(connection.settings_dict["OPTIONS"].get("timeout", 5))


def _wait_for_locks(seconds: float) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"PRAGMA busy_timeout = {int(seconds * 1000)}")


def check_integrity(*, thoroughly: bool = False) -> str:
    """What SQLite finds wrong with its file; empty where nothing is. PostgreSQL says it when it meets it.

    It reads the whole file; `thoroughly` also holds each index against its table.
    """
    if connection.vendor != "sqlite":
        return ""
    try:
        with connection.cursor() as cursor:
            cursor.execute(f"PRAGMA {'integrity_check' if thoroughly else 'quick_check'}({MAX_REPORTED})")
            found = "; ".join(row[0] for row in cursor.fetchall())
    except DBError as error:
        if problem_of(error) is not DAMAGED:
            raise
        return str(error)
    return "" if found == "ok" else found


class DatabaseWatch:
    """What is wrong with the database, for whoever asks often: a write at most every `PROBES` s, a look at the whole
    file at most every `LOOKS` s and at once when an error speaks of damage.
    """

    PROBES = 10.0
    LOOKS = 3600.0
    LONGEST_LOOK = 1.0  # seconds that a look is waited for; a large file is looked at meanwhile

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: DatabaseProblem | None = None
        self._damaged = False
        self._probe_due = self._look_due = 0.0
        self._looking: threading.Thread | None = None

    def note(self, trouble: DatabaseProblem | None) -> None:
        """An error said so."""
        if trouble is DAMAGED:
            self._damaged, self._look_due = True, 0.0

    def trouble(self) -> DatabaseProblem | None:
        with self._lock:
            now = time.monotonic()
            if now >= self._look_due and not (self._looking and self._looking.is_alive()):
                self._look_due = now + self.LOOKS
                self._looking = threading.Thread(target=self._look, daemon=True)
                self._looking.start()
                self._looking.join(self.LONGEST_LOOK)
            if now >= self._probe_due:
                self._found = probe_database()
                self._probe_due = now + (self.PROBES if self._found is None else 1.0)
            return DAMAGED if self._damaged else self._found

    def _look(self) -> None:
        try:
            self._damaged = bool(check_integrity())
        except DBError as error:
            logging.getLogger(__name__).warning("The database could not be looked at: %s", error)
        finally:
            connection.close()


database_watch = DatabaseWatch()
