"""The log as software reads it: one JSON object a line, with the run that it is about."""

import json
import logging
import re
from collections import Counter
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

current_run_id: ContextVar[UUID | None] = ContextVar("performed", default=None)
"""The run that is performed here, and by all that is begun from here."""

IDENTIFIER = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class JsonFormatter(logging.Formatter):
    """In ASCII: nothing in texts of others ends a line or steers a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        told = {
            "time": moment.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            "run": run_of_record(record),
            **_of_request(record),
            "error": self._error(record),
        }
        return json.dumps({name: value for name, value in told.items() if value})

    def _error(self, record: logging.LogRecord) -> str:
        return self.formatException(record.exc_info) if record.exc_info and record.exc_info[0] else ""


class RepeatFilter(logging.Filter):
    """Of what a logger says again and again, one line in so many seconds; the next one says how many it stands for."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._seconds = seconds
        self._last: dict[str, float] = {}
        self._left_out = Counter[str]()

    def filter(self, record: logging.LogRecord) -> bool:
        text = record.msg
        if record.created < self._last.get(text, 0) + self._seconds:
            self._left_out[text] += 1
            return False
        self._last[text] = record.created
        if number := self._left_out.pop(text, 0):
            record.msg = f"{text} {number:,} more such lines were left out since the last one."
        return True


def run_of_record(record: logging.LogRecord) -> str:
    """Named in the line, or performed where it was written, or looked at by the request that the line names."""
    args = record.args if isinstance(record.args, tuple) else ()
    named = next((str(one) for one in args if isinstance(one, UUID)), "")
    in_path = IDENTIFIER.search(record.getMessage()) if _of_request(record) else None
    return named or str(current_run_id.get() or "") or (in_path[0] if in_path else "")


def _of_request(record: logging.LogRecord) -> dict[str, Any]:
    """Not its path: the line has it, after what is secret in it was taken out."""
    method = getattr(getattr(record, "request", None), "method", None)
    return {"method": method, "status": getattr(record, "status_code", None)} if method else {}


SECRET = re.compile(r"(/shared/|/badge/|/accounts/enter/\d+/)[^/\s]+")


class SecretPathFilter(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.args, tuple):
            record.args = tuple(SECRET.sub(r"\1…", one) if isinstance(one, str) else one for one in record.args)
        return True
