"""A clock that is ahead, in this process and in what its database answers."""

import os
from datetime import datetime, timedelta
from typing import Any

from django.db.models.functions import Now
from django.utils import timezone

AHEAD = "MAGI_TEST_AHEAD"  # hours, as other processes are told

_real_now = timezone.now
_ahead = timedelta()


def move(hours: float) -> None:
    """Let it be so many hours later than it is."""
    global _ahead
    _ahead = timedelta(hours=hours)


def now() -> datetime:
    return _real_now() + _ahead


def install() -> None:
    """As far as this process is told. Before the models are loaded, which keep what tells them the time."""
    move(float(os.environ.get(AHEAD, 0)))
    timezone.now = now
    Now.as_sqlite = _as_sqlite  # type: ignore[method-assign]
    Now.as_postgresql = _as_postgresql  # type: ignore[method-assign]


def _as_sqlite(self: Any, compiler: Any, connection: Any, **extra: Any) -> Any:
    later = f"'+{_ahead.total_seconds():.3f} seconds'"
    template = f"STRFTIME('%%%%Y-%%%%m-%%%%d %%%%H:%%%%M:%%%%f', 'NOW', {later})"
    return self.as_sql(compiler, connection, template=template, **extra)


def _as_postgresql(self: Any, compiler: Any, connection: Any, **extra: Any) -> Any:
    template = f"(STATEMENT_TIMESTAMP() + INTERVAL '{_ahead.total_seconds():.3f} seconds')"
    return self.as_sql(compiler, connection, template=template, **extra)
