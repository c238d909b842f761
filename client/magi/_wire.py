"""One request, and the same again where that is safe and helps."""

import hashlib
import json
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any

TRIES = 6
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
RETRYABLE_STATUSES = (429, 502, 503, 504)


class MagiError(Exception):
    """What MAGI refused, in its sentence. `errors` has a path and a message for each field that is wrong."""

    def __init__(self, status: int, detail: str, errors: list[dict[str, str]] | None = None) -> None:
        told = "".join(f" {one['path']}: {one['message']}" for one in errors or [])
        super().__init__(f"{detail}{told}")
        self.status, self.detail, self.errors = status, detail, errors or []
        self.after = ""  # seconds that it asks to be left alone for, as it says them


class MagiUnreachable(MagiError):
    """Nobody answered, or not in time. What was asked may have been begun."""

    def __init__(self, detail: str) -> None:
        super().__init__(0, detail)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A token goes nowhere but where it was meant to go."""

    def redirect_request(self, *args: Any, **more: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirect)


class HttpWire:
    def __init__(self, url: str, token: str, timeout: float = 75.0) -> None:
        if not url.startswith(("http://", "https://")):
            raise ValueError("Say where MAGI is, as in https://magi.example.")
        if not _fits(token.strip()):  # said here: whatever refuses it later repeats it
            raise ValueError("The token is none: it has letters, digits, - and _ alone.")
        self.url, self._token, self.timeout = url.rstrip("/"), token.strip(), timeout

    def send(self, method: str, path: str, content: Any = None, *, key: str = "", again: bool = False) -> Any:
        """`again`: it is safe to send it twice, as it is with a key and for all that only reads."""
        safe = again or bool(key) or method == "GET"
        for number in range(TRIES):
            try:
                return self._once(method, path, content, key)
            except MagiError as error:
                last = number == TRIES - 1
                if last or error.status not in (0, *RETRYABLE_STATUSES) or not (safe or error.status == 429):
                    raise
                time.sleep(_pause(number, getattr(error, "after", "")))
        raise AssertionError("unreachable")

    def _once(self, method: str, path: str, content: Any, key: str) -> Any:
        headers = {"Authorization": f"Bearer {self._token}", "Accept": "application/json", "User-Agent": "magi-client"}
        body = None
        if content is not None:
            headers["Content-Type"], body = "application/json", json.dumps(content).encode()
        if key:
            headers["Idempotency-Key"] = key if _fits(key) else hashlib.sha256(key.encode()).hexdigest()
        request = urllib.request.Request(f"{self.url}/api/v1{path}", body, headers, method=method)
        try:
            with _OPENER.open(request, timeout=self.timeout) as answer:
                return json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as error:
            raise _refused(error) from None
        except (OSError, ValueError) as error:
            raise MagiUnreachable(f"{self.url} did not answer: {error}") from error


def _fits(text: str) -> bool:
    """Whether it goes as it is where a header has its value."""
    return text.isascii() and text.isprintable() and text == text.strip()


def _refused(error: urllib.error.HTTPError) -> MagiError:
    try:
        said: Mapping[str, Any] = json.loads(error.read())
        refused = MagiError(error.code, str(said["detail"]), said.get("errors"))
    except (ValueError, KeyError, TypeError, OSError):
        refused = MagiError(error.code, f"It answered with status {error.code}.")
    refused.after = error.headers.get("Retry-After", "")
    return refused


def _pause(number: int, after: str) -> float:
    usual = min(FIRST_PAUSE * 2.0**number, LONGEST_PAUSE)
    return min(max(float(after), usual), LONGEST_PAUSE) if after.isdigit() else usual
