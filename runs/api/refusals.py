"""What a call of the API is refused with, whoever finds it out. The site's wiring makes the answer of it."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus

POLICY, LEFT, AGAIN = "RateLimit-Policy", "RateLimit", "Retry-After"
OF_PACE = (POLICY, LEFT, AGAIN)
"""Header fields by which it says how often something may be called for, and when again."""


class Refusal(Exception):
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


def wrong_fields(errors: Iterable[tuple[str, str]]) -> Refusal:
    return Refusal(422, "Something in the request is to be corrected.", errors)


class Faults:
    """All that is wrong in a request: whoever has it corrected learns of everything at once."""

    def __init__(self) -> None:
        self._found: list[tuple[str, str]] = []

    def __bool__(self) -> bool:
        return bool(self._found)

    def add(self, errors: Iterable[tuple[str, str]]) -> None:
        self._found += errors

    @contextmanager
    def noted(self, place: str = "") -> Iterator[None]:
        """What is refused as wrong inside is noted, under this place; what is refused otherwise says whose it is."""
        try:
            yield
        except Refusal as refusal:
            if refusal.status == HTTPStatus.UNPROCESSABLE_ENTITY:
                self.add((_under(place, path), said) for path, said in refusal.errors or [("", refusal.detail)])
            else:
                raise _of(refusal, place) from refusal

    def refuse(self) -> None:
        """Where anything was noted."""
        if self._found:
            raise wrong_fields(dict.fromkeys(self._found))


def _under(place: str, path: str) -> str:
    return f"{place}.{path}" if place and path else place or path


def _of(refusal: Refusal, place: str) -> Refusal:
    errors = [(place, refusal.detail)] if place else refusal.errors
    return Refusal(refusal.status, refusal.detail, errors, refusal.headers)
