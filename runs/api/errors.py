"""What a call of the API is refused with, whoever finds it out. The site's wiring makes the answer of it."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus

POLICY, LEFT, AGAIN = "RateLimit-Policy", "RateLimit", "Retry-After"
RATE_LIMIT_TITLE = (POLICY, LEFT, AGAIN)
"""Header fields by which it says how often something may be called for, and when again."""


class ApiError(Exception):
    """`status` is an HTTP status, `detail` a sentence; `errors` are pairs of a field's path and what is wrong there."""

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
    """All that is wrong in a request: whoever has it corrected learns of everything at once."""

    def __init__(self) -> None:
        self._found: list[tuple[str, str]] = []

    def __bool__(self) -> bool:
        return bool(self._found)

    def add(self, errors: Iterable[tuple[str, str]]) -> None:
        self._found += errors

    @contextmanager
    def has(self, place: str = "") -> Iterator[None]:
        """What is refused as wrong inside is noted, under this place; what is refused otherwise says whose it is."""
        try:
            yield
        except ApiError as refusal:
            if refusal.status == HTTPStatus.UNPROCESSABLE_ENTITY:
                self.add((_under(place, path), said) for path, said in refusal.errors or [("", refusal.detail)])
            else:
                raise _of(refusal, place) from refusal

    def raise_if_any(self) -> None:
        """Where anything was noted."""
        if self._found:
            raise field_errors(dict.fromkeys(self._found))


def _under(place: str, path: str) -> str:
    return f"{place}.{path}" if place and path else place or path


def _of(refusal: ApiError, place: str) -> ApiError:
    errors = [(place, refusal.detail)] if place else refusal.errors
    return ApiError(refusal.status, refusal.detail, errors, refusal.headers)
