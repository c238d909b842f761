"""What a call of the API is refused with, whoever finds it out. The site's wiring makes the answer of it."""

from collections.abc import Iterable, Mapping


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
