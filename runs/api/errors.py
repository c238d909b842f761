"""Errors of the API; `magi_site` turns them into responses."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus

POLICY, LEFT, AGAIN = "RateLimit-Policy", "RateLimit", "Retry-After"
RATE_LIMIT_HEADERS = (POLICY, LEFT, AGAIN)
"""Header fields for rate limits and the time of the next attempt."""


class ApiError(Exception):
    """A refused request: HTTP status, a message, and pairs of a field's path and its error."""

    def __init__(
        self,
        status: int,
        detail: str,
        errors: Iterable[tuple[str, str]] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status, self.detail = status, detail
        self.errors = list(errors)
        self.headers = dict(headers or {})


def field_errors(errors: Iterable[tuple[str, str]]) -> ApiError:
    return ApiError(422, "Something in the request is to be corrected.", errors)


class FieldErrors:
    """A collector of all errors of a request, so that the caller sees them at once."""

    def __init__(self) -> None:
        self._found: list[tuple[str, str]] = []

    def __bool__(self) -> bool:
        return bool(self._found)

    def add(self, errors: Iterable[tuple[str, str]]) -> None:
        self._found += errors

    @contextmanager
    def has(self, place: str = "") -> Iterator[None]:
        """Collect 422 errors raised inside, with paths below `place`; other errors are raised with that place."""
        try:
            yield
        except ApiError as refusal:
            if refusal.status == HTTPStatus.UNPROCESSABLE_ENTITY:
                self.add((_under(place, path), said) for path, said in refusal.errors or [("", refusal.detail)])
            else:
                raise _of(refusal, place) from refusal

    def raise_if_any(self) -> None:
        """Raise the collected errors, if any, as one."""
        if self._found:
            raise field_errors(dict.fromkeys(self._found))


def _under(place: str, path: str) -> str:
    return f"{place}.{path}" if place and path else place or path


def _of(refusal: ApiError, place: str) -> ApiError:
    errors = [(place, refusal.detail)] if place else refusal.errors
    return ApiError(refusal.status, refusal.detail, errors, refusal.headers)
